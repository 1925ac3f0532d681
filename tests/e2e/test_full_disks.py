"""A disk that fills up in the middle of a session: nothing goes ahead unrecorded, and nothing is lost."""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Protocol

import pytest

from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.infrastructure.store.ledger.opening import open_database
from tests.support.headless_run import QUORUM, configure_for, environment, start
from tests.support.long_lived_rig import LongLived
from tests.support.sse_server import Reply, Say, ScriptedCall, SseServer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="tmpfs and prlimit are those of Linux")


class Disk(Protocol):
    """Where the state is kept. `remedy` is what the person must be told when it is full."""

    remedy: str

    def fill(self, pid: int) -> None:
        """Leave no room for anything this process would write."""
        ...

    def free_space(self, pid: int) -> None:
        """Give it room again."""
        ...


class SmallDisk:
    """A file system of two megabytes. A reader keeps the database from reusing its own room."""

    remedy = "the disk is full; make room and continue"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._filler = folder / "filler"

    def fill(self, pid: int, *, leave: int = 0) -> None:
        del pid
        self._filler.write_bytes(b"")
        free = os.statvfs(self._folder).f_bavail * os.statvfs(self._folder).f_frsize
        with suppress(OSError), self._filler.open("wb", buffering=0) as filler:
            filler.write(b"x" * (free - leave))

    def free_space(self, pid: int) -> None:
        del pid
        self._filler.unlink()


class NarrowFiles:
    """No file may grow beyond its first byte, which takes no rights to arrange."""

    remedy = "the disk refused it; look whether it is full or failing"

    def fill(self, pid: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))

    def free_space(self, pid: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "state").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def small_disk(home: Path) -> Iterator[SmallDisk]:
    state = home / "state"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", state], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small file system can only be mounted by root")
    try:
        yield SmallDisk(state)
    finally:
        subprocess.run(["umount", "--lazy", state], check=True)


@pytest.fixture(params=["small disk", "narrow files"])
def disk(request: pytest.FixtureRequest) -> Disk:
    if request.param == "narrow files":
        return NarrowFiles()
    small: SmallDisk = request.getfixturevalue("small_disk")
    return small


class FillingModel(SseServer):
    """Fills the disk of the process that asks, right before it answers the request of that number."""

    def __init__(self, disk: Disk) -> None:
        super().__init__("openai-chat")
        self._disk = disk
        self.pid = 0
        self.fill_at = -1
        self.script = _Filling(self)

    def reached(self, number: int) -> None:
        if number == self.fill_at:
            self._disk.fill(self.pid)


class _Filling(list[Reply]):
    def __init__(self, model: FillingModel) -> None:
        super().__init__()
        self._model = model

    def pop(self, index: object = -1) -> Reply:  # type: ignore[override]
        self._model.reached(len(self._model.bodies) - 1)
        return super().pop(0)


def ledger_of(home: Path) -> Path:
    return home / "state" / "quorum" / "ledger.sqlite"


async def records_of(home: Path) -> tuple[LedgerRecord, ...]:
    """What is recorded, which must hold."""
    database = open_database("", environment(home))
    try:
        assert not database.notices
        (session,) = await database.archive.list_sessions()
        verified = await database.archive.verify(session.id)
        assert verified.holds, verified.reason
        return await database.archive.read(session.id)
    finally:
        database.close()


def reader_of(home: Path) -> sqlite3.Connection:
    """One who reads, so that the log of the database must grow."""
    connection = sqlite3.connect(ledger_of(home), isolation_level=None)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM records").fetchall()
    return connection


def call(name: str, id_: str, arguments: str) -> ScriptedCall:
    return ScriptedCall(id_, name, arguments)


@pytest.mark.long
async def test_a_prompt_that_cannot_be_recorded_is_not_sent_and_is_answered_when_there_is_room(
    home: Path, project: Path, disk: Disk
) -> None:
    async with FillingModel(disk) as model:
        configure_for(home, model)
        async with LongLived(cwd=project, env=environment(home)) as quorum:
            model.script += [Say(pieces=["one"]), Say(pieces=["two"])]
            assert await quorum.do(prompt="first") == "completed"
            with closing(reader_of(home)):
                disk.fill(quorum.pid)
                assert await quorum.do(prompt="second") == "failed"
                assert len(model.bodies) == 1
                assert [disk.remedy in reported for reported in quorum.errors] == [True]

                disk.free_space(quorum.pid)
                assert await quorum.do(continue_turn=True) == "completed"
            assert await quorum.close() == ""

    said = [message["content"] for message in model.bodies[-1]["messages"][1:]]
    assert said == ["first", "one", "second"]
    records = await records_of(home)
    assert [turn.prompt for turn in replay_state(records).turns] == ["first", "second", ""]


