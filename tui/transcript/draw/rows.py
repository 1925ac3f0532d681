"""The rows of a batch's calls in columns: number, verb, arguments, lane, and how the call stands or ended.

A lane is a small bar that shows when a call waited, for whom, and when it ran. The arguments tell calls apart,
so they get their room first: all but what the shortest account of a call needs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import assert_never

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import Batch, Call, Phase
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.calls.tool_traits import OutputKind, ToolTraits, find_traits
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.text.amounts import format_amount, format_duration
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.patch import BadPatch, list_paths, parse_patch
from quorum.domain.text.printable import collapse_blanks, make_printable
from quorum.tui.transcript.cells.lines import ASIDE, build_strip, fit_text, pad_text, wrap_words
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.draw.remarks import describe_voting
from quorum.tui.transcript.kinds.diff import format_counts
from quorum.tui.transcript.kinds.kind import choose_view, find_kind
from quorum.tui.transcript.kinds.terminal import find_exit

RAN = "▆"
ASKED = "░"
WAITED = "·"


def find_span(batch: Batch, now: float) -> tuple[float, float]:
    """When the batch began, and when it ended or what time it is; seconds of the clock."""
    starts = [call.since[0][0] for call in batch.calls if call.since]
    ends = [now if call.is_open else call.since[-1][0] for call in batch.calls if call.since]
    return (min(starts), max(ends)) if starts else (now, now)


def draw_lane(
    call: Call,
    span: tuple[float, float],
    now: float,
    width: int,
    palette: Palette,
    *,
    others: Sequence[Call] = (),
) -> list[tuple[str, Style]]:
    """The cells of one call's lane. Running wins over waiting where both fall into one cell.

    At the end of its waiting stands the place of the call among `others` that it waited for last.
    """
    begin, end = span
    scale = width / (end - begin) if end > begin else 0.0
    cells = [" "] * width
    # Later writes win, so what matters most comes last.
    for glyph, phase in ((WAITED, Phase.QUEUED), (ASKED, Phase.REVIEWED), (RAN, Phase.RUNNING)):
        for start, stop in call.list_stretches(phase, now):
            if stop < begin or start > end:
                continue
            first = max(min(int((start - begin) * scale), width - 1), 0)
            last = max(first, min(int((stop - begin) * scale - 1e-9), width - 1))
            if phase is Phase.RUNNING or stop > start:
                cells[first : last + 1] = [glyph] * (last + 1 - first)
    text = _add_cause("".join(cells), call, others, now)
    return _group_runs(text, call, palette)


def find_last_awaited(call: Call, others: Sequence[Call], now: float) -> Call | None:
    """Of the calls that a call had to wait for, the one that kept it waiting longest; None where none did."""
    followed = [other for other in others if other.index in call.follows and other.since]
    return max(followed, key=lambda other: now if other.is_open else other.since[-1][0], default=None)


def _add_cause(cells: str, call: Call, others: Sequence[Call], now: float) -> str:
    cause = find_last_awaited(call, others, now) if call.follows else None
    begin = len(cells) - len(cells.lstrip())
    end = begin + len(cells[begin:]) - len(cells[begin:].lstrip(WAITED))
    if cause is None or end - begin < len(mark := str(cause.number)) + 1:
        return cells
    return cells[: end - len(mark)] + mark + cells[end:]


def _group_runs(cells: str, call: Call, palette: Palette) -> list[tuple[str, Style]]:
    """Runs of equal cells, styled."""
    ran = palette.accent if call.phase is Phase.RUNNING or not call.outcome else palette.ok
    if call.outcome is not None and call.outcome.is_error:
        ran = palette.error
    styles = {RAN: ran, ASKED: palette.warning, WAITED: palette.muted, " ": palette.muted}
    runs: list[tuple[str, Style]] = []
    for cell in cells:
        style = styles.get(cell, palette.accent)
        if runs and runs[-1][0][0] == cell:
            runs[-1] = (runs[-1][0] + cell, style)
        else:
            runs.append((cell, style))
    return runs


def describe_course(call: Call, now: float) -> str:
    """How a call spent its time, as `waited 1.2 s for 0, 1 · waited for you 3.0 s · ran 50 ms`."""
    parts: list[str] = []
    for phase, verb in ((Phase.QUEUED, "waited"), (Phase.REVIEWED, "waited for you"), (Phase.RUNNING, "ran")):
        seconds = sum(end - begin for begin, end in call.list_stretches(phase, now))
        if phase is Phase.RUNNING and call.duration is not None:
            seconds = call.duration
        if seconds >= _WORTH_TELLING or (phase is Phase.RUNNING and call.has_run):
            parts.append(f"{verb} {format_duration(seconds)}")
            if phase is Phase.QUEUED and call.follows:
                parts[-1] += " for " + ", ".join(str(index + 1) for index in call.follows)
    return " · ".join(parts) if len(parts) > 1 else ""


_WORTH_TELLING = 0.001


_LONG = 60
_MOST_FILES = 4


def shorten_arguments(call: Call) -> tuple[str, str]:
    """The arguments on one line: the telling ones bare, the others in the tool's words, else as `name=value`,
    long ones as their size.

    What is shown below the row is left out, and beside a diff all others are: it says what they say.
    """
    shown_below = choose_view(call).TELLS if call.output is not None or call.diff is not None else frozenset()
    traits = find_traits(call.tool)
    names = traits.telling
    telling = [_render_bare(name, call.arguments[name], call.cwd) for name in names if name in call.arguments]
    if (patch := traits.find_patch(call.arguments)) is not None:
        telling += _list_patch_files(patch)
    others = [
        said
        for name, value in call.arguments.items()
        if name not in names and name not in shown_below and (said := _word_argument(traits, name, value))
    ]
    if traits.counted:
        unseen = [(name, noun) for name, noun in traits.counted.items() if name not in shown_below]
        lists = [(call.arguments.get(name), noun) for name, noun in unseen]
        others = [format_amount(len(each), noun) for each, noun in lists if isinstance(each, list | tuple)]
    shown = others if call.diff is None or not telling else []
    return make_printable(" ".join(telling), newlines=False), make_printable(" · ".join(shown), newlines=False)


@lru_cache(maxsize=64)
def _list_patch_files(patch: str) -> tuple[str, ...]:
    """The first files that a patch names, and how many more; nothing for what is no patch."""
    try:
        paths = list_paths(parse_patch(patch))
    except BadPatch:
        return ()
    more = (f"and {len(paths) - _MOST_FILES} more",) if len(paths) > _MOST_FILES else ()
    return (*paths[:_MOST_FILES], *more)


def _render_bare(name: str, value: JsonValue, cwd: str) -> str:
    if not isinstance(value, str):
        return _render_short(value)
    if name == "path" and cwd and (inside := value.removeprefix(f"{cwd}/"))[:1] not in ("", "/", "~"):
        value = inside  # what would read as another path stays whole
    first, line_feed, _ = collapse_blanks(value.strip()).partition("\n")
    text = first + (" …" if line_feed else "")
    return f'"{text}"' if name in ("pattern", "query") else text


def _word_argument(traits: ToolTraits, name: str, value: JsonValue) -> str:
    said = traits.word_argument(name, value)
    return said if said is not None and len(said) <= _LONG else f"{name}={_render_short(value)}"


def _render_short(value: JsonValue) -> str:
    if isinstance(value, str):
        if "\n" in value:
            return f"‹{format_amount(value.rstrip(chr(10)).count(chr(10)) + 1, 'line')}›"
        return value if 0 < len(value) <= _LONG else f"‹{format_amount(len(value), 'character')}›"
    if isinstance(value, Mapping | Sequence):
        text = json.dumps(value, ensure_ascii=False) if len(value) <= _LONG else ""
        noun = "key" if isinstance(value, Mapping) else "value"
        return text if 0 < len(text) <= _LONG else f"‹{format_amount(len(value), noun)}›"
    return json.dumps(value)


def describe_state(call: Call, palette: Palette) -> list[tuple[str, Style]]:
    """The state in words; the first part is the one that matters."""
    match call.phase:
        case Phase.COMPOSED:
            return [("arriving…", palette.accent)]
        case Phase.ABANDONED:
            return [("no result" if call.has_run else "not run", palette.warning)]
        case Phase.REVIEWED:
            return [("waits for you", palette.warning + Style(bold=True))]
        case Phase.QUEUED if call.is_voted_on:
            return [(describe_voting(call), palette.accent)]
        case Phase.QUEUED:
            return [(_render_waiting(call), palette.muted)]
        case Phase.RUNNING:
            return [("running", palette.accent)]
        case Phase.FINISHED:
            return _describe_ending(call, palette)
        case _:
            assert_never(call.phase)


def _render_waiting(call: Call) -> str:
    if isinstance(call.waiting_for, tuple) and call.waiting_for:
        return "waits for " + ", ".join(str(index + 1) for index in call.waiting_for)
    if call.waiting_for == "files":
        return f"keeping former contents · {call.files_kept:,} of {call.files:,} files"
    return "queued"


def _describe_ending(call: Call, palette: Palette) -> list[tuple[str, Style]]:
    outcome = call.outcome or Outcome.UNKNOWN
    if outcome is Outcome.OK:
        style = palette.ok
    else:
        style = palette.error if outcome is Outcome.ERROR else palette.warning
    word = outcome.value.replace("_", " ")
    summary = ""
    if outcome is Outcome.OK and call.output is not None:
        is_spoken = palette.screen_reader and call.diff is not None
        summary = (
            format_counts(call.diff or "", spoken=True)
            if is_spoken
            else choose_view(call).summarise(call, call.output)
        )
        if find_kind(call) is OutputKind.TERMINAL and (exited := find_exit(call.output)) not in ("", "exit 0"):
            # That it ran is no news: what counts is how it exited.
            word, style = exited, palette.error
    parts = [(word, style)]
    if call.decision in (DecisionLabel.EDITED, DecisionLabel.DENIED, DecisionLabel.NEEDS_APPROVAL):
        parts.append((f" · {call.decision.value.replace('_', ' ')}", palette.muted))
    if summary:
        parts.append((f" · {summary}", palette.muted))
    return parts


def measure_seconds(call: Call, now: float) -> float | None:
    """How many seconds the call ran, or has been running; None where it did not run."""
    if call.phase is Phase.RUNNING:
        return max(now - call.since[-1][0], 0.0) if call.since else None
    return call.duration


def format_time(call: Call, now: float) -> str:
    """The same in words; empty where it did not run."""
    seconds = measure_seconds(call, now)
    return "" if seconds is None else format_duration(seconds)


def summarise_batch(batch: Batch, span: tuple[float, float]) -> str:
    """The batch in one line: how many calls, and what became of them so far."""
    words: dict[str, int] = {}
    for call in batch.calls:
        word = _render_word(call)
        words[word] = words.get(word, 0) + 1
    counts = [f"{count} {word}" for word, count in words.items()]
    took = [] if batch.is_open or batch.untimed else [format_duration(span[1] - span[0])]
    return " · ".join([format_amount(len(batch.calls), "call"), *counts, *took])


def _render_word(call: Call) -> str:
    match call.phase:
        case Phase.FINISHED:
            return (call.outcome or Outcome.UNKNOWN).value.replace("_", " ")
        case Phase.REVIEWED:
            return "for you to review"
        case Phase.COMPOSED:
            return "arriving"
        case Phase.QUEUED:
            return "being voted on" if call.is_voted_on else "waiting"
        case Phase.RUNNING:
            return "running"
        case Phase.ABANDONED:
            return "no result" if call.has_run else "not run"
        case _:
            assert_never(call.phase)


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
    return make_printable(format_tool_name(call.tool) or "…", newlines=False)


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


class RowColumns(Struct, frozen=True):
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
        gap = " " if first else ""
        if beside := fit_text(others, room - cell_len(first + gap)):
            runs.append((gap + beside, palette.muted))
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
