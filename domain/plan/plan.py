"""The plan that a model proposes and a person approves: tasks, their order, and what each declares to touch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TypeVar

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.struct_json import struct_to_json
from quorum.domain.text.json_value import JsonObject

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
