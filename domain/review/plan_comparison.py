"""What several models planned, and said of each other's plans, beside the plan that is asked about."""

from __future__ import annotations

from msgspec import Struct


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
