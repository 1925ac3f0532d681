from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from quorum.application.calls.outputs import Outputs
from quorum.application.context_manager import ContextGauge, ContextManager, Summariser
from quorum.application.event_bus import EventBus
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import Conversation, ToolResults, UserMessage
from quorum.domain.conversation.response import LlmResponse, StreamEvent
from quorum.domain.errors import ProviderError
from quorum.domain.events.event import ConversationCompacted, ErrorOccurred, NoticeGiven
from quorum.domain.settings import ContextTable
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from tests.support.fake_blob_store import FakeBlobStore
from tests.support.fake_ports import RecordingObserver
from tests.support.request_rules import read_chat, read_messages, read_responses
from tests.support.sse_server import Dialect, Refuse, Reply, Say, ScriptedCall, SseServer

MODEL = "local/a-model"
PLAN: JsonValue = [{"text": "collect", "status": "done"}, {"text": "compare", "status": "in_progress"}]
TOOLS = tuple(
    {"name": name, "description": name, "input_schema": {"type": "object", "properties": {}}}
    for name in ("read_file", "edit_file")
)
RULES: dict[str, Callable[[dict[str, Any]], object]] = {
    "anthropic": read_messages,
    "openai": read_responses,
    "openai-chat": read_chat,
}
_IS_SUMMARY_REQUEST = "Sum this record up"


class SmallModel:
    """The other end: insists on the provider's rules, refuses what its window of `window` bytes does not hold,
    calls tools for every prompt and answers when it has the results. `broken` summaries fail in one way or
    another."""

    def __init__(
        self, server: SseServer, window: int, broken: Callable[[int], bool] = lambda _n: False
    ) -> None:
        self.main: list[str] = []
        self.summaries = self.refused = self._calls = 0
        self._server = server
        self._window = window
        self._broken = broken

    def pop(self, _place: int) -> Reply:
        """The reply to the request that just arrived; stands where the server has its script."""
        body = self._server.bodies.pop()
        RULES[self._server.dialect](body)
        text = json.dumps(body, ensure_ascii=False)
        if len(text.encode()) > self._window:
            self.refused += 1
            return Refuse(status=400, message="prompt is too long: that exceeds the context window")
        if _IS_SUMMARY_REQUEST in text:
            self.summaries += 1
            if self._broken(self.summaries):
                return (Refuse(status=500), Say(pieces=()), Say(pieces=("It",), ending="drop"))[
                    self.summaries % 3
                ]
            return Say(pieces=(f"Summary number {self.summaries}: ", "it went well. " * 20))
        self.main.append(text)
        messages = body["input" if self._server.dialect == "openai" else "messages"]
        if "please" in json.dumps(messages[-1]):
            self._calls += 1
            number = self._calls
            calls = (
                ScriptedCall(f"a{number}", "read_file", json.dumps({"path": f"src/f{number}.py"})),
                ScriptedCall(
                    f"b{number}", "edit_file", json.dumps({"path": f"src/g{number}.py", "t": "x" * 99})
                ),
            )
            return Say(pieces=("I look.",), calls=calls, stop="tool_use")
        return Say(pieces=(f"Number {self._calls} is done. ", "y" * 150))


class Session:
    """A run without its tools: prompts, results, and the care for the context before each request."""

    def __init__(self, server: SseServer, window: int | None, budget: ContextTable) -> None:
        settings = ProviderSettings(
            type=server.dialect, base_url=server.base_url, api_key_env="SCRIPTED_KEY", max_retries=0
        )
        self.seen = RecordingObserver()
        self.gateway = ProviderRegistry({"local": settings}, environ={"SCRIPTED_KEY": "k"})
        self.conversation = Conversation()
        self._session = self.gateway.open_session(MODEL, self.conversation, "Be brief.")
        events = EventBus([self.seen])
        self.care = ContextManager(
            events=events,
            outputs=Outputs(FakeBlobStore(), OutputLimits()),
            summariser=Summariser(gateway=self.gateway, events=events),
            gauge=ContextGauge(
                self.conversation, window=lambda _model: window, budget=budget, tool_bytes=lambda: 500
            ),
            values=lambda: {"plan": PLAN},
        )

    async def turn(self, number: int) -> None:
        prompt = f"please do number {number}"
        await self.care.compact_if_full(MODEL, UserMessage(prompt))
        response = await self._sent(self._session.send_with_tools(prompt, TOOLS, on_event=_ignore))
        while calls := response.tool_calls():
            results = [
                ToolResultMessage(
                    tool_use_id=call.native_id,
                    tool_name=call.tool_name,
                    output=f"output of {call.native_id} " + "z" * (61 * number % 1_500),
                )
                for call in calls
            ]
            await self.care.compact_if_full(MODEL, ToolResults(tuple(results)))
            response = await self._sent(self._session.send_tool_results(results, on_event=_ignore))

    async def _sent(self, sending: Any) -> LlmResponse:
        try:
            response: LlmResponse = await sending
        except ProviderError as error:
            if not await self.care.make_room(MODEL, error):
                raise
            response = await self._session.send_with_tools(None, TOOLS, on_event=_ignore)
        return response

    def count_events(self, *kinds: type) -> int:
        return len(self.seen.of(*kinds))


def _ignore(_event: StreamEvent) -> None:
    """Nobody watches."""


@pytest.mark.long
@pytest.mark.parametrize(("dialect", "turns"), [("anthropic", 300), ("openai", 60), ("openai-chat", 60)])
async def test_three_hundred_turns_go_on_in_a_small_window(dialect: Dialect, turns: int) -> None:
    async with SseServer(dialect) as server:
        model = SmallModel(server, window=20_000)
        server.script = model  # type: ignore[assignment]
        session = Session(server, 4_000, ContextTable())
        for number in range(1, turns + 1):
            await session.turn(number)
            assert f"please do number {number}" in model.main[-1]
            assert f"src/f{number}.py" in model.main[-1]
        await session.gateway.aclose()

    assert model.refused == 0
    assert 3 <= model.summaries < turns / 2
    assert session.count_events(ErrorOccurred, NoticeGiven) == 0
    late = model.main[60:]
    assert all("2 ● compare" in request for request in late)
    assert all("Files last touched" in request for request in late)


async def test_where_the_window_is_smaller_than_was_known_the_refusal_teaches_it() -> None:
    async with SseServer("openai-chat") as server:
        model = SmallModel(server, window=20_000)
        server.script = model  # type: ignore[assignment]
        session = Session(server, None, ContextTable())
        for number in range(1, 61):
            await session.turn(number)
        await session.gateway.aclose()

    assert 1 <= model.refused <= 2
    assert model.summaries >= 2
    assert session.count_events(ErrorOccurred, NoticeGiven) == 0


@pytest.mark.long
async def test_a_provider_that_fails_at_summaries_leaves_the_session_usable() -> None:
    async with SseServer("anthropic") as server:
        model = SmallModel(server, window=20_000, broken=lambda n: n % 4 != 0)
        server.script = model  # type: ignore[assignment]
        session = Session(server, 4_000, ContextTable())
        for number in range(1, 61):
            await session.turn(number)
        await session.gateway.aclose()

    assert session.count_events(NoticeGiven) >= 1
    assert session.count_events(ConversationCompacted) > 2
    assert len(model.main) == 120
    assert model.summaries >= 4
