"""How well typed letters fit a name or a path, and which known words are most like a mistyped one.

Textual's own matcher looks at every way in which the letters occur, whose number grows exponentially, and puts
`apps/zebra/main.py` before `src/app.py` for "app"; on 1,300 paths it takes two to ten times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import NamedTuple

_RUN, _WORD, _HUMP, _NAME, _WHOLE, _CASE = 8, 9, 7, 6, 24, 1
_GAP, _FURTHER = 3, 1
_WIDEST_GAP = 12
_LETTERS_A_POINT = 10


class Fit(NamedTuple):
    """How well a query fits a text, more is better, and the places of the letters that it hit."""

    score: int
    hits: tuple[int, ...]


def fit(query: str, text: str) -> Fit | None:
    """The best way that was found for the letters of the query to stand in the text, in this order; None where
    they do not. Upper and lower case are alike, but the same case is better. An empty query fits anything.

    The last part of a path counts more than the folders before it, and shorter texts more than longer ones.
    """
    if not query:
        return Fit(-len(text) // _LETTERS_A_POINT, ())
    wanted, held = _lower_text(query), _lower_text(text)
    name = held.rstrip("/").rfind("/") + 1
    ways = [way for way in _list_ways(wanted, held, name) if way]
    return max((_rate(query, text, way, name) for way in ways), default=None)


def _lower_text(text: str) -> str:
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _list_ways(wanted: str, held: str, name: int) -> list[tuple[int, ...]]:
    """A few good ways: in one piece, where that can be, else in pieces as near the end as they can be."""
    pieces: list[tuple[int, ...]] = []
    at = held.find(wanted, name)
    if at < 0:
        at = held.rfind(wanted)
    while at >= 0 and len(pieces) < 4:
        pieces.append(tuple(range(at, at + len(wanted))))
        at = held.find(wanted, at + 1)
    if pieces:
        return pieces
    return [_match_scattered(wanted, held, name) or _match_scattered(wanted, held, 0)]


def _match_scattered(wanted: str, held: str, start: int) -> tuple[int, ...]:
    """The letters as late as they can be, and then each as soon after the one before as it can be."""
    at = len(held)
    for letter in reversed(wanted):
        at = held.rfind(letter, start, at)
        if at < 0:
            return ()
    hits = [at]
    for letter in wanted[1:]:
        at = held.find(letter, at + 1)
        hits.append(at)
    return tuple(hits)


def _rate(query: str, text: str, hits: tuple[int, ...], name: int) -> Fit:
    score = -(len(text) // _LETTERS_A_POINT)
    before = -2
    for letter, at in zip(query, hits, strict=True):
        score += _NAME if at >= name else 0
        score += _CASE if text[at] == letter else 0
        if at == before + 1:
            score += _RUN
        elif before >= 0:
            score -= _GAP + _FURTHER * min(at - before - 2, _WIDEST_GAP)
        if at == 0 or not text[at - 1].isalnum():
            score += _WORD
        elif text[at].isupper() and text[at - 1].islower():
            score += _HUMP
        before = at
    rest = text[name:].rstrip("/")
    in_one = len(hits) == hits[-1] - hits[0] + 1
    if in_one and hits[0] == 0:
        score += _WHOLE // 3
    if in_one and hits[0] == name:
        score += _WHOLE // 3
        if len(hits) in (len(rest), len(rest.rpartition(".")[0])):
            score += _WHOLE
    return Fit(score, hits)


ALIKE = 0.6
"""From this likeness on a word is worth proposing."""
_NAMES_ALIKE = 0.7
_LONGEST = 80  # letters that are compared; the cost grows with their square


def find_nearest_word(word: str, known: Sequence[str], *, alike: float = ALIKE) -> str | None:
    """Return the known word most similar to a wrong one, ignoring case, or None if none is so much `alike`."""
    wrong = word[:_LONGEST].lower()
    best = max(known, key=lambda each: measure_likeness(wrong, each.lower()), default=None)
    return best if best is not None and measure_likeness(wrong, best.lower()) >= alike else None


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


_LETTERS_PER_EDIT = 4
_SURE_LETTERS = 3


def is_misspelt(typed: str, word: str) -> bool:
    """Whether a word may have been meant: one letter in four is wrong, of a short one a letter; or two are,
    after a beginning of three letters."""
    edits = count_edits(typed, word)
    begins_so = len(word) > _SURE_LETTERS + 1 and typed[:_SURE_LETTERS] == word[:_SURE_LETTERS]
    return edits <= max(2 if begins_so else 1, len(word) // _LETTERS_PER_EDIT)
