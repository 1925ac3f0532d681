"""What may befall a record between two commands: damage, another process, a wrong clock, orphans."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.infrastructure.commands.command_bench import Daemon, alive_with, eventually
from tests.support.headless_run import Ended, configure, configure_for, environment, run, run_quorum_now, start
from tests.support.long_lived_rig import LongLived
from tests.support.sse_server import Hang, Say, ScriptedCall, SseServer
from tests.support.stopped_process import stop_child


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n")
    return folder


def ledger_of(home: Path) -> Path:
    return home / "state" / "quorum" / "ledger.sqlite"


def sessions(project: Path, home: Path, *words: str) -> Ended:
    return run_quorum_now("sessions", *words, cwd=project, env=environment(home))


# ---------------------------------------------------------------- damage


def _cut(ledger: Path, chance: random.Random) -> None:
    os.truncate(ledger, chance.randrange(1, ledger.stat().st_size))


def _noise(ledger: Path, chance: random.Random) -> None:
    size = ledger.stat().st_size
    with ledger.open("r+b") as file:
        for _ in range(chance.randrange(1, 12)):
            file.seek(chance.randrange(size))
            file.write(chance.randbytes(chance.choice([1, 8, 100, 4096])))


def _a_page_of_zeros(ledger: Path, chance: random.Random) -> None:
    with ledger.open("r+b") as file:
        file.seek(chance.randrange(ledger.stat().st_size // 4096) * 4096)
        file.write(bytes(4096))


def _nothing_left(ledger: Path, chance: random.Random) -> None:
    del chance
    os.truncate(ledger, 0)


def _a_damaged_log(ledger: Path, chance: random.Random) -> None:
    ledger.with_name("ledger.sqlite-wal").write_bytes(chance.randbytes(20_000))


def _a_damaged_index_of_the_log(ledger: Path, chance: random.Random) -> None:
    ledger.with_name("ledger.sqlite-shm").write_bytes(chance.randbytes(32_768))


@pytest.mark.long
@pytest.mark.parametrize(
    "damage",
    [_cut, _noise, _a_page_of_zeros, _nothing_left, _a_damaged_log, _a_damaged_index_of_the_log],
)
async def test_whatever_the_file_looks_like_one_can_go_on_and_is_reported(
    home: Path, project: Path, damage: Callable[[Path, random.Random], None]
) -> None:
    chance = random.Random(damage.__name__)  # other places: the damage of the ledger's own tests
    env = environment(home)
    await run("read a.txt", cwd=project, env=env)
    for _ in range(3):
        await run("--continue", "read a.txt", cwd=project, env=env)
    damage(ledger_of(home), chance)

    ended = await run("--continue", "read a.txt", cwd=project, env=env)
    assert ended.code == 0
    assert "alpha" in ended.out
    assert "Traceback" not in ended.err
    checked = sessions(project, home, "verify", "--all")
    if checked.code or "damaged" in ended.err:
        assert "is broken at" in ended.err or "was damaged" in ended.err or "damaged" in checked.err
        assert "newer quorum" not in ended.err
    again = await run("--continue", "read a.txt", cwd=project, env=env)
    assert again.code == 0
    assert "was damaged" not in again.err or "was damaged" not in ended.err
    if "was damaged" in ended.err:
        aside = list(ledger_of(home).parent.glob("ledger.sqlite-damaged-*"))
        assert aside, "the damaged file is kept"
        assert str(aside[0]).removesuffix("-wal").removesuffix("-shm") in ended.err


@pytest.mark.long
async def test_without_the_log_of_a_killed_process_what_is_left_is_whole_or_reported(
    home: Path, project: Path
) -> None:
    async with SseServer("openai-chat") as model:
        configure_for(home, model)
        model.script = [Say(pieces=["one"])]
        await run("first", cwd=project, env=environment(home))
        async with LongLived("--continue", cwd=project, env=environment(home)) as quorum:
            model.script = [Say(pieces=["two"])]
            assert await quorum.do(prompt="second") == "completed"
            quorum.kill()
        log = ledger_of(home).with_name("ledger.sqlite-wal")
        assert log.stat().st_size
        log.unlink()
        model.script = [Say(pieces=["three"])]
        ended = await run("--continue", "third", cwd=project, env=environment(home))

    assert (ended.code, ended.out, ended.err) == (0, "three\n", "")
    said = [message["content"] for message in model.bodies[-1]["messages"][1:]]
    assert said == ["first", "one", "third"]
    assert sessions(project, home, "verify", "--all").code == 0


# ---------------------------------------------------------------- two processes


@pytest.mark.long
async def test_a_session_that_one_process_leads_is_copied_by_another_and_free_when_that_is_killed(
    home: Path, project: Path
) -> None:
    env = environment(home)
    async with SseServer("openai-chat") as model:
        configure_for(home, model)
        model.script = [Say(pieces=["one"])]
        session = str((await run("first", "--output", "json", cwd=project, env=env)).report["session_id"])
        model.script = [Hang("silent")]
        leading = await start("--continue", "second", cwd=project, env=env)
        await eventually(lambda: len(model.bodies) == 2)

        refused = await run("--continue", "third", cwd=project, env=env)
        assert (refused.code, refused.out) == (2, "")
        assert f"is open in process {leading.pid}" in refused.err
        assert f"quorum run --resume {session} --fork" in refused.err
        assert len(model.bodies) == 2

        model.script = [Say(pieces=["forked"])]
        copy = await run("--continue", "third", "--fork", "--output", "json", cwd=project, env=env)
        assert (copy.code, copy.report["text"]) == (0, "forked")
        assert copy.report["session_id"] != session

        leading.kill()
        await leading.wait()
        model.script = [Say(pieces=["taken up"])]
        again = await run("--resume", session, "fourth", "--output", "json", cwd=project, env=env)
        assert (again.code, again.report["session_id"]) == (0, session)
    said = [m["content"] for m in model.bodies[-1]["messages"] if m["role"] == "user"]
    assert said == ["first", "second\n\nfourth"]  # no answer stands between them


# ---------------------------------------------------------------- the clock


@pytest.mark.long
async def test_times_that_lie_in_the_future_change_no_order_and_break_nothing(
    home: Path, project: Path
) -> None:
    """As when the clock was set back between two processes."""
    env = environment(home)
    first = str((await run("read a.txt", "--output", "json", cwd=project, env=env)).report["session_id"])
    future = await _led_in_the_future(home, project, first)

    ended = await run("--continue", "read a.txt", "--output", "json", cwd=project, env=env)

    assert (ended.code, ended.report["session_id"]) == (0, first)
    assert sessions(project, home, "verify", "--all").code == 0
    with closing(sqlite3.connect(ledger_of(home))) as connection:
        times = [row[0] for row in connection.execute("SELECT at_ms FROM records ORDER BY rowid")]
    assert times == sorted(times)
    assert times[-1] >= future
    other = await run("read a.txt", "--output", "json", cwd=project, env=env)
    assert other.report["session_id"] != first
    assert {s["id"] for s in json.loads(sessions(project, home, "list", "--json").out)} == {
        first,
        other.report["session_id"],
    }


async def _led_in_the_future(home: Path, project: Path, session: str) -> int:
    """Go on with the session by a clock that is a day ahead; the time it showed."""
    from quorum.domain.events.event import TurnStarted
    from quorum.domain.sessions.session_summary import NamedSession
    from quorum.infrastructure.store.ledger.opening import open_database
    from quorum.infrastructure.wall_clock import read_wall_clock_ms

    ahead = read_wall_clock_ms() + 86_400_000
    database = open_database("", environment(home), clock=lambda: ahead)
    opened = database.open_session(NamedSession(session), cwd=str(project))
    assert opened.ledger is not None
    await opened.ledger.append(TurnStarted(prompt="tomorrow"))
    await opened.ledger.aclose()
    database.close()
    return ahead


# ---------------------------------------------------------------- orphans


def kill_children(pid: int) -> None:
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(ProcessLookupError):  # it may have ended by itself
            os.kill(int(child), signal.SIGKILL)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="what a process carries is read from /proc")
async def test_what_outlived_a_killed_session_is_named_when_that_is_taken_up_and_left_alone(
    home: Path, project: Path
) -> None:
    daemon = Daemon(project)
    async with SseServer("openai-chat") as model:
        configure(
            home,
            f'[models]\ndecision = "local/scripted"\n[providers.local]\ntype = "openai-chat"\n'
            f'base_url = "{model.base_url}"\n[tools.run_command]\nsandbox = "off"\n',
        )
        arguments = json.dumps({"command": f"{daemon.command}; exec sleep 600"})
        model.script = [Say(calls=[ScriptedCall("c1", "run_command", arguments)], stop="tool_use")]
        async with LongLived(cwd=project, env=environment(home)) as quorum:
            quorum.order(prompt="start it")
            await eventually(daemon.ready.exists)
            stop_child(quorum.pid)  # or it would end them as soon as their supervisor is gone
            kill_children(quorum.pid)
            quorum.kill()
        await eventually(lambda: len(alive_with(str(daemon.ready))) == 1)  # its parents are gone by then
        (orphan,) = alive_with(str(daemon.ready))
        try:
            model.script = [Say(pieces=["I look first"])]
            ended = await run("--continue", "and now?", cwd=project, env=environment(home))

            assert (ended.code, ended.out) == (0, "I look first\n")
            assert "running when the process ended, effect unknown: run_command" in ended.err
            assert f"process {orphan} ({sys.executable} " in ended.err
            assert ended.err.count(f"kill {orphan}\n") == 1
            assert daemon.is_alive()
        finally:
            os.kill(orphan, signal.SIGKILL)
        model.script = [Say(pieces=["fine"])]
        assert "still running" not in (await run("--continue", "?", cwd=project, env=environment(home))).err
