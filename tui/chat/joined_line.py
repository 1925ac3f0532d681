"""Header and status bar as one line, for screens on which lines are few.

From left to right: the mode, the sandbox, the model, where it works, what happens, what can be done about it;
what has been used. What does not fit is left out, what matters least first.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from quorum.tui.chat.header import SessionLabel, draw_badge
from quorum.tui.keys.choices import find_warning
from quorum.tui.transcript.cells.lines import fit_text, fit_text_end

_MODEL_CELLS, _PLACE_CELLS, _BRANCH_CELLS = 28, 32, 20
_ROOM_FOR_WORDS = 80
_BETWEEN = " · "
_NOTHING = Content("")


def join_line(
    label: SessionLabel,
    happening: Content,
    urgent: Sequence[str],
    hints: Sequence[str],
    *,
    elsewhere: Content = _NOTHING,
    context: Content,
    cost: str,
    width: int,
) -> Content:
    """The line in at most `width` cells. `happening` is empty at rest; `urgent` are hints that belong to it and
    come before all that only describes the session, `hints` those that can be done without.

    What happens, a loud mode and that there is no sandbox are never left out. `elsewhere`, how full the context
    is and a mode that asks are left out only where what happens needs all of the line.
    """
    unsafe = label.sandbox.endswith("off")
    left = {
        "sandbox": Content(label.sandbox).stylize("$text-warning" if unsafe else ""),
        "model": Content(fit_text(label.model, _MODEL_CELLS)),
        "place": Content(fit_text_end(label.place, _PLACE_CELLS)),
        "branch": Content(fit_text(label.branch, _BRANCH_CELLS)),
        "happening": happening,
        **{hint: Content(hint) for hint in (*urgent, *hints)},
    }
    right = {"elsewhere": elsewhere, "cost": Content(cost), "context": context}
    is_loud = label.read_only or bool(find_warning(label.mode))
    badge = draw_badge(label.mode, read_only=label.read_only, in_words=width >= _ROOM_FOR_WORDS)

    def draw(chosen: set[str]) -> tuple[Content, Content]:
        said = [part for name, part in left.items() if name in chosen and part]
        used = [part for name, part in right.items() if name in chosen and part]
        rest = Content(_BETWEEN).join(said)
        if badge and said:
            rest = Content(" " if is_loud else "· ") + rest
        return (badge or Content(" ")) + rest, Content(_BETWEEN).join(used) + " "

    chosen = {"happening", "elsewhere", "context"} | ({"sandbox"} if unsafe else set())
    for name in (*urgent, "model", "sandbox", "cost", "place", "branch", *hints):
        longer = draw(chosen | {name})
        if sum(part.cell_length for part in longer) + 2 <= width:
            chosen.add(name)
        elif name in hints:
            break
    begin, end = draw(chosen)
    if begin.cell_length > width and not (is_loud or unsafe):
        begin = Content(" ") + happening
    gap = width - begin.cell_length - end.cell_length
    if gap <= 0:
        end = Content("")
        gap = width - begin.cell_length
    return begin + Content(" " * gap) + end if gap >= 0 else begin.truncate(width, ellipsis=True)
