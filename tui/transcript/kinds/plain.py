"""Text as it is: what any output is shown as that is nothing better, or is damaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.style import Style

from quorum.application.view.entries import Call, Kept
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.text.amounts import format_amount
from quorum.tui.transcript.cells.lines import build_strip, clean_program_text, fit_text, wrap_text, wrap_words
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.kinds.part import Part

TELLS: frozenset[str] = frozenset()

_FOLDED = 6
_TAIL_LOOKED_AT = 8_000


def summarise(call: Call, output: Kept) -> str:
    """How many lines there are."""
    return format_amount(output.lines, "line") if output.lines else ""


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
