"""A page of a file: numbered lines, in the colours of its language.

Rich's lexing styles and Pygments are loaded when the first code is coloured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from rich.style import Style

from quorum.application.view.entries import Call, Kept
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.lines import build_strip, wrap_words
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.kinds import plain
from quorum.tui.transcript.kinds.plain import Part, Run, wrap_runs
from quorum.tui.transcript.model.languages import get_lexer, guess_language

if TYPE_CHECKING:
    from pygments.token import _TokenType
    from rich.syntax import ANSISyntaxTheme

    _Token: TypeAlias = tuple[str, _TokenType]

# Beyond these it is drawn plain: lexers work by regular expressions, and the text is anybody's.
_MOST_CHARACTERS = 12_000
_LONGEST_LINE = 1_000

_DELIMITERS = (
    ('"""', '"""'),
    ("'''", "'''"),
    ("/*", "*/"),
    ("`", "`"),
    ("<!--", "-->"),
    ("{-", "-}"),
    ("(*", "*)"),
    ("--[[", "]]"),
    ("#|", "|#"),
)
_CODE = re.compile(
    r"\s*(?:(?:def|class|return|import|raise|async|await|elif|except|yield|func|fn|let|const|var)\b.*[\w:;)\]}{(,'\"]"
    r"|(?:if|for|while|with|else|try)\b.*:"
    r"|@\w.*"
    r"|[\w.\[\]\"']+\s*[-+|&]?=\s\S.*"
    r"|[\w.]*\w\(.*\)[;:,]?"
    r"|.*[;{}])\s*"
)
_PROSE_WORDS = 2
# A choice that is hard to make is made from the first characters.
_MOST_TRIED = 4_000


def colour_lines(
    lines: Sequence[str], path: str, *, dark: bool, is_part: bool = False
) -> list[tuple[Run, ...]] | None:
    """Successive lines of a file of that name as styled runs, which say the very same; None where it is drawn
    plain, because its language is not known or there is too much of it.

    `is_part`: there may be lines before them, which may have begun a string or a comment.
    """
    language = guess_language(path)
    if language is None or not lines or max(map(len, lines)) > _LONGEST_LINE:
        return None
    if sum(map(len, lines)) > _MOST_CHARACTERS:
        return None
    return _lex("\n".join(lines), language, dark, is_part)


@lru_cache(maxsize=32)
def _lex(text: str, language: str, dark: bool, is_part: bool) -> list[tuple[Run, ...]] | None:
    lines = list(_lex_part(text, language, is_part=is_part))
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

    def __init__(self, read_lines: Callable[[], Sequence[str]], path: str, *, is_part: bool = False) -> None:
        """`is_part`: there may be lines before them, which may have begun a string or a comment."""
        self._read_lines, self._path, self._is_part = read_lines, path, is_part
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
        source = _lex_part("\n".join(lines), language, is_part=self._is_part)
        for line, lexed in zip(lines, source, strict=False):
            if _join_line(lexed) != line:
                return  # as above
            yield lexed


def _lex_part(text: str, language: str, *, is_part: bool) -> Iterator[list[_Token]]:
    """The lines of a text; where it `is_part` of a longer one, read as what makes the most sense of them."""
    if not is_part:
        return _lex_lines(text, language)
    begin, end = _choose_surroundings(text, language)
    whole = _lex_lines("\n".join([*filter(None, [begin]), text, *filter(None, [end])]), language)
    return islice(whole, int(bool(begin)), text.count("\n") + 1 + bool(begin))


def _lex_lines(text: str, language: str) -> Iterator[list[_Token]]:
    """The tokens of each line."""
    line: list[_Token] = []
    for _, kind, value in get_lexer(language).get_tokens_unprocessed(text):
        first, *further = value.split("\n")
        if first:
            line.append((first, kind))
        for piece in further:
            yield line
            line = [(piece, kind)] if piece else []
    yield line


@lru_cache(maxsize=64)
def _choose_surroundings(text: str, language: str) -> tuple[str, str]:
    """What has to stand in the line before a part of a file and in the one after it, for it to be read as in
    its file; mostly nothing.

    Only the part is known: it is read in each way there is, and that which makes the most sense of it counts.
    """
    text = text[:_MOST_TRIED]
    best, least = ("", ""), _count_misread_lines(list(_lex_lines(text, language)))
    for begin, end in _list_surroundings(language) if least else ():
        lines = list(_lex_lines("\n".join((begin, text, end)), language))[1:-1]
        if (misread := _count_misread_lines(lines)) < least:
            best, least = (begin, end), misread
    return best


@lru_cache(maxsize=64)
def _list_surroundings(language: str) -> tuple[tuple[str, str], ...]:
    """The begin or the end of a string or a comment over several lines, or both."""
    found = [pair for pair in _DELIMITERS if _delimits_text(*pair, language)]
    return tuple(pair for begin, end in found for pair in ((begin, ""), ("", end), (begin, end)))


def _count_misread_lines(lines: Sequence[Sequence[_Token]]) -> int:
    """How many lines seem to be read the wrong way: prose as code, or code as text."""
    return sum(_is_misread(line) for line in lines)


def _delimits_text(begin: str, end: str, language: str) -> bool:
    from pygments.token import Comment, String

    probe = f"{begin}\nprobe = 1\n{end}\n"
    kinds = [
        kind
        for _, kind, value in get_lexer(language).get_tokens_unprocessed(probe)
        if "probe" in value or value.strip() == "="
    ]
    return bool(kinds) and all(_is_kind(kind, String, Comment) for kind in kinds)


def _is_kind(kind: _TokenType, *kinds: _TokenType) -> bool:
    return any(each in kinds for each in kind.split())


def _is_misread(line: Sequence[_Token]) -> bool:
    from pygments.token import Comment, Error, String

    telling = [(piece, kind) for piece, kind in line if piece.strip()]
    if not telling:
        return False
    if all(_is_kind(kind, String, Comment.Multiline) for _, kind in telling):
        return _CODE.fullmatch("".join(piece for piece, _ in line)) is not None
    return any(_is_kind(kind, Error) for _, kind in telling) or _count_adjacent_names(line) >= _PROSE_WORDS


def _count_adjacent_names(line: Sequence[_Token]) -> int:
    """How many names stand just behind another one, with nothing but blanks between, as words of a sentence."""
    from pygments.token import Name

    count, is_name_before = 0, False
    for piece, kind in line:
        if not piece.strip():
            continue
        is_name = _is_kind(kind, Name) and not _is_kind(kind, Name.Decorator)
        count += is_name and is_name_before
        is_name_before = is_name
    return count


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


TELLS = frozenset({"offset", "limit"})

# numbers were once padded to six places, and so are those of older sessions
_NUMBERED = re.compile(r" {0,5}(\d{1,12})\t(.*)")
_PAGE = re.compile(r"\[lines (\d{1,12})-(\d{1,12}) of (\d{1,12})[;\]]")


def summarise(call: Call, output: Kept) -> str:
    """How many lines, or which of how many."""
    last = plain.select_last_lines(output, 3)
    for line in last:
        if page := _PAGE.match(line):
            return f"lines {page[1]}–{page[2]} of {page[3]}"
    if not _NUMBERED.match(output.head):
        return plain.summarise(call, output)
    return format_amount(output.lines - sum(line.startswith("[") for line in last), "line")


def draw_folded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """Nothing: the row says it all, but for a sentence in place of a page."""
    return draw_sentence(output, width, palette) if not _NUMBERED.match(output.head) else Part()


def draw_sentence(output: Kept, width: int, palette: Palette) -> Part:
    """An output of one line, such as that there is nothing; of a longer one, nothing."""
    part = Part()
    if output.lines == 1:
        text = make_printable(output.head.strip("\n"), newlines=False)
        part.add(build_strip((line, palette.muted)) for line in wrap_words(text, width))
    return part


def draw_unfolded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """The lines with their numbers; what has none stands as it is."""
    if not _NUMBERED.match(output.head):
        return plain.draw_unfolded(call, output, width, palette)
    part = Part()
    lines = list(islice(plain.iterate_lines(output.head), part.room))
    parsed = [_NUMBERED.fullmatch(line) for line in lines]
    digits = max(len(match[1]) for match in parsed if match is not None)
    texts = [make_printable(match[2], newlines=False) for match in parsed if match is not None]
    path = call.arguments.get("path")
    is_part = next((int(match[1]) > 1 for match in parsed if match is not None), False)
    coloured = colour_lines(texts, path, dark=palette.dark, is_part=is_part) if isinstance(path, str) else None
    runs = iter(coloured or ())
    plainly = iter(texts)
    hang = " " * (digits + 2)
    for drawn, (line, match) in enumerate(zip(lines, parsed, strict=True)):
        if match is None:
            note: list[Run] = [(make_printable(line, newlines=False), palette.muted)]
            strips = wrap_runs(note, width)
        else:
            text = next(plainly)
            strips = wrap_runs(
                next(runs, ((text, Style()),)), width, [(f"{match[1]:>{digits}}  ", palette.muted)], hang
            )
        if not part.add(strips):
            part.rest = f"{format_amount(output.lines - drawn, 'line')} more"
            return part
    if output.lines > len(lines):
        part.rest = f"{format_amount(output.lines - len(lines), 'line')} more"
    return part
