"""SIGKILL while something else than a call is under way: what was or what is to be, and nothing in between."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest

from quorum.domain.conversation.history import Message, UserMessage, find_unpaired_call
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord, SessionSummary
from quorum.domain.sessions.state import SessionState
from quorum.infrastructure.store.ledger.opening import open_database
from quorum.infrastructure.store.ledger.sqlite_file import locate_marker
from tests.infrastructure.commands.command_bench import eventually
from tests.support.forked_quorum import fork_quorum
from tests.support.headless_run import QUORUM, configure, environment, run
from tests.support.long_lived_rig import LongLived
from tests.support.sse_server import Hang, Reply, Say, ScriptedCall, SseServer

FILES = 60
# Long enough for most of the work that is to be interrupted, from the moment it was ordered.
LONGEST_SECS = 0.4
DEATHS = 4


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "project"
    folder.mkdir()
    return folder


def configure_with(home: Path, model: SseServer, more: str = "") -> None:
    configure(
        home,
        f'[models]\ndecision = "local/scripted"\n[providers.local]\ntype = "{model.dialect}"\n'
        f'base_url = "{model.base_url}"\nmax_retries = 0\ntimeout_secs = 60\n'
        f'[tools.run_command]\nsandbox = "off"\n{more}',
    )


async def stored(home: Path) -> list[tuple[SessionSummary, tuple[LedgerRecord, ...]]]:
    """All sessions with their records, each of which must hold."""
    database = open_database("", environment(home))
    try:
        assert not database.notices, database.notices
        found = []
        for session in await database.archive.list_sessions():
            verified = await database.archive.verify(session.id)
            assert verified.holds, verified.reason
            found.append((session, await database.archive.read(session.id)))
        return found
    finally:
        database.close()


async def state_in(home: Path) -> SessionState:
    ((_, records),) = await stored(home)
    state = replay_state(records)
    assert find_unpaired_call(state.messages) is None
    return state


def command(text: str, id_: str = "c1") -> Reply:
    return Say(calls=[ScriptedCall(id_, "run_command", json.dumps({"command": text}))], stop="tool_use")


def prompts(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages if isinstance(message, UserMessage)]


def texts_in(project: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in project.glob("*.txt")}


async def sessions(home: Path, project: Path, words: list[str]) -> int:
    """The exit code of a command on sessions."""
    process = await fork_quorum(QUORUM, "sessions", *words, cwd=project, env=environment(home))
    await process.communicate()
    return await process.wait()


async def killed(home: Path, project: Path, words: list[str], chance: random.Random) -> None:
    """Have a command on sessions begin, and kill it a moment later."""
    process = await fork_quorum(QUORUM, "sessions", *words, cwd=project, env=environment(home))
    await asyncio.sleep(chance.uniform(0, LONGEST_SECS))
    process.kill()
    await process.wait()


async def sudden_death(quorum: LongLived, chance: random.Random) -> None:
    await asyncio.sleep(chance.uniform(0, LONGEST_SECS))
    quorum.kill()


@pytest.mark.long
async def test_a_rewind_that_is_killed_is_as_before_or_done_and_can_be_done_again(
    home: Path, project: Path
) -> None:
    chance = random.Random(3)
    former = {f"{number}.txt": f"former {number}\n" for number in range(FILES)}
    for name, text in former.items():
        (project / name).write_text(text)
    async with SseServer("openai-chat") as model:
        configure_with(home, model)
        for death in range(DEATHS):
            async with LongLived(
                *(["--continue"] if death else []), cwd=project, env=environment(home)
            ) as quorum:
                names = " ".join(former)
                change = f"for f in {names}; do echo changed > $f; done; touch new.txt"
                model.script = [command(change, f"c{death}"), Say(pieces=["changed"])]
                assert await quorum.do(prompt=f"change {death}") == "completed"
                turn = len((await state_in(home)).turns) - 1
                quorum.order(rewind=turn)
                await sudden_death(quorum, chance)
            state = await state_in(home)
            assert state.turns[turn].undone == (f"change {death}" not in prompts(state.messages))
            texts = texts_in(project)
            assert all(text in ("changed\n", former.get(name, "")) for name, text in texts.items())
            if not state.turns[turn].undone:
                async with LongLived("--continue", cwd=project, env=environment(home)) as quorum:
                    assert await quorum.do(rewind=turn) == "rewound"
                    assert await quorum.close() == ""
            assert texts_in(project) == former


@pytest.mark.long
async def test_a_compaction_that_is_killed_is_as_before_or_done(home: Path, project: Path) -> None:
    async with SseServer("openai-chat") as model:
        configure_with(home, model)
        async with LongLived(cwd=project, env=environment(home)) as quorum:
            for number in range(6):
                model.script = [Say(pieces=[f"answer {number} " + "word " * 400])]
                assert await quorum.do(prompt=f"prompt {number}") == "completed"
            before = (await state_in(home)).messages
            model.script = [Hang("silent")]
            quorum.order(compact="")
            await eventually(lambda: not model.script)
            quorum.kill()
        assert (await state_in(home)).messages == before

        async with LongLived("--continue", cwd=project, env=environment(home)) as quorum:
            model.script = [Say(pieces=["a summary of it"])]
            quorum.order(compact="")
            await quorum.until("conversation_compacted")
            quorum.kill()
        after = (await state_in(home)).messages
        assert len(after) < len(before)

        model.script = [Say(pieces=["still here"])]
        ended = await run("--continue", "and now?", cwd=project, env=environment(home))
    assert (ended.code, ended.out) == (0, "still here\n")
    sent = json.dumps(model.bodies[-1]["messages"])
    assert "a summary of it" in sent
    assert "answer 0" not in sent


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ["fork", "latest"],
        ["redact", "latest", "planted"],
        ["prune", "--keep", "1", "--yes"],
        ["verify", "--all"],
    ],
    ids=lambda words: words[0],
)
async def test_a_command_on_sessions_that_is_killed_leaves_every_record_whole(
    home: Path, project: Path, words: list[str]
) -> None:
    chance = random.Random(5)
    async with SseServer("openai-chat") as model:
        configure_with(home, model)
        for number in range(3):
            model.script = [Say(pieces=["planted " * 2000])]
            assert (await run(f"prompt {number}", cwd=project, env=environment(home))).code == 0
    before = {session.id: records for session, records in await stored(home)}
    for _ in range(DEATHS):
        await killed(home, project, words, chance)
        for session, records in await stored(home):
            there = before.get(session.id)
            assert there is None or len(records) == len(there)
            assert {record.redacted for record in records} in ({False}, {False, True})
    assert await sessions(home, project, words) in (0, 1)
    await stored(home)


@pytest.mark.long
async def test_a_mending_that_is_killed_loses_nothing_that_could_be_read(home: Path, project: Path) -> None:
    chance = random.Random(7)
    async with SseServer("openai-chat") as model:
        configure_with(home, model)
        for number in range(8):
            model.script = [Say(pieces=[f"answer {number} " + "word " * 4000])]
            assert (await run(f"prompt {number}", cwd=project, env=environment(home))).code == 0
    ledger = home / "state" / "quorum" / "ledger.sqlite"
    whole = await stored(home)
    for _ in range(DEATHS):
        locate_marker(ledger).touch()  # as whoever meets damage leaves it to the next
        for _ in range(2):
            await killed(home, project, ["list"], chance)
        assert await sessions(home, project, ["verify", "--all"]) == 0
        assert await stored(home) == whole


@pytest.mark.long
async def test_a_hook_after_a_call_that_did_not_come_to_its_answer_is_asked_again_and_the_call_is_not(
    home: Path, project: Path
) -> None:
    hook = project / "hook.sh"
    hook.write_text(
        f"#!/bin/sh\necho asked >> {project}/asked\n[ -e {project}/go ] || sleep 600\n"
        'printf \'{"result": "what the hook made of it"}\'\n'
    )
    hook.chmod(0o755)
    async with SseServer("openai-chat") as model:
        configure_with(home, model, f'[[hooks]]\nevent = "after_tool_call"\ncommand = ["{hook}"]\n')
        async with LongLived(cwd=project, env=environment(home)) as quorum:
            model.script = [command("echo ran >> effects")]
            quorum.order(prompt="go")
            await quorum.until("call_finished")
            await eventually((project / "asked").exists)
            quorum.kill()
        (project / "go").touch()
        model.script = [Say(pieces=["I see"])]
        ended = await run("--continue", "and?", cwd=project, env=environment(home))

    assert (ended.code, ended.out) == (0, "I see\n")
    assert (project / "effects").read_text() == "ran\n"
    assert (project / "asked").read_text() == "asked\nasked\n"
    results = [m["content"] for m in model.bodies[-1]["messages"] if m["role"] == "tool"]
    assert results == ["what the hook made of it"]


async def test_a_call_whose_hook_before_it_was_killed_never_began(home: Path, project: Path) -> None:
    hook = project / "hook.sh"
    hook.write_text(f"#!/bin/sh\ntouch {project}/asked\nsleep 600\n")
    hook.chmod(0o755)
    async with SseServer("openai-chat") as model:
        configure_with(home, model, f'[[hooks]]\nevent = "before_tool_call"\ncommand = ["{hook}"]\n')
        async with LongLived(cwd=project, env=environment(home)) as quorum:
            model.script = [command("echo ran >> effects")]
            quorum.order(prompt="go")
            await eventually((project / "asked").exists)
            quorum.kill()
        model.script = [Say(pieces=["I see"])]
        ended = await run("--continue", "and?", cwd=project, env=environment(home))

    assert (ended.code, ended.out) == (0, "I see\n")
    assert not (project / "effects").exists()
    (result,) = [m["content"] for m in model.bodies[-1]["messages"] if m["role"] == "tool"]
    assert result.startswith("not run: the process ended before its turn came")
    assert "never begun, and not run now: run_command" in ended.err
