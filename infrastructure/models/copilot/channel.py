"""One session of the CLI: its prompts, its open calls, and what of the conversation it has lived through."""

from __future__ import annotations

import asyncio
import contextlib
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
from copilot.session_events import SessionIdleData

from quorum.application.ports.models import OnStreamEvent
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import Message, ToolResults, UserMessage, split_last_step
from quorum.domain.conversation.image import Image
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.copilot.failures import CopilotFailures
from quorum.infrastructure.models.copilot.turn import Turn
from quorum.infrastructure.models.shared.json_fields import replace_surrogates

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
