from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from quorum.application.conversation_session import ConversationSession
from quorum.application.ports.models import LlmSession
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import StopKind, StreamEvent
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.copilot.provider import CopilotProvider
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from tests.support.sse_server import Reply, Say, ScriptedCall, SseServer

CLI = os.environ.get("QUORUM_COPILOT_CLI", "")
# The CLI unpacks itself there at its first start: one folder for all tests, and for all runs.
CACHE = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")

pytestmark = pytest.mark.skipif(
    not CLI, reason="QUORUM_COPILOT_CLI does not name a Copilot CLI (npm install @github/copilot)"
)
TOOLS: list[dict[str, Any]] = [
    {
        "name": name,
        "description": name,
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
    }
    for name in ("read_file", "bash")
]
READ = ScriptedCall("call_a", "read_file", '{"path": "a.txt"}')
BASH = ScriptedCall("call_b", "bash", '{"path": "b.txt"}')


class Stage:
    """The real CLI between us and a scripted model."""

    def __init__(self, server: SseServer, backend: CopilotProvider) -> None:
        self.server = server
        self.backend = backend

    def session(self) -> LlmSession:
        return ConversationSession(self.backend.open_exchange("any-model"), Conversation(), system="Be brief.")

    def script(self, *answers: Reply) -> None:
        self.server.script = list(answers)

    @property
    def last_body(self) -> dict[str, Any]:
        return self.server.bodies[-1]

    def offered(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.last_body.get("tools", [])]


