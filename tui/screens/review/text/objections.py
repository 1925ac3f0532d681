"""Where in a call the reviewers object: their quotes, found word for word, every blank counting."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from quorum.domain.review.ballot import Ballot, Vote
from quorum.domain.text.unified_diff import DiffLine
from quorum.tui.transcript.kinds.rows import Span

_MOST_PLACES = 200

Quotes: TypeAlias = tuple[str, ...]


def collect_quotes(ballots: Iterable[Ballot]) -> Quotes:
    """What those who did not approve point at."""
    return tuple(b.objection for b in ballots if b.objection and b.counts_as is not Vote.APPROVE)


class _ObjectionPiece(NamedTuple):
    """A text that stands in a line, of which the first `skip` characters are not drawn."""

    line: int
    text: str
    skip: int = 0


def find_in_lines(quotes: Quotes, lines: Sequence[str]) -> list[tuple[Span, ...]]:
    """For each line of a text, the spans that are objected to."""
    return _find_spans(
        quotes, len(lines), [[_ObjectionPiece(number, line) for number, line in enumerate(lines)]]
    )


def find_in_diff(quotes: Quotes, lines: Sequence[DiffLine]) -> list[tuple[Span, ...]]:
    """For each line of a diff, the spans that are objected to.

    A quote may come from the diff with its signs, or from one side of it: the file before or after.
    """
    numbered = list(enumerate(lines))
    signed = [_ObjectionPiece(n, f"{line.sign}{line.text}", 1) for n, line in numbered if line.sign in _SIGNED]
    before = [_ObjectionPiece(n, line.text) for n, line in numbered if line.sign in ("-", " ")]
    after = [_ObjectionPiece(n, line.text) for n, line in numbered if line.sign in ("+", " ")]
    return _find_spans(quotes, len(lines), [before, after, signed])


_SIGNED = ("+", "-", " ")


def _find_spans(
    quotes: Quotes, count: int, texts: Sequence[Sequence[_ObjectionPiece]]
) -> list[tuple[Span, ...]]:
    spans: list[list[Span]] = [[] for _ in range(count)]
    for quote in quotes:
        for needle in _render_readings(quote):
            if _mark(needle, texts, spans):
                break
    return [tuple(dict.fromkeys(line)) for line in spans]


def _render_readings(quote: str) -> Iterator[str]:
    """The quote as it stands, and as the text it is if it was copied from JSON, or the other way round."""
    if quote.strip():
        yield quote
        try:
            unescaped = json.loads(f'"{quote}"', strict=False)
        except json.JSONDecodeError:
            unescaped = quote
        yield unescaped
        yield json.dumps(quote, ensure_ascii=False)[1:-1]


def _mark(needle: str, texts: Sequence[Sequence[_ObjectionPiece]], spans: list[list[Span]]) -> bool:
    found = False
    for pieces in texts:
        text = "\n".join(piece.text for piece in pieces)
        starts = [0, *accumulate(len(piece.text) + 1 for piece in pieces)]
        for start in _find_occurrences(needle, text):
            found = True
            end = start + len(needle)
            for number in range(bisect_right(starts, start) - 1, len(pieces)):
                if starts[number] >= end:
                    break
                line, own, skip = pieces[number]
                low = max(start - starts[number] - skip, 0)
                high = min(end - starts[number], len(own)) - skip
                if low < high:
                    spans[line].append(Span(low, high))
    return found


def _find_occurrences(needle: str, text: str) -> Iterator[int]:
    start = text.find(needle)
    for _ in range(_MOST_PLACES):
        if start < 0:
            return
        yield start
        start = text.find(needle, start + len(needle))
