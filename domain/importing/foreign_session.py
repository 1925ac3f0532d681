"""What was found of another agent, and what it is here: its sessions as events, its settings one by one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TypeAlias, assert_never

from msgspec import Struct, field

from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolResultMessage
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.conversation.response import (
    END_TURN,
    TOOL_USE,
    ContentBlock,
    LlmResponse,
    ReasoningBlock,
    TextBlock,
    ToolUseBlock,
)
from quorum.domain.events.calls import PlannedLane
from quorum.domain.events.event import (
    BatchPlanned,
    CallFinished,
    ConversationCompacted,
    Event,
    MessageAdded,
    ResponseCompleted,
    SessionResumed,
    SessionStarted,
    TurnFinished,
    TurnStarted,
)
from quorum.domain.events.masking import SecretMask
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.importing.foreign_rules import TranslatedRule
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.text.json_value import JsonObject, JsonValue

MOST_OUTPUT = 8_000
"""Characters that are kept of one result; the rest stays in the other agent's file."""

_KEPT_BEGIN, _KEPT_END = 6_000, 2_000
_LONGEST_SECRET = 4_000
_NO_RESULT = "its result is not in the record of the other agent"


class ForeignSession(Struct, frozen=True, kw_only=True):
    """Which session: the name of its agent, its id there, its folder and model, and the file it stands in."""

    agent: str
    source_id: str
    cwd: str
    model: str
    started_ms: int
    file: str

    @property
    def session_id(self) -> str:
        """The id that it has here: always the same, and sorted by its time."""
        return _derive_id(self.started_ms, f"{self.agent}\0{self.source_id}")


class ForeignPrompt(Struct, frozen=True, kw_only=True):
    """The person said this."""

    at_ms: int
    text: str


class ForeignCall(Struct, frozen=True, kw_only=True):
    """The model asked for this call."""

    id: str
    tool: str
    arguments: JsonObject


class ForeignAnswer(Struct, frozen=True, kw_only=True):
    """The model answered this."""

    at_ms: int
    text: str = ""
    reasoning: str = ""
    calls: tuple[ForeignCall, ...] = ()
    model: str = ""


class ForeignResult(Struct, frozen=True, kw_only=True):
    """A call of the answer before came to this."""

    at_ms: int
    call_id: str
    output: str
    is_error: bool = False


class ForeignSummary(Struct, frozen=True, kw_only=True):
    """This took the place of all that was said before."""

    at_ms: int
    text: str


ForeignItem: TypeAlias = ForeignPrompt | ForeignAnswer | ForeignResult | ForeignSummary


def _derive_id(at_ms: int, name: str) -> str:
    """A UUIDv7 of this time, its random bits taken from a name."""
    bits = int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:10], "big")
    value = (max(at_ms, 0) & ((1 << 48) - 1)) << 80 | 0x7 << 76 | (bits >> 66 & 0xFFF) << 64
    digits = f"{value | 0b10 << 62 | bits & ((1 << 62) - 1):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


