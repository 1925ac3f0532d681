"""A unified diff as numbered lines, signs first: readable without colour."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.style import Style
from textual.strip import Strip

from tui.transcript.lines import padded, strip_of, wrapped
from tui.transcript.palette import Palette
from tui.transcript.printable import printable

_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def diff_lines(diff: str, width: int, palette: Palette) -> list[Strip]:
    """The hunks of a diff; the names of the files are left to whoever draws it."""
    rows = list(_numbered(diff))
    digits = max((len(str(number)) for number, _, _ in rows if number is not None), default=1)
    strips: list[Strip] = []
    for number, sign, text in rows:
        if number is None:
            strips.append(strip_of((" " * digits + " ⋯", palette.muted)))
            continue
        style = {"+": palette.added, "-": palette.removed}.get(sign, Style())
        lead, room = f"{number:>{digits}} ", width - digits - 3
        for part in wrapped(printable(text), room):
            body = f"{sign} {part}"
            strips.append(strip_of((lead, palette.muted), (padded(body, room + 2), style)))
            lead, sign = " " * (digits + 1), " " if sign == " " else sign
    return strips


def _numbered(diff: str) -> Iterator[tuple[int | None, str, str]]:
    """Each line with its number (in the old file for removed ones), sign and text; None between hunks."""
    old = new = 0
    inside = False
    for line in diff.split("\n"):
        if hunk := _HUNK.match(line):
            if inside:
                yield None, "", ""
            old, new, inside = int(hunk[1]), int(hunk[2]), True
        elif not inside or not line:
            continue  # the names of the files, and the end
        elif line[0] == "-":
            yield old, "-", line[1:]
            old += 1
        elif line[0] == "+":
            yield new, "+", line[1:]
            new += 1
        elif line[0] == " ":
            yield new, " ", line[1:]
            old, new = old + 1, new + 1
