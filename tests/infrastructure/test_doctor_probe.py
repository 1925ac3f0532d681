from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.toml_text import format_literal
from quorum.infrastructure.doctor.diagnosis import diagnose
from quorum.infrastructure.doctor.finding import Finding, FindingState
from quorum.infrastructure.doctor.probe import Question, plan_questions, probe
from tests.support.settings_machine import Machine
from tests.support.sse_server import Dialect, Raw, Refuse, Reply, Say, ScriptedCall, SseServer

OK, WARN, FAIL = FindingState.OK, FindingState.WARN, FindingState.FAIL
DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai", "openai-chat")
KEY = "sk-very-secret"
LISTING = Raw(body=b'{"data": [{"id": "a"}, {"id": "b"}]}', content_type="application/json")


class Providers:
    """Scripted servers, each configured under a name of its own."""

    def __init__(self, machine: Machine, stack: AsyncExitStack) -> None:
        self.machine = machine
        self.stack = stack
        self.tables: list[str] = []

    async def add(self, name: str, dialect: Dialect, *script: Reply, **settings: object) -> SseServer:
        """Start a server that answers so, and declare it."""
        server = await self.stack.enter_async_context(SseServer(dialect))
        server.script = list(script)
        self.declare(name, dialect, server.base_url, **settings)
        return server

    def declare(self, name: str, dialect: Dialect, address: str, **settings: object) -> None:
        """Declare a provider; its key is in KEY_OF_IT."""
        variable = f"KEY_OF_{name.upper()}"
        self.machine.environ[variable] = f"{KEY}-{name}"
        given = {"type": dialect, "base_url": address, "api_key_env": variable, **settings}
        lines = (f"{key} = {format_literal(value)}" for key, value in given.items())
        self.tables.append("\n".join((f"[providers.{name}]", *lines, "")))

    def load(self, **roles: str | list[str]) -> LoadedSettings:
        """The settings, where the roles have these models."""
        models = (f"{role} = {format_literal(model)}" for role, model in roles.items())
        self.machine.user("\n".join((*self.tables, "[models]", *models)))
        return self.machine.load()

    async def asked(self, **roles: str | list[str]) -> list[Finding]:
        """What the requests found. No key is in anything that is printed."""
        found = await diagnose(self.load(**roles), self.machine.environ, probe=True)
        assert not [finding for finding in found if KEY in f"{finding.text}{finding.remedy}"]
        return [finding for finding in found if finding.name == "request"]


@pytest.fixture
async def providers(tmp_path: Path) -> AsyncIterator[Providers]:
    machine = Machine(tmp_path)
    machine.environ |= {"PATH": os.defpath, "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    async with AsyncExitStack() as stack:
        yield Providers(machine, stack)


@pytest.mark.long
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_model_with_a_role_is_asked_for_a_word(dialect: Dialect, providers: Providers):
    read = ScriptedCall(id="1", name="read_file", arguments='{"path": "README.md"}')
    calls = [Say(calls=(read,), stop="tool_use")] * 2 if dialect == "openai-chat" else []
    server = await providers.add("p", dialect, Say(pieces=["ok"]), *calls)

    (finding,) = await providers.asked(decision="p/m")

    assert finding.state is OK
    tokens = {"anthropic": 15, "openai": 15, "openai-chat": 12}[dialect]
    assert re.fullmatch(
        r"p/m \(decision, exploration, ask, moderator, participants\): answered in \d+(\.\d+)? m?s, "
        f"with {tokens} tokens in and 11 out",
        finding.text,
    )
    body = server.bodies[0]
    assert "Reply with: ok" in json.dumps(body)
    bound = {"anthropic": "max_tokens", "openai": "max_output_tokens", "openai-chat": "max_tokens"}[dialect]
    assert (body["model"], body[bound]) == ("m", 256)
    assert not body.get("tools")


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_provider_without_a_role_is_asked_for_its_list(dialect: Dialect, providers: Providers):
    server = await providers.add("p", dialect, LISTING)

    (finding,) = await providers.asked(decision="offline/offline")

    assert finding.state is OK
    assert finding.text.startswith("p: listed 2 models in ")
    assert [asked.split("?")[0] for asked in server.asked] == ["GET /v1/models"]


async def test_each_model_is_asked_once_whatever_its_roles_and_the_used_come_first(providers: Providers):
    idle = await providers.add("idle", "openai", LISTING)
    busy = await providers.add("busy", "openai", Say(pieces=["ok"]), Say(pieces=["ok"]))

    found = await providers.asked(decision="busy/a", ask="busy/b", review=["busy/a", "busy/b"])

    assert [finding.text.split(":")[0] for finding in found] == [
        "busy/a (decision, exploration, moderator, review, participants)",
        "busy/b (ask, review)",
        "idle",
    ]
    assert sorted(body["model"] for body in busy.bodies) == ["a", "b"]
    assert len(idle.asked) == 1


async def test_a_provider_whose_key_is_missing_is_not_asked(providers: Providers):
    server = await providers.add("p", "anthropic", LISTING)
    del providers.machine.environ["KEY_OF_P"]

    assert await providers.asked(decision="p/m") == []
    assert server.connections == 0


async def test_a_smaller_bound_of_the_settings_holds(providers: Providers):
    server = await providers.add("p", "anthropic", Say(pieces=["ok"]), max_output_tokens=20)

    await providers.asked(decision="p/m")

    assert server.bodies[0]["max_tokens"] == 20


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("reply", "expected", "remedy"),
    [
        (
            Refuse(status=401, message=f"{KEY}-p and {KEY}-other are wrong"),
            "p refused the key (401): … and … are wrong; set KEY_OF_P to a valid key",
            "put a valid key into the variable that api_key_env of [providers.p] names",
        ),
        (Refuse(status=404), "(404)", "correct models.decision and models.exploration"),
        (Refuse(status=429), "rate limited", "try again later"),
        (Raw(body=b"<html>", content_type="text/html"), "text/html", "see whether type and base_url"),
        (Say(pieces=["o"], ending="drop"), "broke off", "see whether type and base_url"),
    ],
)
async def test_a_failure_is_reported_with_its_remedy_and_not_repeated(
    reply: Reply, expected: str, remedy: str, providers: Providers
):
    server = await providers.add("p", "openai", reply, max_retries=5)
    providers.declare("other", "openai", "http://127.0.0.1:1/v1")

    finding = (await providers.asked(decision="p/m"))[0]

    assert finding.state is FAIL
    assert expected in finding.text
    assert (finding.remedy or "").startswith(remedy)
    assert len(server.asked) == 1


