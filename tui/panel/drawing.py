"""The side panel as lines: sections of rows, one below the other, in the room there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from application.view.jobs import JobView
from application.view.present import Decided, HookRun, Present, Step, StepStatus
from domain.text.amounts import format_amount, format_duration
from domain.text.printable import printable
from tui.panel.folding import Row, fold_rows, shares
from tui.panel.timeline import counts_of, timeline
from tui.transcript.cells.lines import fit_text, strip_of, words
from tui.transcript.cells.palette import Palette
from tui.transcript.draw.ballots import draw_awaited, vote_lines
from tui.transcript.draw.lanes import span_of
from tui.transcript.draw.remarks import sign_of

# The least lines of each section, its heading included, where there is too little room for all.
_LEAST_BATCH, _LEAST_VOTES, _LEAST_DECISIONS, _LEAST_PLAN, _LEAST_HOOKS = 6, 5, 3, 5, 3
_LEAST_JOBS = 3
_REASON_LINES = 2
_STEP_LINES = 2


@dataclass(frozen=True, slots=True)
class _Section:
    heading: list[Strip]
    rows: Sequence[Row]
    over: str
    least: int

    @property
    def height(self) -> int:
        """Its lines and the empty one after it."""
        return len(self.heading) + sum(row.height for row in self.rows) + 1


def draw_present(present: Present, width: int, height: int, palette: Palette, now: float) -> list[Strip]:
    """At most `height` lines of `width` cells."""
    sections = [
        section
        for section in (
            _batch(present, width, palette, now),
            _votes(present, width, palette),
            _decisions(present, width, palette),
            _plan(present.plan, width, palette),
            _jobs(present, width, palette, now),
            _hooks(present, width, palette),
        )
        if section is not None
    ]
    room = height + 1  # nothing follows the last section's empty line
    given = shares([one.height for one in sections], [one.least + 1 for one in sections], room)
    strips: list[Strip] = []
    for section, lines in zip(sections, given, strict=True):
        rows = fold_rows(section.rows, lines - len(section.heading) - 1, section.over, palette.muted)
        strips += [*section.heading, *rows, Strip([])]
    return strips[:-1][:height]


def _heading(title: str, aside: str, width: int, palette: Palette) -> Strip:
    gap = " " * (width - len(title) - cell_len(aside))
    return strip_of((title, palette.heading), (gap, Style()), (aside, palette.muted))


def _batch(present: Present, width: int, palette: Palette, now: float) -> _Section | None:
    if (batch := present.batch) is None:
        return None
    begin, end = span_of(batch, now)
    took = "" if batch.untimed else format_duration(end - begin)
    heading = [
        _heading("Batch", took, width, palette),
        strip_of((fit_text(counts_of(batch), width), palette.muted)),
    ]
    return _Section(heading, timeline(batch, width, palette, now), "ended", _LEAST_BATCH)


def _votes(present: Present, width: int, palette: Palette) -> _Section | None:
    """The votes on the call that is asked about."""
    if (call := present.reviewed) is None or not call.reviewers:
        return None
    place = f"{len(call.votes)} of {len(call.reviewers)} on call {call.number}"
    drawn = [vote_lines([vote], width, palette, most=_REASON_LINES) for vote in call.votes]
    drawn += [[line] for line in draw_awaited(call, width, palette)]
    rows = [Row(len(strips), False, partial(list, strips)) for strips in drawn]
    return _Section([_heading("Votes", place, width, palette)], rows, "before", _LEAST_VOTES)


def _decisions(present: Present, width: int, palette: Palette) -> _Section | None:
    """What the last reviews of the turn came to, the newest below."""
    if not present.decisions:
        return None
    rows = [Row(1, True, partial(_decision, one, width, palette)) for one in present.decisions]
    return _Section([_heading("Decisions", "", width, palette)], rows, "before", _LEAST_DECISIONS)


def _decision(one: Decided, width: int, palette: Palette) -> list[Strip]:
    sign, style = ("✓", palette.ok) if one.runs else ("✗", palette.warning)
    name = fit_text(printable(one.tool, newlines=False), width // 2)
    text = fit_text(printable(f" {one.text}", newlines=False), width - 2 - cell_len(name))
    return [strip_of((f"{sign} ", style), (name, Style()), (text, palette.muted))]


def _plan(plan: Sequence[Step], width: int, palette: Palette) -> _Section | None:
    if not plan:
        return None
    done = sum(step.status is StepStatus.DONE for step in plan)
    heading = [_heading("Plan", f"{done} of {len(plan)}", width, palette)]
    return _Section(heading, [_step(step, width, palette) for step in plan], "done", _LEAST_PLAN)


def _step(step: Step, width: int, palette: Palette) -> Row:
    mark, mark_style, style = {
        StepStatus.PENDING: ("○", palette.muted, Style()),
        StepStatus.IN_PROGRESS: ("●", palette.accent, Style(bold=True)),
        StepStatus.DONE: ("✓", palette.ok, palette.muted),
    }[step.status]
    lines = words(printable(step.text, newlines=False), width - 2)
    if len(lines) > _STEP_LINES:
        lines = [*lines[: _STEP_LINES - 1], fit_text(" ".join(lines[_STEP_LINES - 1 :]), width - 2)]
    signs = [f"{mark} ", *["  "] * (len(lines) - 1)]
    strips = [strip_of((sign, mark_style), (line, style)) for sign, line in zip(signs, lines, strict=True)]
    return Row(len(strips), step.status is StepStatus.DONE, lambda: strips)


def _jobs(present: Present, width: int, palette: Palette, now: float) -> _Section | None:
    """The commands that run in the background, the newest below."""
    if not (running := present.jobs.running):
        return None
    rows = [Row(2, False, partial(_job, job, width, palette, now)) for job in running]
    return _Section([_heading("Background", f"{len(running)} run", width, palette)], rows, "ended", _LEAST_JOBS)


def _job(job: JobView, width: int, palette: Palette, now: float) -> list[Strip]:
    head = f"{job.job_id} {format_duration(job.seconds(now))} "
    command = fit_text(printable(" ".join(job.command.split()), newlines=False), width - 2 - cell_len(head))
    last = fit_text(printable(job.last_line, newlines=False), width - 2)
    return [
        strip_of(("● ", palette.accent), (head, palette.muted), (command, Style())),
        strip_of(("  ", Style()), (last, palette.muted)),
    ]


def _hooks(present: Present, width: int, palette: Palette) -> _Section | None:
    if not present.hooks:
        return None
    heading = [_heading("Hooks", format_amount(present.hooks_run, "run"), width, palette)]
    rows = [Row(1, True, partial(_hook, run, width, palette)) for run in present.hooks]
    return _Section(heading, rows, "before", _LEAST_HOOKS)


def _hook(run: HookRun, width: int, palette: Palette) -> list[Strip]:
    sign, style = sign_of(run.kind, palette)
    name = fit_text(printable(run.hook, newlines=False), width // 2)
    text = fit_text(printable(f" {run.hook_answer}", newlines=False), width - 2 - cell_len(name))
    style = palette.muted if run.quiet else style
    return [strip_of((f"{sign} ", style), (name, Style() if not run.quiet else style), (text, style))]
