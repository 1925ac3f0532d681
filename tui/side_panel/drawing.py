"""The side panel as lines: sections of rows, one below the other, in the room there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import Batch, Call, Phase
from quorum.application.view.present import ChangedFile, HookRun, JobView, Present, Step, StepStatus
from quorum.domain.text.amounts import format_amount, format_duration
from quorum.domain.text.printable import make_printable
from quorum.tui.side_panel.plan_text import describe_progress, find_mark
from quorum.tui.transcript.cells.lines import (
    build_strip,
    clean_program_text,
    fit_text,
    fit_text_end,
    pad_text,
    wrap_words,
)
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.draw.remarks import choose_sign, draw_awaited, draw_votes
from quorum.tui.transcript.draw.rows import (
    WORTH_TELLING_SECS,
    choose_verb,
    describe_state,
    draw_lane,
    find_span,
    measure_seconds,
    shorten_arguments,
)


@dataclass(frozen=True, slots=True)
class Row:
    """Something shown on `height` lines, drawn only if it is. A row that is over makes room first."""

    height: int
    is_over: bool
    draw: Callable[[], list[Strip]]


def fold_rows(rows: Sequence[Row], room: int, over: str, style: Style) -> list[Strip]:
    """The rows on at most `room` lines.

    Where they are too many, those that are over go first, oldest before newer, and then the last ones. A line
    says how many are missing in each place; `over` is the word for the first ones.
    """
    missing = sum(row.height for row in rows) - room
    dropped: set[int] = set()
    if missing > 0:
        missing += 1  # the line that tells of it
        for place, row in enumerate(rows):
            if missing > 0 and row.is_over:
                dropped.add(place)
                missing -= row.height
    kept = [row for place, row in enumerate(rows) if place not in dropped]
    strips = [build_strip((f"… {len(dropped)} {over}", style))] if dropped else []
    left = room - len(strips) - (1 if missing > 0 else 0)
    shown = 0
    for row in kept:
        left -= row.height
        if left < 0:
            break
        strips += row.draw()
        shown += 1
    if shown < len(kept):
        strips.append(build_strip((f"… {len(kept) - shown} more", style)))
    return strips[: max(room, 0)]


def share_lines(wanted: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """How many of `room` lines each section gets: its least first, then what it wants, the first ones before
    the others."""
    given: list[int] = []
    for want, enough in zip(wanted, least, strict=True):
        given.append(max(0, min(want, enough, room - sum(given))))
    for place, want in enumerate(wanted):
        given[place] += min(want - given[place], room - sum(given))
    return given


_LEAST_LANE, _MOST_LANE = 6, 24
_ROOM_FOR_LANES = 60
_MOST_VERB = 10
_SIGNS = {
    Phase.COMPOSED: "·",
    Phase.QUEUED: "·",
    Phase.REVIEWED: "?",
    Phase.RUNNING: "●",
    Phase.ABANDONED: "–",
}


def count_waiting(batch: Batch) -> str:
    """How many calls wait for the person, run, and wait for others."""
    phases = [call.phase for call in batch.calls if call.is_open]
    running, asked = phases.count(Phase.RUNNING), phases.count(Phase.REVIEWED)
    counts = {"for you": asked, "running": running, "waiting": len(phases) - running - asked}
    return " · ".join(f"{count} {word}" for word, count in counts.items() if count)


def draw_timeline(batch: Batch, width: int, palette: Palette, now: float) -> list[Row]:
    """A row for each call, in the model's order; lanes, which need room, share one span of time."""
    columns = _Columns(batch.calls, width, palette, now, has_lanes=not batch.untimed)
    span = find_span(batch, now)
    return [
        Row(2 if call.progress.updates else 1, not call.is_open, partial(columns.render_row, call, span))
        for call in batch.calls
    ]


