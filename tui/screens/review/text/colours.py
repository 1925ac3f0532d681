"""The syntax of source code, as spans of its lines. Pygments is loaded when the first code is coloured."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from tui.screens.review.text.rows import Span, Tone
from tui.transcript.model.languages import get_lexer, guess_language

if TYPE_CHECKING:
    from pygments.token import _TokenType

# Beyond these it is drawn plain: lexers work by regular expressions, and the text is anybody's.
MOST_CHARACTERS = 20_000
_LONGEST_LINE = 1_000


def colour_lines(lines: Sequence[str], path: str) -> list[tuple[Span, ...]] | None:
    """For each of successive lines of a file of that name, its spans; None where its language is not known."""
    language = guess_language(path)
    if language is None:
        return None
    if sum(map(len, lines)) > MOST_CHARACTERS or max(map(len, lines), default=0) > _LONGEST_LINE:
        return None
    spans: list[list[Span]] = [[Span(0, len(line), Tone.CODE)] for line in lines]
    number = begin = 0
    text = "\n".join(lines)
    for start, kind, value in get_lexer(language).get_tokens_unprocessed(text):
        tone = _tone(kind)
        for offset, piece in _pieces(value):
            while number + 1 < len(lines) and start + offset > begin + len(lines[number]):
                begin += len(lines[number]) + 1
                number += 1
            place = start + offset - begin
            if tone is not None and piece:
                spans[number].append(Span(place, place + len(piece), tone))
    return [tuple(line) for line in spans]


def _pieces(value: str) -> list[tuple[int, str]]:
    pieces, offset = [], 0
    for piece in value.split("\n"):
        pieces.append((offset, piece))
        offset += len(piece) + 1
    return pieces


@cache
def _tone(kind: _TokenType) -> Tone | None:
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    for family, tone in (
        (Comment, Tone.COMMENT),
        (Keyword, Tone.KEYWORD),
        (Operator.Word, Tone.KEYWORD),
        (Name.Function, Tone.NAME),
        (Name.Class, Tone.NAME),
        (Name.Tag, Tone.NAME),
        (Name.Decorator, Tone.NAME),
        (String, Tone.STRING),
        (Number, Tone.NUMBER),
    ):
        if kind[: len(family)] == family:
            return tone
    return None
