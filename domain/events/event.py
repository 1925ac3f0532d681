"""Everything that happens, as one closed union of facts in the past tense.

Events about reviews, plans, memory, MCP servers, jobs and diagnostics are defined here, others in modules
beside it. A *durable* event is part of the record of a session; an *ephemeral* one only feeds what is on the
screen and may be merged with its neighbours for a slow observer.

What is missing takes its default, so that what an older version wrote can be read; keys that are not known are
passed over. Everything else that does not fit is an error: a record is never guessed at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self, TypeAlias, get_args

from msgspec import UNSET, UnsetType, field

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.job import JobStatus, JobStopper
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.code_review.change import ChangeBase
from quorum.domain.errors import UnreadableEvent
from quorum.domain.events.agents import (
    AgentConnected,
    AgentModeChanged,
    AgentPlanUpdated,
    UnaskedCallReported,
    UnaskedChangesFound,
)
from quorum.domain.events.calls import (
    BatchPlanned,
    CallFinished,
    CallProgressed,
    CallQueued,
    CallStarted,
    EffectsObserved,
    FilesKept,
    HookRan,
    OutputStored,
    StateMerged,
    UserCommandFinished,
    UserCommandProgressed,
    UserCommandStarted,
)
from quorum.domain.events.goals import (
    ChecksApproved,
    GoalChecked,
    GoalDropped,
    GoalReceiptOutdated,
    GoalSet,
    OutdatedTestsClaimed,
)
from quorum.domain.events.panels import (
    AnswerDefended,
    AnswerProgressed,
    AnswerRevised,
    ChangeReviewed,
    FindingsTried,
    ObjectionsRaised,
    ObjectionsRuled,
    PanelAnswered,
    PanelConcluded,
    PanelResumed,
    PanelReviewed,
    PanelStarted,
    PartReviewed,
    ReviewerLooked,
)
from quorum.domain.events.session import (
    ConsensusChanged,
    ErrorOccurred,
    FilesRestored,
    FolderAdded,
    InstructionsLoaded,
    ModeChanged,
    ModelChanged,
    ModelFellBack,
    NoticeGiven,
    SandboxChecked,
    SchemasMadePlain,
    SessionFinished,
    SessionRedone,
    SessionRenamed,
    SessionResumed,
    SessionRewound,
    SessionStarted,
    SystemPromptSet,
    ToolsListed,
)
from quorum.domain.events.staging import (
    EffectsApproved,
    EffectsReviewed,
    EffectsVoted,
    LayerEntered,
    LayerWaits,
)
from quorum.domain.events.subagents import (
    ContextReceived,
    ResultReceived,
    SubagentFinished,
    SubagentProgressed,
    SubagentStarted,
)
from quorum.domain.events.turn import (
    AnswerBrokeOff,
    AttachmentLeftOut,
    CallLeaked,
    ConversationCompacted,
    EmptyAnswerReceived,
    MessageAdded,
    PromptProgressed,
    PromptsQueued,
    ReasoningDelta,
    RequestRepeated,
    ResponseCompleted,
    RetryScheduled,
    SpendCapRaised,
    TextDelta,
    ToolCallDelta,
    TurnFinished,
    TurnStarted,
    UsageCounted,
)
from quorum.domain.fact import SCHEMA_VERSION, CallStage, CanonicalPlace, Fact, PersonInput
from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.mcp.server_question import ServerAction
from quorum.domain.plan.plan import PhaseScope, Plan
from quorum.domain.plan.plan_text import render_plan_text
from quorum.domain.review.ballot import InScope
from quorum.domain.review.plan_terms import PlanObjection
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.review.quorum_result import QuorumConcluded
from quorum.domain.review.signing import ApprovalSignature, SigningTerms
from quorum.domain.shell.network_hosts import AskedHost
from quorum.domain.struct_json import Unfit, check_version
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.output import Styles


class ReviewRequested(Fact, frozen=True, kw_only=True, tag="review_requested"):
    """A call was put to review.

    `routine_reasons` are those of the reasons that say no more than that the mode asks about such calls;
    earlier records have none. `edited`: the person had changed its arguments before. `signing` is set where
    people have to sign.
    """

    place: ClassVar = CallStage.REVIEW
    context: ToolExecutionContext
    packet: ReviewPacket
    digest: str
    reasons: tuple[str, ...]
    routine_reasons: tuple[str, ...] = ()
    edited: bool = False
    signing: SigningTerms | UnsetType = UNSET

    def to_json(self) -> JsonObject:
        """The stable JSON form; the packet is in its canonical one."""
        return {**super().to_json(), "packet": self.packet.to_json()}

    @classmethod
    def from_json(cls, value: JsonObject) -> Self:
        """The event that `to_json` made this of. Raises Unfit."""
        if isinstance(packet := value.get("packet"), Mapping):
            check_version(packet, "version", newest=1, place=("packet",))
            value = {**value, "packet": ReviewPacket.sort_into_fields(packet)}
        return super().from_json(value)


class VoteCast(Fact, frozen=True, kw_only=True, tag="vote_cast"):
    """A reviewer answered about the packet of this digest. `objection` quotes what it objects to.

    `in_scope` is None where the reviewer failed, and in records from before it was asked. `lens` names the lens
    of the reviewer, None where it has none. `objections` are what it finds wrong with a plan. `measured` is
    what the person read in place of the confidence, how much harm the reviewer misses; empty where nothing was
    measured, and in records from before it was kept. `program` names the agent program that was asked, with its
    version; not set where an API was.
    """

    place: ClassVar = CallStage.VOTE
    context: ToolExecutionContext
    digest: str
    reviewer: str
    verdict: str
    confidence: float | None
    reason: str
    objection: str | None = None
    in_scope: InScope | None = None
    lens: str | None = None
    objections: tuple[PlanObjection, ...] = ()
    measured: str = ""
    program: str | UnsetType = UNSET


class ReviewDecided(PersonInput, frozen=True, kw_only=True, tag="review_decided"):
    """A review ended. `reply` is what the model reads where the call is a question to the person; `signatures`
    are those that let it run where people had to sign."""

    place: ClassVar = CallStage.DECISION
    context: ToolExecutionContext
    digest: str
    decision: DecisionLabel
    reason: str | None
    reply: str | UnsetType = UNSET
    signatures: tuple[ApprovalSignature, ...] | UnsetType = UNSET

    @property
    def is_said(self) -> bool:
        """Words of an answer, or a call of the person's own. Who objects to a call asks for none."""
        return self.reply is not UNSET or self.decision is DecisionLabel.EDITED