class _Columns:
    """The places of number, verb, arguments, lane and state in a row, such that they stand below each other."""

    def __init__(
        self, calls: Sequence[Call], width: int, palette: Palette, now: float, *, has_lanes: bool
    ) -> None:
        self._calls, self._width, self._palette, self._now = calls, width, palette, now
        self._index = max(len(str(call.number)) for call in calls)
        verbs = max(cell_len(choose_verb(call)) for call in calls)
        self._verb = min(verbs, max(min(width // 3, _MOST_VERB), 1))
        self._says_states = width >= _ROOM_FOR_LANES
        self._sign = 0 if self._says_states else 2
        room = width - self._sign - self._index - self._verb - 2
        states = max(cell_len(self._describe_state(call)) for call in calls)
        self._state_cells = min(states, room // 2)
        has_lanes = has_lanes and self._says_states
        arguments = room - self._state_cells - 1 - (_LEAST_LANE + 1 if has_lanes else 0)
        longest = max(cell_len(shorten_arguments(call)[0]) for call in calls)
        self._arguments = max(min(longest, arguments), 0) if has_lanes else max(arguments, 0)
        self._lane = min(room - self._arguments - self._state_cells - 2, _MOST_LANE) if has_lanes else 0

    def render_row(self, call: Call, span: tuple[float, float]) -> list[Strip]:
        """The lines of one call."""
        palette, style = self._palette, Style(bold=call.is_open)
        verb = pad_text(fit_text(choose_verb(call), self._verb), self._verb)
        telling, state = shorten_arguments(call)[0], fit_text(self._describe_state(call), self._state_cells)
        room = self._arguments
        if self._sign:  # a row without a time leaves its place to the arguments
            room += self._state_cells - cell_len(state)
        bar = draw_lane(call, span, self._now, self._lane, palette, others=self._calls) if self._lane else []
        strips = [
            build_strip(
                (f"{self._choose_sign(call)} " if self._sign else "", describe_state(call, palette)[0][1]),
                (f"{call.number:>{self._index}} ", palette.muted),
                (verb + " ", palette.muted),
                (pad_text(fit_text(telling, room), room) + " ", style),
                *bar,
                (" " if bar else "", Style()),
                (state, describe_state(call, palette)[0][1]),
            )
        ]
        if call.progress.updates:
            strips.append(self._draw_progress(call))
        return strips

    def _describe_state(self, call: Call) -> str:
        """Its state in words where there is room, and how long it took or has been running from a second on."""
        word = describe_state(call, self._palette)[0][0]
        seconds = measure_seconds(call, self._now)
        time = format_duration(seconds) if seconds is not None and seconds >= WORTH_TELLING_SECS else ""
        return (
            f"{self._choose_sign(call) if word == 'ok' else word} {time}".strip() if self._says_states else time
        )

    def _choose_sign(self, call: Call) -> str:
        return _SIGNS.get(call.phase) or ("✓" if describe_state(call, self._palette)[0][0] == "ok" else "✗")

    def _draw_progress(self, call: Call) -> Strip:
        """How often it reported, and while it runs what it said last."""
        indent = " " * (self._sign + self._index + 1)
        text = format_amount(call.progress.updates, "update")
        shown = call.progress.list_lines()
        if call.phase is Phase.RUNNING and shown:
            text += f" · {make_printable(clean_program_text(shown[-1]), newlines=False)}"
        return build_strip((indent + fit_text(f"↳ {text}", self._width - len(indent)), self._palette.muted))


# The least lines of each section, its heading included, where there is too little room for all.
_LEAST_PLAN, _LEAST_FILES, _LEAST_BATCH, _LEAST_VOTES, _LEAST_JOBS, _LEAST_HOOKS = 5, 4, 6, 5, 3, 3
_LEAST_USAGE = 3
_REASON_LINES = 2
_STEP_LINES = 2


@dataclass(frozen=True, slots=True)
class _PanelSection:
    heading: list[Strip]
    rows: Sequence[Row]
    over: str
    least: int

    @property
    def height(self) -> int:
        """Its lines and the empty one after it."""
        return len(self.heading) + sum(row.height for row in self.rows) + 1


@dataclass(frozen=True, slots=True)
class PanelUsage:
    """What the session used: tokens of so many that the window has (0: not known), and all in words."""

    tokens: int = 0
    window: int = 0
    spent: str = ""


def draw_present(
    present: Present, width: int, height: int, palette: Palette, now: float, usage: PanelUsage = PanelUsage()
) -> list[Strip]:
    """At most `height` lines of `width` cells."""
    sections = [
        section
        for section in (
            _plan(present.current_plan, width, palette),
            _draw_files(present, width, palette),
            _draw_batch(present, width, palette, now),
            _draw_votes(present, width, palette),
            _draw_jobs(present, width, palette, now),
            _draw_usage(usage, width, palette),
            _draw_hooks(present, width, palette),
        )
        if section is not None
    ]
    room = height + 1  # nothing follows the last section's empty line
    given = share_lines([one.height for one in sections], [one.least + 1 for one in sections], room)
    strips: list[Strip] = []
    for section, lines in zip(sections, given, strict=True):
        rows = fold_rows(section.rows, lines - len(section.heading) - 1, section.over, palette.muted)
        strips += [*section.heading, *rows, Strip([])]
    return strips[:-1][:height]


def _draw_heading(title: str, aside: str, width: int, palette: Palette) -> Strip:
    gap = " " * (width - len(title) - cell_len(aside))
    return build_strip((title, palette.heading), (gap, Style()), (aside, palette.muted))


def _draw_files(present: Present, width: int, palette: Palette) -> _PanelSection | None:
    """The files that this session changed, the one changed last above."""
    if not (files := present.changed_files.list_files()):
        return None
    read = [file for file in files if file.added or file.removed]
    added, removed = sum(file.added for file in read), sum(file.removed for file in read)
    heading = [_draw_heading("Changed", f"+{added:,} −{removed:,}" if len(read) > 1 else "", width, palette)]
    rows = [Row(1, False, partial(_draw_file, file, width, palette)) for file in read]
    if others := len(files) - len(read):
        text = fit_text(f"{'+' if read else ''}{format_amount(others, 'file')}, not by edits", width)
        rows.append(Row(1, False, partial(list, [build_strip((text, palette.muted))])))
    return _PanelSection(heading, rows, "before", _LEAST_FILES)


def _draw_file(file: ChangedFile, width: int, palette: Palette) -> list[Strip]:
    added, removed = f"+{file.added:,}", f" −{file.removed:,}"
    room = width - len(added + removed) - 1
    name = fit_text_end(make_printable(file.path, newlines=False), room)
    gap = " " * (room - cell_len(name) + 1)
    styles = (palette.ok if file.added else palette.muted, palette.error if file.removed else palette.muted)
    return [build_strip((name, Style()), (gap, Style()), (added, styles[0]), (removed, styles[1]))]


def _draw_usage(usage: PanelUsage, width: int, palette: Palette) -> _PanelSection | None:
    """How full the model's window is, and what was spent."""
    if not usage.tokens:
        return None
    share = usage.tokens / usage.window if usage.window else 0.0
    aside = f"{max(1, round(100 * share))} %" if usage.window else format_amount(usage.tokens, "token")
    filled = max(1, min(round(width * share), width))
    bar = [build_strip(("━" * filled, palette.accent), ("─" * (width - filled), palette.muted))]
    spent = [build_strip((fit_text(usage.spent, width), palette.muted))] if usage.spent else []
    strips = (bar if usage.window else []) + spent
    rows = [Row(1, False, partial(list, [strip])) for strip in strips]
    return _PanelSection([_draw_heading("Context", aside, width, palette)], rows, "before", _LEAST_USAGE)


def _draw_batch(present: Present, width: int, palette: Palette, now: float) -> _PanelSection | None:
    """The newest batch, while a call of it runs or waits."""
    if (batch := present.open_batch) is None:
        return None
    aside = fit_text(count_waiting(batch), width - len("Calls") - 1)
    heading = [_draw_heading("Calls", aside, width, palette)]
    return _PanelSection(heading, draw_timeline(batch, width, palette, now), "ended", _LEAST_BATCH)


def _draw_votes(present: Present, width: int, palette: Palette) -> _PanelSection | None:
    """The votes on a call, while nobody is asked about one."""
    if (call := present.call_in_vote) is None or not call.reviewers:
        return None
    place = f"{len(call.votes)} of {len(call.reviewers)} on call {call.number}"
    drawn = [draw_votes([vote], width, palette, most=_REASON_LINES) for vote in call.votes]
    drawn += [[line] for line in draw_awaited(call, width, palette)]
    rows = [Row(len(strips), False, partial(list, strips)) for strips in drawn]
    return _PanelSection([_draw_heading("Votes", place, width, palette)], rows, "before", _LEAST_VOTES)


def _plan(plan: Sequence[Step], width: int, palette: Palette) -> _PanelSection | None:
    if not plan:
        return None
    heading = [_draw_heading("Plan", describe_progress(plan), width, palette)]
    if all(
        step.is_approved and step.status is StepStatus.DONE for step in plan
    ):  # what was approved is over: one line
        ended = build_strip(("☑ ", palette.ok), ("all tasks are done", palette.muted))
        return _PanelSection(heading, [Row(1, True, lambda: [ended])], "done", _LEAST_PLAN)
    return _PanelSection(heading, [_draw_step(step, width, palette) for step in plan], "done", _LEAST_PLAN)


def _draw_step(step: Step, width: int, palette: Palette) -> Row:
    mark_style, style = {
        StepStatus.PENDING: (palette.muted, Style()),
        StepStatus.IN_PROGRESS: (palette.accent, Style(bold=True)),
        StepStatus.DONE: (palette.ok, palette.muted),
        StepStatus.FAILED: (palette.error, Style()),
        StepStatus.BLOCKED: (palette.muted, palette.muted),
        StepStatus.UNKNOWN: (palette.warning, Style()),
    }[step.status]
    lines = wrap_words(make_printable(step.text, newlines=False), width - 2)
    if len(lines) > _STEP_LINES:
        lines = [*lines[: _STEP_LINES - 1], fit_text(" ".join(lines[_STEP_LINES - 1 :]), width - 2)]
    signs = [f"{find_mark(step)} ", *["  "] * (len(lines) - 1)]
    strips = [build_strip((sign, mark_style), (line, style)) for sign, line in zip(signs, lines, strict=True)]
    return Row(len(strips), step.status is StepStatus.DONE, lambda: strips)


def _draw_jobs(present: Present, width: int, palette: Palette, now: float) -> _PanelSection | None:
    """The commands that run in the background, the newest below."""
    if not (running := present.jobs.running):
        return None
    rows = [Row(2, False, partial(_draw_job, job, width, palette, now)) for job in running]
    return _PanelSection(
        [_draw_heading("Background", f"{len(running)} run", width, palette)], rows, "ended", _LEAST_JOBS
    )


def _draw_job(job: JobView, width: int, palette: Palette, now: float) -> list[Strip]:
    head = f"{job.job_id} {format_duration(job.count_seconds(now))} "
    command = fit_text(
        make_printable(" ".join(job.command.split()), newlines=False), width - 2 - cell_len(head)
    )
    last = fit_text(make_printable(job.last_line, newlines=False), width - 2)
    return [
        build_strip(("● ", palette.accent), (head, palette.muted), (command, Style())),
        build_strip(("  ", Style()), (last, palette.muted)),
    ]


def _draw_hooks(present: Present, width: int, palette: Palette) -> _PanelSection | None:
    if not present.hooks:
        return None
    heading = [_draw_heading("Hooks", format_amount(present.hooks_run, "run"), width, palette)]
    rows = [Row(1, True, partial(_draw_hook, run, width, palette)) for run in present.hooks]
    return _PanelSection(heading, rows, "before", _LEAST_HOOKS)


def _draw_hook(run: HookRun, width: int, palette: Palette) -> list[Strip]:
    sign, style = choose_sign(run.kind, palette)
    name = fit_text(make_printable(run.hook, newlines=False), width // 2)
    text = fit_text(make_printable(f" {run.hook_answer}", newlines=False), width - 2 - cell_len(name))
    style = palette.muted if run.quiet else style
    return [build_strip((f"{sign} ", style), (name, Style() if not run.quiet else style), (text, style))]
