"""How a run ended: its status, its exit code, and the record of its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Self

from msgspec import Struct, field

from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.job import JobStatus, JobStopper
from quorum.domain.conversation.cost import SpendCap
from quorum.domain.conversation.response import StopKind, Usage
from quorum.domain.fact import Fact
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.review.quorum_result import QuorumConcluded
from quorum.domain.struct_json import Amount, struct_to_json
from quorum.domain.text.json_value import JsonObject, JsonValue

# The stop reason of a run that used up its rounds of tool calls.
MAX_TOOL_TURNS = "max_tool_turns"
MAX_TIME = "max_time_secs"
MAX_GOAL_ATTEMPTS = "max_goal_attempts"
# That of one whose work waits in a layer, with nobody there to approve it.
EFFECTS_WAIT = "effects_wait"
# The same once somebody has decided about it.
EFFECTS_REVIEWED = "effects_reviewed"
_KNOWN_STOPS = frozenset({*StopKind, *SpendCap, MAX_TOOL_TURNS, MAX_TIME, MAX_GOAL_ATTEMPTS, EFFECTS_REVIEWED})
_LEFT_OUT_WHERE_EMPTY = frozenset({"error", "provider_failed", "fallback_models", "jobs"})


class RunStatus(StrEnum):
    """The endings of a run."""

    INTERRUPTED = "interrupted"
    FAILED = "failed"
    LIMIT = "limit"
    NEEDS_APPROVAL = "needs_approval"
    REFUSED = "refused"
    COMPLETED = "completed"


class CallRecord(Struct, frozen=True, kw_only=True):
    """What became of one declared call.

    `quorum_results` are the votes of models on its packets, oldest first: a call that was edited has several.
    """

    context: ToolExecutionContext
    tool: str
    outcome: Outcome
    decision: DecisionLabel
    quorum_results: tuple[QuorumConcluded, ...] = ()

    def to_json(self) -> JsonObject:
        """The record as a report shows it: the fields of its context stand beside the others."""
        shown = struct_to_json(self)
        del shown["context"]
        results = [result.to_json() for result in self.quorum_results]
        return {**struct_to_json(self.context), **shown, "quorum_results": results}


class JobRecord(Struct, frozen=True, kw_only=True):
    """What became of one background command. `exit_code` is negative for a signal, and None where it is not
    known; `stopper` says who or what stopped it."""

    job_id: str
    command: str
    status: JobStatus
    exit_code: int | None
    stopper: JobStopper | None = None


class RunReport(Struct, frozen=True, kw_only=True):
    """The one object every ending prints. `calls` stand in the order declared over the whole run.

    `cost_usd` is None where nothing has a known price, or anything that used tokens has none.
    `provider_failed` tells a failed provider from a failed task: both have status FAILED. `fallback_models` are
    those that stood in for the chosen one, in the order in which they were asked. `jobs` are the background
    commands of the process, known at the end of the session.
    """

    session_id: str
    status: RunStatus
    stop_reason: str | None
    text: str
    turns: int
    usage: Usage = field(default_factory=Usage)
    cost_usd: Amount | None = None
    calls: tuple[CallRecord, ...] = ()
    error: str | None = None
    provider_failed: bool = False
    fallback_models: tuple[str, ...] = ()
    jobs: tuple[JobRecord, ...] = ()

    def to_json(self) -> JsonObject:
        """The report as the one object that every ending prints.

        `error` is there only when there is one, `usage.cost_usd` only where it is known, `provider_failed` only
        where it is true, `fallback_models` and `jobs` only where there are any.
        """
        shown = struct_to_json(self)
        del shown["cost_usd"]
        shown["usage"] = usage_to_json(self.usage, self.cost_usd)
        shown["calls"] = [record.to_json() for record in self.calls]
        return {
            key: value
            for key, value in shown.items()
            if key not in _LEFT_OUT_WHERE_EMPTY or value not in (None, False, [])
        }

    @staticmethod
    def sort_into_fields(report: JsonObject) -> JsonObject:
        """What `to_json` made, by the fields of the class."""
        usage, calls = report.get("usage"), report.get("calls")
        cost = usage.get("cost_usd") if isinstance(usage, Mapping) else None
        if isinstance(calls, Sequence):
            calls = [{**each, "context": each} if isinstance(each, Mapping) else each for each in calls]
        return {**report, "cost_usd": cost, **({} if calls is None else {"calls": calls})}

    @property
    def tool_turns(self) -> int:
        """How many answers had their calls executed: what `max_tool_turns` bounds. Calls that an ending left
        without being run do not count."""
        return len({call.context.batch_id for call in self.calls if call.outcome is not Outcome.NOT_RUN})

    @property
    def exit_code(self) -> int:
        """The process's exit code for this ending."""
        match self.status:
            case RunStatus.INTERRUPTED:
                return 130
            case RunStatus.FAILED:
                return 4 if self.provider_failed else 1
            case RunStatus.LIMIT:
                return 5
            case RunStatus.NEEDS_APPROVAL:
                return 3
            case RunStatus.REFUSED:
                return 1
            case RunStatus.COMPLETED:
                return 0


class ReportedEnd(Fact, frozen=True, kw_only=True):
    """Something ended with a report."""

    report: RunReport

    def to_json(self) -> JsonObject:
        """The stable JSON form; the report is as every ending prints it."""
        return {**super().to_json(), "report": self.report.to_json()}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """The event that `to_json` made this of. Raises Unfit."""
        if isinstance(report := value.get("report"), Mapping):
            value = {**value, "report": RunReport.sort_into_fields(report)}
        return super().from_json(value)


def usage_to_json(usage: Usage, cost_usd: Decimal | None) -> JsonObject:
    """The tokens of requests, with `cost_usd` where that is known."""
    cost: dict[str, JsonValue] = {} if cost_usd is None else {"cost_usd": float(cost_usd)}
    return {**struct_to_json(usage), **cost}


def describe_unknown_stop(report: RunReport) -> str | None:
    """A sentence where the model stopped for a reason that nobody here knows; None where it is known."""
    if report.stop_reason is None or report.stop_reason in _KNOWN_STOPS:
        return None
    return f"the model stopped for a reason that quorum does not know: {report.stop_reason}"
