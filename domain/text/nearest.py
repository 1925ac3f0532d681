"""The known words that are most like a mistyped one."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher, get_close_matches

ALIKE = 0.6
"""From this likeness on a word is worth proposing."""
_NAMES_ALIKE = 0.7
_LONGEST = 80  # letters that are compared; the cost grows with their square


def find_nearest_word(word: str, known: Sequence[str], *, alike: float = ALIKE) -> str | None:
    """Return the known word most similar to a wrong one, ignoring case, or None if none is so much `alike`."""
    wrong = word[:_LONGEST].lower()
    best = max(known, key=lambda each: measure_likeness(wrong, each.lower()), default="")
    return best if measure_likeness(wrong, best.lower()) >= alike else None


def list_similar_names(name: str, known: Sequence[str], *, most: int) -> list[str]:
    """Return the known names similar to a wrong one, the most similar first. They have to be more alike than
    words: names that a program makes have much in common anyway."""
    return get_close_matches(name, known, n=most, cutoff=_NAMES_ALIKE)


def measure_likeness(one: str, other: str) -> float:
    """Return the similarity of two words, from 0 to 1; at least 0.8 if one contains the other."""
    ratio = SequenceMatcher(None, one, other).ratio()
    return max(0.8, ratio) if min(len(one), len(other)) >= 3 and (one in other or other in one) else ratio


def count_edits(one: str, other: str) -> int:
    """How many letters have to be added, removed, replaced or swapped with their neighbour to get from one word
    to the other. The cost grows with the product of their lengths.
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        before, last, row = row, before, [place]
        for column, wanted in enumerate(other, 1):
            edits = min(before[column] + 1, row[-1] + 1, before[column - 1] + (letter != wanted))
            swapped = place > 1 and column > 1 and letter == other[column - 2] and one[place - 2] == wanted
            row.append(min(edits, last[column - 2] + 1) if swapped else edits)
    return row[-1]