_SCOPES = {
    PhaseScope.FULL: "plan mode is off",
    PhaseScope.FAST: "plan mode is off; models review no plan (fast)",
    PhaseScope.PLAN_ONLY: "plan mode: the model only looks, and proposes a plan",
}


class PhaseScopeChanged(Fact, frozen=True, kw_only=True, tag="phase_scope_changed"):
    """From now on the session goes this far."""

    scope: PhaseScope

    @property
    def sentence(self) -> str:
        """What holds from now on."""
        return _SCOPES[self.scope]


class PlanReviewStarted(Fact, frozen=True, kw_only=True, tag="plan_review_started"):
    """The reviewers are to judge a plan before anybody is asked to approve it.

    `digest` is that of the packet they vote on, `plan_digest` that of the plan; `round` counts from 1. What was
    voted on the same plan in a round before is not asked for again.
    """

    place: ClassVar = CallStage.PLAN_REVIEW
    context: ToolExecutionContext
    plan: Plan
    plan_digest: str
    digest: str
    round: int


class PlanProposed(Fact, frozen=True, kw_only=True, tag="plan_proposed"):
    """A plan was made where nobody can approve one: the run ends with it. `digest` is that of the plan."""

    place: ClassVar = CallStage.PLAN_PROPOSED
    context: ToolExecutionContext
    plan: Plan
    digest: str

    @property
    def sentence(self) -> str:
        """What was made."""
        tasks = format_amount(len(self.plan.tasks), "task")
        return f"a plan of {tasks} was made; nobody was asked to approve it"

    @property
    def details(self) -> str:
        """The plan."""
        return render_plan_text(self.plan)


class PlanApproved(Fact, frozen=True, kw_only=True, tag="plan_approved"):
    """A person approved the plan of this digest. It is in force from now on, in place of any other.

    `base` is the repository before it, None where what it leads to is not reviewed.
    """

    place: ClassVar = CallStage.PLAN_APPROVED
    context: ToolExecutionContext
    plan: Plan
    digest: str
    base: ChangeBase | None = None

    @property
    def sentence(self) -> str:
        """What was approved."""
        tasks = format_amount(len(self.plan.tasks), "task")
        return f"the plan of {tasks} is approved"

    @property
    def details(self) -> str:
        """The plan."""
        return render_plan_text(self.plan)


