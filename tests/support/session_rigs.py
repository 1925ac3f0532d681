"""The same conversation led over each way of having a session, so that one test body fits them all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, Protocol

from quorum.application.conversation_session import ConversationSession
from quorum.application.ports.models import LlmSession
from quorum.application.ports.storage import ContentStore
from quorum.domain.conversation.history import Conversation, ToolResults
from quorum.domain.conversation.response import LlmResponse, StopKind, StopReason, TextBlock, ToolUseBlock
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.anthropic.client import AnthropicMessages
from quorum.infrastructure.models.clouds.endpoint import Endpoint
from quorum.infrastructure.models.openai_chat.client import OpenAiChat
from quorum.infrastructure.models.openai_responses.client import OpenAiResponses
from quorum.infrastructure.models.shared.api_client import ApiClient, ProviderSettings
from quorum.infrastructure.models.shared.exchange import ApiExchange
from quorum.infrastructure.models.shared.json_fields import parse_arguments
from quorum.infrastructure.provider_types import find_public_service
from tests.support.fake_session import FakeSession, Step
from tests.support.sse_server import Dialect, Hang, Refuse, Reply, Say, SseServer

SECRET = "sk-very-secret"


@dataclass(frozen=True, slots=True)
class SentResult:
    """A tool result as it reached the provider; `is_error` is None where its API cannot say so."""

    id: str
    text: str
    is_error: bool | None


class Rig(Protocol):
    """A session, and the other end of its line."""

    @property
    def session(self) -> LlmSession:
        """The session under test."""
        ...

    @property
    def conversation(self) -> Conversation:
        """Its conversation."""
        ...

    def script(self, *answers: Say) -> None:
        """Set what will be answered."""
        ...

    def requests(self) -> int:
        """How many requests arrived."""
        ...

    def last_results(self) -> list[SentResult]:
        """The tool results that the last request ended with."""
        ...

    def offered(self) -> tuple[list[str], str]:
        """The names of the tools in the last request, and the choice left to the model."""
        ...


class FragileRig(Rig, Protocol):
    """A rig whose other end can fail in every way."""

    def script(self, *answers: Reply) -> None:
        """Set what will be answered."""
        ...

    def unplug(self) -> None:
        """Let nobody connect."""
        ...

    async def plug(self) -> None:
        """Let everybody connect again."""
        ...


@dataclass(slots=True)
class ServerRig:
    """A session over the real adapter, the real SDK and a real socket."""

    server: SseServer
    session: ConversationSession
    conversation: Conversation
    client: ApiClient

    def script(self, *answers: Reply) -> None:
        """Set what the server will answer."""
        self.server.script = list(answers)

    def unplug(self) -> None:
        """Close the server's socket."""
        self.server.unplug()

    async def plug(self) -> None:
        """Open it again."""
        await self.server.plug()

    def requests(self) -> int:
        """How many requests arrived."""
        return len(self.server.bodies)

    @property
    def last_body(self) -> dict[str, Any]:
        """The last request."""
        return self.server.bodies[-1]

    def last_results(self) -> list[SentResult]:
        """The tool results that the last request ended with."""
        if self.server.dialect == "openai":
            items = reversed(self.last_body["input"])
            last = list(takewhile(lambda item: item.get("type") == "function_call_output", items))
            return [SentResult(item["call_id"], item["output"], None) for item in reversed(last)]
        messages = self.last_body["messages"]
        if self.server.dialect == "anthropic":
            return [
                SentResult(block["tool_use_id"], block["content"], block.get("is_error", False))
                for block in messages[-1]["content"]
                if block["type"] == "tool_result"
            ]
        found: list[SentResult] = []
        for message in reversed(messages):
            if message["role"] != "tool":
                break
            found.insert(0, SentResult(message["tool_call_id"], message["content"], None))
        return found

    def offered(self) -> tuple[list[str], str]:
        """The names of the tools in the last request, and the choice left to the model."""
        tools, choice = self.last_body.get("tools", []), self.last_body.get("tool_choice", "")
        if self.server.dialect == "anthropic":
            return [tool["name"] for tool in tools], choice and (choice.get("name") or choice["type"])
        if self.server.dialect == "openai":
            named = choice["name"] if isinstance(choice, dict) else choice
            return [tool["name"] for tool in tools], named
        named = choice["function"]["name"] if isinstance(choice, dict) else choice
        return [tool["function"]["name"] for tool in tools], named


