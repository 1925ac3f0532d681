"""How remarks are drawn: a sign that tells how loud they are, and words."""

from __future__ import annotations

from collections.abc import Iterable

from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import NoticeKind, Remark
from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.lines import build_strip, wrap_words
from quorum.tui.transcript.cells.marks import ASIDE
from quorum.tui.transcript.cells.palette import Palette


def choose_sign(kind: NoticeKind, palette: Palette) -> tuple[str, Style]:
    """The sign of a remark, and the style it is drawn in."""
    return {
        NoticeKind.INFO: ("·", palette.muted),
        NoticeKind.WARNING: ("!", palette.warning),
        NoticeKind.ERROR: ("✗", palette.error),
    }[kind]


def draw_remark_lines(remarks: Iterable[Remark], width: int, palette: Palette) -> list[Strip]:
    """The remarks one below the other, broken between words, in at most `width` cells."""
    return [strip for remark in remarks for strip in draw_remark(remark.kind, remark.text, width, palette)]


def draw_remark(kind: NoticeKind, text: str, width: int, palette: Palette) -> list[Strip]:
    """One remark; its further lines stand below its first word."""
    sign, style = choose_sign(kind, palette)
    lines = wrap_words(make_printable(text), width - 2)
    signs = [sign, *(" " for _ in lines[1:])]
    return [build_strip((f"{s} ", style + ASIDE), (line, style)) for s, line in zip(signs, lines, strict=True)]
