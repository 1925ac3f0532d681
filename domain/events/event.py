"""Everything that happens, as one closed union of facts in the past tense.

A *durable* event is part of the record of a session; an *ephemeral* one only feeds what is on the screen
and may be merged with its neighbours for a slow observer.
"""

from __future__ import annotations

from typing import TypeAlias

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
    PlannedLane,
    StateMerged,
)
from quorum.domain.events.code_review import ChangeReviewed, FindingsTried, PartReviewed, ReviewerLooked
from quorum.domain.events.debate import AnswerDefended, AnswerRevised, ObjectionsRaised, ObjectionsRuled
from quorum.domain.events.diagnostics import DiagnosticsReported
from quorum.domain.events.exchanges import ContextReceived, ResultReceived
from quorum.domain.events.jobs import JobEnded, JobProgressed, JobStarted
from quorum.domain.events.mcp import ServerQuestionAnswered
from quorum.domain.events.memory import MemoryAdded, MemoryApproved
from quorum.domain.events.panel import (
    AnswerProgressed,
    PanelAnswered,
    PanelConcluded,
    PanelEvent,
    PanelResumed,
    PanelReviewed,
    PanelStarted,
)
from quorum.domain.events.plan import (
    FinalReviewDropped,
    PhaseScopeChanged,
    PlanApproved,
    PlanProposed,
    PlanReviewStarted,
    PlanWithdrawn,
)
from quorum.domain.events.reviews import ReviewDecided, ReviewRequested, VoteCast
from quorum.domain.events.session import (
    ConsensusChanged,
    ErrorOccurred,
    FilesRestored,
    FolderAdded,
    FolderOrigin,
    InstructionsLoaded,
    LoadedInstruction,
    ModeChanged,
    ModelChanged,
    ModelFellBack,
    OfferedAgent,
    OfferedSkill,
    SandboxChecked,
    SessionFinished,
    SessionRedone,
    SessionResumed,
    SessionRewound,
    SessionStarted,
    SystemPromptSet,
    ToolsListed,
)
from quorum.domain.events.subagents import SubagentFinished, SubagentProgressed, SubagentStarted
from quorum.domain.events.turn import (
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
from quorum.domain.events.user_commands import UserCommandFinished, UserCommandProgressed, UserCommandStarted
from quorum.domain.fact import SCHEMA_VERSION
from quorum.domain.review.quorum_result import QuorumConcluded, VoteRecord

__all__ = [
    "SCHEMA_VERSION",
    "AnswerDefended",
    "AnswerProgressed",
    "AnswerRevised",
    "AttachmentLeftOut",
    "BatchPlanned",
    "CallFinished",
    "CallLeaked",
    "CallProgressed",
    "CallQueued",
    "CallStarted",
    "ChangeReviewed",
    "ConsensusChanged",
    "ContextReceived",
    "ConversationCompacted",
    "DiagnosticsReported",
    "EffectsObserved",
    "EmptyAnswerReceived",
    "ErrorOccurred",
    "Event",
    "FilesKept",
    "FilesRestored",
    "FinalReviewDropped",
    "FindingsTried",
    "FolderAdded",
    "FolderOrigin",
    "HookRan",
    "InstructionsLoaded",
    "JobEnded",
    "JobProgressed",
    "JobStarted",
    "LoadedInstruction",
    "MemoryAdded",
    "MemoryApproved",
    "MessageAdded",
    "ModeChanged",
    "ModelChanged",
    "ModelFellBack",
    "ObjectionsRaised",
    "ObjectionsRuled",
    "OfferedAgent",
    "OfferedSkill",
    "OutputStored",
    "PanelAnswered",
    "PanelConcluded",
    "PanelEvent",
    "PanelResumed",
    "PanelReviewed",
    "PanelStarted",
    "PartReviewed",
    "PhaseScopeChanged",
    "PlanApproved",
    "PlanProposed",
    "PlanReviewStarted",
    "PlanWithdrawn",
    "PlannedLane",
    "PromptProgressed",
    "PromptsQueued",
    "QuorumConcluded",
    "ReasoningDelta",
    "RequestRepeated",
    "ResponseCompleted",
    "ResultReceived",
    "RetryScheduled",
    "ReviewDecided",
    "ReviewRequested",
    "ReviewerLooked",
    "SandboxChecked",
    "ServerQuestionAnswered",
    "SessionFinished",
    "SessionRedone",
    "SessionResumed",
    "SessionRewound",
    "SessionStarted",
    "SpendCapRaised",
    "StateMerged",
    "SubagentFinished",
    "SubagentProgressed",
    "SubagentStarted",
    "SystemPromptSet",
    "TextDelta",
    "ToolCallDelta",
    "ToolsListed",
    "TurnFinished",
    "TurnStarted",
    "UsageCounted",
    "UserCommandFinished",
    "UserCommandProgressed",
    "UserCommandStarted",
    "VoteCast",
    "VoteRecord",
]

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
    | PromptsQueued
    | SandboxChecked
    | InstructionsLoaded
    | SystemPromptSet
    | ToolsListed
    | MemoryApproved
    | MemoryAdded
    | FolderAdded
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
    | ReviewerLooked
    | PartReviewed
    | FindingsTried
    | ChangeReviewed
    | SubagentStarted
    | SubagentProgressed
    | SubagentFinished
    | StateMerged
    | UsageCounted
    | SpendCapRaised
    | ErrorOccurred
    | TurnFinished
    | SessionFinished
)
