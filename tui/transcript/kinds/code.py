"""Source code in colours. Rich's lexing styles and Pygments are loaded when the first code is coloured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, TypeAlias

from rich.style import Style

from quorum.tui.transcript.kinds.part import Run
from quorum.tui.transcript.model.languages import get_lexer, guess_language

if TYPE_CHECKING:
    from pygments.token import _TokenType
    from rich.syntax import ANSISyntaxTheme

    _Token: TypeAlias = tuple[str, _TokenType]

# Beyond these it is drawn plain: lexers work by regular expressions, and the text is anybody's.
_MOST_CHARACTERS = 12_000
_LONGEST_LINE = 1_000


def colour_lines(lines: Sequence[str], path: str, *, dark: bool) -> list[tuple[Run, ...]] | None:
    """Successive lines of a file of that name as styled runs, which say the very same; None where it is drawn
    plain, because its language is not known or there is too much of it."""
    language = guess_language(path)
    if language is None or not lines or max(map(len, lines)) > _LONGEST_LINE:
        return None
    if sum(map(len, lines)) > _MOST_CHARACTERS:
        return None
    return _lex("\n".join(lines), language, dark)


@lru_cache(maxsize=32)
def _lex(text: str, language: str, dark: bool) -> list[tuple[Run, ...]] | None:
    lines = list(_lex_lines(text, language))
    if "\n".join(map(_join_line, lines)) != text:
        return None  # a lexer that leaves something out is not to be believed
    return [
        tuple((piece, _find_style(kind, dark)) for piece, kind in line) or (("", Style()),) for line in lines
    ]


class LazyCode:
    """Successive lines of a file of that name, lexed when they are asked for, and no further.

    `read_lines` is called at the first question. Lines beyond the first 12,000 characters, and those from the
    first one of over 1,000 characters, are drawn plain.
    """

    def __init__(self, read_lines: Callable[[], Sequence[str]], path: str) -> None:
        self._read_lines, self._path = read_lines, path
        self._source: Iterator[list[_Token]] | None = None
        self._lexed: list[list[_Token]] = []

    def lex_line(self, number: int, *, dark: bool) -> list[Run] | None:
        """The line of that number, counted from 0, as styled runs; None where it is drawn plain."""
        if self._source is None:
            self._source = self._lex()
        while len(self._lexed) <= number:
            if (line := next(self._source, None)) is None:
                return None
            self._lexed.append(line)
        return [(piece, _find_style(kind, dark)) for piece, kind in self._lexed[number]]

    def _lex(self) -> Iterator[list[_Token]]:
        if (language := guess_language(self._path)) is None:
            return
        lines: list[str] = []
        left = _MOST_CHARACTERS
        for line in self._read_lines():
            left -= len(line)
            if left < 0 or len(line) > _LONGEST_LINE:
                break
            lines.append(line)
        for line, lexed in zip(lines, _lex_lines("\n".join(lines), language), strict=False):
            if _join_line(lexed) != line:
                return  # as above
            yield lexed


def _lex_lines(text: str, language: str) -> Iterator[list[_Token]]:
    line: list[_Token] = []
    for _, kind, value in get_lexer(language).get_tokens_unprocessed(text):
        first, *further = value.split("\n")
        if first:
            line.append((first, kind))
        for piece in further:
            yield line
            line = [(piece, kind)] if piece else []
    yield line


def _join_line(line: Sequence[_Token]) -> str:
    return "".join(piece for piece, _ in line)


@cache
def _find_style(kind: _TokenType, dark: bool) -> Style:
    """The colour of a token; underlining is left to what matters more."""
    themed = _build_theme(dark).get_style_for_token(kind)
    return Style(color=themed.color, bold=themed.bold, dim=themed.dim)


@cache
def put_on_tint(style: Style) -> Style:
    """The style of code on the ground of a changed line, where dim text could not be read: it is in italics."""
    return Style(color=style.color, bold=style.bold, italic=True) if style.dim else style


@cache
def _build_theme(dark: bool) -> ANSISyntaxTheme:
    from rich.syntax import ANSI_DARK, ANSI_LIGHT, ANSISyntaxTheme

    return ANSISyntaxTheme(ANSI_DARK if dark else ANSI_LIGHT)