class PlanWithdrawn(Fact, frozen=True, kw_only=True, tag="plan_withdrawn"):
    """The approved plan is in force no more; `reason` says why, in a sentence."""

    reason: str

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        return f"the plan has ended: {self.reason}"


class FinalReviewDropped(Fact, frozen=True, kw_only=True, tag="final_review_dropped"):
    """What a plan led to is not reviewed, though it was to be; `reason` says why, in a sentence."""

    reason: str

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        return f"there is no final review of the plan: {self.reason}"


class MemoryApproved(Fact, frozen=True, kw_only=True, tag="memory_approved"):
    """The person approved the change that adds this line to an instruction file; it is made next.

    `file` is the path that is written. `sha256` is that of the content it is to have, `former_sha256` that of
    the content it replaces, None where there is no file.
    """

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    file: str
    scope: InstructionScope
    line: str
    sha256: str
    former_sha256: str | None = None


class MemoryAdded(Fact, frozen=True, kw_only=True, tag="memory_added"):
    """The line is in the file. It takes effect with the next prompt. `notices` are sentences for the person."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    file: str
    scope: InstructionScope
    line: str
    sha256: str
    notices: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        return f"added to {self.file}, in effect with the next prompt: {self.line}"


def _word_answer(value: JsonValue) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return ", ".join(map(str, value))
        case _:
            return str(value)


class ServerQuestionAnswered(Fact, frozen=True, kw_only=True, tag="server_question_answered"):
    """A question of an MCP server was answered; the server gets the answer next.

    `call` is the tool that the server worked on, empty where it is not known. `digest` is that of the
    question, `address` what the server wanted opened, `values` what the person entered in its form.
    """

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    server: str
    call: str
    message: str
    digest: str
    action: ServerAction
    address: str = ""
    values: JsonObject = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """What became of it, for the person."""
        asked = f"the MCP server {self.server} asked" + (f" for {self.call}" if self.call else "")
        match self.action:
            case ServerAction.ACCEPT if self.address:
                return f"{asked} to open {self.address}, and you agreed"
            case ServerAction.ACCEPT:
                entered = ", ".join(f"{name}: {_word_answer(value)}" for name, value in self.values.items())
                return f"{asked}, and you answered" + (f" ({entered})" if entered else "")
            case ServerAction.DECLINE:
                return f"{asked}, and you declined"
            case ServerAction.CANCEL:
                return f"{asked}, and got no answer"


class JobStarted(Fact, frozen=True, kw_only=True, tag="job_started"):
    """A command continues in the background; it has run for `ran_secs` already. `by_person`: they sent it there
    while its call waited for it. With `subagent_id` it is no command but a task, which that subagent does."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    job_id: str
    context: ToolExecutionContext
    command: str
    by_person: bool = False
    ran_secs: float = 0.0
    subagent_id: str | UnsetType = UNSET


class JobProgressed(Fact, frozen=True, kw_only=True, tag="job_progressed"):
    """A job printed something: these are its last lines now."""

    durable: ClassVar = False
    job_id: str
    text: str
    styles: Styles = ()


class JobEnded(Fact, frozen=True, kw_only=True, tag="job_ended"):
    """A job ended; `unknown`: nobody saw how.

    `exit_code` is negative for a signal. `output` are the last lines that it printed; the whole is in the
    stored output `blob_id`, of `size_bytes`, where it is longer. `remarks` are sentences about its ending;
    `note` is what the model is to read of it, None where it knows already. `hosts` are all those that it asked
    for.
    """

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    job_id: str
    status: JobStatus
    exit_code: int | None
    duration_secs: float
    stopper: JobStopper | None = None
    output: str = ""
    remarks: tuple[str, ...] = ()
    blob_id: str | None = None
    size_bytes: int = 0
    note: str | None = None
    hosts: tuple[AskedHost, ...] | UnsetType = UNSET