async def test_a_server_that_is_not_there_fails_one_that_nothing_uses_is_to_be_known(providers: Providers):
    providers.declare("used", "openai", "http://127.0.0.1:1/v1")
    providers.declare("idle", "openai-chat", "http://127.0.0.1:1/v1")

    used, idle = await providers.asked(decision="used/m")

    assert (used.state, idle.state) == (FAIL, WARN)
    assert idle.text == "idle: cannot connect to http://127.0.0.1:1/v1: connection refused"
    assert idle.remedy == "start the server, correct base_url of [providers.idle], or see to the network"


async def test_a_provider_without_a_list_says_how_to_ask_it(providers: Providers):
    await providers.add("p", "openai-chat", Refuse(status=404))

    (finding,) = await providers.asked(decision="offline/offline")

    assert finding == Finding(
        "request",
        WARN,
        "p lists no models; any name can still be typed, as p/NAME",
        "to ask one of its models: quorum doctor --probe -m p/NAME",
    )


async def test_the_value_of_a_header_is_not_reported_even_if_the_server_repeats_it(providers: Providers):
    server = await providers.add("p", "openai", headers={"X-Team": f"{KEY}-team", "X-Short": "a"})
    server.script = [Refuse(status=400, message=f"{KEY}-team is a bad team")]

    (finding,) = await providers.asked(decision="p/m")

    assert "… is a bad team" in finding.text


async def test_all_are_asked_at_the_same_time(providers: Providers):
    both = asyncio.Barrier(2)
    answer = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n{"data": []}'

    async def answer_when_both_asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await both.wait()
        writer.write(answer)
        await writer.drain()
        writer.close()

    for name in ("a", "b"):
        server = await asyncio.start_server(answer_when_both_asked, "127.0.0.1", 0)
        await providers.stack.enter_async_context(server)
        providers.declare(name, "openai", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")

    found = await providers.asked(decision="offline/offline")

    assert [finding.state for finding in found] == [OK, OK]


@pytest.mark.long
async def test_a_provider_that_never_ends_is_given_up_and_delays_no_other(providers: Providers):
    hanging = await providers.add("hanging", "openai-chat", Say(pieces=["o"], ending="stall"))
    await providers.add("p", "openai-chat", LISTING)
    asked = (Question("hanging", "hanging/m", ("ask",)), Question("p"))

    stalled, listed = await probe(asked, providers.load(), providers.machine.environ, limit_secs=5)

    assert stalled.state is FAIL
    assert "hanging/m (ask): " in stalled.text
    assert "5 s" in stalled.text
    assert listed.state is OK
    await asyncio.wait_for(hanging.disconnected.wait(), 60)


def test_what_is_not_ready_is_not_asked():
    assert plan_questions({"a/m": ("ask",), "b/m": ("review",)}, ["b", "c"]) == (
        Question("b", "b/m", ("review",)),
        Question("c"),
    )
