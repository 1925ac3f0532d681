"""Source code in colours. Rich's lexing styles and Pygments are loaded when the first code is coloured."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from rich.style import Style

from tui.transcript.kinds.part import Run
from tui.transcript.model.languages import get_lexer, guess_language

if TYPE_CHECKING:
    from pygments.token import _TokenType
    from rich.syntax import ANSISyntaxTheme

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
    lines: list[list[Run]] = [[]]
    for _, kind, value in get_lexer(language).get_tokens_unprocessed(text):
        style = _style(kind, dark)
        first, *further = value.split("\n")
        if first:
            lines[-1].append((first, style))
        lines += [[(piece, style)] if piece else [] for piece in further]
    if "\n".join("".join(piece for piece, _ in line) for line in lines) != text:
        return None  # a lexer that leaves something out is not to be believed
    return [tuple(line) or (("", Style()),) for line in lines]


@cache
def _style(kind: _TokenType, dark: bool) -> Style:
    """The colour of a token; underlining is left to what matters more."""
    themed = _theme(dark).get_style_for_token(kind)
    return Style(color=themed.color, bold=themed.bold, dim=themed.dim)


@cache
def _theme(dark: bool) -> ANSISyntaxTheme:
    from rich.syntax import ANSI_DARK, ANSI_LIGHT, ANSISyntaxTheme

    return ANSISyntaxTheme(ANSI_DARK if dark else ANSI_LIGHT)
