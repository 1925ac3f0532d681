"""Which effects of a call a person should be asked about, in the words of objections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from quorum.domain.review.effects.side_effect import EffectKind, SideEffect
from quorum.domain.review.objection import Objection


def list_objections(effects: Iterable[SideEffect]) -> Iterator[Objection]:
    """What speaks against these effects; what only reads, writes or connects has no objection of its own."""
    for effect in effects:
        if guard := _find_guard(effect.kind):
            yield Objection(guard, f"it {effect.does}")


def join_objections(of_words: Sequence[Objection], effects: Sequence[SideEffect]) -> tuple[Objection, ...]:
    """What speaks against the words of a command and against its effects, without repetition.

    An effect names object and place, which the words alone often do not, so it stands in for an objection of
    the same guard; but not for one that the person may have asked for.
    """
    found = [(each, effect.place) for effect in effects for each in list_objections((effect,))]
    named = {each.guard for each, _ in found} & _NAMED_BETTER
    kept = [each for each in of_words if each.guard not in named or each.request is not None]
    guards = {each.guard for each in kept} - _NAMED_BETTER
    new = [
        each
        for each, place in found
        if each.guard not in guards and not any(_is_about(known, each.guard, place) for known in kept)
    ]
    return tuple(dict.fromkeys((*kept, *new)))


_NAMED_BETTER = frozenset({"network", "secret", "persistence"})


def _is_about(objection: Objection, guard: str, place: str) -> bool:
    """Whether an objection already names a place, or a folder that it lies in."""
    words = (word.rstrip(",") for word in objection.reason.split() if "/" in word)
    return objection.guard == guard and bool(place) and any(place.startswith(word) for word in words)


def _find_guard(kind: EffectKind) -> str | None:
    match kind:
        case (
            EffectKind.SEND
            | EffectKind.RUN_FETCHED
            | EffectKind.RUN_HIDDEN
            | EffectKind.ADMIT
            | EffectKind.ATTACK
        ):
            return "network"
        case EffectKind.REVEAL:
            return "secret"
        case EffectKind.PERSIST:
            return "persistence"
        case EffectKind.ALTER:
            return "path"
        case (
            EffectKind.ELEVATE | EffectKind.DISABLE | EffectKind.DISGUISE | EffectKind.EXHAUST | EffectKind.HARM
        ):
            return "destructive"
        case EffectKind.READ | EffectKind.WRITE | EffectKind.DELETE | EffectKind.CONNECT | EffectKind.UNKNOWN:
            return None
