"""A reply of the person to a question of the model: it is shown, as what was decided is looked for later."""

from __future__ import annotations

from quorum.application.view.entries import Call, Kept
from quorum.domain.review.person_question import CHOSE, NO_ANSWER, WROTE
from quorum.tui.transcript.cells.lines import build_strip, fit_text
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.kinds import plain
from quorum.tui.transcript.kinds.plain import Part, draw_folded_more

TELLS: frozenset[str] = frozenset()

_FOLDED = 6
_TO_THE_PERSON = {CHOSE: "you chose:", WROTE: "you wrote:"}


def _is_missing(output: Kept) -> bool:
    return output.head.strip() == NO_ANSWER


def summarise(call: Call, output: Kept) -> str:
    """That there is none; any other stands below."""
    return "no answer" if _is_missing(output) else ""


def draw_folded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    """The first lines."""
    part = Part()
    if _is_missing(output):
        return part
    lines = plain.select_last_lines(output, output.lines)
    shown = lines if len(lines) <= _FOLDED + 1 else lines[:_FOLDED]
    said = (_TO_THE_PERSON.get(line, line) for line in shown)
    part.add(build_strip((fit_text(line, width), palette.muted)) for line in said)
    if len(shown) < len(lines):
        part.add([draw_folded_more(len(lines) - len(shown), "more", palette)])
    return part


def draw_unfolded(call: Call, output: Kept, width: int, palette: Palette) -> Part:
    return plain.draw_unfolded(call, output, width, palette)
