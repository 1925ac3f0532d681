"""Text as it goes to a client: nothing in it acts on a terminal or hides, and no output closes its fence."""

from __future__ import annotations

import re

from quorum.domain.text.printable import make_printable

_BACKTICKS = re.compile(r"`{3,}")


def show_text(text: str) -> str:
    """The text without anything that could act or hide. Tabs stay: they may be part of code."""
    return "\t".join(make_printable(part) for part in text.split("\t"))


def show_line(text: str, longest: int = 200) -> str:
    """The text on one line, and cut where it is longer."""
    line = make_printable(text, newlines=False)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def fence(text: str, language: str = "") -> str:
    """The text as a code block of Markdown, in a fence that nothing in it closes."""
    shown = show_text(text).removesuffix("\n")
    ticks = "`" * max([3, *(len(found) + 1 for found in _BACKTICKS.findall(shown))])
    return f"{ticks}{language}\n{shown}\n{ticks}"
