"""The plan that a model proposes and a person approves: tasks, their order, and what each declares to touch.

What is wrong with a plan is named with its place, all of it at once.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import TypeVar

from msgspec import Struct

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.code_review.change import ChangeBase
from quorum.domain.code_review.review_result import ReviewResult
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Ballot, Verdict, Vote
from quorum.domain.review.permission_rules import COMMAND_TOOL, READ_ONLY, Answer, BadRule, Rule, never_matches
from quorum.domain.review.plan_terms import PlanTerms
from quorum.domain.review.quorum_result import QuorumConcluded
from quorum.domain.struct_json import struct_to_json
from quorum.domain.text.json_value import JsonObject, JsonValue

_Part = TypeVar("_Part")


@lru_cache(maxsize=4096)
def may_overlap(first: str, second: str) -> bool:
    """Whether a path may fit both patterns, as `matches_path` reads them. Without regard to case: some file
    systems have none."""
    return _overlap(_split(first), _split(second), "**", _names_overlap)


def _split(pattern: str) -> list[str]:
    return pattern.casefold().removeprefix("./").strip("/").split("/")


def _names_overlap(first: str, second: str) -> bool:
    return _overlap(first, second, "*", lambda one, other: one == other or "?" in (one, other))


def _overlap(
    first: Sequence[_Part], second: Sequence[_Part], star: _Part, fits: Callable[[_Part, _Part], bool]
) -> bool:
    """Whether one sequence fits both, where `star` stands for any number of parts. The time is that of the
    product of the lengths."""
    row = [True]  # whether what is left of `second` can be nothing, from its end on
    for part in reversed(second):
        row.append(row[-1] and part == star)
    for one in reversed(first):
        below = row
        row = [below[0] and one == star]
        for place, other in enumerate(reversed(second), start=1):
            if star in (one, other):  # it ends here, or takes one more part of the other side
                row.append(below[place] or row[-1])
            else:
                row.append(below[place - 1] and fits(one, other))
    return row[-1]


class PlanTask(Struct, frozen=True, kw_only=True):
    """One task. `depends_on` are the ids of tasks that come before it.

    `writes` are path patterns of files in the workspace, `commands` patterns of shell commands, both as
    permission rules write them: what the task does beyond them is asked about.
    """

    id: str
    description: str
    depends_on: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


class Plan(Struct, frozen=True, kw_only=True, dict=True):
    """A plan as `read_plan` and `parse_plan_text` give it: checked, so that its tasks have an order."""

    objective: str
    reasoning: str
    tasks: tuple[PlanTask, ...]

    def to_json(self) -> JsonObject:
        """The plan as a model writes it."""
        return struct_to_json(self)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the plan as canonical JSON, in hexadecimal: what an approval is bound to."""
        text = json.dumps(self.to_json(), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def ordered(self) -> tuple[PlanTask, ...]:
        """The tasks in an order in which each follows those it depends on, as near as can be to their own."""
        return sort_tasks(self.tasks)

    def find(self, task_id: str) -> PlanTask | None:
        return next((task for task in self.tasks if task.id == task_id), None)

    def list_prerequisites(self, task_id: str) -> frozenset[str]:
        """The ids of all tasks that come before one, also of those behind others."""
        direct = {task.id: task.depends_on for task in self.tasks}
        return frozenset(_reach(task_id, direct))

    def list_dependants(self, task_ids: Collection[str]) -> frozenset[str]:
        """The ids of all tasks that cannot be carried out without one of these."""
        return frozenset(task.id for task in self.tasks if self.list_prerequisites(task.id) & {*task_ids})

    def drop_tasks(self, task_ids: Collection[str]) -> Plan:
        """The plan without these tasks, and without those that depend on them. It may have no task left."""
        gone = self.list_dependants(task_ids) | {*task_ids}
        return replace(self, tasks=tuple(task for task in self.tasks if task.id not in gone))

    def may_run_side_by_side(self, first: str, second: str) -> bool:
        """Whether two tasks may run at the same time: neither comes before the other, and no file that one
        declares to write may be one that the other does. Commands are taken at what their task declares."""
        one, other = self.find(first), self.find(second)
        if one is None or other is None or first == second:
            return False
        if first in self.list_prerequisites(second) or second in self.list_prerequisites(first):
            return False
        return not any(may_overlap(a, b) for a in one.writes for b in other.writes)


def sort_tasks(tasks: Sequence[PlanTask]) -> tuple[PlanTask, ...]:
    """The tasks in dependency order; those of a cycle are left out."""
    placed: dict[str, PlanTask] = {}
    waiting = list(tasks)
    while ready := next((each for each in waiting if all(id_ in placed for id_ in each.depends_on)), None):
        placed[ready.id] = ready
        waiting.remove(ready)
    return tuple(placed.values())


def find_cycle(tasks: Sequence[PlanTask]) -> tuple[str, ...]:
    """The ids along a circle of dependencies, the first one again at the end; none where there is no circle."""
    direct = {task.id: task.depends_on for task in tasks}
    done: set[str] = set()
    for start in direct:
        path: list[str] = [start]
        trail: list[Iterator[str]] = [iter(direct[start])]
        while trail:
            following = next(trail[-1], None)
            if following is None:
                done.add(path.pop())
                trail.pop()
            elif following in path:
                return (*path[path.index(following) :], following)
            elif following in direct and following not in done:
                path.append(following)
                trail.append(iter(direct[following]))
    return ()


def _reach(start: str, direct: dict[str, tuple[str, ...]]) -> set[str]:
    reached: set[str] = set()
    open_ = [*direct.get(start, ())]
    while open_:
        task_id = open_.pop()
        if task_id not in reached:
            reached.add(task_id)
            open_ += direct.get(task_id, ())
    return reached


class TaskChoice(Struct, frozen=True):
    """The tasks of a plan, and those that were dropped one by one: what depends on them is dropped too."""

    plan: Plan
    chosen: frozenset[str] = frozenset()

    @property
    def dropped(self) -> frozenset[str]:
        """The ids of all tasks that are left out."""
        return self.chosen | self.plan.list_dependants(self.chosen)

    def toggle(self, task_id: str) -> TaskChoice:
        """The choice with a task dropped, or kept again together with the tasks that it depends on."""
        if task_id not in self.dropped:
            return TaskChoice(self.plan, self.chosen | {task_id})
        needed = self.plan.list_prerequisites(task_id) | {task_id}
        return TaskChoice(self.plan, self.chosen - needed)

    def list_behind(self, task_id: str) -> tuple[str, ...]:
        """The ids of the tasks that depend on one, in the order of the plan."""
        behind = self.plan.list_dependants({task_id})
        return tuple(task.id for task in self.plan.tasks if task.id in behind)

    @property
    def kept(self) -> Plan:
        """The plan without the dropped tasks. It may have none left."""
        return self.plan.drop_tasks(self.chosen)


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


class FinalReview(Struct, frozen=True, kw_only=True):
    """A review that is due: all tasks of the plan are done.

    `base` is the repository as it was when the plan was approved. There is a `result` from the end of the
    review to the end of its turn.
    """

    plan: Plan
    base: ChangeBase
    result: ReviewResult | None = None


UPDATE_TASK = "update_task"
RUN_TASK = "run_task"
FAIL_TASK = "fail_task"


class PhaseScope(StrEnum):
    """How far a session goes.

    FULL works at once; FAST does too, and a plan made in between is put to no model; PLAN_ONLY only looks, and
    makes a plan, until one is approved.
    """

    FULL = "full"
    FAST = "fast"
    PLAN_ONLY = "plan-only"


class ApprovedPlan(Struct, frozen=True, kw_only=True):
    """A plan that a person approved, and the rules it stands for. `digest` is that of the plan; `base` is the
    repository before it, where what it leads to is reviewed."""

    plan: Plan
    digest: str
    rules: tuple[Rule, ...]
    base: ChangeBase | None = None

    @classmethod
    def make(cls, plan: Plan, base: ChangeBase | None = None) -> ApprovedPlan:
        """The plan with its rules, each pattern once."""
        rules: dict[str, Rule] = {}
        for task in plan.ordered:
            for rule in _build_rules(task):
                rules.setdefault(rule.id, rule)
        return cls(plan=plan, digest=plan.digest, rules=tuple(rules.values()), base=base)

    def list_rules(self, task_id: str) -> tuple[Rule, ...]:
        """The rules that one of its tasks stands for; none for a task that it does not have."""
        task = self.plan.find(task_id)
        return _build_rules(task) if task is not None else ()


class SessionPhase(Struct, frozen=True, kw_only=True):
    """Where a session stands. `later` is the scope in force once a plan is approved or planning is left;
    `review` is the one that is due of a plan that was carried out."""

    scope: PhaseScope = PhaseScope.FULL
    later: PhaseScope = PhaseScope.FULL
    approved: ApprovedPlan | None = None
    review: FinalReview | None = None

    @property
    def is_fast(self) -> bool:
        """Whether no model is asked about a plan: so it is from the scope that is in force, or is later."""
        return PhaseScope.FAST in (self.scope, self.later)

    @property
    def is_planning(self) -> bool:
        """Whether a plan is being made: nothing is changed until it is approved."""
        return self.scope is PhaseScope.PLAN_ONLY

    def make_terms(self, *, is_person_there: bool, task_id: str = "") -> PlanTerms:
        """What decisions depend on, for a call of the task `task_id` if there is one.

        Where nobody can approve a plan, one may be made all the same.
        """
        return PlanTerms(
            is_planning=self.is_planning,
            is_bound=self.approved is not None,
            asks=is_person_there or not self.is_planning,
            task_id=task_id,
        )

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of the approved plan; none where there is none."""
        return self.approved.rules if self.approved is not None else ()

    def narrow_rules(self, rules: tuple[Rule, ...], task_id: str) -> tuple[Rule, ...]:
        """These rules for a call of one task: of those of the approved plan only the task's own."""
        if self.approved is None:
            return rules
        of_plan = frozenset(self.approved.rules)
        return (*(rule for rule in rules if rule not in of_plan), *self.approved.list_rules(task_id))

    def enter(self, scope: PhaseScope) -> SessionPhase:
        if scope is not PhaseScope.PLAN_ONLY:
            return replace(self, scope=scope, later=scope)
        return replace(self, scope=scope)

    def approve(self, plan: Plan, base: ChangeBase | None = None) -> SessionPhase:
        """The phase with an approved plan in force, in place of any other and of a review that is due."""
        return replace(self, scope=self.later, approved=ApprovedPlan.make(plan, base), review=None)

    def withdraw(self, *, is_done: bool = False) -> SessionPhase:
        """The phase without an approved plan. Where it `is_done` and has a base, its review is due."""
        review = None
        if is_done and self.approved is not None and self.approved.base is not None:
            review = FinalReview(plan=self.approved.plan, base=self.approved.base)
        return replace(self, approved=None, review=review)

    def conclude_review(self, result: ReviewResult) -> SessionPhase:
        """The phase with the result of the review that is due, if one is."""
        return self if self.review is None else replace(self, review=replace(self.review, result=result))

    def close_review(self) -> SessionPhase:
        """The phase after the turn of a review, which is over if it has a result."""
        return self.drop_review() if self.review is not None and self.review.result is not None else self

    def drop_review(self) -> SessionPhase:
        """The phase without a review that is due."""
        return replace(self, review=None)


def _build_rules(task: PlanTask) -> tuple[Rule, ...]:
    source = f"task {task.id} of the approved plan"
    return tuple(
        Rule.parse(render_rule(pattern, is_command=is_command), Answer.ALLOW, source)
        for patterns, is_command in ((task.writes, False), (task.commands, True))
        for pattern in patterns
    )


class PlanRound(Struct, frozen=True, kw_only=True):
    """The judgement of one plan.

    `number` counts the rounds from 1. `digest` is that of the packet that was voted on, and `plan_digest` that
    of the plan as it was proposed: what is recorded of it may hide secrets. `ballots` are those that have
    arrived, `concluded` is the count of all; None while some are missing.
    """

    number: int
    context: ToolExecutionContext
    plan: Plan
    plan_digest: str
    digest: str
    ballots: tuple[Ballot, ...] = ()
    concluded: QuorumConcluded | None = None

    @property
    def was_objected_to(self) -> bool:
        """Whether the reviewers voted, did not approve the plan, and one of them at least was against it."""
        return self.concluded is not None and is_objected_to(
            self.concluded.verdict, [vote.counts_as for vote in self.concluded.votes]
        )


def is_objected_to(verdict: str, counted: list[str | None]) -> bool:
    """Whether a plan with this verdict and these counted votes goes back to the model that made it."""
    return verdict != Verdict.APPROVED and Vote.REJECT in counted
