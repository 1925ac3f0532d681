"""What a decision about a call depends on of plans."""

from __future__ import annotations

from msgspec import Struct

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
