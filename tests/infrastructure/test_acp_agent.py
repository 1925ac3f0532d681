"""What an agent's program asks for: how its calls are read, and that each request is answered."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from pathlib import Path

import pytest

from quorum.application.ports.agents import AgentTerms, AgentUpdate, ReportedCall
from quorum.domain.events.agents import AgentConnected
from quorum.domain.events.event import NoticeGiven
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.gate.acp_calls import read_reported_call
from quorum.infrastructure.agents.acp_agent import DrivenAgent
from quorum.infrastructure.agents.channel import INTERNAL_ERROR, AgentChannel, ObeyedPlaces
from quorum.infrastructure.agents.launch import AgentLaunch

_ASK_AND_TELL = """
printf '{"jsonrpc":"2.0","id":7,"method":"ask","params":{}}\\n'
read -r answer
printf '{"jsonrpc":"2.0","method":"told","params":%s}\\n' "$answer"
read -r end
"""
A_DIFF: JsonObject = {"type": "diff", "path": "/a", "oldText": "old", "newText": "new"}


class AskedHost:
    """Allows each call, and keeps it and what is told."""

    def __init__(self) -> None:
        self.asked: list[ReportedCall] = []
        self.told: list[AgentUpdate] = []

    def note_update(self, update: AgentUpdate) -> None:
        self.told.append(update)

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


@pytest.mark.parametrize(
    "beside",
    [
        {"content": [A_DIFF, {"type": "patch", "path": "/b", "patch": "@@"}]},
        {"content": [A_DIFF, {"type": "diff", "path": "/b"}]},
        {"content": [A_DIFF, "and /b"]},
        {"content": [A_DIFF], "locations": [{"path": "/a"}, {"uri": "file:///b"}]},
    ],
)
async def test_an_edit_shown_beside_something_unreadable_is_not_known_as_an_edit(beside: JsonObject) -> None:
    alone = await ask_about({"kind": "edit", "content": [A_DIFF, {"type": "terminal", "terminalId": "1"}]})
    more, later = await ask_about({"kind": "edit", **beside}), await ask_about(beside, {"content": [A_DIFF]})

    assert read_reported_call(alone, cwd="/", environment={}).is_known
    for call in (more, later):
        proposed = read_reported_call(call, cwd="/", environment={})
        assert not proposed.is_known
        assert "/b" in str(proposed.arguments)


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


MINUTE_BEGAN = 1_700_000_040


class LateLoader:
    """An agent that is told which session to load, and a clock that stands while nobody sleeps."""

    def __init__(self, folder: Path, now: float, *, loads_next_minute: bool = True) -> None:
        self.now, self.host = now, AskedHost()
        self._asked = folder / "asked"
        greeting = json.dumps({"jsonrpc": "2.0", "id": 1, "result": _GREETING})
        opened = json.dumps({"jsonrpc": "2.0", "id": 2, "result": {"sessionId": "s"}})
        script = f"""
read -r asked; echo "$asked" >>asked; echo '{greeting}'
read -r asked; echo "$asked" >>asked; echo '{opened}'
read -r end
"""
        launch = AgentLaunch(
            name="test",
            words=("/bin/sh", "-c", script),
            environ={},
            timeout_secs=20,
            loads_next_minute=loads_next_minute,
        )
        self.slept: list[tuple[float, list[str]]] = []
        self.agent = DrivenAgent(
            launch,
            str(folder),
            self.host,  # type: ignore[arg-type]
            version="1",
            runs_commands=False,
            clock=lambda: self.now,
            sleep=self.sleep,
        )

    async def sleep(self, secs: float) -> None:
        """The timer ends a little before the clock says so."""
        self.slept.append((secs, self.asked))
        self.now += secs - 0.25 if secs > 1 else secs

    @property
    def asked(self) -> list[str]:
        return [json.loads(line)["method"] for line in self._asked.read_text().splitlines() if line]

    async def open(self, terms: AgentTerms) -> AgentConnected:
        try:
            return await self.agent.open(terms)
        finally:
            await self.agent.aclose()


def in_session(began: float) -> AgentTerms:
    return AgentTerms(session="s", began_ms=int(began * 1000))


async def test_an_agent_that_would_lose_a_session_in_its_first_minute_loads_it_later(
    tmp_path: Path,
) -> None:
    loader = LateLoader(tmp_path, now=MINUTE_BEGAN + 18.5)

    connected = await loader.open(in_session(MINUTE_BEGAN + 2))

    assert loader.slept == [(41.5, ["initialize"]), (0.25, ["initialize"])]
    assert loader.asked == ["initialize", "session/load"]
    assert [told.sentence for told in loader.host.told if isinstance(told, NoticeGiven)] == [
        "the agent test loses a session that it continues in its first minute: its start waits for 42 seconds"
    ]
    assert connected.began_ms == (MINUTE_BEGAN + 2) * 1000


@pytest.mark.parametrize(
    ("now", "terms", "loads_next_minute"),
    [
        (MINUTE_BEGAN + 60, in_session(MINUTE_BEGAN + 59.9), True),
        (MINUTE_BEGAN - 60, in_session(MINUTE_BEGAN), True),
        (MINUTE_BEGAN + 1, in_session(MINUTE_BEGAN), False),
        (MINUTE_BEGAN, AgentTerms(session="s"), True),
        (MINUTE_BEGAN, AgentTerms(), True),
    ],
    ids=["a later minute", "a clock that was set back", "another agent", "an earlier record", "a new session"],
)
async def test_other_sessions_begin_at_once(
    tmp_path: Path, now: float, terms: AgentTerms, loads_next_minute: bool
) -> None:
    loader = LateLoader(tmp_path, now, loads_next_minute=loads_next_minute)

    connected = await loader.open(terms)

    assert loader.slept == loader.host.told == []
    assert connected.began_ms == (terms.began_ms if terms.session else now * 1000)


async def test_whoever_does_not_want_to_wait_for_the_next_minute_can_stop(tmp_path: Path) -> None:
    loader = LateLoader(tmp_path, now=MINUTE_BEGAN)
    is_waiting = asyncio.Event()

    async def sleep(_secs: float) -> None:
        is_waiting.set()
        await asyncio.Event().wait()

    loader.agent._sleep = sleep
    opening = asyncio.create_task(loader.open(in_session(MINUTE_BEGAN)))
    await is_waiting.wait()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening

    assert loader.asked == ["initialize"]
    assert not loader.agent.is_open


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
            told = await asyncio.wait_for(peer.told, 60)
        finally:
            await channel.aclose()

    assert told["id"] == 7
    assert told["error"] == {"code": INTERNAL_ERROR, "message": "quorum failed at ask: KeyError"}
    assert "a slip of ours" in caplog.text
