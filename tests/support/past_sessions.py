"""Records of a session with everything in it that an export has to tell."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from quorum.domain.calls.effects import ChangeKind, Effects, FileChange
from quorum.domain.calls.execution import Outcome, Seal
from quorum.domain.calls.hook_points import HookPoint
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import RiskLevel, ToolCall, ToolResultMessage
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.conversation.response import (
    END_TURN,
    TOOL_USE,
    LlmResponse,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    ToolUseBlock,
    Usage,
)
from quorum.domain.events.calls import PlannedLane
from quorum.domain.events.event import (
    BatchPlanned,
    CallFinished,
    CallStarted,
    ConversationCompacted,
    EffectsObserved,
    ErrorOccurred,
    Event,
    FilesKept,
    FilesRestored,
    HookRan,
    MessageAdded,
    QuorumConcluded,
    ResponseCompleted,
    ReviewDecided,
    ReviewRequested,
    SessionResumed,
    SessionRewound,
    SessionStarted,
    TurnFinished,
    TurnStarted,
    UsageCounted,
    UserCommandFinished,
    UserCommandStarted,
    VoteCast,
)
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.review.ballot import InScope
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.review.quorum_result import VoteRecord
from quorum.domain.sessions.session_summary import LedgerRecord, SessionSummary
from tests.support.builders import a_context
from tests.support.pictures import an_image, png

START_MS = 1_790_000_000_000


def a_summary(title: str = "fix the typo", **more: object) -> SessionSummary:
    facts: dict[str, object] = {
        "id": "0199a1b2-0000-7000-8000-000000000001",
        "title": title,
        "cwd": "/home/ada/project",
        "model": "offline/offline",
        "started_ms": START_MS,
        "updated_ms": START_MS + 60_000,
        "turns": 2,
        "records": 30,
    }
    return SessionSummary(**{**facts, **more})  # type: ignore[arg-type]


def records_of(events: Iterable[Event | None]) -> tuple[LedgerRecord, ...]:
    return tuple(
        LedgerRecord(seq=seq, at_ms=START_MS + 1000 * seq, event=event) for seq, event in enumerate(events)
    )


def a_turn(prompt: str, answer: str) -> list[Event]:
    return [
        TurnStarted(prompt=prompt),
        MessageAdded(message=UserMessage(prompt)),
        ResponseCompleted(turn_index=0, response=LlmResponse.from_text(answer, model="fake/model")),
        UsageCounted(model="fake/model", usage=Usage(input=10, output=5), cost_usd=Decimal("0.0025")),
    ]


def an_own_command(text: str) -> list[Event]:
    return [
        UserCommandStarted(command_id="own-1", command=text, told=True),
        UserCommandFinished(
            command_id="own-1",
            outcome=Outcome.ERROR,
            exit_code=1,
            output=text,
            duration_secs=0.5,
            remarks=(text,),
            note=text,
        ),
        MessageAdded(message=UserMessage(text), command_id="own-1"),
    ]


def an_eventful_session(text: str, name: str = "edit_file") -> tuple[LedgerRecord, ...]:
    """Every kind of event that an account tells of, with `text` wherever a text from outside may stand."""
    context = a_context()
    call = ToolCall(tool_name=name, arguments={"path": text, text or "k": [text]}, native_id="call-0")
    packet = ReviewPacket(
        call=call, context=context, seal=Seal(cwd=text, diff=f"@@ -1 +1 @@\n-{text}\n+{text}")
    )
    change = FileChange(path=text, kind=ChangeKind.MODIFIED, declared=False)
    usage = Usage(input=100, output=20, cache_read=7)
    answer = LlmResponse(
        content=(
            ReasoningBlock(provider="fake", payload={}, text=text),
            TextBlock(text),
            OpaqueBlock(provider=text, payload={"x": text}),
            ToolUseBlock(id="call-0", name=name, input=call.arguments),
        ),
        stop_reason=TOOL_USE,
        model=text,
    )
    lane = PlannedLane(context=context, tool=name, arguments=call.arguments, risk=RiskLevel.HIGH, follows=())
    report = RunReport(
        session_id="s", status=RunStatus.FAILED, stop_reason=None, text=text, turns=1, error=text
    )
    result = ToolResultMessage(tool_use_id="call-0", tool_name=name, output=text)
    return records_of(
        [
            SessionStarted(session_id="s", model=text, mode=Mode.ASK, cwd=text),
            TurnStarted(prompt=text),
            MessageAdded(message=UserMessage(text, (an_image(png(), text),))),
            MessageAdded(message=UserMessage(text + "!")),
            HookRan(point=HookPoint.ON_MESSAGE_SEND, hook=text, answer="continue", reason=text, context=None),
            ResponseCompleted(turn_index=0, response=answer),
            UsageCounted(model=text, usage=usage, cost_usd=None),
            BatchPlanned(batch_id="batch-1", lanes=(lane,)),
            ReviewRequested(context=context, packet=packet, digest=packet.digest, reasons=(text,)),
            VoteCast(
                context=context,
                digest=packet.digest,
                reviewer=text,
                verdict="approve",
                confidence=0.9,
                reason=text,
                objection=text,
                in_scope=InScope.NO,
            ),
            QuorumConcluded(
                timestamp="2026-01-01T00:00:00.000Z",
                topic=text,
                target={},
                approved=False,
                verdict="unclear",
                rule="majority",
                votes=(
                    VoteRecord(
                        model=text,
                        verdict="approve",
                        reasoning=text,
                        confidence=None,
                        in_scope=InScope.NO,
                        counts_as="reject",
                    ),
                ),
                feedback=text,
                context=context,
                digest=packet.digest,
            ),
            ReviewDecided(context=context, digest=packet.digest, decision=DecisionLabel.APPROVED, reason=text),
            FilesKept(context=context, manifest="m", files=1, complete=False),
            CallStarted(
                context=context, tool=name, arguments={"path": text + "2"}, diff=f"@@ -0,0 +1 @@\n+{text}"
            ),
            CallFinished(
                context=context,
                tool=name,
                outcome=Outcome.OK,
                decision=DecisionLabel.APPROVED,
                output=text,
                duration_secs=0.25,
            ),
            EffectsObserved(context=context, effects=Effects(changes=(change,), complete=False)),
            MessageAdded(message=ToolResults((result,))),
            ResponseCompleted(
                turn_index=1, response=LlmResponse(content=(TextBlock(text),), stop_reason=END_TURN, model=text)
            ),
            MessageAdded(message=UserMessage(text), steers=True),
            *an_own_command(text),
            ErrorOccurred(message=text),
            TurnFinished(report=report),
            ConversationCompacted(
                what="summary",
                replaced=2,
                by=(UserMessage(text),),
                tokens_before=100,
                tokens_after=10,
                focus=text,
            ),
            SessionResumed(session_id="s", model=text, mode=Mode.ASK, cwd=text, told=(text,)),
            *a_turn(text, text),
            SessionRewound(turn=1, conversation=True, files=True),
            FilesRestored(changes=(change,)),
            None,
        ]
    )
