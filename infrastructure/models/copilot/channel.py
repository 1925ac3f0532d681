"""One session of the CLI: its prompts, its open calls, and what of the conversation it has lived through."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from copilot import CopilotClient, CopilotSession, SessionEvent, Tool
from copilot._jsonrpc import JsonRpcError, ProcessExitedError
from copilot.rpc import (
    ExternalToolTextResultForLlm,
    ExternalToolTextResultForLlmBinaryResultsForLlm,
    ExternalToolTextResultForLlmBinaryResultsForLlmType,
    HandlePendingToolCallRequest,
)
from copilot.session import Attachment, BlobAttachment
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
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.attachment import Image
from quorum.domain.conversation.history import Message, ToolResults, UserMessage, split_last_step
from quorum.domain.conversation.response import (
    END_TURN,
    MAX_TOKENS,
    PAUSE,
    REFUSAL,
    TOOL_USE,
    ContentBlock,
    Delta,
    LlmResponse,
    StopKind,
    StopReason,
    StreamedReasoning,
    StreamedToolCall,
    StreamEvent,
    StreamRetry,
    TextBlock,
    ToolUseBlock,
    Usage,
    guess_stop_reason,
)
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.copilot.failures import CopilotFailures, classify_retry
from quorum.infrastructure.models.shared.call_arguments import build_call_block
from quorum.infrastructure.models.shared.json_fields import replace_surrogates

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


def _read_stop(word: str) -> StopReason:
    return _STOPS.get(word) or guess_stop_reason(word)


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
        return _read_stop(self._finish)

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
        if _read_stop(self._finish or "") is MAX_TOKENS:
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


_LOOK_SECS = 2.0
_DRAIN_SECS = 5.0
_ACCEPT_SECS = 60.0
# how the SDK fails: refused, process gone, not connected, pipe broken, answer not readable
SDK_FAILURES = (
    JsonRpcError,
    ProcessExitedError,
    RuntimeError,
    OSError,
    AssertionError,
    KeyError,
    TypeError,
    ValueError,
)
T = TypeVar("T")


class Channel:
    """A session of the CLI that was created to follow one conversation.

    `check` raises ProviderError where the CLI's process is gone. `seen` is what the CLI has in its history;
    `requests` maps the ids of its open calls to those it wants their results under.
    """

    def __init__(
        self,
        client: CopilotClient,
        session: CopilotSession,
        events: asyncio.Queue[SessionEvent],
        offered: tuple[JsonObject, ...],
        *,
        failures: CopilotFailures,
        check: Callable[[bool], Awaitable[None]],
        timeout_secs: float,
    ) -> None:
        self.seen: tuple[Message, ...] = ()
        self.requests: dict[str, str] = {}
        self._client = client
        self._session = session
        self._events = events
        self._failures = failures
        self._check = check
        self._timeout_secs = timeout_secs
        self._offered = offered
        self._answered: tuple[str, ...] = ()
        self._busy = False
        self._lost = False

    def follows(self, messages: Sequence[Message]) -> bool:
        """Whether these messages are what the CLI has seen and one more that it can be given now."""
        said, last, _ = split_last_step(messages)
        if last is None or tuple(said) != self.seen:
            return False
        match last:
            case UserMessage():
                return not self.requests
            case ToolResults(results=results):
                return [r.tool_use_id for r in results] == list(self.requests) and bool(results)
            case _:
                return False

    async def offer(self, tools: tuple[JsonObject, ...]) -> None:
        """Have the model's next request offer these tools, and no others. Raises ProviderError."""
        if tools != self._offered:
            await self._await_acceptance(self._session.set_tools(declare_tools(tools)), "take the tools")
            self._offered = tools

    async def say(self, prompt: str, images: Iterable[tuple[Image, str]] = ()) -> None:
        """Have the model answer a prompt, with these images, their contents in base64. Raises ProviderError."""
        attached: list[Attachment] = [
            BlobAttachment(type="blob", data=encoded, mimeType=image.media_type, displayName=image.name)
            for image, encoded in images
        ]
        self._answered = ()
        self._busy = True  # from here on: a prompt that is given up while it is taken may be taken all the same
        await self._await_acceptance(
            self._session.send(replace_surrogates(prompt), attachments=attached or None), "take the prompt"
        )

    async def answer(
        self, results: Iterable[ToolResultMessage], images: Mapping[str, Sequence[tuple[Image, str]]]
    ) -> None:
        """Give the results of the open calls, and the images that they name by the id of the call. Raises
        ProviderError where one of them is open no more."""
        answered: list[str] = []
        for result in results:
            # "rejected" would end the turn without asking the model again, and `error` would lose the text
            outcome = "denied" if result.is_rejected else "failure" if result.is_error else "success"
            text = ExternalToolTextResultForLlm(
                text_result_for_llm=replace_surrogates(result.output),
                result_type=outcome,
                binary_results_for_llm=_encode_binary(images.get(result.tool_use_id, ())),
            )
            request = HandlePendingToolCallRequest(
                request_id=self.requests.pop(result.tool_use_id), result=text
            )
            self._busy = True
            taken = await self._await_acceptance(
                self._session.rpc.tools.handle_pending_tool_call(request), "take a result"
            )
            if not taken.success:
                raise self._failures.explain_refusal("a call is no longer waiting for its result")
            answered.append(result.tool_use_id)
        self._answered = tuple(answered)

    async def read(self, model: str, on_event: OnStreamEvent) -> Turn:
        """The answer, when it is complete. Raises ProviderError when the CLI dies or falls silent."""
        turn = Turn(model, self._failures, on_event, self._answered)
        now = asyncio.get_running_loop().time
        last_event_at = now()
        while not turn.complete:
            event = await self._wait_for_event()
            if event is not None:
                last_event_at = now()
                turn.read_event(event)
                continue
            await self._check(turn.started)
            if now() - last_event_at >= self._timeout_secs:
                raise self._failures.explain_silence(partial=turn.started)
        self._busy = not turn.idle
        self.requests = dict(turn.requests)
        return turn

    async def settle(self) -> bool:
        """Stop what the CLI is doing; whether it is known to be idle now."""
        if self._lost or not self._busy:
            return not self._lost
        try:
            async with asyncio.timeout(_DRAIN_SECS):
                await self._session.abort()
                while not isinstance((await self._events.get()).data, SessionIdleData):
                    continue
        except (TimeoutError, *SDK_FAILURES):
            self._lost = True
            return False
        self._busy = False
        self.requests = {}
        return True

    async def close(self) -> None:
        """Have the CLI forget the session. Where that fails, the CLI is gone, or goes with its state."""
        await self.settle()
        with contextlib.suppress(TimeoutError, *SDK_FAILURES):
            async with asyncio.timeout(_DRAIN_SECS):
                await self._session.disconnect()
                await self._client.delete_session(self._session.session_id)

    async def _wait_for_event(self) -> SessionEvent | None:
        """The next event, or None after a while in which none came."""
        if not self._events.empty():
            return self._events.get_nowait()
        try:
            async with asyncio.timeout(min(_LOOK_SECS, self._timeout_secs)):
                return await self._events.get()
        except TimeoutError:
            return None

    async def _await_acceptance(self, asked: Awaitable[T], what: str) -> T:
        return await await_acceptance(asked, what, self._failures)


