"""What a reviewer looks at first: a lens, so that several reviewers do not all look at the same."""

from __future__ import annotations

from dataclasses import dataclass

_LONGEST = 400
_KNOWN = {
    "safety": "harm: secrets, injection, destructive or irreversible effects, data loss, broken access control",
    "scope": "scope: whether all of this was asked for, what is missing of it, and what was changed beside it",
    "correctness": "correctness: wrong results, edge cases, error handling, races, broken callers",
}


@dataclass(frozen=True, slots=True)
class Lens:
    """A way of looking. `name` is safety, scope or correctness, or the person's own words."""

    name: str

    @property
    def instruction(self) -> str:
        """What a reviewer with this lens is told to look at first."""
        return _KNOWN.get(self.name, self.name)


SAFETY, SCOPE, CORRECTNESS = (Lens(name) for name in _KNOWN)
_IN_TURN = (CORRECTNESS, SAFETY, SCOPE)


def parse_lens(text: str) -> Lens:
    """Read a lens as the settings have it. Raises ValueError for one that is empty or too long."""
    words = " ".join(text.split())
    if not words or len(words) > _LONGEST:
        raise ValueError(
            f"a lens is safety, scope, correctness, or words of your own, at most {_LONGEST} characters"
        )
    return Lens(words.lower() if words.lower() in _KNOWN else words)


def assign_lenses(reviewers: int) -> tuple[Lens, ...]:
    """A lens for each of so many reviewers, in turn."""
    return tuple(_IN_TURN[place % len(_IN_TURN)] for place in range(reviewers))
