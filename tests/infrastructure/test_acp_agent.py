"""What an agent's program asks for: how its calls are read, and that each request is answered."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from pathlib import Path

import pytest

from quorum.application.ports.agents import AgentTerms, ReportedCall
from quorum.domain.events.agents import AgentConnected
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.gate.acp_calls import read_reported_call
from quorum.infrastructure.agents.acp_agent import DrivenAgent
from quorum.infrastructure.agents.channel import INTERNAL_ERROR, AgentChannel
from quorum.infrastructure.agents.launch import AgentLaunch
from quorum.infrastructure.agents.obeyed_places import ObeyedPlaces

_ASK_AND_TELL = """
printf '{"jsonrpc":"2.0","id":7,"method":"ask","params":{}}\\n'
read -r answer
printf '{"jsonrpc":"2.0","method":"told","params":%s}\\n' "$answer"
read -r end
"""


class AskedHost:
    """Allows each call, and keeps it."""

    def __init__(self) -> None:
        self.asked: list[ReportedCall] = []

    async def decide(self, call: ReportedCall) -> bool:
        self.asked.append(call)
        return True


def shown_text(text: str) -> JsonObject:
    return {"content": [{"type": "content", "content": {"type": "text", "text": text}}]}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([{"rawInput": {"command": "touch a"}}, shown_text('{"command": "ls"}')], "touch a"),
        ([{"rawInput": {"command": "touch a"}, **shown_text('{"command": "ls"}')}], "touch a"),
        ([shown_text('{"command": "ls"}'), {"rawInput": {"command": "touch a"}}], "touch a"),
        ([{"rawInput": {"command": "ls"}}, {"rawInput": {"command": "touch a"}}], "touch a"),
        ([shown_text('{"command": "to'), shown_text('{"command": "touch a"}')], "touch a"),
        ([shown_text('{"command": "ls"}'), shown_text('{"command": "touch a"}')], "touch a"),
        ([{"rawInput": {}}, shown_text('{"command": "touch a"}')], "touch a"),
    ],
)
async def test_arguments_that_are_told_count_before_a_text_that_looks_like_some(
    told: list[JsonObject], expected: str
) -> None:
    assert (await ask_about(*told)).arguments == {"command": expected}


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ('{"command": "touch a"}', {"command": "touch a"}),
        ("touch a", {"rawInput": "touch a"}),
        (["touch", "a"], {"rawInput": ["touch", "a"]}),
        (None, {}),
        ("", {}),
    ],
)
async def test_arguments_in_a_permission_request_alone_are_read_or_kept_for_the_person(
    raw: JsonValue, read: JsonObject
) -> None:
    call = await ask_about({"kind": "execute", "title": "ls", "rawInput": raw})
    proposed = read_reported_call(call, cwd="/", environment={}, tells_no_arguments=True)

    assert call.arguments == read
    assert proposed.is_known == ("command" in read)


async def ask_about(*told: JsonObject) -> ReportedCall:
    """The call that is decided about after these requests."""
    host = AskedHost()
    launch = AgentLaunch(name="test", words=("/bin/true",), environ={}, timeout_secs=20)
    agent = DrivenAgent(launch, "/", host, version="1", runs_commands=False)  # type: ignore[arg-type]
    for each in told:
        call: JsonObject = {"toolCallId": "1", **each}
        await agent.answer_request("session/request_permission", {"toolCall": call, "options": []})

    return host.asked[-1]


async def open_agent(
    tmp_path: Path, *answers: JsonObject, terms: AgentTerms
) -> tuple[DrivenAgent, AgentConnected]:
    """An agent that answers the requests of the opening with these."""
    lines = "".join(
        f"read -r asked\necho '{json.dumps({'jsonrpc': '2.0', 'id': number, 'result': answer})}'\n"
        for number, answer in enumerate(answers, 1)
    )
    words = ("/bin/sh", "-c", f"{lines}read -r end")
    launch = AgentLaunch(name="test", words=words, environ={}, timeout_secs=20)
    agent = DrivenAgent(launch, str(tmp_path), AskedHost(), version="1", runs_commands=False)  # type: ignore[arg-type]
    try:
        connected = await agent.open(terms)
    finally:
        await agent.aclose()
    return agent, connected


_GREETING: JsonObject = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}


async def test_modes_that_an_agent_names_by_addresses_have_their_last_names_here(tmp_path: Path) -> None:
    url = "https://agentclientprotocol.com/protocol/session-modes"
    modes: JsonObject = {
        "currentModeId": f"{url}#agent",
        "availableModes": [{"id": f"{url}#agent"}, {"id": f"{url}#plan"}],
    }
    opened: JsonObject = {"sessionId": "s", "modes": modes}

    agent, connected = await open_agent(tmp_path, _GREETING, opened, {}, terms=AgentTerms(mode="plan"))

    assert agent.offers.modes == ("agent", "plan")
    assert connected.mode == "plan"


async def test_a_session_is_continued_with_a_model_that_is_not_among_those_offered(tmp_path: Path) -> None:
    models: JsonObject = {"currentModelId": "own", "availableModels": [{"modelId": "other"}]}
    terms = AgentTerms(session="s", model="own", is_remembered=True)

    _, connected = await open_agent(tmp_path, _GREETING, {"models": models}, terms=terms)

    assert connected.model == "own"


class CrashingPeer:
    def __init__(self) -> None:
        self.told: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()

    def take_notification(self, method: str, params: JsonObject) -> None:
        self.told.set_result(params)

    async def answer_request(self, method: str, params: JsonObject) -> JsonValue:
        raise KeyError("a slip of ours")


async def test_a_request_that_crashes_here_is_answered_with_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    launch = AgentLaunch(
        name="test",
        words=("/bin/sh", "-c", _ASK_AND_TELL),
        environ={"PATH": os.environ["PATH"]},
        timeout_secs=20,
    )
    peer = CrashingPeer()
    channel = AgentChannel(launch, str(tmp_path), peer, None, ObeyedPlaces(()))
    with caplog.at_level(logging.ERROR):
        await channel.open()
        try:
            told = await asyncio.wait_for(peer.told, 20)
        finally:
            await channel.aclose()

    assert told["id"] == 7
    assert told["error"] == {"code": INTERNAL_ERROR, "message": "quorum failed at ask: KeyError"}
    assert "a slip of ours" in caplog.text