def _encode_binary(
    images: Iterable[tuple[Image, str]],
) -> list[ExternalToolTextResultForLlmBinaryResultsForLlm] | None:
    kind = ExternalToolTextResultForLlmBinaryResultsForLlmType.IMAGE
    return [
        ExternalToolTextResultForLlmBinaryResultsForLlm(
            data=encoded, mime_type=image.media_type, type=kind, description=image.name
        )
        for image, encoded in images
    ] or None


async def await_acceptance(asked: Awaitable[T], what: str, failures: CopilotFailures) -> T:
    """What the CLI answers to a request that it answers at once. Raises ProviderError."""
    try:
        async with asyncio.timeout(_ACCEPT_SECS):
            return await asked
    except TimeoutError as error:
        raise failures.explain_timeout(what, _ACCEPT_SECS) from error
    except JsonRpcError as error:
        raise failures.explain_refusal(error.message) from error
    except (ProcessExitedError, OSError, RuntimeError) as error:
        raise failures.explain_exit(str(error), partial=False) from error
    except SDK_FAILURES as error:
        raise failures.explain_refusal(str(error)) from error


def declare_tools(tools: Iterable[JsonObject]) -> list[Tool]:
    """Tools that the CLI may offer but only we execute.

    Without `overrides_built_in_tool` a tool of ours that has the name of one of the CLI's, even of one that is
    switched off, would be run by the CLI itself.
    """
    return [_declare_tool(tool) for tool in tools]


def _declare_tool(tool: JsonObject) -> Tool:
    schema = tool.get("input_schema")
    return Tool(
        name=str(tool["name"]),
        description=str(tool.get("description", "")),
        parameters=dict(schema) if isinstance(schema, Mapping) else None,
        skip_permission=True,
        defer="never",
        overrides_built_in_tool=True,
    )
