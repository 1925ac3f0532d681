"""Reading one answer off the events of a CLI session."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from copilot import SessionEvent
from copilot.session_events import (
    AssistantMessageData,
    AssistantMessageDeltaData,
    AssistantReasoningDeltaData,
    AssistantToolCallDeltaData,
    AssistantTurnRetryData,
    AssistantUsageData,
    ExternalToolRequestedData,
    SessionErrorData,
    SessionIdleData,
    ToolExecutionCompleteData,
)
from msgspec import Struct

from quorum.application.ports.models import OnStreamEvent
from quorum.domain.conversation.response import (
    END_TURN,
    MAX_TOKENS,
    PAUSE,
    REFUSAL,
    TOOL_USE,
    ContentBlock,
    LlmResponse,
    StopKind,
    StopReason,
    TextBlock,
    ToolUseBlock,
    Usage,
)
from quorum.domain.conversation.stream import (
    Delta,
    StreamedReasoning,
    StreamedToolCall,
    StreamEvent,
    StreamRetry,
)
from quorum.infrastructure.models.copilot.failures import CopilotFailures, classify_retry
from quorum.infrastructure.models.shared.call_arguments import build_call_block

_STOPS: Mapping[str, StopReason] = {
    "stop": END_TURN,
    "end_turn": END_TURN,
    "stop_sequence": END_TURN,
    "tool_calls": TOOL_USE,
    "tool_use": TOOL_USE,
    "length": MAX_TOKENS,
    "max_tokens": MAX_TOKENS,
    "content_filter": REFUSAL,
    "refusal": REFUSAL,
    "pause_turn": PAUSE,
}
_NEVER_EXECUTED = (MAX_TOKENS, REFUSAL)


class Turn:
    """One answer as it is built up: until the CLI is idle, or waits for the results of a batch of calls.

    `requests` maps the ids of the open calls to those that the CLI wants its results under. `must_abort` tells
    that the CLI waits for calls that may not be executed. `answered` are the calls whose results began this
    answer: the CLI tells of each once more, and a server may give the same id to a later call.
    """

    def __init__(
        self, model: str, failures: CopilotFailures, on_event: OnStreamEvent, answered: Iterable[str] = ()
    ) -> None:
        self.complete = False
        self.idle = False
        self.must_abort = False
        self.started = False
        self.requests: dict[str, str] = {}
        self._model = model
        self._failures = failures
        self._on_event = on_event
        self._text = AnswerText()
        self._indexes: dict[str, int] = {}
        self._begun: list[str] = []
        self._batch: list[str] = []
        self._asked: dict[str, ExternalToolRequestedData] = {}
        self._settled_by_cli: set[str] = set()
        self._answered = set(answered)
        self._usage = Usage()
        self._finish: str | None = None
        self._retries = 0
        self._error: SessionErrorData | None = None
        self._aborted = False

    def read_event(self, event: SessionEvent) -> None:
        """Take one event; those of sub-agents and of kinds unknown here change nothing.

        Raises ProviderError where two calls cannot be distinguished.
        """
        if event.agent_id is not None:
            return
        match event.data:
            case AssistantMessageDeltaData(message_id=message_id, delta_content=text):
                self._tell_text(self._text.add(message_id, text))
            case AssistantReasoningDeltaData(delta_content=text):
                self._tell_reasoning(text)
            case AssistantToolCallDeltaData() as delta:
                self._tell_call(delta)
            case AssistantTurnRetryData(reason=reason):
                self._begin_again(reason or "unknown_error")
            case AssistantUsageData() as usage:
                self._count(usage)
            case AssistantMessageData() as message:
                self._finish_message(message)
            case other:
                self._take_state(other)
        self._look_at_batch()

    def _take_state(self, data: object) -> None:
        match data:
            case ExternalToolRequestedData() as call:
                self._check_apart(call.tool_call_id not in self._asked)
                self._asked[call.tool_call_id] = call
            case ToolExecutionCompleteData(tool_call_id=call_id):
                self._settle(call_id)
            case SessionErrorData() as error:
                self._error = error
            case SessionIdleData(aborted=aborted):
                self._aborted = bool(aborted)
                self.idle = self.complete = True

    def build_response(self) -> LlmResponse:
        """The answer, once it is complete. Raises ProviderError where the CLI gave it up."""
        if self._error is not None:
            error = self._error
            raise self._failures.explain_reported(
                error.error_type, error.message, error.status_code, partial=self.started
            )
        content: list[ContentBlock] = []
        if text := str(self._text):
            content.append(TextBlock(text))
        content += [_block(self._asked[call_id]) for call_id in self.requests]
        return LlmResponse(
            content=tuple(content), stop_reason=self._stop_reason(), model=self._model, usage=self._usage
        )

    def _stop_reason(self) -> StopReason:
        if self.requests:
            return TOOL_USE
        if self._aborted:
            return StopReason(StopKind.OTHER, "aborted")
        if self._finish is None:
            return END_TURN
        return _STOPS.get(self._finish, StopReason(StopKind.OTHER, self._finish))

    def _look_at_batch(self) -> None:
        """A batch is complete when each of its calls was either put to us or settled by the CLI itself.

        Its calls are those of the model's message. The CLI drops that message where the arguments of one call
        are JSON but no object; then they are the calls that were begun, and those put to us.
        """
        batch = self._batch
        if not batch and self._asked:
            batch = list(dict.fromkeys([*self._begun, *self._asked]))
        if self.complete or not batch or not all(self._is_settled(i) for i in batch):
            return
        ours = {i: self._asked[i].request_id for i in batch if i in self._asked}
        if not ours:  # the CLI refused them all, and asks the model again
            self._settled_by_cli.difference_update(batch)
            self._batch = []
            return
        self.complete = True
        if self._stop_reason() in _NEVER_EXECUTED:
            self.must_abort = True
        else:
            self.requests = ours

    def _is_settled(self, call_id: str) -> bool:
        return call_id in self._asked or call_id in self._settled_by_cli

    def _settle(self, call_id: str) -> None:
        if call_id in self._answered:
            self._answered.discard(call_id)
        else:
            self._settled_by_cli.add(call_id)

    def _finish_message(self, message: AssistantMessageData) -> None:
        self._tell_text(self._text.finish(message.message_id, message.content))
        self._batch = [call.tool_call_id for call in message.tool_requests or []]
        self._begun = []
        self._check_apart(len(set(self._batch)) == len(self._batch))

    def _check_apart(self, apart: bool) -> None:
        if not apart:
            raise self._failures.explain_damage(
                "two calls of one answer carry the same id", partial=self.started
            )

    def _begin_again(self, reason: str) -> None:
        """The CLI asks the model again: what had arrived of the answer in progress is void."""
        self._text.begin_again()
        self._begun = []
        self._retries += 1
        words = f"the model's server failed ({self._failures.clean_text(reason.replace('_', ' '))})"
        self._on_event(
            StreamRetry(attempt=self._retries, delay_secs=0.0, reason=words, kind=classify_retry(reason))
        )

    def _count(self, usage: AssistantUsageData) -> None:
        read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
        self._usage += Usage(
            input=max(0, (usage.input_tokens or 0) - read - written),
            output=usage.output_tokens or 0,
            cache_read=read,
            cache_write=written,
            reasoning=usage.reasoning_tokens or 0,
        )
        self._finish = usage.finish_reason
        if _STOPS.get(self._finish or "") is MAX_TOKENS:
            self._text.cut()

    def _tell_call(self, delta: AssistantToolCallDeltaData) -> None:
        call_id = delta.tool_call_id
        if call_id in self._indexes:
            piece = StreamedToolCall(index=self._indexes[call_id], arguments_delta=delta.input_delta)
        else:
            self._begun.append(call_id)
            self._indexes[call_id] = len(self._indexes)
            piece = StreamedToolCall(
                index=self._indexes[call_id],
                id=call_id,
                name=delta.tool_name,
                arguments_delta=delta.input_delta,
            )
        self._tell(piece)

    def _tell_reasoning(self, text: str) -> None:
        if text:
            self._tell(StreamedReasoning(text))

    def _tell_text(self, text: str) -> None:
        if text:
            self._tell(Delta(text))

    def _tell(self, event: StreamEvent) -> None:
        self.started = True
        self._on_event(event)


def _block(call: ExternalToolRequestedData) -> ToolUseBlock:
    arguments: object = call.arguments
    raw = "" if arguments is None else arguments if isinstance(arguments, str) else json.dumps(arguments)
    return build_call_block(call.tool_call_id, call.tool_name, raw)


class _Part(Struct):
    """The text of one message. `cut` is set where the token limit ended it and the CLI had it continue."""

    message_id: str
    text: str = ""
    whole: bool = False
    cut: bool = False


class AnswerText:
    """The messages of an answer, put together: what continues after a cut follows at once, else an empty line.

    What `add` and `finish` return is what is to be emitted now.
    """

    def __init__(self) -> None:
        self._parts: list[_Part] = []

    def add(self, message_id: str, text: str) -> str:
        """Take a piece of a message."""
        if not text:
            return ""
        before = ""
        if not self._parts or self._parts[-1].message_id != message_id:
            self._parts.append(_Part(message_id))
            before = self._choose_separator(len(self._parts) - 1)
        self._parts[-1].text += text
        return before + text

    def finish(self, message_id: str, content: str) -> str:
        """Take a message that is complete; its content counts, whatever arrived of it before."""
        part = next((part for part in self._parts if part.message_id == message_id), None)
        if part is None:
            delta = self.add(message_id, content)
            if delta:
                self._parts[-1].whole = True
            return delta
        rest = content[len(part.text) :] if content.startswith(part.text) else ""
        part.text, part.whole = content, True
        return rest

    def cut(self) -> None:
        """The token limit ended the message in progress."""
        if self._parts and not self._parts[-1].whole:
            self._parts[-1].cut = True

    def begin_again(self) -> None:
        """The message in progress is void: the CLI asks for it once more."""
        if self._parts and not self._parts[-1].whole and not self._parts[-1].cut:
            self._parts.pop()

    def __str__(self) -> str:
        """The whole text."""
        return "".join(self._choose_separator(index) + part.text for index, part in enumerate(self._parts))

    def _choose_separator(self, index: int) -> str:
        if index == 0:
            return ""
        before = self._parts[index - 1]
        return "" if before.cut and not before.whole else "\n\n"
