"""How plans bind calls, and what is said of a plan that is asked about: objections and other models' plans."""

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


class ComparedPlan(Struct, frozen=True, kw_only=True):
    """A plan as Markdown, of the model with this label. `score` is the mean of its scores, None where nobody
    gave one; `remarks` are what the others say of it, in sentences."""

    label: str
    model: str
    text: str
    score: float | None
    remarks: tuple[str, ...] = ()


class PlanComparison(Struct, frozen=True, kw_only=True):
    """`findings` are what the person reads first, in sentences: which plan stands and why, who is missing, the
    dangers that others see in it, who does not agree, and what it lacks. `plans` are all, the best first."""

    findings: tuple[str, ...]
    plans: tuple[ComparedPlan, ...]


CREATE_PLAN = "create_plan"


class PlanTerms(Struct, frozen=True, kw_only=True):
    """How plans bind calls.

    `is_planning`: a plan is being made, and nothing is changed. `is_bound`: an approved plan is in force, whose
    rules are among those of the decision. `asks`: a plan takes a person's approval; without it, one can be made
    and comes into force in no case. `task_id` is the task of the plan whose subagent makes the call, and is
    empty where it is no such call.
    """

    is_planning: bool = False
    is_bound: bool = False
    asks: bool = True
    task_id: str = ""


NO_PLAN = PlanTerms()
