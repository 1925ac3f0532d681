"""A plan as a Markdown document: for the person to read, and to edit with a strict way back.

    # Plan

    What is to be reached.

    ## Reasoning

    Why it is done like this.

    ## Tasks

    ### [x] parser

    Read the new syntax.

    - after: grammar
    - writes: src/parser/**
    - runs: pytest tests/parser *

A box that is not checked leaves its task out. A line of text that begins like a heading or an entry of a list
has a backslash before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from quorum.domain.plan.plan import (
    MOST_TASKS,
    BadPlan,
    Plan,
    PlanTask,
    find_cycle,
    find_id_problem,
    find_pattern_problem,
    normalize_text,
    read_plan,
)
from quorum.domain.text.pattern import compile_once

_TITLE, _REASONING, _TASKS = "# Plan", "## Reasoning", "## Tasks"
_TASK = r"### \[(?P<box>[ xX])\] (?P<id>\S+)"
_ENTRY = r"- (?P<key>after|writes|runs):(?P<value>.*)"
_MARKED = r"\\*(?:#|- )"


class BadPlanText(ValueError):
    """The text is no plan. `line` is the number of the line that does not fit, from 1."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line


def render_plan_text(plan: Plan) -> str:
    """The plan as Markdown, which `parse_plan_text` reads back as the same plan."""
    lines = [_TITLE, "", *_render_text(plan.objective)]
    if plan.reasoning:
        lines += ["", _REASONING, "", *_render_text(plan.reasoning)]
    lines += ["", _TASKS]
    for task in plan.tasks:
        lines += ["", f"### [x] {task.id}", "", *_render_text(task.description)]
        entries = [
            *([f"- after: {', '.join(task.depends_on)}"] if task.depends_on else []),
            *(f"- writes: {pattern}" for pattern in task.writes),
            *(f"- runs: {pattern}" for pattern in task.commands),
        ]
        lines += ["", *entries] if entries else []
    return "\n".join(lines) + "\n"


def parse_plan_text(text: str) -> Plan:
    """The plan that a document describes. Raises BadPlanText for the first line that does not fit."""
    parts = _split(text)
    if not parts.objective:
        raise BadPlanText(parts.objective_line, f"what the plan is to reach must stand below {_TITLE!r}")
    if not parts.has_tasks:
        raise BadPlanText(parts.last_line, f"the heading {_TASKS!r} is missing")
    kept = [task for task in parts.tasks if task.is_kept]
    if not kept:
        raise BadPlanText(parts.last_line, "no task is left: check at least one box, as in ### [x] ID")
    _check_tasks(parts.tasks, kept)
    tasks = tuple(task.to_task() for task in kept)
    if cycle := find_cycle(tasks):
        line = next(task.line for task in kept if task.id == cycle[0])
        raise BadPlanText(line, f"the tasks depend on each other in a circle: {' → '.join(cycle)}")
    plan = Plan(objective=parts.objective, reasoning=parts.reasoning, tasks=tasks)
    try:
        return read_plan(plan.to_json())
    except BadPlan as problem:
        raise BadPlanText(parts.objective_line, str(problem)) from problem


# ---------------------------------------------------------------- writing


def _render_text(text: str) -> list[str]:
    return [f"\\{line}" if compile_once(_MARKED).match(line) else line for line in text.split("\n")]


def _unescape(line: str) -> str:
    return line[1:] if line.startswith("\\") and compile_once(_MARKED).match(line) else line


# ---------------------------------------------------------------- reading


class _TaskLines(Struct):
    """A task as it is read, with the line of each part."""

    id: str
    line: int
    is_kept: bool
    text: list[str] = field(default_factory=list)
    after: list[tuple[int, str]] = field(default_factory=list)
    writes: list[tuple[int, str]] = field(default_factory=list)
    runs: list[tuple[int, str]] = field(default_factory=list)

    @property
    def description(self) -> str:
        return normalize_text("\n".join(self.text))

    def to_task(self) -> PlanTask:
        return PlanTask(
            id=self.id,
            description=self.description,
            depends_on=_list_values(self.after),
            writes=_list_values(self.writes),
            commands=_list_values(self.runs),
        )


class _Parts(Struct):
    objective: str
    objective_line: int
    reasoning: str
    tasks: list[_TaskLines]
    has_tasks: bool
    last_line: int