@dataclass(slots=True)
class FakeRig:
    """A session that is the fake. `times_out` tells what silence means: an error, or waiting for ever."""

    times_out: bool = False
    conversation: Conversation = field(default_factory=Conversation)
    session: FakeSession = field(init=False)

    def __post_init__(self) -> None:
        self.session = FakeSession([], conversation=self.conversation, continues=False)

    def script(self, *answers: Reply) -> None:
        """Set what the fake will answer."""
        self.session.script = [_step(answer, times_out=self.times_out) for answer in answers]

    def unplug(self) -> None:
        """Let the next sending find nobody."""
        self.session.script = [ProviderError("scripted", kind=ProviderErrorKind.CONNECTION, retryable=True)]

    async def plug(self) -> None:
        """Nothing to open: the fake answers what its script says."""

    def requests(self) -> int:
        """How many requests were made."""
        return len(self.session.sent)

    def last_results(self) -> list[SentResult]:
        """The tool results that the last request ended with."""
        last = self.session.sent[-1].messages[-1]
        assert isinstance(last, ToolResults)
        return [SentResult(r.tool_use_id, r.output, r.is_error or r.is_rejected) for r in last.results]

    def offered(self) -> tuple[list[str], str]:
        """The names of the tools in the last request, and the choice left to the model."""
        sent = self.session.sent[-1]
        choice = sent.tool_choice if isinstance(sent.tool_choice, str) else sent.tool_choice[1]
        return [str(tool["name"]) for tool in sent.tools], choice if sent.tools else ""


_KIND_OF_STATUS = {
    400: ProviderErrorKind.BAD_REQUEST,
    401: ProviderErrorKind.AUTHENTICATION,
    403: ProviderErrorKind.PERMISSION,
    404: ProviderErrorKind.NOT_FOUND,
    422: ProviderErrorKind.BAD_REQUEST,
    429: ProviderErrorKind.RATE_LIMIT,
    500: ProviderErrorKind.SERVER,
    529: ProviderErrorKind.OVERLOADED,
}
_KIND_OF_HANG = {"silent": ProviderErrorKind.TIMEOUT}
_KIND_OF_ENDING = {
    "error": ProviderErrorKind.OVERLOADED,
    "failed": ProviderErrorKind.SERVER,
    "stall": ProviderErrorKind.TIMEOUT,
}


def _step(reply: Reply, *, times_out: bool) -> Step:
    match reply:
        case Say(ending="stall", pieces=pieces) if not times_out:
            return Step(answer=LlmResponse.from_text(""), first=pieces, gate=asyncio.Event())
        case Say():
            return _script_answer(reply)
        case Refuse(status=status):
            retryable = status == 429 or status >= 500
            return Step(answer=ProviderError("no", kind=_KIND_OF_STATUS[status], retryable=retryable))
        case Hang(how):
            kind = _KIND_OF_HANG.get(how, ProviderErrorKind.CONNECTION)
            return Step(answer=ProviderError("no", kind=kind, retryable=True))
        case _:
            raise NotImplementedError("the fake answers no such request")


def _script_answer(say: Say) -> Step:
    if say.ending != "whole":
        kind = _KIND_OF_ENDING.get(say.ending, ProviderErrorKind.DAMAGED_STREAM)
        return Step(answer=ProviderError("scripted", kind=kind, partial=True), first=say.pieces)
    calls = []
    for call in say.calls:
        arguments, problem = parse_arguments(call.arguments)
        calls.append(ToolUseBlock(id=call.id, name=call.name, input=arguments, parse_error=problem))
    known = say.stop in {kind.value for kind in StopKind}
    stop = StopReason(StopKind(say.stop)) if known else StopReason(StopKind.OTHER, say.stop)
    text = (TextBlock("".join(say.pieces)),) if say.pieces else ()
    return Step(answer=LlmResponse(content=(*text, *calls), stop_reason=stop), first=say.pieces)


def open_api_client(server: SseServer, **settings: Any) -> ApiClient:
    """The adapter of the server's dialect, with these settings besides address and key."""
    given = ProviderSettings(
        type=server.dialect, base_url=server.base_url, api_key_env="SCRIPTED_KEY", **settings
    )
    environ = {"SCRIPTED_KEY": SECRET}
    if server.dialect == "anthropic":
        endpoint = Endpoint.of("scripted", given, environ, find_public_service("anthropic"))
        return AnthropicMessages(endpoint, max_output_tokens=given.max_output_tokens)
    endpoint = Endpoint.of("scripted", given, environ, find_public_service("openai"))
    if server.dialect == "openai":
        return OpenAiResponses(endpoint, max_output_tokens=given.max_output_tokens)
    return OpenAiChat(endpoint, max_output_tokens=given.max_output_tokens)


@asynccontextmanager
async def server_rig(
    dialect: Dialect, *, max_retries: int = 2, contents: ContentStore | None = None, **settings: Any
) -> AsyncIterator[ServerRig]:
    """A rig over a server of this dialect. Repetitions wait for nothing but what the server asks for."""
    conversation = Conversation()
    async with SseServer(dialect) as server:
        client = open_api_client(server, **settings)
        session = ConversationSession(
            ApiExchange(
                client,
                model="a-model",
                max_retries=max_retries,
                backoff=lambda _attempt: 0.0,
                contents=contents,
            ),
            conversation,
            system="Be brief.",
        )
        yield ServerRig(server, session, conversation, client)
        await client.aclose()