@pytest.mark.long
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", '{"path": "there.txt"}'),
        ("write_file", '{"path": "made.txt", "content": "x"}'),
        ("run_command", '{"command": "touch made.txt"}'),
    ],
)
async def test_a_call_whose_start_cannot_be_recorded_does_not_run(
    home: Path, project: Path, disk: Disk, tool: str, arguments: str
) -> None:
    (project / "there.txt").write_text("there\n")
    async with FillingModel(disk) as model:
        configure_for(home, model)
        async with LongLived(cwd=project, env=environment(home)) as quorum:
            model.pid, model.fill_at = quorum.pid, 1
            model.script += [
                Say(pieces=["one"]),
                Say(calls=[call(tool, "c1", arguments)], stop="tool_use"),
                Say(pieces=["I see"]),
            ]
            assert await quorum.do(prompt="first") == "completed"
            with closing(reader_of(home)):
                assert await quorum.do(prompt="second") == "failed"
                assert not (project / "made.txt").exists()
                assert [end["outcome"] for end in quorum.of("call_finished")] == ["error"]
                assert [disk.remedy in reported for reported in quorum.errors] == [True]
                assert len(model.bodies) == 2

                disk.free_space(quorum.pid)
                assert await quorum.do(continue_turn=True) == "completed"
            assert await quorum.close() == ""

    result = model.bodies[-1]["messages"][-1]
    assert result["role"] == "tool"
    assert result["content"].startswith("not run: ")
    state = replay_state(await records_of(home))
    assert state.finished
    assert not state.open_calls


@pytest.mark.long
async def test_a_file_that_there_is_no_room_to_keep_is_not_changed(
    home: Path, project: Path, small_disk: SmallDisk
) -> None:
    former = os.urandom(600_000)
    (project / "large.bin").write_bytes(former)
    async with SseServer("openai-chat") as model:
        configure_for(home, model)
        async with LongLived(cwd=project, env=environment(home)) as quorum:
            small_disk.fill(quorum.pid, leave=400_000)
            command = call("run_command", "c1", '{"command": "echo new > large.bin"}')
            again = call("run_command", "c2", '{"command": "echo new > large.bin"}')
            model.script += [
                Say(calls=[command], stop="tool_use"),
                Say(pieces=["no room"]),
                Say(calls=[again], stop="tool_use"),
                Say(pieces=["done"]),
            ]
            assert await quorum.do(prompt="first") == "completed"
            (end,) = quorum.of("call_finished")
            assert end["output"].startswith("not run: its files could not be kept: ")
            assert small_disk.remedy in end["output"]
            assert (project / "large.bin").read_bytes() == former

            small_disk.free_space(quorum.pid)
            assert await quorum.do(prompt="second") == "completed"
            assert (project / "large.bin").read_bytes() == b"new\n"
            assert await quorum.do(rewind=1) == "rewound"
            assert (project / "large.bin").read_bytes() == former
            assert await quorum.close() == ""
    await records_of(home)


@pytest.mark.long
async def test_what_never_got_onto_the_disk_is_reported_at_the_end(home: Path, project: Path) -> None:
    disk = NarrowFiles()
    async with SseServer("openai-chat") as model:
        configure_for(home, model)
        async with LongLived(cwd=project, env=environment(home)) as quorum:
            model.script += [Say(pieces=["one"])]
            assert await quorum.do(prompt="first") == "completed"
            disk.fill(quorum.pid)
            assert await quorum.do(prompt="second") == "failed"
            reported = await quorum.close()

    assert "events of the session are not recorded" in reported
    assert disk.remedy in reported
    assert [turn.prompt for turn in replay_state(await records_of(home)).turns] == ["first"]


@pytest.mark.long
async def test_an_answer_whose_record_could_not_be_finished_is_an_answer_with_a_warning(
    home: Path, project: Path
) -> None:
    disk = NarrowFiles()
    async with FillingModel(disk) as model:
        configure_for(home, model)
        model.script += [Say(pieces=["one"])]
        model.fill_at = 0
        process = await start("first", "--output", "json", cwd=project, env=environment(home))
        model.pid = process.pid

        out, err = await process.communicate()

    assert (process.returncode, json.loads(out)["status"]) == (0, "completed")
    assert err.decode().count(disk.remedy) == 2
    assert "events of the session are not recorded" in err.decode()


@pytest.mark.long(after=1)
@pytest.mark.parametrize("arguments", [["run", "read a.txt"], ["run", "--image", "a.png", "look"]])
def test_no_room_anywhere_is_reported_in_one_sentence(arguments: list[str], home: Path, project: Path) -> None:
    done = subprocess.run(
        [QUORUM, *arguments],
        cwd=project,
        env=environment(home),
        capture_output=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY)),
    )

    printed = done.stderr.decode()
    assert (done.returncode, printed.count("\n"), done.stdout) == (2, 1, b""), printed
    assert "there is none either" in printed
    assert "name another folder in TMPDIR" in printed
    assert ".py" not in printed


@pytest.mark.long
def test_no_folder_is_left_where_a_session_that_is_not_recorded_has_no_room(home: Path, project: Path) -> None:
    temporary = project / "temporary"
    temporary.mkdir()

    done = subprocess.run(
        [QUORUM, "run", "read a.txt"],
        cwd=project,
        env={**environment(home), "TMPDIR": str(temporary)},
        capture_output=True,
        timeout=60,
        check=False,
        # room to find out that there is a folder, and none for a database in it
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, resource.RLIM_INFINITY)),
    )

    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1), done.stderr
    assert list(temporary.iterdir()) == []
