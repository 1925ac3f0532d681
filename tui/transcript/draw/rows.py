"""The rows of a batch's calls in columns: number, verb, arguments, and how the call stands or ended.

The arguments tell calls apart, so they get their room first: all but what the shortest account of a call needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import Call
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.calls.tool_traits import OutputKind, find_traits
from quorum.domain.text.amounts import format_duration
from quorum.domain.text.printable import collapse_blanks, make_printable
from quorum.tui.transcript.cells.lines import build_strip, fit_text, pad_text, wrap_words
from quorum.tui.transcript.cells.marks import ASIDE
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.draw.status import describe_state, measure_seconds, shorten_arguments
from quorum.tui.transcript.kinds.kind import find_kind

WORTH_TELLING_SECS = 1.0
"""From how many seconds on a row says how long its call took."""

_MARK = 2
_LEAST_NUMBER = 2
# A longer name moves the arguments of its own row alone.
_LEAST_VERB, _MOST_VERB = 6, 8
_ARGUMENT_CELLS = 60
_LEAST_STATE = len("waits for you")
_GAP = 3
_COMMAND_ROWS = 2
_COMMAND_LOOKED_AT = 4_000
_BOLD = Style(bold=True)


def choose_verb(call: Call) -> str:
    """What a row calls the tool of a call, safe to draw."""
    return find_traits(call.tool).verb or make_printable(format_tool_name(call.tool) or "…", newlines=False)


def describe_call(call: Call, palette: Palette, now: float) -> list[tuple[str, Style]]:
    """How a call stands or ended, the part that matters first. That it went well and fast needs no word."""
    parts = describe_state(call, palette)
    if parts[0][0] == "ok":
        rest = "".join(text for text, _ in parts[1:]).removeprefix(" · ")
        parts = [(rest, palette.muted)] if rest else []
    seconds = measure_seconds(call, now)
    if seconds is not None and seconds >= WORTH_TELLING_SECS:
        parts = [*parts, ((" · " if parts else "") + format_duration(seconds), palette.muted)]
    return parts


@dataclass(frozen=True, slots=True)
class RowColumns:
    """The cells of each column, those between columns included; the account gets what is left of `width`."""

    width: int
    number: int
    verb: int
    argument: int

    @classmethod
    def fit(
        cls,
        calls: Sequence[Call],
        accounts: Sequence[Sequence[tuple[str, Style]]],
        width: int,
        *,
        several: bool,
    ) -> RowColumns:
        """The columns for these calls of a batch and their accounts; calls of `several` have numbers."""
        numbers = [_LEAST_NUMBER, *(len(str(call.number)) for call in calls)]
        number = max(numbers) + 1 if several else 0
        has_own_verb = any(find_traits(call.tool).verb for call in calls)
        lengths = [cell_len(choose_verb(call)) for call in calls]
        verbs = max((length for length in lengths if length <= _MOST_VERB), default=0)
        verb = min(max(verbs, _LEAST_VERB if has_own_verb else 0), max(width // 3, 4)) + 1
        room = width - _MARK - number - verb
        states = max((cell_len(parts[0][0]) for parts in accounts if parts), default=0)
        most_state = max(room - _ARGUMENT_CELLS, room // 4, min(_LEAST_STATE + _GAP, room // 2))
        most = max(room - min(states + _GAP if states else 0, most_state), 1)
        over = [max(length + 1 - verb, 0) for length in lengths]
        beside = max(room - states - _GAP if states else room, 1)
        telling = [
            max(map(cell_len, _render_argument_lines(call, most)), default=0) + more
            for call, more in zip(calls, over, strict=True)
        ]
        # What stands beside the telling arguments gets what the accounts leave.
        whole = [cells + _count_cells_beside(call) for call, cells in zip(calls, telling, strict=True)]
        longest = max(min(max(telling, default=0), most), min(max(whole, default=0), beside))
        return cls(width, number, verb, longest)


def draw_row(
    call: Call, columns: RowColumns, account: Sequence[tuple[str, Style]], palette: Palette
) -> list[Strip]:
    """The row of a call: one line, of a long command two."""
    mark = "▾ " if call.expanded else "▸ "
    number = f"{call.number:>{columns.number - 1}} " if columns.number else ""
    most_verb = max(columns.verb - 1, columns.width // 3)
    if not any(shorten_arguments(call)):  # then its name has the room of the arguments, too
        most_verb = max(most_verb, columns.verb + columns.argument - 1)
    verb = fit_text(choose_verb(call), most_verb)
    verb = pad_text(verb, columns.verb - 1) + " "
    head = build_strip((mark, palette.muted + ASIDE), (number, palette.muted + ASIDE), (verb, palette.muted))
    place = _MARK + columns.number + columns.verb
    room = max(place + columns.argument - head.cell_length, 1)
    first, *further = _render_argument_lines(call, room) or [""]
    runs = [(first, _BOLD)]
    if not further:
        others = shorten_arguments(call)[1]
        gap = " " if first and others else ""
        runs.append((gap + fit_text(others, room - cell_len(first + gap)), palette.muted))
    used = sum(cell_len(text) for text, _ in runs)
    row = Strip([*head, *build_strip(*runs)])
    if account:
        gap = " " * (max(room - used, 0) + _GAP)
        row = Strip(
            [*row, *build_strip((gap, ASIDE), *_fit_runs(account, columns.width - row.cell_length - len(gap)))]
        )
    hang = " " * head.cell_length
    rows = [row, *(build_strip((hang, ASIDE), (line, _BOLD)) for line in further)]
    return [line if line.cell_length <= columns.width else line.crop(0, columns.width) for line in rows]


def _count_cells_beside(call: Call) -> int:
    """The cells of the arguments beside the telling ones, and of the space before them."""
    others = shorten_arguments(call)[1]
    return cell_len(others) + 1 if others else 0


def _render_argument_lines(call: Call, room: int) -> list[str]:
    """The telling arguments: a line, or two of a command that is not unfolded below."""
    command = call.arguments.get("command")
    if find_kind(call) is OutputKind.TERMINAL and isinstance(command, str) and not call.expanded:
        text = collapse_blanks(command.strip())[:_COMMAND_LOOKED_AT]
        lines = wrap_words(make_printable(text), room)
        if len(lines) > _COMMAND_ROWS:
            last = fit_text(lines[_COMMAND_ROWS - 1], max(room - 2, 0)).removesuffix("…")
            lines = [*lines[: _COMMAND_ROWS - 1], fit_text(f"{last} …", room)]
        return lines
    telling, _ = shorten_arguments(call)
    return [fit_text(telling, room)] if telling else []


def _fit_runs(runs: Sequence[tuple[str, Style]], width: int) -> list[tuple[str, Style]]:
    """The first of the runs, and those after it that fit as they are."""
    text, style = runs[0]
    fitted = [(fit_text(text, max(width, 0)), style)]
    for text, style in runs[1:]:
        width -= cell_len(fitted[-1][0])
        if cell_len(text) > width:
            break
        fitted.append((text, style))
    return fitted
