"""A session's record in a form that is the same for every run in which the same things happened.

Calls of one batch run side by side, so their events arrive as chance will have it. Here they stand by turn,
call and kind; times are left out, and ids have names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import field
from typing import assert_never

from domain.calls.hook import HookPoint
from domain.events.event import (
    AnswerDefended,
    AnswerProgressed,
    AnswerRevised,
    AttachmentLeftOut,
    BatchPlanned,
    CallFinished,
    CallLeaked,
    CallProgressed,
    CallQueued,
    CallStarted,
    ChangeReviewed,
    ConsensusChanged,
    ContextReceived,
    ConversationCompacted,
    DiagnosticsReported,
    EffectsObserved,
    EmptyAnswerReceived,
    ErrorOccurred,
    Event,
    FilesKept,
    FilesRestored,
    FinalReviewDropped,
    FindingsTried,
    FolderAdded,
    HookRan,
    InstructionsLoaded,
    JobEnded,
    JobProgressed,
    JobStarted,
    MemoryAdded,
    MemoryApproved,
    MessageAdded,
    ModeChanged,
    ModelChanged,
    ModelFellBack,
    ObjectionsRaised,
    ObjectionsRuled,
    OutputStored,
    PanelAnswered,
    PanelConcluded,
    PanelResumed,
    PanelReviewed,
    PanelStarted,
    PartReviewed,
    PhaseScopeChanged,
    PlanApproved,
    PlanProposed,
    PlanReviewStarted,
    PlanWithdrawn,
    PromptProgressed,
    PromptsQueued,
    QuorumConcluded,
    ReasoningDelta,
    RequestRepeated,
    ResponseCompleted,
    ResultReceived,
    RetryScheduled,
    ReviewDecided,
    ReviewerLooked,
    ReviewRequested,
    SandboxChecked,
    ServerQuestionAnswered,
    SessionFinished,
    SessionRedone,
    SessionResumed,
    SessionRewound,
    SessionStarted,
    SpendCapRaised,
    StateMerged,
    SubagentFinished,
    SubagentProgressed,
    SubagentStarted,
    SystemPromptSet,
    TextDelta,
    ToolCallDelta,
    ToolsListed,
    TurnFinished,
    TurnStarted,
    UsageCounted,
    UserCommandFinished,
    UserCommandProgressed,
    UserCommandStarted,
    VoteCast,
)
from domain.events.json_form import event_to_json
from domain.lazy_dataclass import dataclass
from domain.sessions.past_session import LedgerRecord
from domain.sessions.stable_names import StableNames
from domain.text.json_value import JsonObject

# The events of one call in the order in which they stand: what was asked about it, how it ran, how it ended.
_ORDER: tuple[type, ...] = (
    PlanReviewStarted,
    VoteCast,
    QuorumConcluded,
    ReviewRequested,
    ReviewDecided,
    FilesKept,
    CallStarted,
    PlanProposed,
    PlanApproved,
    SubagentStarted,
    EffectsObserved,
    SubagentFinished,
    CallFinished,
    HookRan,
    InstructionsLoaded,
    OutputStored,
)
_NO_CALL = -1
_KINDS = {kind: number for number, kind in enumerate(_ORDER, 1)}
_SIDE_BY_SIDE = 1


@dataclass(slots=True, kw_only=True)
class _Line:
    """One record and its turn, and what it is sorted by: the place of its call, its kind, and what tells equals
    apart. What belongs to no call stands before all calls; where it came by chance, what it says decides.
    """

    event: Event | None
    turn: int | None
    redacted: bool
    call: int = _NO_CALL
    kind: int = 0
    detail: tuple[int, str] = (0, "")
    shown: str = ""

    def show(self, names: StableNames) -> None:
        """Write it, with these names."""
        value: JsonObject = {"type": "unreadable"}
        if self.event is not None:
            value = event_to_json(names.rename_ids(self.event))
        mark: JsonObject = {"redacted": True} if self.redacted else {}
        self.shown = json.dumps({"turn": self.turn, **value, **mark}, sort_keys=True, separators=(",", ":"))

    def get_sort_key(self) -> tuple[int, int, tuple[int, str], str]:
        """What it is sorted by; what came in the order in which it stands stays so."""
        by_chance = self.call == _NO_CALL and self.kind == _SIDE_BY_SIDE
        return self.call, self.kind, self.detail, self.shown if by_chance else ""


@dataclass(slots=True)
class _Stretch:
    """What lies between two events whose order is never chance, with the first of them."""

    first: _Line | None = None
    rest: list[_Line] = field(default_factory=list)
    rounds: dict[str, int] = field(default_factory=dict)

    def sort_lines(self) -> list[_Line]:
        """All of it in its order."""
        return [*([self.first] if self.first else []), *sorted(self.rest, key=_Line.get_sort_key)]


def render_canonical(records: Iterable[LedgerRecord]) -> str:
    """The record as JSON lines. Two runs of one script give the same text, however long each call took in them,
    whichever ids they drew and wherever their folders lay; whatever else differs is seen in it, even the size
    of an output that names its folder.
    """
    stretches = _split_into_stretches(records)
    lines = [line for stretch in stretches for line in stretch.sort_lines()]
    opened = (line.event for line in lines)
    names = StableNames(event.cwd for event in opened if isinstance(event, SessionStarted | SessionResumed))
    for _ in range(2):  # an id may stand in a text before it is met in its place
        for line in lines:
            line.show(names)
    return "".join(f"{line.shown}\n" for stretch in stretches for line in stretch.sort_lines())


def _split_into_stretches(records: Iterable[LedgerRecord]) -> list[_Stretch]:
    turn: int | None = None
    opening = _Stretch()
    stretches = [opening]
    for record in records:
        event = record.event
        if event is not None and not event.durable:
            continue
        if isinstance(event, TurnStarted):
            turn = 0 if turn is None else turn + 1
        line = _Line(event=event, turn=turn, redacted=record.redacted)
        if isinstance(event, SandboxChecked):  # looked into while the session continues already
            line.turn = opening.first.turn if opening.first else None
            opening.rest.append(line)
        elif _is_placed(line, stretches[-1]):
            stretches[-1].rest.append(line)
        else:
            stretches.append(_Stretch(line))
            opening = stretches[-1] if isinstance(event, SessionStarted | SessionResumed) else opening
    return stretches


def _is_placed(line: _Line, stretch: _Stretch) -> bool:
    """Find the place of a line in its stretch; False where it begins another."""
    event = line.event
    match event:
        case (
            None
            | FolderAdded()
            | ModeChanged()
            | ConsensusChanged()
            | ModelChanged()
            | ModelFellBack()
            | SandboxChecked()
            | InstructionsLoaded()
            | SystemPromptSet()
            | ToolsListed()
            | MemoryApproved()
            | MemoryAdded()
            | ContextReceived()
            | ResultReceived()
            | ServerQuestionAnswered()
            | UserCommandStarted()
            | UserCommandFinished()
            | JobStarted()
            | JobEnded()
            | PromptsQueued()
            | SpendCapRaised()
        ):
            return True
        case (
            UsageCounted()
            | ErrorOccurred()
            | PanelAnswered()
            | PanelReviewed()
            | ObjectionsRaised()
            | ReviewerLooked()
            | PartReviewed()
            | FindingsTried()
        ):
            line.kind = _SIDE_BY_SIDE
            return True
        case HookRan():
            if event.context is not None:
                line.call = event.context.call_index
                line.kind = 0 if event.point is HookPoint.BEFORE_TOOL_CALL else _KINDS[HookRan]
            return True
        case VoteCast():
            line.call, line.kind = event.context.call_index, _KINDS[VoteCast]
            line.detail = (stretch.rounds.setdefault(event.digest, len(stretch.rounds)), event.reviewer)
            return True
        case (
            QuorumConcluded()
            | ReviewRequested()
            | ReviewDecided()
            | FilesKept()
            | CallStarted()
            | EffectsObserved()
            | CallFinished()
            | OutputStored()
            | PlanProposed()
            | PlanReviewStarted()
            | PlanApproved()
            | SubagentStarted()
            | SubagentFinished()
        ):
            line.call, line.kind = event.context.call_index, _KINDS[type(event)]
            return True
        case (
            SessionStarted()
            | SessionResumed()
            | SessionFinished()
            | SessionRewound()
            | SessionRedone()
            | TurnStarted()
            | TurnFinished()
            | MessageAdded()
            | RequestRepeated()
            | ResponseCompleted()
            | CallLeaked()
            | AttachmentLeftOut()
            | EmptyAnswerReceived()
            | DiagnosticsReported()
            | ConversationCompacted()
            | BatchPlanned()
            | StateMerged()
            | FilesRestored()
            | PanelStarted()
            | PanelConcluded()
            | AnswerDefended()
            | ObjectionsRuled()
            | AnswerRevised()
            | PhaseScopeChanged()
            | PlanWithdrawn()
            | FinalReviewDropped()
            | ChangeReviewed()
        ):
            return False
        case (
            TextDelta()
            | ReasoningDelta()
            | ToolCallDelta()
            | PromptProgressed()
            | RetryScheduled()
            | CallQueued()
            | CallProgressed()
            | PanelResumed()
            | AnswerProgressed()
            | SubagentProgressed()
            | UserCommandProgressed()
            | JobProgressed()
        ):
            return True  # they are no part of a record, and were left out before
        case _:
            assert_never(event)
