"""However a turn begins, its requests offer the same tools, system text and settings as those of a prompt."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from quorum.application.calls.hook_chain import HookRegistration
from quorum.application.calls.hooks import Hook
from quorum.domain.calls.hook_points import ContinueWithMessages, Finish, TurnEndAnswer
from quorum.domain.conversation.history import Message
from quorum.domain.events.report import RunReport, RunStatus
from quorum.domain.review.questions import Approve, ReviewAnswer, ReviewRequest
from quorum.domain.sessions.session_summary import NamedSession, SessionChoice
from quorum.domain.text.amounts import format_amount
from quorum.infrastructure.config.model_choice import AskedModels
from quorum.infrastructure.container import Container
from tests.support.fake_ports import FakePerson
from tests.support.quorum_rig import DONE, call, calling
from tests.support.real_session import RealSession, SessionStage
from tests.support.session_parts import change_inputs, put
from tests.support.sse_server import Dialect, Refuse, Reply, Say, SseServer

DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai", "openai-chat")
WRITES = calling(call("w1", "write_file", path="out.txt", content="x\n"))
READS = calling(call("r1", "read_file", path="seed.txt"))


def settings_of(body: dict[str, Any]) -> dict[str, Any]:
    """All of a request but what was said in it, and the name of the model."""
    kept = {name: value for name, value in body.items() if name not in ("messages", "input", "model")}
    said = body.get("messages", body.get("input", []))
    return {**kept, "first": [each for each in said if each.get("role") in ("system", "developer")]}


class Unanswering(FakePerson):
    """Is asked, and says nothing."""

    def __init__(self) -> None:
        super().__init__(self._wait)
        self.asked = asyncio.Event()

    async def _wait(self, request: ReviewRequest) -> ReviewAnswer:
        self.asked.set()
        await asyncio.Event().wait()
        return Approve(request.packet.digest)


class OnceMore(Hook):
    """Has the turn go on once."""

    def __init__(self) -> None:
        self._left = 1

    async def on_turn_end(self, messages: Sequence[Message]) -> TurnEndAnswer:
        self._left -= 1
        return ContinueWithMessages(("look again", "and once more")) if self._left >= 0 else Finish()


@dataclass
class Ways:
    """A session in a folder, whose model is a server; it can be left as a dead process leaves it."""

    folder: Path
    server: SseServer
    hooks: Sequence[HookRegistration] = ()
    max_tool_turns: int = 10

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self.stage = SessionStage(
            self.folder,
            more_settings="".join(
                f'[providers.{name}]\ntype = "{self.server.dialect}"\nbase_url = "{self.server.base_url}"\n'
                'max_retries = 0\napi_key_env = "SCRIPTED"\n'
                for name in ("local", "other")
            )
            + f"[agent]\nmax_tool_turns = {self.max_tool_turns}\n",
        )
        (self.stage.root / "seed.txt").write_text("seed\n", encoding="utf-8")

    @asynccontextmanager
    async def opened(
        self, *script: Reply, person: FakePerson | None = None, choice: SessionChoice | None = None
    ) -> AsyncIterator[RealSession]:
        self.server.script = list(script)

        def adjust(container: Container) -> None:
            change_inputs(container, gateway=None)
            change_inputs(container, asked=AskedModels(models=("local/scripted",)))
            change_inputs(container, environ={**self.stage.environ, "SCRIPTED": "no-secret-at-all"})
            if self.hooks:
                put(container.parts().shared, registrations=self.hooks)

        async with self.stage.opened(choice, person=person, adjust=adjust) as session:
            yield session

    async def die(self, *script: Reply) -> None:
        """Ask something, and end as by SIGKILL when a review is open: what is left is what is on the disk."""
        person = Unanswering()
        left = self.folder / "left"
        async with self.opened(*script, person=person) as session:
            turn = asyncio.create_task(session.agent.run.execute("go"))
            await person.asked.wait()
            shutil.copytree(self.stage.home, left)
            turn.cancel()
            await asyncio.wait({turn})
        shutil.rmtree(self.stage.home)
        left.rename(self.stage.home)
        self.server.bodies.clear()


@pytest.fixture(params=DIALECTS)
async def server(request: pytest.FixtureRequest) -> AsyncIterator[SseServer]:
    async with SseServer(request.param) as server:
        yield server


def check(
    server: SseServer, prompt: dict[str, Any], requests: int, *, calls_allowed: int | None = None
) -> None:
    """So many requests were sent since, each of them like that of a prompt. Those from `calls_allowed` on may
    forbid calls."""
    assert len(server.bodies) == requests
    for number, body in enumerate(server.bodies):
        sent, wanted = settings_of(body), dict(prompt)
        assert sent["tools"]
        if calls_allowed is not None and number >= calls_allowed:
            assert json.dumps(sent.pop("tool_choice")).find("none") >= 0
            wanted.pop("tool_choice", None)
        assert sent == wanted


async def request_of_a_prompt(folder: Path, server: SseServer) -> dict[str, Any]:
    """What is not said in the request of a session's first prompt."""
    ways = Ways(folder, server)
    async with ways.opened(DONE) as session:
        await session.agent.run.execute("go")
    (body,) = server.bodies
    server.bodies.clear()
    # the folder that a session works in is named in its system text
    text = json.dumps(settings_of(body)).replace(str(ways.stage.root), "ROOT")
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def placed(prompt: dict[str, Any], ways: Ways) -> dict[str, Any]:
    text = json.dumps(prompt).replace("ROOT", str(ways.stage.root))
    parsed: dict[str, Any] = json.loads(text.replace("10 rounds", format_amount(ways.max_tool_turns, "round")))
    return parsed


@pytest.fixture
async def prompt(tmp_path: Path, server: SseServer) -> dict[str, Any]:
    return await request_of_a_prompt(tmp_path / "first", server)


