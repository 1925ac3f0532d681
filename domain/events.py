"""Everything that happens, as one closed union of facts in the past tense.

A *durable* event is part of the record of a session; an *ephemeral* one only feeds what is on the screen
and may be merged with its neighbours for a slow observer.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, TypeAlias

from domain.effects import Effects
from domain.errors import ProviderErrorKind
from domain.execution import Outcome, ToolExecutionContext, WaitingFor
from domain.hook import HookPoint
from domain.json_value import JsonObject
from domain.mode import Mode
from domain.packet import ReviewPacket
from domain.report import RunReport
from domain.response import LlmResponse, Usage
from domain.review import DecisionLabel
from domain.tool import RiskLevel

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStarted:
    """A session opened."""

    type: ClassVar = "session_started"
    durable: ClassVar = True
    session_id: str
    model: str
    mode: Mode
    cwd: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """The person's prompt was taken up. An empty one: the turn goes on from where the conversation stands."""

    type: ClassVar = "turn_started"
    durable: ClassVar = True
    prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxChecked:
    """It became known whether commands run in a sandbox. `told` is one sentence for the person."""

    type: ClassVar = "sandbox_checked"
    durable: ClassVar = True
    on: bool
    told: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeChanged:
    """The person chose another review mode."""

    type: ClassVar = "mode_changed"
    durable: ClassVar = True
    mode: Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChanged:
    """The person chose another model, "provider/model"; it answers from the next request on."""

    type: ClassVar = "model_changed"
    durable: ClassVar = True
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """A piece of answer text arrived."""

    type: ClassVar = "text_delta"
    durable: ClassVar = False
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningDelta:
    """A piece of readable reasoning arrived."""

    type: ClassVar = "reasoning_delta"
    durable: ClassVar = False
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallDelta:
    """A piece of a call arrived."""

    type: ClassVar = "tool_call_delta"
    durable: ClassVar = False
    index: int
    id: str | None
    name: str | None
    arguments_delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled:
    """A request failed before its first byte and will be sent again: for the `attempt`-th time of `attempts`.

    `reason` is a sentence; `kind` says the same in a word, where it is known.
    """

    type: ClassVar = "retry_scheduled"
    durable: ClassVar = False
    attempt: int
    delay_secs: float
    reason: str
    attempts: int | None = None
    kind: ProviderErrorKind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseCompleted:
    """An answer arrived whole, or as much of it as will ever come."""

    type: ClassVar = "response_completed"
    durable: ClassVar = True
    turn_index: int
    response: LlmResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLane:
    """One call of a planned batch, and the indices of the calls it follows."""

    context: ToolExecutionContext
    tool: str
    arguments: JsonObject
    risk: RiskLevel
    follows: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlanned:
    """The order of a batch was decided; one lane per call, in the model's order."""

    type: ClassVar = "batch_planned"
    durable: ClassVar = True
    batch_id: str
    lanes: tuple[PlannedLane, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallQueued:
    """A call began to wait, or what it waits for changed. `reviewers` are the models asked for their votes."""

    type: ClassVar = "call_queued"
    durable: ClassVar = False
    context: ToolExecutionContext
    waiting_for: WaitingFor
    reviewers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """A call began to run with these arguments. `diff` is what an edit is about to do."""

    type: ClassVar = "call_started"
    durable: ClassVar = True
    context: ToolExecutionContext
    tool: str
    arguments: JsonObject
    diff: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallProgressed:
    """A running call showed something."""

    type: ClassVar = "call_progressed"
    durable: ClassVar = False
    context: ToolExecutionContext
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished:
    """A call has its one result. `duration_secs` counts its running, not its waiting."""

    type: ClassVar = "call_finished"
    durable: ClassVar = True
    context: ToolExecutionContext
    tool: str
    outcome: Outcome
    decision: DecisionLabel
    output: str
    duration_secs: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectsObserved:
    """Files changed while a risky call ran."""

    type: ClassVar = "effects_observed"
    durable: ClassVar = True
    context: ToolExecutionContext
    effects: Effects


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputStored:
    """An output was kept aside; the model sees the summary."""

    type: ClassVar = "output_stored"
    durable: ClassVar = True
    context: ToolExecutionContext
    blob_id: str
    size_bytes: int
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRan:
    """A hook answered at one of its points; `context` is absent at the points that are no call's.

    `answer` is continue, skip, abort, finish, continue_with_messages or error. `edited` holds what the hook
    changed: the arguments, or the output, as they are now.
    """

    type: ClassVar = "hook_ran"
    durable: ClassVar = True
    point: HookPoint
    hook: str
    answer: str
    reason: str | None
    context: ToolExecutionContext | None
    edited: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRequested:
    """A call was put to review."""

    type: ClassVar = "review_requested"
    durable: ClassVar = True
    context: ToolExecutionContext
    packet: ReviewPacket
    digest: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteCast:
    """A reviewer answered about the packet of this digest. `objection` quotes what it objects to."""

    type: ClassVar = "vote_cast"
    durable: ClassVar = True
    context: ToolExecutionContext
    digest: str
    reviewer: str
    verdict: str
    confidence: float | None
    reason: str
    objection: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRecord:
    """One vote as the record of a quorum has it. `verdict` is approve, reject, abstain or model_error."""

    model: str
    verdict: str
    reasoning: str
    confidence: float | None
    objection: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumConcluded:
    """The models have voted on the packet of this digest: the record `quorum_result`, version 1.

    `timestamp` is RFC 3339, UTC, to the millisecond. `verdict` is approved, rejected or unclear; `feedback`
    gathers the reasons of those who were against, where it was not approved.
    """

    type: ClassVar = "quorum_result"
    durable: ClassVar = True
    timestamp: str
    topic: str
    target: JsonObject
    approved: bool
    verdict: str
    rule: str
    votes: tuple[VoteRecord, ...]
    feedback: str | None
    context: ToolExecutionContext
    digest: str
    api_version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDecided:
    """A review ended."""

    type: ClassVar = "review_decided"
    durable: ClassVar = True
    context: ToolExecutionContext
    digest: str
    decision: DecisionLabel
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMerged:
    """Modifiers were folded into the run's state; `changed` holds the values that differ now."""

    type: ClassVar = "state_merged"
    durable: ClassVar = True
    batch_id: str
    changed: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageCounted:
    """Tokens of one request became known. `cost_usd` is None where the price of the model is not known."""

    type: ClassVar = "usage_counted"
    durable: ClassVar = True
    model: str
    usage: Usage
    cost_usd: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorOccurred:
    """Something failed that the person should read about."""

    type: ClassVar = "error_occurred"
    durable: ClassVar = True
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished:
    """The answer to a prompt ended."""

    type: ClassVar = "turn_finished"
    durable: ClassVar = True
    report: RunReport


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFinished:
    """A session closed."""

    type: ClassVar = "session_finished"
    durable: ClassVar = True
    report: RunReport


Event: TypeAlias = (
    SessionStarted
    | TurnStarted
    | SandboxChecked
    | ModeChanged
    | ModelChanged
    | TextDelta
    | ReasoningDelta
    | ToolCallDelta
    | RetryScheduled
    | ResponseCompleted
    | BatchPlanned
    | CallQueued
    | CallStarted
    | CallProgressed
    | CallFinished
    | EffectsObserved
    | OutputStored
    | HookRan
    | ReviewRequested
    | VoteCast
    | QuorumConcluded
    | ReviewDecided
    | StateMerged
    | UsageCounted
    | ErrorOccurred
    | TurnFinished
    | SessionFinished
)
