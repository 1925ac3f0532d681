"""Which tasks of a proposed plan a person keeps, and which they drop."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.plan.plan import Plan


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
