"""What a reviewer looks at first: a lens, so that several reviewers do not all look at the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from quorum.domain.text.nearest import find_nearest_word
from quorum.domain.text.printable import make_printable

LONGEST_LENS = 400
_LABEL_CHARACTERS = 24
_KNOWN = {
    "safety": "harm: secrets, injection, destructive or irreversible effects, data loss, broken access control",
    "scope": "scope: whether all of this was asked for, what is missing of it, and what was changed beside it",
    "correctness": "correctness: wrong results, edge cases, error handling, races, broken callers",
}


class Lens(Struct, frozen=True):
    """A way of looking. `name` is safety, scope or correctness, or the person's own words."""

    name: str

    @property
    def instruction(self) -> str:
        """What a reviewer with this lens is told to look at first."""
        return _KNOWN.get(self.name, self.name)

    @property
    def label(self) -> str:
        """The name as it stands beside a reviewer: long words of the person's by their beginning."""
        if len(self.name) <= _LABEL_CHARACTERS:
            return self.name
        return f"{self.name[: _LABEL_CHARACTERS - 1]}…"


SAFETY, SCOPE, CORRECTNESS = (Lens(name) for name in _KNOWN)
_IN_TURN = (CORRECTNESS, SAFETY, SCOPE)


def parse_lens(text: str) -> Lens:
    """Read a lens as the settings have it. Raises ValueError for one that is empty or too long, or that
    cannot be printed as it is."""
    words = " ".join(text.split())
    if not words or len(words) > LONGEST_LENS or make_printable(words, newlines=False) != words:
        raise ValueError(
            "a lens is safety, scope, correctness, or words of your own, "
            f"at most {LONGEST_LENS} characters that can all be printed"
        )
    return Lens(words.lower() if words.lower() in _KNOWN else words)


def assign_lenses(reviewers: int) -> tuple[Lens, ...]:
    """A lens for each of so many reviewers, in turn."""
    return tuple(_IN_TURN[place % len(_IN_TURN)] for place in range(reviewers))


def find_lens(configured: Mapping[str, Lens], model: str, *roles: str) -> Lens | None:
    """The lens set for a model, "provider/model", else that of the first of these roles that has one."""
    return next((configured[name] for name in (model, *roles) if name in configured), None)


def list_unused_lenses(
    lenses: Iterable[str], review: Sequence[str], participants: Sequence[str] = ()
) -> tuple[str, ...]:
    """A sentence for each model that has a lens and does not review: its name may be a typing error.

    `review` are the models of that role. Without them the `participants` review changes.
    """
    unused = [name for name in lenses if "/" in name and name not in (*review, *participants)]
    return tuple(f"quorum.lenses names {name}, which {_explain_unused(name, review)}" for name in unused)


def _explain_unused(name: str, review: Sequence[str]) -> str:
    if not review:
        return "does not review: models.review names no model"
    if near := find_nearest_word(name, review):
        return f"does not review; did you mean {near}?"
    return f"does not review; models.review names {', '.join(review)}"


def format_reviewer(model: str, lens: str | None) -> str:
    """The reviewer with the label of its lens, as `openai/gpt-5.4 (safety)`."""
    return f"{model} ({lens})" if lens else model