def _environ(home: Path) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    return {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_CACHE_HOME": CACHE, "KEY": "sk-1"}


@asynccontextmanager
async def _stage(home: Path, **settings: Any) -> AsyncIterator[Stage]:
    async with SseServer("openai-chat") as server:
        given = ProviderSettings(
            type="copilot", program=CLI, base_url=server.base_url, api_key_env="KEY", **settings
        )
        backend = CopilotProvider("copilot", given, _environ(home))
        try:
            yield Stage(server, backend)
        finally:
            await backend.aclose()


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with _stage(tmp_path / "home") as stage:
        yield stage


def _ignore(_event: StreamEvent) -> None:
    return None


def _result(call: ScriptedCall, output: str, **flags: bool) -> ToolResultMessage:
    return ToolResultMessage(tool_use_id=call.id, tool_name=call.name, output=output, **flags)


async def test_only_our_tools_with_their_schema_and_our_words_reach_the_model(stage: Stage) -> None:
    stage.script(Say(pieces=("ok",)))
    await stage.session().send_with_tools("look", TOOLS, on_event=_ignore)
    assert stage.offered() == ["read_file", "bash"]
    function = stage.last_body["tools"][0]["function"]
    assert function["parameters"]["properties"] == {"path": {"type": "string"}}
    system, user = stage.last_body["messages"]
    assert system["content"] == "Be brief."
    assert user["content"].endswith("\n\nlook")
    assert stage.server.headers[-1]["authorization"] == "Bearer sk-1"


async def test_calls_form_one_batch_and_their_results_reach_the_model_in_its_order(stage: Stage) -> None:
    stage.script(Say(pieces=("Looking.",), calls=(READ, BASH), stop="tool_use"), Say(pieces=("done",)))
    session = stage.session()
    asked = await session.send_with_tools("look", TOOLS, on_event=_ignore)
    assert [call.native_id for call in asked.tool_calls()] == ["call_a", "call_b"]
    results = [_result(READ, "a's text"), _result(BASH, "rejected by the person", is_rejected=True)]
    answer = await session.send_tool_results(results, on_event=_ignore)
    assert answer.text_content() == "done"
    last = stage.last_body["messages"][-2:]
    assert [message["content"] for message in last] == ["a's text", "rejected by the person"]


async def test_a_long_output_reaches_the_model_whole(stage: Stage) -> None:
    stage.script(Say(calls=(READ,), stop="tool_use"), Say(pieces=("done",)))
    session = stage.session()
    await session.send_with_tools("look", TOOLS, on_event=_ignore)
    await session.send_tool_results([_result(READ, "x" * 100_000)], on_event=_ignore)
    assert stage.last_body["messages"][-1]["content"] == "x" * 100_000


async def test_a_call_of_one_of_its_own_tools_is_run_by_nobody(stage: Stage, tmp_path: Path) -> None:
    made = tmp_path / "made"
    create = ScriptedCall("call_c", "create", json.dumps({"path": str(made), "file_text": "x"}))
    stage.script(Say(calls=(create,), stop="tool_use"), Say(pieces=("I cannot.",)))
    response = await stage.session().send_with_tools("write", TOOLS, on_event=_ignore)
    assert response.text_content() == "I cannot."
    assert not made.exists()


@pytest.mark.parametrize("broken", ['{"path": }', '["a"]', ""])
async def test_arguments_that_are_none_neither_hang_nor_run(stage: Stage, broken: str) -> None:
    call = ScriptedCall("call_c", "bash", broken)
    stage.script(Say(calls=(call, READ), stop="tool_use"))
    response = await stage.session().send_with_tools("look", TOOLS, on_event=_ignore)
    expected = ["call_a"] if broken else ["call_c", "call_a"]
    assert [call.native_id for call in response.tool_calls()] == expected


async def test_a_call_under_a_token_limit_is_not_executed(stage: Stage) -> None:
    stage.script(Say(pieces=("half",), calls=(READ,), stop="max_tokens"), Say(pieces=("next",)))
    session = stage.session()
    response = await session.send_with_tools("look", TOOLS, on_event=_ignore)
    assert (response.stop_reason.kind, response.tool_calls()) == (StopKind.MAX_TOKENS, ())
    assert (await session.send_with_tools("go on", TOOLS, on_event=_ignore)).text_content() == "next"


async def test_the_choice_is_kept_also_in_the_middle_of_a_turn(stage: Stage) -> None:
    stage.script(Say(calls=(READ,), stop="tool_use"), Say(pieces=("done",)))
    session = stage.session()
    await session.send_with_tools("look", TOOLS, tool_choice=("tool", "read_file"), on_event=_ignore)
    assert stage.offered() == ["read_file"]
    await session.send_tool_results([_result(READ, "x")], tool_choice="none", on_event=_ignore)
    assert stage.offered() == []
    assert stage.last_body["messages"][-1]["content"] == "x"


async def test_a_cancelled_answer_ends_at_the_model_and_the_next_one_reads_of_it(stage: Stage) -> None:
    stage.script(Say(pieces=("It is",), ending="stall"), Say(pieces=("42",)))
    session = stage.session()
    received = asyncio.Event()
    sending = asyncio.create_task(session.send_streaming("what?", lambda _event: received.set()))
    async with asyncio.timeout(30):
        await received.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await stage.server.disconnected.wait()
    assert (await session.send("again")).text_content() == "42"
    assert '{"from":"you","text":"It is"}' in stage.last_body["messages"][-1]["content"]


@pytest.mark.long
async def test_a_cli_that_is_killed_is_noticed_and_started_again(tmp_path: Path) -> None:
    async with _stage(tmp_path / "home") as stage:
        stage.script(Say(pieces=("It is",), ending="stall"), Say(pieces=("42",)))
        session = stage.session()
        received = asyncio.Event()
        sending = asyncio.create_task(session.send_streaming("what?", lambda _event: received.set()))
        async with asyncio.timeout(60):
            await received.wait()
            process = stage.backend._process
            assert process is not None
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
            with pytest.raises(ProviderError) as caught:
                await sending
        assert caught.value.kind is ProviderErrorKind.CONNECTION
        assert (await session.send("again")).text_content() == "42"


async def test_who_is_not_logged_in_is_shown_how(tmp_path: Path) -> None:
    settings = ProviderSettings(type="copilot", program=CLI)
    backend = CopilotProvider("copilot", settings, _environ(tmp_path / "home"))
    try:
        for asking in (
            backend.list_models(),
            ConversationSession(backend.open_exchange("gpt-5"), Conversation()).send("hi"),
        ):
            with pytest.raises(ProviderError, match="`copilot login`") as caught:
                await asking
            assert caught.value.kind is ProviderErrorKind.AUTHENTICATION
    finally:
        await backend.aclose()


async def test_with_the_persons_own_login_none_of_their_servers_is_started(tmp_path: Path) -> None:
    home, started = tmp_path / "home", tmp_path / "started"
    (home / ".copilot").mkdir(parents=True)
    server = {"type": "local", "command": "touch", "args": [str(started)], "tools": ["*"]}
    (home / ".copilot" / "mcp-config.json").write_text(json.dumps({"mcpServers": {"canary": server}}))
    backend = CopilotProvider("copilot", ProviderSettings(type="copilot", program=CLI), _environ(home))
    try:
        with pytest.raises(ProviderError):
            await ConversationSession(backend.open_exchange("gpt-5"), Conversation(), system="x").send("hi")
    finally:
        await backend.aclose()
    assert not started.exists()
