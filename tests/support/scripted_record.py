"""Records of sessions that never ran: a script says what happens, a run draws ids, times and the order of what
runs side by side. What the run leaves behind is kept beside its record, as an oracle."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random

from hypothesis import strategies as st

from quorum.domain.calls.effects import ChangeKind, Effects, FileChange, FileKind, FileState
from quorum.domain.calls.execution import Outcome, Seal, ToolExecutionContext
from quorum.domain.calls.hook_points import HookPoint
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import RiskLevel, ToolCall, ToolResultMessage
from quorum.domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from quorum.domain.conversation.response import END_TURN, TOOL_USE, LlmResponse, TextBlock, ToolUseBlock, Usage
from quorum.domain.events.calls import PlannedLane
from quorum.domain.events.event import (
    BatchPlanned,
    CallFinished,
    CallStarted,
    ConversationCompacted,
    EffectsObserved,
    Event,
    FilesKept,
    FilesRestored,
    HookRan,
    MessageAdded,
    OutputStored,
    QuorumConcluded,
    ResponseCompleted,
    ReviewDecided,
    ReviewRequested,
    SandboxChecked,
    SessionFinished,
    SessionRewound,
    SessionStarted,
    StateMerged,
    TurnFinished,
    TurnStarted,
    UsageCounted,
    VoteCast,
)
from quorum.domain.events.report import CallRecord, RunReport, RunStatus
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.review.quorum_result import VoteRecord
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.text.json_value import JsonObject, JsonValue

REVIEWERS = ("a/reviewer", "b/reviewer", "c/reviewer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedCall:
    """One call. Texts may hold {cwd} and {blob}: the folder, and the id of the output that was stored last.

    `reviewed` is how its review ends, `edited` and `withheld` what a hook does to its output, `stored` puts
    that aside; `changed` are the files it changes.
    """

    tool: str = "run_command"
    argument: str = "make"
    output: str = "done"
    outcome: Outcome = Outcome.OK
    reviewed: DecisionLabel | None = None
    votes: tuple[str, ...] = ()
    edited: str | None = None
    withheld: bool = False
    stored: bool = False
    changed: tuple[str, ...] = ()
    seen_all: bool = True

    @property
    def runs(self) -> bool:
        """Whether it comes to be started."""
        return self.outcome in (Outcome.OK, Outcome.ERROR, Outcome.CANCELLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedStep:
    """One answer with calls, and what they merge into the state."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = (ScriptedCall(),)
    merged: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedTurn:
    """One turn. After it, the conversation may be compacted, or this many turns taken back."""

    prompt: str = "go on"
    steps: tuple[ScriptedStep, ...] = ()
    answer: str = "done"
    compacted: bool = False
    taken_back: int = 0


Script = tuple[ScriptedTurn, ...]


