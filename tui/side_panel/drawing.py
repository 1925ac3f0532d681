"""The side panel as lines: sections of rows, one below the other, in the room there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.changed_files import ChangedFile
from quorum.application.view.jobs import JobView
from quorum.application.view.present import HookRun, Present, Step, StepStatus
from quorum.domain.text.amounts import format_amount, format_duration
from quorum.domain.text.printable import make_printable
from quorum.tui.side_panel.folding import Row, fold_rows, share_lines
from quorum.tui.side_panel.plan_text import describe_progress, find_mark
from quorum.tui.side_panel.timeline import count_waiting, draw_timeline
from quorum.tui.transcript.cells.lines import build_strip, fit_text, fit_text_end, wrap_words
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.draw.ballots import draw_awaited, draw_votes
from quorum.tui.transcript.draw.remarks import choose_sign

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
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    heading = [_draw_heading("Changed", f"+{added:,} −{removed:,}" if len(files) > 1 else "", width, palette)]
    rows = [Row(1, False, partial(_draw_file, file, width, palette)) for file in files]
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
