"""Everything that happens, as one closed union of facts in the past tense.

A *durable* event is part of the record of a session; an *ephemeral* one only feeds what is on the screen
and may be merged with its neighbours for a slow observer.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Literal, TypeAlias

from domain.calls.effects import Effects, FileChange
from domain.calls.execution import Outcome, ToolExecutionContext, WaitingFor
from domain.calls.hook import HookPoint
from domain.calls.packet import ReviewPacket
from domain.calls.tool import RiskLevel
from domain.conversation.history import Message, ToolResults, UserMessage
from domain.conversation.response import LlmResponse, Usage
from domain.conversation.session_kind import SessionKind
from domain.errors import ProviderErrorKind
from domain.events.report import RunReport
from domain.review.mode import Mode
from domain.review.questions import DecisionLabel
from domain.review.quorum_result import QuorumConcluded as QuorumConcluded
from domain.review.quorum_result import VoteRecord as VoteRecord
from domain.text.json_value import JsonObject
from domain.text.styles import Styles

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
    form: SessionKind = SessionKind.AGENT


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResumed:
    """A session was taken up again from its record. `told` are sentences about what was mended or closed."""

    type: ClassVar = "session_resumed"
    durable: ClassVar = True
    session_id: str
    model: str
    mode: Mode
    cwd: str
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAdded:
    """This message is part of the conversation now; a request with it may follow. Answers are told by
    `ResponseCompleted`.

    `steers`: the person said it into the turn that was running. `command_id`: it tells of that command, which
    they had run themselves.
    """

    type: ClassVar = "message_added"
    durable: ClassVar = True
    message: UserMessage | ToolResults
    steers: bool = False
    command_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCommandStarted:
    """The person runs a command of their own; nobody reviews it. `told`: the model learns of it."""

    type: ClassVar = "own_command_started"
    durable: ClassVar = True
    command_id: str
    command: str
    told: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCommandProgressed:
    """A command of the person's printed something: these are its last lines now."""

    type: ClassVar = "own_command_progressed"
    durable: ClassVar = False
    command_id: str
    text: str
    styles: Styles = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCommandFinished:
    """A command of the person's ended; `unknown`: the process that ran it did.

    `exit_code` is negative for a signal. `output` is all that it printed, or both ends of it; the whole is
    then in the stored output `blob_id`, of `size_bytes`. `remarks` are sentences about its ending; `note` is
    what the model is to read of it, None where it is kept from it.
    """

    type: ClassVar = "own_command_finished"
    durable: ClassVar = True
    command_id: str
    outcome: Outcome
    exit_code: int | None
    output: str
    duration_secs: float
    remarks: tuple[str, ...] = ()
    blob_id: str | None = None
    size_bytes: int = 0
    note: str | None = None
    styles: Styles = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationCompacted:
    """The first `replaced` messages of the conversation gave way to these.

    `what` was shortened: the outputs of tools, or all of it to a summary. Tokens are those of the whole
    request, as far as they are known; `focus` is what the person asked to keep in view; `blobs` are the outputs
    that were kept aside for it.
    """

    type: ClassVar = "conversation_compacted"
    durable: ClassVar = True
    what: Literal["outputs", "summary"]
    replaced: int
    by: tuple[Message, ...]
    tokens_before: int
    tokens_after: int
    focus: str | None = None
    blobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesKept:
    """Before a risky call: the files that it may change are stored as they are.

    `manifest` names the stored list of them, which may build on one before it; `complete` tells whether every
    file was seen.
    """

    type: ClassVar = "files_kept"
    durable: ClassVar = True
    context: ToolExecutionContext
    manifest: str
    files: int
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesRestored:
    """Files were given back as they were before a turn. `changes` hold their states before and after that."""

    type: ClassVar = "files_restored"
    durable: ClassVar = True
    changes: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRewound:
    """The person took back the turn of this number, counted from 0 over the whole record, and all after it.

    `conversation`: what was said since is forgotten. Files are told by `FilesRestored`.
    """

    type: ClassVar = "session_rewound"
    durable: ClassVar = True
    turn: int
    conversation: bool
    files: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """The person's prompt was taken up. An empty one: the turn goes on from where the conversation stands."""

    type: ClassVar = "turn_started"
    durable: ClassVar = True
    prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptsQueued:
    """What the person has sent and no request carries yet, oldest first: all of it, in place of what this event
    said before.

    A prompt leaves the list with its `TurnStarted`, a word said into a running turn with its `MessageAdded`.
    The prompt of a turn that is taken back joins it, for it comes back to be edited.
    """

    type: ClassVar = "prompts_queued"
    durable: ClassVar = True
    prompts: tuple[str, ...]


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
    """A call began to wait, or what it waits for changed. `reviewers` are the models asked for their votes.

    Where it waits for the former contents of `files` to be kept, `files_kept` of them are.
    """

    type: ClassVar = "call_queued"
    durable: ClassVar = False
    context: ToolExecutionContext
    waiting_for: WaitingFor
    reviewers: tuple[str, ...] = ()
    files_kept: int = 0
    files: int = 0


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
    """A running call showed something: `text` is all there is to be seen of it now."""

    type: ClassVar = "call_progressed"
    durable: ClassVar = False
    context: ToolExecutionContext
    text: str
    styles: Styles = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished:
    """A call has its one result. `duration_secs` counts its running, not its waiting; `styles` are those of a
    program that printed the output."""

    type: ClassVar = "call_finished"
    durable: ClassVar = True
    context: ToolExecutionContext
    tool: str
    outcome: Outcome
    decision: DecisionLabel
    output: str
    duration_secs: float
    styles: Styles = ()


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
    | SessionResumed
    | TurnStarted
    | MessageAdded
    | UserCommandStarted
    | UserCommandProgressed
    | UserCommandFinished
    | ConversationCompacted
    | FilesKept
    | FilesRestored
    | SessionRewound
    | PromptsQueued
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