@dataclass(slots=True)
class Run:
    """One run of a script. `messages`, `values` and `written` are what must have come of it."""

    cwd: str
    chance: Random
    events: list[Event] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    values: dict[str, JsonValue] = field(default_factory=dict)
    written: dict[str, FileState | None] = field(default_factory=dict)
    undone: list[bool] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    blobs: list[str] = field(default_factory=list)
    session_id: str = ""
    responses: int = 0
    _before: list[tuple[list[Message], dict[str, JsonValue]]] = field(default_factory=list)
    _records: list[CallRecord] = field(default_factory=list)

    @property
    def records(self) -> list[LedgerRecord]:
        """The events as a ledger holds them."""
        at_ms = self.chance.randrange(10**12)
        records = []
        for seq, event in enumerate(self.events):
            at_ms += self.chance.randrange(5000)
            records.append(LedgerRecord(seq=seq, at_ms=at_ms, event=event))
        return records

    def play(self, script: Script) -> Run:
        """Let it happen."""
        self.session_id = self._uuid()
        self.events.append(
            SessionStarted(session_id=self.session_id, model="a/model", mode=Mode.ASK, cwd=self.cwd)
        )
        for turn in script:
            self._turn(turn)
        self.events.append(SessionFinished(report=self._report("bye")))
        at = self.chance.randrange(1, len(self.events))
        self.events.insert(at, SandboxChecked(on=True, told="commands run in a sandbox"))
        return self

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def _filled(self, text: str) -> str:
        return text.replace("{cwd}", self.cwd).replace("{blob}", self.blobs[-1] if self.blobs else "none")

    def _turn(self, turn: ScriptedTurn) -> None:
        self._before.append((list(self.messages), dict(self.values)))
        self.undone.append(False)
        self._records = []
        self.events.append(TurnStarted(prompt=turn.prompt))
        self._say(UserMessage(self._filled(turn.prompt)))
        for step in turn.steps:
            self._step(step)
        self._answer(LlmResponse(content=(TextBlock(turn.answer),), stop_reason=END_TURN, model="a/model"))
        self.events.append(TurnFinished(report=self._report(turn.answer)))
        if turn.compacted:
            self._compact()
        if turn.taken_back:
            self._take_back(max(0, len(self.undone) - turn.taken_back))

    def _report(self, text: str) -> RunReport:
        return RunReport(
            session_id=self.session_id,
            status=RunStatus.COMPLETED,
            stop_reason="end_turn",
            text=text,
            turns=self.responses,
            usage=self.usage,
            calls=tuple(self._records),
        )

    def _say(self, message: UserMessage | ToolResults) -> None:
        self.events.append(MessageAdded(message=message))
        self.messages.append(message)

    def _answer(self, response: LlmResponse) -> None:
        used = Usage(input=100, output=7)
        response = replace(response, usage=used)
        self.usage += used
        self.events += [
            ResponseCompleted(turn_index=self.responses, response=response),
            UsageCounted(model="a/model", usage=used, cost_usd=Decimal("0.01")),
        ]
        self.responses += 1
        if response.has_tool_calls() or response.text_content():
            self.messages.append(AssistantMessage(response))

    def _compact(self) -> None:
        blob = self._uuid()
        self.blobs.append(blob)
        by = (UserMessage(f"summary of what was before, whole in [blob:{blob}]"),)
        self.events.append(
            ConversationCompacted(
                what="summary",
                replaced=len(self.messages),
                by=by,
                tokens_before=900,
                tokens_after=90,
                blobs=(blob,),
            )
        )
        self.messages = list(by)

    def _take_back(self, number: int) -> None:
        changes = tuple(
            FileChange(path=path, kind=ChangeKind.DELETED, declared=True, before=state)
            for path, state in sorted(self.written.items())
            if state is not None
        )
        self.events.append(FilesRestored(changes=changes))
        self.events.append(SessionRewound(turn=number, conversation=True, files=True))
        self.written |= {change.path: None for change in changes}
        messages, values = self._before[number]
        self.messages, self.values = list(messages), dict(values)
        self.undone[number:] = [True] * (len(self.undone) - number)

    # ---------------------------------------------------------------- calls

    def _step(self, step: ScriptedStep) -> None:
        batch = self._uuid()
        placed = [
            (
                ToolExecutionContext(
                    call_id=f"toolu_{self.chance.getrandbits(96):024x}",
                    batch_id=batch,
                    call_index=index,
                    turn_index=self.responses,
                ),
                self._with_texts(call),
                {"text": self._filled(call.argument)},
            )
            for index, call in enumerate(step.calls)
        ]
        blocks = tuple(ToolUseBlock(id=c.call_id, name=call.tool, input=args) for c, call, args in placed)
        texts = (TextBlock(step.text),) if step.text else ()
        self._answer(LlmResponse(content=(*texts, *blocks), stop_reason=TOOL_USE, model="a/model"))
        for context, _, _ in placed:
            self.events.append(_hook(context, HookPoint.BEFORE_TOOL_CALL))
        self.events.append(
            BatchPlanned(
                batch_id=batch,
                lanes=tuple(
                    PlannedLane(context=c, tool=call.tool, arguments=args, risk=RiskLevel.HIGH, follows=())
                    for c, call, args in placed
                ),
            )
        )
        ways = [way for each in placed for way in self._ways(*each)]
        while ways:  # what runs side by side arrives as chance will have it
            way = self.chance.choice(ways)
            event = way.pop(0)
            if isinstance(event, EffectsObserved):
                self.written |= {change.path: change.after for change in event.effects.changes}
            self.events.append(event)
            ways = [way for way in ways if way]
        results = tuple(self._conclude(context, call) for context, call, _ in placed)
        if step.merged:
            self.events.append(StateMerged(batch_id=batch, changed=step.merged))
            merged = {**self.values, **step.merged}
            self.values = {key: value for key, value in merged.items() if value is not None}
        self._say(ToolResults(results))

    def _with_texts(self, call: ScriptedCall) -> ScriptedCall:
        edited = None if call.edited is None else self._filled(call.edited)
        return replace(call, output=self._filled(call.output), edited=edited)

    def _ways(
        self, context: ToolExecutionContext, call: ScriptedCall, arguments: JsonObject
    ) -> Sequence[list[Event]]:
        """The events of a call, and those of each reviewer's vote on it, which come in between at any time."""
        packet = ReviewPacket(
            call=ToolCall(tool_name=call.tool, arguments=arguments, native_id=context.call_id),
            context=context,
            seal=Seal(cwd=self.cwd, executables=("/usr/bin/make",), environment={"HOME": f"{self.cwd}/home"}),
        )
        way: list[Event] = []
        votes: list[list[Event]] = []
        for reviewer, verdict in zip(REVIEWERS, call.votes, strict=False):
            used = Usage(input=len(reviewer), output=len(verdict))
            self.usage += used
            votes.append(
                [
                    UsageCounted(model=reviewer, usage=used, cost_usd=Decimal("0.001")),
                    VoteCast(
                        context=context,
                        digest=packet.digest,
                        reviewer=reviewer,
                        verdict=verdict,
                        confidence=0.5,
                        reason=f"in {self.cwd}",
                    ),
                ]
            )
        if call.votes:
            way.append(_concluded(context, packet, call, self.chance))
        if call.reviewed is not None:
            way += [
                ReviewRequested(
                    context=context, packet=packet, digest=packet.digest, reasons=("the mode asks",)
                ),
                ReviewDecided(
                    context=context, digest=packet.digest, decision=call.reviewed, reason="the person did"
                ),
            ]
        if call.runs:
            way += self._running(context, call, arguments)
        way.append(
            CallFinished(
                context=context,
                tool=call.tool,
                outcome=call.outcome,
                decision=call.reviewed or DecisionLabel.NONE,
                output=call.output,
                duration_secs=self.chance.random(),
            )
        )
        return [way, *votes]

    def _running(
        self, context: ToolExecutionContext, call: ScriptedCall, arguments: JsonObject
    ) -> Sequence[Event]:
        manifest = f"{self.chance.getrandbits(256):064x}"
        way: list[Event] = [
            FilesKept(context=context, manifest=manifest, files=2, complete=True),
            CallStarted(context=context, tool=call.tool, arguments=arguments),
        ]
        if call.changed or not call.seen_all:
            changes = tuple(
                FileChange(
                    path=f"{self.cwd}/{name}{context.call_index}",
                    kind=ChangeKind.MODIFIED,
                    declared=False,
                    before=FileState(kind=FileKind.FILE, mode=0o644, sha256="0" * 64),
                    after=FileState(kind=FileKind.FILE, mode=0o644, sha256=f"{len(call.argument):064x}"),
                )
                for name in call.changed
            )
            way.append(
                EffectsObserved(context=context, effects=Effects(changes=changes, complete=call.seen_all))
            )
        return way

    def _conclude(self, context: ToolExecutionContext, call: ScriptedCall) -> ToolResultMessage:
        """The hooks after a call and what becomes of its output; its result."""
        output = call.output
        if call.edited is not None:
            output = call.edited
            self.events.append(_hook(context, HookPoint.AFTER_TOOL_CALL, edited={"output": output}))
        if call.withheld:
            output = "the result was withheld by a hook: secret"
            self.events.append(_hook(context, HookPoint.AFTER_TOOL_CALL, answer="skip", reason="secret"))
        if call.stored:
            blob = self._uuid()
            self.blobs.append(blob)
            output = f"[blob:{blob}] text | {output}"
            self.events.append(OutputStored(context=context, blob_id=blob, size_bytes=9, summary=output))
        self._records.append(
            CallRecord(
                context=context,
                tool=call.tool,
                outcome=call.outcome,
                decision=call.reviewed or DecisionLabel.NONE,
            )
        )
        return ToolResultMessage(
            tool_use_id=context.call_id,
            tool_name=call.tool,
            output=output,
            is_error=call.outcome.is_error,
            is_rejected=call.outcome.is_rejected,
        )