@pytest.fixture
def make_ways(tmp_path: Path, server: SseServer) -> Callable[..., Ways]:
    def make(**more: Any) -> Ways:
        return Ways(tmp_path / "again", server, **more)

    return make


def completed(report: RunReport) -> None:
    assert report.status is RunStatus.COMPLETED, report


@pytest.mark.long
async def test_a_review_answered_by_another_process(
    make_ways: Callable[..., Ways], server: SseServer, prompt: dict[str, Any]
) -> None:
    ways = make_ways()
    await ways.die(WRITES)
    async with ways.opened(READS, DONE) as session:
        completed(await session.agent.run.resume_pending())
    check(server, placed(prompt, ways), 2)


@pytest.mark.long
async def test_a_review_answered_by_another_process_with_words_said_into_its_turn(
    make_ways: Callable[..., Ways], server: SseServer, prompt: dict[str, Any]
) -> None:
    ways = make_ways()
    await ways.die(WRITES)
    async with ways.opened(DONE) as session:
        session.agent.run.steer("and be quick")
        completed(await session.agent.run.resume_pending())
    check(server, placed(prompt, ways), 1)
    assert "and be quick" in json.dumps(server.bodies)


@pytest.mark.long
async def test_a_review_answered_in_a_copy_of_the_session(
    make_ways: Callable[..., Ways], server: SseServer, prompt: dict[str, Any]
) -> None:
    ways = make_ways()
    await ways.die(WRITES)
    async with ways.opened() as session:
        copy = await session.agent.record.archive.fork(session.agent.session_id)
    async with ways.opened(DONE, choice=NamedSession(copy)) as session:
        completed(await session.agent.run.resume_pending())
    check(server, placed(prompt, ways), 1)


@pytest.mark.long(after=1)
async def test_a_review_answered_by_another_process_with_another_model(
    make_ways: Callable[..., Ways], server: SseServer, prompt: dict[str, Any]
) -> None:
    ways = make_ways()
    await ways.die(WRITES)
    async with ways.opened(DONE) as session:
        await session.agent.models.choose("other/scripted")
        completed(await session.agent.run.resume_pending())
    check(server, placed(prompt, ways), 1)


@pytest.mark.long(after=1)
async def test_a_resumed_turn_that_reaches_its_limit(
    make_ways: Callable[..., Ways], server: SseServer, prompt: dict[str, Any]
) -> None:
    ways = make_ways(max_tool_turns=1)
    await ways.die(WRITES)
    async with ways.opened(READS, DONE) as session:
        report = await session.agent.run.resume_pending()
    assert report.status is RunStatus.LIMIT
    check(server, placed(prompt, ways), 2, calls_allowed=1)


@pytest.mark.long
async def test_a_turn_taken_up_after_a_failure_by_the_same_and_by_another_process(
    make_ways: Callable[..., Ways], server: SseServer, prompt: dict[str, Any]
) -> None:
    ways = make_ways()
    down = Refuse(status=500, message="down")
    async with ways.opened(READS, down, down) as session:
        assert (await session.agent.run.execute("go")).status is RunStatus.FAILED
        assert (await session.agent.run.retry()).status is RunStatus.FAILED
    async with ways.opened(DONE) as session:
        completed(await session.agent.run.retry())
    check(server, placed(prompt, ways), 4)


@pytest.mark.long(after=1)
async def test_words_said_into_a_turn_and_a_model_chosen_in_it(
    make_ways: Callable[..., Ways], server: SseServer, prompt: dict[str, Any]
) -> None:
    async def meddle(request: ReviewRequest) -> ReviewAnswer:
        session.agent.run.steer("and be quick")
        await session.agent.models.choose("other/scripted")
        return Approve(request.packet.digest)

    ways = make_ways()
    async with ways.opened(WRITES, DONE, person=FakePerson(meddle)) as session:
        completed(await session.agent.run.execute("go"))
    check(server, placed(prompt, ways), 2)


@pytest.mark.long
async def test_a_hook_that_has_the_turn_go_on(
    make_ways: Callable[..., Ways], server: SseServer, prompt: dict[str, Any]
) -> None:
    ways = make_ways(hooks=[HookRegistration(name="more", hook=OnceMore())])
    await ways.die(WRITES)
    async with ways.opened(DONE, DONE) as session:
        completed(await session.agent.run.resume_pending())
    check(server, placed(prompt, ways), 2)


@pytest.mark.long(after=1)
async def test_a_turn_after_one_was_taken_back_and_one_that_goes_on_then(
    make_ways: Callable[..., Ways], server: SseServer, prompt: dict[str, Any]
) -> None:
    ways = make_ways()
    async with ways.opened(DONE, DONE) as session:
        await session.agent.run.execute("one")
        await session.agent.run.execute("two")
    async with ways.opened(DONE, DONE) as session:
        await session.undo(1)
        completed(await session.agent.run.retry())
        completed(await session.agent.run.execute("three"))
    check(server, placed(prompt, ways), 4)


@pytest.mark.long(after=1)
async def test_a_turn_after_the_conversation_was_compacted(
    make_ways: Callable[..., Ways], server: SseServer, prompt: dict[str, Any]
) -> None:
    ways = make_ways()
    long, summary = Say(pieces=["word " * 60_000]), Say(pieces=["words were said"])
    async with ways.opened(long, DONE, summary) as session:
        completed(await session.agent.run.execute("say words"))
        completed(await session.agent.run.execute("thanks"))
        await session.agent.context.compact("")
    server.bodies.clear()
    async with ways.opened(DONE, DONE) as session:
        completed(await session.agent.run.retry())
        completed(await session.agent.run.execute("and then?"))
    check(server, placed(prompt, ways), 2)