def _list_values(entries: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for _, value in entries))


def _split(text: str) -> _Parts:
    """The document in its parts. Raises BadPlanText for a line that has no place."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    objective: list[str] = []
    reasoning: list[str] = []
    tasks: list[_TaskLines] = []
    title_line, has_reasoning, has_tasks = 0, False, False
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip()
        if not title_line:
            if line == _TITLE:
                title_line = number
            elif line:
                raise BadPlanText(number, f"the document begins with {_TITLE!r}")
        elif line == _REASONING and not has_reasoning and not has_tasks:
            has_reasoning = True
        elif line == _TASKS and not has_tasks:
            has_tasks = True
        elif line.startswith("#"):
            tasks.append(_read_task(line, number, has_tasks=has_tasks))
        elif tasks:
            _read_task_line(tasks[-1], line, number)
        elif line and has_tasks:
            raise BadPlanText(number, "a task begins with its box and its id, as in ### [x] ID")
        elif line.startswith("- "):
            raise BadPlanText(number, "a list has its place in a task; put a backslash before - for text")
        else:
            (reasoning if has_reasoning else objective).append(_unescape(line))
    if not title_line:
        raise BadPlanText(1, f"the document begins with {_TITLE!r}")
    return _Parts(
        objective=normalize_text("\n".join(objective)),
        objective_line=title_line,
        reasoning=normalize_text("\n".join(reasoning)),
        tasks=tasks,
        has_tasks=has_tasks,
        last_line=len(lines),
    )


def _read_task(line: str, number: int, *, has_tasks: bool) -> _TaskLines:
    found = compile_once(_TASK).fullmatch(line)
    if found is None or not has_tasks:
        raise BadPlanText(
            number,
            f"{line!r} is no heading of a plan; put a backslash before # for text. The headings are "
            f"{_TITLE!r}, {_REASONING!r}, {_TASKS!r} and, below that, '### [x] ID'",
        )
    return _TaskLines(found["id"], number, is_kept=found["box"] != " ")


def _read_task_line(task: _TaskLines, line: str, number: int) -> None:
    if not line.startswith("- "):
        if line and (task.after or task.writes or task.runs):
            raise BadPlanText(number, "the text of a task stands above its list")
        task.text.append(_unescape(line))
        return
    found = compile_once(_ENTRY).fullmatch(line)
    value = found["value"].strip() if found is not None else ""
    if found is None or not value:
        raise BadPlanText(number, "an entry is '- after: ID, ID', '- writes: PATTERN' or '- runs: COMMAND'")
    match found["key"]:
        case "after":
            task.after += [(number, each.strip()) for each in value.split(",")]
        case "writes":
            task.writes.append((number, value))
        case _:
            task.runs.append((number, value))


def _check_tasks(tasks: Sequence[_TaskLines], kept: Sequence[_TaskLines]) -> None:
    if len(tasks) > MOST_TASKS:
        raise BadPlanText(tasks[MOST_TASKS].line, f"a plan has at most {MOST_TASKS} tasks")
    seen: dict[str, int] = {}
    for task in tasks:
        if task.id in seen:
            raise BadPlanText(task.line, f"the task of line {seen[task.id]} has the id {task.id}, too")
        seen[task.id] = task.line
    names = {task.id for task in kept}
    for number, message in sorted(problem for task in kept for problem in _find_problems(task, names, seen)):
        raise BadPlanText(number, message)


def _find_problems(task: _TaskLines, kept: set[str], known: dict[str, int]) -> Iterator[tuple[int, str]]:
    if (problem := find_id_problem(task.id)) is not None:
        yield task.line, f"the id {task.id!r} cannot be used: {problem}"
    if not task.description:
        yield task.line, f"the task {task.id} has no text"
    for number, other in task.after:
        if other not in known:
            yield number, f"the task {task.id} depends on {other!r}, and there is no such task"
        elif other not in kept:
            yield number, f"the task {task.id} depends on {other}, whose box is not checked"
    for entries, is_command in ((task.writes, False), (task.runs, True)):
        for number, pattern in entries:
            if (problem := find_pattern_problem(pattern, is_command=is_command)) is not None:
                yield number, f"{pattern!r} cannot be used: {problem}"
