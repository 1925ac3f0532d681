"""What a reviewer objects to in a plan."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.review.severity import Severity
from quorum.domain.struct_json import struct_to_json
from quorum.domain.text.json_value import JsonObject


class PlanObjection(Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a plan, and how bad it would be. `task` is the id of the task that it is
    about, None where it is about the whole plan."""

    claim: str
    severity: Severity
    task: str | None = None

    def describe(self) -> str:
        """The objection in one line: severity, task, claim."""
        about = f"task {self.task}" if self.task is not None else "the plan"
        return f"{self.severity.value}, {about}: {self.claim}"

    def to_json(self) -> JsonObject:
        """The objection in fields; `task` is null where it is about the whole plan."""
        return struct_to_json(self)
