"""How a run ended: its status, its exit code, and the record of its calls."""

from __future__ import annotations

from dataclasses import field
from decimal import Decimal
from enum import StrEnum

from domain.calls.execution import Outcome, ToolExecutionContext
from domain.calls.job import JobStatus, JobStopper
from domain.conversation.response import Usage
from domain.lazy_dataclass import dataclass
from domain.review.questions import DecisionLabel
from domain.review.quorum_result import QuorumConcluded

# The stop reason of a run that used up its rounds of tool calls.
MAX_TOOL_TURNS = "max_tool_turns"


class RunStatus(StrEnum):
    """The endings of a run."""

    INTERRUPTED = "interrupted"
    FAILED = "failed"
    LIMIT = "limit"
    NEEDS_APPROVAL = "needs_approval"
    REFUSED = "refused"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """What became of one declared call.

    `quorum_results` are the votes of models on its packets, oldest first: a call that was edited has several.
    """

    context: ToolExecutionContext
    tool: str
    outcome: Outcome
    decision: DecisionLabel
    quorum_results: tuple[QuorumConcluded, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """What became of one background command. `exit_code` is negative for a signal, and None where it is not
    known; `stopper` says who or what stopped it."""

    job_id: str
    command: str
    status: JobStatus
    exit_code: int | None
    stopper: JobStopper | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
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
    cost_usd: Decimal | None = None
    calls: tuple[CallRecord, ...] = ()
    error: str | None = None
    provider_failed: bool = False
    fallback_models: tuple[str, ...] = ()
    jobs: tuple[JobRecord, ...] = ()

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
