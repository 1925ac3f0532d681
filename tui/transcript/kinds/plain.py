"""Text as it is: what any output is shown as that is nothing better, or is damaged.

Other kinds of output share `Part`: lines of a card, and what is said of those that are not drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import Call, Kept
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.text.amounts import format_amount
from quorum.tui.transcript.cells.lines import (
    ASIDE,
    Continued,
    build_strip,
    clean_program_text,
    fit_text,
    wrap_text,
    wrap_words,
)
from quorum.tui.transcript.cells.palette import Palette

Run: TypeAlias = tuple[str, Style]

MOST_LINES = 200
"""An unfolded card has about so many lines of output; the pager has them all."""

PAGER = "pager"
"""The key of a line that a click on opens the pager with all of the output."""


class Part(Struct):
    """Lines of a card, at most `room` of them.

    `keys` holds for each line the fold that a click on it opens or closes, or `PAGER`. `above` counts the
    lines of the output before the first one drawn, `rest` says in words what comes after the last.
    """

    strips: list[Strip] = []
    keys: list[str | None] = []
    room: int = MOST_LINES
    above: int = 0
    rest: str = ""

    @property
    def is_full(self) -> bool:
        """Whether no further line has room."""
        return len(self.strips) >= self.room

    def add(self, strips: Iterable[Strip], key: str | None = None) -> bool:
        """Add lines; whether all of them had room."""
        for strip in strips:
            if self.is_full:
                return False
            self.strips.append(strip)
            self.keys.append(key)
        return True


def wrap_runs(runs: Sequence[Run], width: int, lead: Sequence[Run] = (), hang: str = "") -> Iterator[Strip]:
    """A line of styled runs, broken hard at `width` cells; `lead` stands before its beginning, `hang` below it.

    Both only decorate it. Their widths are part of the width, and should be equal.
    """
    room = max(width - sum(cell_len(text) for text, _ in lead), 2)
    parts: list[Run] = [(text, style + ASIDE) for text, style in lead]
    place = used = 0
    for line in wrap_text("".join(text for text, _ in runs), room):
        left = len(line)
        while left and place < len(runs):
            whole, style = runs[place]
            piece = whole[used : used + left]
            left, used = left - len(piece), used + len(piece)
            if isinstance(line, Continued) and left + len(piece) == len(line):
                piece = Continued.of(piece, line.joint)
            parts.append((piece, style))
            if used == len(whole):
                place, used = place + 1, 0
        strip = build_strip(*parts)
        # A cluster of characters that two runs share may be wider in parts than as a whole.
        yield strip if strip.cell_length <= width else strip.crop(0, width)
        parts = [(hang, ASIDE)] if hang else []


def draw_more(count: int, where: str, palette: Palette, noun: str = "line") -> Strip:
    """The line that stands for what is not drawn."""
    return build_strip((f"… {format_amount(count, noun)} {where}", palette.muted + ASIDE))


def draw_folded_more(count: int, where: str, palette: Palette) -> Strip:
    """The line that stands for lines that are folded away, and names the key that opens them."""
    return draw_more(count, f"{where} · {palette.fold_key} opens", palette)


def name_whole(palette: Palette) -> str:
    """What opens all of an output that is too long for its card."""
    return f"click opens all, as do {palette.whole_keys}"


TELLS: frozenset[str] = frozenset()

_FOLDED = 6
_TAIL_LOOKED_AT = 8_000


def summarise(call: Call, output: Kept) -> str:
    """How many lines there are; of a line that only answers the model's own book-keeping, nothing."""
    if output.lines == 0 or (output.lines == 1 and find_traits(call.tool).kind == "think"):
        return ""
    return format_amount(output.lines, "line")


def draw_folded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """The last lines of what changed something; of a call that only looked, nothing."""
    part = Part()
    if call.risk is RiskLevel.HIGH and call.diff is None:
        shown = select_last_lines(output, _FOLDED)
        part.add(build_strip((fit_text(line, width), palette.muted)) for line in shown)
        part.above = output.lines - len(shown)
    return part


def select_last_lines(output: Kept, count: int) -> list[str]:
    """The last lines of an output, safe to draw, but for the empty ones at its end. Not all is looked at."""
    text = clean_program_text((output.tail or output.head)[-_TAIL_LOOKED_AT:]).strip("\n")
    return text.split("\n")[-count:] if text else []


def draw_unfolded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """The lines from the first on; what says that a call failed is mostly prose, and broken between words."""
    part = Part()
    fill_part(part, output, width, wrap_text if call.outcome in (None, Outcome.OK) else wrap_words)
    return part


def fill_part(part: Part, output: Kept, width: int, wrap: Callable[[str, int], list[str]] = wrap_text) -> None:
    """Add the lines of an output to a part until it is full, and say there what is left out."""
    drawn = 0
    for line in iterate_lines(output.head):
        # A line is cut before it is looked at: one may be as long as the whole output.
        reach = (part.room - len(part.strips) + 1) * width
        pieces = wrap(clean_program_text(line[:reach]), width)
        if not part.add(build_strip((piece, Style())) for piece in pieces) or len(line) > reach:
            part.rest = _render_rest(output, drawn)
            return
        drawn += 1
    if output.tail:
        part.rest = _render_rest(output, drawn)


def iterate_lines(text: str) -> Iterator[str]:
    """The lines of a text one by one, without the empty ones at its end."""
    text = text.rstrip("\n")
    place = 0
    while text and place <= len(text):
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        yield text[place:end].removesuffix("\r")
        place = end + 1


def _render_rest(output: Kept, drawn: int) -> str:
    left = output.lines - drawn
    return f"{format_amount(left, 'line')} more" if left > 1 or output.lines > 1 else "the rest of a long line"