def _hook(
    context: ToolExecutionContext,
    point: HookPoint,
    *,
    answer: str = "continue",
    reason: str | None = None,
    edited: JsonObject | None = None,
) -> HookRan:
    return HookRan(point=point, hook="mine", answer=answer, reason=reason, context=context, edited=edited)


def _concluded(
    context: ToolExecutionContext, packet: ReviewPacket, call: ScriptedCall, chance: Random
) -> QuorumConcluded:
    return QuorumConcluded(
        timestamp=f"2026-01-01T00:00:00.{chance.randrange(1000):03}Z",
        topic="action_review",
        target={"tool": call.tool, "call_id": context.call_id},
        approved=True,
        verdict="approved",
        rule="majority",
        votes=tuple(
            VoteRecord(model=reviewer, verdict=verdict, reasoning="fine", confidence=0.5)
            for reviewer, verdict in zip(REVIEWERS, call.votes, strict=False)
        ),
        feedback=None,
        context=context,
        digest=packet.digest,
    )


# ---------------------------------------------------------------- any script at all

TEXTS = st.sampled_from(["", "a", "look at [blob:{blob}]", "{cwd}/src/a.py:3: wrong", "no such file"])
CALLS = st.builds(
    ScriptedCall,
    tool=st.sampled_from(["run_command", "edit_file"]),
    argument=TEXTS,
    output=TEXTS,
    outcome=st.sampled_from(Outcome),
    reviewed=st.none() | st.sampled_from([DecisionLabel.APPROVED, DecisionLabel.REJECTED]),
    votes=st.lists(st.sampled_from(["approve", "reject"]), max_size=3).map(tuple),
    edited=st.none() | TEXTS,
    withheld=st.booleans(),
    stored=st.booleans(),
    changed=st.lists(st.sampled_from(["a", "b", "c"]), max_size=2, unique=True).map(tuple),
    seen_all=st.booleans(),
)
STEPS = st.builds(
    ScriptedStep,
    text=TEXTS,
    calls=st.lists(CALLS, min_size=1, max_size=3).map(tuple),
    merged=st.dictionaries(st.sampled_from("pq"), st.none() | st.integers(0, 3), max_size=2),
)
TURNS = st.builds(
    ScriptedTurn,
    prompt=TEXTS,
    steps=st.lists(STEPS, max_size=2).map(tuple),
    answer=TEXTS,
    compacted=st.integers(0, 4).map(lambda n: n == 0),
    taken_back=st.sampled_from([0, 0, 0, 1, 2]),
)
SCRIPTS: st.SearchStrategy[Script] = st.lists(TURNS, min_size=1, max_size=4).map(tuple)
