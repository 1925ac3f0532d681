"""A plan as a model writes it, checked: what is wrong is named with its place, all of it at once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from quorum.domain.plan.plan import Plan, PlanTask, find_cycle
from quorum.domain.review.path_pattern import never_matches
from quorum.domain.review.permissions import COMMAND_TOOL, READ_ONLY, Answer, BadRule, Rule
from quorum.domain.text.json_value import JsonObject, JsonValue

MOST_TASKS = 100
_MOST_PATTERNS = 50
_LONGEST_TEXT = 10_000
_LONGEST_PATTERN = 500
_MOST_PROBLEMS = 10
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_WRITE_TOOL = "write_file"
_ONLY_WILD = re.compile(r"[*?\s]*")


class BadPlan(ValueError):
    """It is no plan; the message says what is wrong with it, and where."""


def read_plan(arguments: JsonObject) -> Plan:
    """The plan that these arguments describe. Raises BadPlan."""
    problems: list[str] = []
    objective = _read_text(arguments.get("objective"), "objective", problems)
    reasoning = _read_text(arguments.get("reasoning"), "reasoning", problems, required=False)
    tasks = tuple(_read_tasks(arguments.get("tasks"), problems))
    _raise(problems)
    return check_plan(Plan(objective=objective, reasoning=reasoning, tasks=tasks))


def check_plan(plan: Plan) -> Plan:
    """The same plan. Raises BadPlan where its tasks are none, or do not fit together."""
    _raise(list(_find_problems(plan)))
    return plan


def normalize_text(text: str) -> str:
    """The text with one kind of line end, and without blanks at the ends of its lines and of the whole."""
    lines = re.split(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text)
    return "\n".join(line.rstrip() for line in lines).strip()


def find_id_problem(task_id: str) -> str | None:
    """Why this cannot be the id of a task; None where it can."""
    if _ID.fullmatch(task_id):
        return None
    return "an id is 1 to 40 letters, digits, - and _, and begins with a letter or a digit"


def find_pattern_problem(pattern: str, *, is_command: bool) -> str | None:
    """Why a pattern cannot be part of a plan; None where it can."""
    if not pattern.isprintable():
        return "it has characters that cannot be seen"
    if len(pattern) > _LONGEST_PATTERN:
        return f"it has more than {_LONGEST_PATTERN} characters"
    if is_command:
        if _ONLY_WILD.fullmatch(pattern):
            return "it covers every command; name the program"
        if pattern == READ_ONLY:
            return "what only reads needs no place in a plan; name the program"
    elif pattern.startswith(("/", "~")) or never_matches(pattern) or ":" in pattern.split("/")[0]:
        return "it lies outside of the workspace; write it from the workspace, without ~, . and .."
    try:
        Rule.parse(render_rule(pattern, is_command=is_command), Answer.ALLOW, "a plan")
    except BadRule as problem:
        return str(problem)
    return None


def render_rule(pattern: str, *, is_command: bool) -> str:
    """The permission rule, as text, that a pattern of a plan stands for."""
    return f"{COMMAND_TOOL if is_command else _WRITE_TOOL}({pattern})"


# ---------------------------------------------------------------- fields


def _read_tasks(given: JsonValue, problems: list[str]) -> Iterator[PlanTask]:
    if not isinstance(given, Sequence) or isinstance(given, str):
        problems.append("tasks must be a list")
        return
    if len(given) > MOST_TASKS:
        problems.append(f"tasks has {len(given):,} entries; the most are {MOST_TASKS}")
        return
    for place, item in enumerate(given):
        name = f"tasks[{place}]"
        if not isinstance(item, Mapping):
            problems.append(f"{name} must be an object")
            continue
        task_id = item.get("id")
        if not isinstance(task_id, str):
            problems.append(f"{name}.id must be a text")
            continue
        if (problem := find_id_problem(task_id.strip())) is not None:
            problems.append(f"{name}.id: {problem}")
            continue
        yield PlanTask(
            id=task_id.strip(),
            description=_read_text(item.get("description"), f"{name}.description", problems),
            depends_on=_read_list(item.get("depends_on"), f"{name}.depends_on", problems),
            writes=_read_list(item.get("writes"), f"{name}.writes", problems),
            commands=_read_list(item.get("commands"), f"{name}.commands", problems),
        )


def _read_text(given: JsonValue, name: str, problems: list[str], *, required: bool = True) -> str:
    if given is None and not required:
        return ""
    if not isinstance(given, str):
        problems.append(f"{name} must be a text")
        return ""
    text = normalize_text(given)
    if required and not text:
        problems.append(f"{name} is empty")
    if len(text) > _LONGEST_TEXT:
        problems.append(f"{name} has more than {_LONGEST_TEXT:,} characters")
    return text


def _read_list(given: JsonValue, name: str, problems: list[str]) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, Sequence) or isinstance(given, str):
        problems.append(f"{name} must be a list of texts")
        return ()
    if len(given) > _MOST_PATTERNS:
        problems.append(f"{name} has more than {_MOST_PATTERNS} entries")
        return ()
    texts = [item.strip() if isinstance(item, str) else "" for item in given]
    problems += [f"{name}[{place}] must be a text that is not empty" for place, t in enumerate(texts) if not t]
    return tuple(dict.fromkeys(filter(None, texts)))


# ---------------------------------------------------------------- how they fit together


def _find_problems(plan: Plan) -> Iterator[str]:
    if not plan.tasks:
        yield "the plan has no task"
    counted = Counter(task.id for task in plan.tasks)
    yield from (f"{count} tasks have the id {id_}" for id_, count in counted.items() if count > 1)
    for task in plan.tasks:
        for other in task.depends_on:
            if other not in counted:
                yield f"the task {task.id} depends on {other!r}, and there is no such task"
        for patterns, is_command in ((task.writes, False), (task.commands, True)):
            kind = "commands" if is_command else "writes"
            for pattern in patterns:
                if (problem := find_pattern_problem(pattern, is_command=is_command)) is not None:
                    yield f"{kind} of the task {task.id}: {pattern!r} cannot be used: {problem}"
    if cycle := find_cycle(plan.tasks):
        yield f"the tasks depend on each other in a circle: {' → '.join(cycle)}"


def _raise(problems: Sequence[str]) -> None:
    if not problems:
        return
    more = len(problems) - _MOST_PROBLEMS
    shown = [*problems[:_MOST_PROBLEMS], *([f"and {more} more problems"] if more > 0 else [])]
    raise BadPlan("; ".join(shown))
