"""What `quorum doctor --probe` finds out of tools: of servers that call, write, drop and refuse them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.doctor.diagnosis import diagnose
from quorum.infrastructure.doctor.finding import Finding, FindingState
from tests.support.settings_machine import Machine
from tests.support.sse_server import Raw, Refuse, Reply, SseServer

CALL = '{"name": "read_file", "arguments": {"path": "README.md"}}'
TAGGED = f"<tool_call>{CALL}</tool_call>"
NATIVE = {"index": 0, "id": "1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}


def _answer(delta: dict[str, Any], tokens: int, finish: str = "stop") -> Raw:
    chunks = [
        {"choices": [{"index": 0, "delta": delta}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": 2}},
    ]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    return Raw(body=f"{body}data: [DONE]\n\n".encode())


def _load(machine: Machine, address: str, parser: str) -> LoadedSettings:
    machine.user(
        '[models]\ndecision = "local/m"\n[providers.local]\ntype = "openai-chat"\n'
        f'base_url = "{address}"\ntool_parser = "{parser}"\n'
    )
    return machine.load()


async def _probe(
    machine: Machine, delta: dict[str, Any], *, tokens: int = 300, parser: str = ""
) -> list[Finding]:
    def respond(body: dict[str, Any]) -> Reply:
        if "tools" in body:
            return _answer(delta, tokens)
        return _answer(
            {"content": json.dumps({"path": "README.md"}) if "response_format" in body else "ok"}, 12
        )

    async with SseServer("openai-chat") as server:
        server.respond = respond
        server.facts = {"/props": {"default_generation_settings": {"n_ctx": 8192}}}
        found = await diagnose(_load(machine, server.base_url, parser), machine.environ, probe=True)
    return [finding for finding in found if finding.name in ("request", "tools")]


@pytest.fixture
def machine(tmp_path: Any) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("delta", "tokens", "parser", "state", "says", "remedy"),
    [
        ({"tool_calls": [NATIVE]}, 300, "", FindingState.OK, "calls tools; window 8,192 tokens", ""),
        ({"content": TAGGED}, 300, "", FindingState.WARN, "writes calls as text", 'tool_parser = "hermes"'),
        ({"content": TAGGED}, 300, "hermes", FindingState.OK, 'tool_parser = "hermes" reads', ""),
        ({"content": f"So: {CALL}"}, 300, "", FindingState.WARN, "writes calls as text", "another model"),
        (
            {"content": "README"},
            14,
            "",
            FindingState.WARN,
            "drops tools: it counted 14 of some",
            "chat template",
        ),
        ({"content": "README"}, 300, "", FindingState.WARN, "called no tool", "larger model"),
    ],
    ids=["native", "as text", "read", "unread", "dropped", "no call"],
)
async def test_it_says_what_becomes_of_a_tool(
    machine: Machine,
    delta: dict[str, Any],
    tokens: int,
    parser: str,
    state: FindingState,
    says: str,
    remedy: str,
) -> None:
    request, tools = await _probe(machine, delta, tokens=tokens, parser=parser)

    assert request.state is FindingState.OK
    assert tools.state is state
    assert says in tools.text
    assert remedy in (tools.remedy or "")


async def test_a_server_that_refuses_tools_is_named(machine: Machine) -> None:
    async with SseServer("openai-chat") as server:
        server.respond = lambda body: (
            Refuse(status=400, message="tools are not supported")
            if "tools" in body
            else _answer({"content": "ok"}, 9)
        )
        found = await diagnose(_load(machine, server.base_url, ""), machine.environ, probe=True)

    (tools,) = [finding for finding in found if finding.name == "tools"]
    assert tools.state is FindingState.WARN
    assert "refuses a request with a tool" in tools.text


async def test_an_empty_answer_is_none(machine: Machine) -> None:
    async with SseServer("openai-chat") as server:
        server.respond = lambda _body: _answer({"content": ""}, 9)
        found = await diagnose(_load(machine, server.base_url, ""), machine.environ, probe=True)

    (request,) = [finding for finding in found if finding.name == "request"]
    assert request.state is FindingState.WARN
    assert "answered nothing" in request.text