class SessionRecorder(Struct):
    """Makes the events of one session. `mask` hides the secrets in its texts; who imports it, by the name of
    their `account`, counts as who asked."""

    session: ForeignSession
    mask: SecretMask
    account: str
    _messages: int = 0
    _batches: int = 0
    _answers: int = 0
    _is_in_turn: bool = False
    _text: str = ""
    _open: dict[str, ForeignCall] = field(default_factory=dict)
    _results: dict[str, ForeignResult] = field(default_factory=dict)
    _batch_id: str = ""
    _at_ms: int = 0

    def record(self, items: Iterable[ForeignItem]) -> Iterator[tuple[int, Event]]:
        """The events, each with its time in milliseconds; none where nothing was said."""
        session, hide = self.session, self.mask.mask_text
        begun = False
        self._at_ms = session.started_ms
        for item in items:
            if not begun:
                begun = True
                yield from self._at(
                    SessionStarted(
                        session_id=session.session_id,
                        model=hide(session.model),
                        mode=Mode.ASK,
                        cwd=hide(session.cwd),
                    )
                )
            for event in self._close_before(item):
                yield self._at_ms, event
            self._at_ms = item.at_ms or self._at_ms
            for event in self._follow(item):
                yield self._at_ms, event
        if not begun:
            return
        for event in (*self._close_calls(), *self._end_turn()):
            yield self._at_ms, event
        told = f"This session was imported from {session.agent}: {session.source_id}, {session.file}"
        yield from self._at(
            SessionResumed(
                session_id=session.session_id,
                model=hide(session.model),
                mode=Mode.ASK,
                cwd=hide(session.cwd),
                told=(hide(told),),
            )
        )

    def _at(self, event: Event) -> Iterator[tuple[int, Event]]:
        yield self._at_ms, event

    def _close_before(self, item: ForeignItem) -> Iterator[Event]:
        """End what an item ends."""
        match item:
            case ForeignPrompt():
                yield from self._close_calls()
                yield from self._end_turn()
            case ForeignAnswer() | ForeignSummary():
                yield from self._close_calls()
            case ForeignResult():
                pass
            case _:
                assert_never(item)

    def _follow(self, item: ForeignItem) -> Iterator[Event]:
        match item:
            case ForeignPrompt():
                text = self.mask.mask_text(item.text)
                yield from self._begin_turn(text)
                yield MessageAdded(message=UserMessage(text))
                self._messages += 1
            case ForeignSummary():
                summary = UserMessage(self.mask.mask_text(item.text))
                yield ConversationCompacted(
                    what="summary", replaced=self._messages, by=(summary,), tokens_before=0, tokens_after=0
                )
                self._messages = 1
            case ForeignAnswer():
                yield from self._answer(item)
            case ForeignResult():
                if item.call_id in self._open:
                    self._results[item.call_id] = item
            case _:
                assert_never(item)

    def _begin_turn(self, prompt: str) -> Iterator[Event]:
        self._is_in_turn, self._answers, self._text = True, 0, ""
        yield TurnStarted(prompt=prompt).name_asker((self.account,))

    def _end_turn(self) -> Iterator[Event]:
        if not self._is_in_turn:
            return
        self._is_in_turn = False
        yield TurnFinished(
            report=RunReport(
                session_id=self.session.session_id,
                status=RunStatus.COMPLETED if self._text else RunStatus.INTERRUPTED,
                stop_reason="end_turn" if self._text else None,
                text=self._text,
                turns=1,
            )
        )

    def _answer(self, answer: ForeignAnswer) -> Iterator[Event]:
        calls = {call.id: call for call in answer.calls if call.id and call.tool}
        blocks: list[ContentBlock] = []
        if answer.reasoning.strip():
            # Of no provider: it is shown, and sent to none.
            text = self.mask.mask_text(answer.reasoning)
            blocks.append(ReasoningBlock(provider="import", payload={}, text=text))
        self._text = self.mask.mask_text(answer.text)
        if answer.text.strip():
            blocks.append(TextBlock(self._text))
        arguments = {call.id: _as_object(self.mask.mask_json(call.arguments)) for call in calls.values()}
        blocks += (
            ToolUseBlock(id=call.id, name=call.tool, input=arguments[call.id]) for call in calls.values()
        )
        if not blocks:
            return
        if not self._is_in_turn:
            yield from self._begin_turn("")
        response = LlmResponse(
            content=tuple(blocks), stop_reason=TOOL_USE if calls else END_TURN, model=answer.model
        )
        yield ResponseCompleted(turn_index=self._answers, response=response)
        self._messages += 1
        self._answers += 1
        if calls:
            self._batches += 1
            self._batch_id = _derive_id(self._at_ms, f"{self.session.session_id}\0{self._batches}")
            self._open = calls
            yield BatchPlanned(
                batch_id=self._batch_id,
                lanes=tuple(
                    PlannedLane(
                        context=self._identify(number, call),
                        tool=call.tool,
                        arguments=arguments[call.id],
                        risk=RiskLevel.HIGH,
                        follows=(),
                    )
                    for number, call in enumerate(calls.values())
                ),
            )

    def _identify(self, number: int, call: ForeignCall) -> ToolExecutionContext:
        return ToolExecutionContext(
            call_id=call.id, batch_id=self._batch_id, call_index=number, turn_index=self._answers - 1
        )

    def _close_calls(self) -> Iterator[Event]:
        """Give each open call its result: one that is not recorded is told to be missing."""
        if not self._open:
            return
        messages: list[ToolResultMessage] = []
        for number, call in enumerate(self._open.values()):
            result = self._results.get(call.id)
            output = self._keep(result.output) if result is not None else _NO_RESULT
            outcome = Outcome.UNKNOWN if result is None else Outcome.ERROR if result.is_error else Outcome.OK
            yield CallFinished(
                context=self._identify(number, call),
                tool=call.tool,
                outcome=outcome,
                decision=DecisionLabel.NONE,
                output=output,
                duration_secs=0.0,
            )
            message = ToolResultMessage(
                tool_use_id=call.id, tool_name=call.tool, output=output, is_error=outcome.is_error
            )
            messages.append(message)
        self._open, self._results = {}, {}
        self._messages += 1
        yield MessageAdded(message=ToolResults(tuple(messages)))

    def _keep(self, output: str) -> str:
        """What is kept of a result, masked. What is cut is masked before, with what stands around the cut."""
        rest = len(output) - MOST_OUTPUT
        if rest <= 0:
            return self.mask.mask_text(output)
        begin = self.mask.mask_text(output[: _KEPT_BEGIN + _LONGEST_SECRET])[:_KEPT_BEGIN]
        end = self.mask.mask_text(output[-_KEPT_END - _LONGEST_SECRET :])[-_KEPT_END:]
        return f"{begin}\n… {rest:,} characters are in {self.session.file} …\n{end}"


def _as_object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


class TakeoverKind(StrEnum):
    """Of what kind it is, in the order of the table: what restricts comes first."""

    RULE = "rule"
    SERVER = "MCP server"
    INSTRUCTIONS = "instructions"
    SKILL = "skill"
    COMMAND = "command"
    AGENT = "agent"
    HOOK = "hook"
    MODEL = "model"
    SETTING = "setting"


class TakeoverItem(Struct, frozen=True, kw_only=True):
    """One thing: as it is `there`, its `place` as file and line, what it is `here`, and `why` that differs.

    What is taken over is a `rule`, for the folder `project` or, None, everywhere; a `server` with the values
    of its table; a `hook` with those of its own; or a file, `source`, that becomes `target`. Without any of
    them it is only named.
    """

    kind: TakeoverKind
    there: str
    place: str
    here: str = ""
    why: str = ""
    rule: TranslatedRule | None = None
    project: str | None = None
    server: Mapping[str, object] = field(default_factory=dict)
    hook: Mapping[str, object] = field(default_factory=dict)
    source: str = ""
    target: str = ""

    @property
    def is_taken_over(self) -> bool:
        """Whether something is written for it."""
        return bool((self.rule is not None and self.rule.rules) or self.server or self.hook or self.target)


class AgentSetup(Struct, frozen=True, kw_only=True):
    """All that was found of one agent. `problems` say what could not be read, and its place."""

    agent: str
    checked_with: str
    findings: tuple[TakeoverItem, ...] = ()
    problems: tuple[str, ...] = ()
