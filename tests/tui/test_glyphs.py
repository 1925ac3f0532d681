"""Which characters the app draws, and which fonts hold them."""

from __future__ import annotations

import ast
import gzip
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from quorum.tui.terminal import line_filters
from quorum.tui.terminal.line_filters import PLAIN, PlainGlyphs, needs_plain_glyphs
from tests.support.terminal import Terminal

ROOT = Path(__file__).parents[2]
FONT = Path("/usr/share/fonts/X11/misc/6x13.pcf.gz")
CODE_PAGE = {bytes([number]).decode("cp437") for number in range(128, 256)} | set("•○►◄↕‼¶§↨↑↓→←∟↔▲▼")
# What xterm's own font, misc-fixed 6x13 in ISO 10646, holds of what the app draws.
GLYPHS = set("⇥⇧·°»×–•…‹›“”‼←↑→↓↪↳−≥⋯⏎␛─━│┃┄┊└├╷▆█▏░▸▾◔○●☐☑✓✗⟨⟩¶é")
# Not drawn: looked for in text, or what is made visible in place of it.
CONTROLS = {"\x7f", "\x9b", "\x80", "\x9f", "\xa0"}
_ENCODINGS = 1 << 5


def drawn() -> Iterator[str]:
    """All characters beyond ASCII in the texts of the front end, docstrings left out."""
    for file in {*(ROOT / "tui").rglob("*.py")} - {Path(line_filters.__file__).resolve()}:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        comments = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in comments:
                yield from (char for char in node.value if ord(char) > 126 and not 0xD800 <= ord(char) < 0xE000)


def encoded_in(font: Path) -> set[str]:
    """The characters that a bitmap font in the format PCF holds."""
    data = gzip.decompress(font.read_bytes())
    (tables,) = struct.unpack_from("<I", data, 4)
    for place in range(tables):
        kind, _, _, offset = struct.unpack_from("<IIII", data, 8 + 16 * place)
        if kind == _ENCODINGS:
            order = ">" if struct.unpack_from("<I", data, offset)[0] & 4 else "<"
            low, high, first, last, _ = struct.unpack_from(f"{order}5H", data, offset + 4)
            wide = high - low + 1
            glyphs = struct.unpack_from(f"{order}{wide * (last - first + 1)}H", data, offset + 14)
            return {
                chr((first + n // wide) * 256 + low + n % wide) for n, at in enumerate(glyphs) if at != 0xFFFF
            }
    raise AssertionError(f"{font} has no table of encodings")


@pytest.mark.long
def test_the_app_draws_only_characters_that_are_in_the_table() -> None:
    assert sorted(set(drawn()) - GLYPHS - CONTROLS) == []


def test_the_font_of_xterm_holds_every_character_of_the_table() -> None:
    if not FONT.exists():
        pytest.skip("the bitmap fonts of X are not installed; apt-get install xfonts-base brings them")

    assert sorted(GLYPHS - encoded_in(FONT)) == []


def test_the_console_has_every_character_or_a_stand_in() -> None:
    left = {"␛"}  # stands for an escape that was pasted

    assert sorted(char for char in GLYPHS - CODE_PAGE - left if char not in PLAIN) == []


@pytest.mark.parametrize(("char", "plain"), PLAIN.items())
def test_a_stand_in_is_as_wide_is_in_the_code_page_and_is_no_ascii(char: str, plain: str) -> None:
    assert cell_len(char) == cell_len(plain) == 1
    assert plain in CODE_PAGE
    assert not plain.isascii()


def test_a_line_keeps_its_styles_and_its_ascii() -> None:
    style = Style(bold=True)

    line = PlainGlyphs().apply([Segment("✓ rm -rf “x” …", style)], Color(0, 0, 0))

    assert line == [Segment("√ rm -rf «x» ·", style)]


@pytest.mark.parametrize(
    ("term", "plain"), [("linux", True), ("xterm", False), ("xterm-256color", False), ("", False)]
)
def test_only_the_console_of_linux_needs_them(term: str, plain: bool) -> None:
    assert needs_plain_glyphs({"TERM": term}) is plain


@pytest.mark.long
def test_on_the_console_of_linux_the_app_draws_none_that_its_font_lacks(tmp_path: Path) -> None:
    variables = {"TERM": "linux", "COLORTERM": ""}
    with Terminal(tmp_path, tmp_path, rows=25, columns=80, arguments=[], variables=variables) as terminal:
        terminal.submit("hello")
        terminal.wait_for("hello")
        terminal.wait_for("ask")
        assert not set(PLAIN) & set(terminal.painted)