class DiagnosticsReported(Fact, frozen=True, kw_only=True, tag="diagnostics_reported"):
    """A diagnostics command ran over the edited files before a turn ended, or a language server checked edits.

    `lines` are the first of its `new` lines, which it did not print before the edits; it printed `old` others.
    Lines of a command are counted only where it exited with another code than 0. `failure` says in a sentence
    why it could not tell; then there are no lines.
    """

    name: str
    files: tuple[str, ...]
    lines: tuple[str, ...] = ()
    new: int = 0
    old: int = 0
    duration_secs: float = 0.0
    failure: str | None = None

    @property
    def details(self) -> str:
        """The lines."""
        return "\n".join(self.lines)

    @property
    def sentence(self) -> str:
        """What came of it, on one line without the lines themselves."""
        if self.failure is not None:
            return f"diagnostics {self.name}: {self.failure}"
        found = f"{format_amount(self.new, 'new line')}" if self.new else "nothing new"
        old = f", {format_amount(self.old, 'line')} as before" if self.old else ""
        return f"diagnostics {self.name}: {found} about {format_amount(len(self.files), 'edited file')}{old}"


Event: TypeAlias = (
    SessionStarted
    | SessionResumed
    | TurnStarted
    | MessageAdded
    | UserCommandStarted
    | UserCommandProgressed
    | UserCommandFinished
    | JobStarted
    | JobProgressed
    | JobEnded
    | ConversationCompacted
    | FilesKept
    | FilesRestored
    | SessionRewound
    | SessionRedone
    | SessionRenamed
    | PromptsQueued
    | SandboxChecked
    | InstructionsLoaded
    | SystemPromptSet
    | ToolsListed
    | MemoryApproved
    | MemoryAdded
    | FolderAdded
    | LayerEntered
    | LayerWaits
    | EffectsApproved
    | EffectsReviewed
    | EffectsVoted
    | ContextReceived
    | ResultReceived
    | ServerQuestionAnswered
    | ModeChanged
    | ConsensusChanged
    | ModelChanged
    | ModelFellBack
    | TextDelta
    | ReasoningDelta
    | ToolCallDelta
    | PromptProgressed
    | RetryScheduled
    | RequestRepeated
    | AnswerBrokeOff
    | ResponseCompleted
    | CallLeaked
    | AttachmentLeftOut
    | EmptyAnswerReceived
    | BatchPlanned
    | CallQueued
    | CallStarted
    | CallProgressed
    | CallFinished
    | EffectsObserved
    | OutputStored
    | HookRan
    | DiagnosticsReported
    | ReviewRequested
    | VoteCast
    | QuorumConcluded
    | ReviewDecided
    | PanelStarted
    | PanelResumed
    | AnswerProgressed
    | PanelAnswered
    | PanelReviewed
    | PanelConcluded
    | ObjectionsRaised
    | AnswerDefended
    | ObjectionsRuled
    | AnswerRevised
    | PhaseScopeChanged
    | PlanProposed
    | PlanReviewStarted
    | PlanApproved
    | PlanWithdrawn
    | FinalReviewDropped
    | GoalSet
    | ChecksApproved
    | GoalChecked
    | GoalReceiptOutdated
    | GoalDropped
    | OutdatedTestsClaimed
    | ReviewerLooked
    | PartReviewed
    | FindingsTried
    | ChangeReviewed
    | AgentConnected
    | AgentModeChanged
    | AgentPlanUpdated
    | UnaskedCallReported
    | UnaskedChangesFound
    | SubagentStarted
    | SubagentProgressed
    | SubagentFinished
    | StateMerged
    | UsageCounted
    | SpendCapRaised
    | ErrorOccurred
    | NoticeGiven
    | SchemasMadePlain
    | TurnFinished
    | SessionFinished
)


_KINDS: Mapping[str, type[Event]] = {kind.type: kind for kind in get_args(Event)}


def event_from_json(value: JsonObject) -> Event:
    """The event whose `to_json` made this, but for what JSON leaves out: controls, projected content.

    Raises UnreadableEvent, which names the type and the field: for a type that is not known, a newer version of
    the schema, a field that is missing or of the wrong kind.
    """
    type_ = value.get("type")
    if not isinstance(type_, str):
        raise UnreadableEvent("an event without a type cannot be read")
    kind = _KINDS.get(type_)
    if kind is None:
        raise UnreadableEvent(
            f"an event of the unknown type {type_!r} cannot be read; a newer version may know it"
        )
    try:
        check_version(value, "v", newest=SCHEMA_VERSION)
        return kind.from_json(value)
    except Unfit as problem:
        raise UnreadableEvent(f"an event of the type {type_} cannot be read: {problem}") from None
