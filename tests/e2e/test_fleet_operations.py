"""What those who run a fleet do and meet: a drain, a partition, a backup that is restored, an archive."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from quorum.infrastructure.store.postgres.address import parse_address
from tests.e2e.test_fleet_command import FleetRig, open_gate, wait_until
from tests.support.headless_run import QUORUM, configure, environment
from tests.support.postgres_proxy import CuttingProxy
from tests.support.postgres_server import USER, PostgresForTests
from tests.support.shifted_clock import COMPILER, shift_clock

WORK = ("fleet", "work", "-q")


@pytest.fixture
def rig(tmp_path: Path, postgres: PostgresForTests) -> FleetRig:
    """A folder in which `cat gate` ends once something is written into it, and nothing is asked."""
    rig = FleetRig(tmp_path, postgres.new_database())
    configure_url(rig, rig.url)
    os.mkfifo(rig.project / "gate")
    return rig


def configure_url(rig: FleetRig, url: str) -> None:
    rig.url = url
    configure(rig.home, f'[storage]\nurl = "{url}"\n[review]\nmode = "auto"\n')


@contextmanager
def working(rig: FleetRig, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [QUORUM, *WORK],
        cwd=rig.project,
        env=environment(rig.home, **more),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def export(rig: FleetRig, session: str) -> str:
    return rig.quorum("sessions", "export", "--format", "json", session).out


def list_outcomes(rig: FleetRig, session: str) -> list[str]:
    records = json.loads(export(rig, session))["records"]
    events = [record["event"] for record in records]
    return [event["outcome"] for event in events if event and event["type"] == "call_finished"]


def wait_until_it_runs(rig: FleetRig, session: str) -> None:
    wait_until(lambda: "call_started" in export(rig, session))


def test_a_line_that_is_held_passes_nothing_until_it_is_released() -> None:
    with (
        TemporaryDirectory(prefix="quorum-line-", dir="/tmp") as folder,
        socket.socket(socket.AF_UNIX) as server,
    ):
        ends = [Path(folder, name) for name in ("server", "line")]
        for end in ends:
            end.mkdir()
        server.bind(str(ends[0] / ".s.PGSQL.5432"))
        server.listen()
        with closing(CuttingProxy(ends[1], ends[0])) as line, socket.socket(socket.AF_UNIX) as client:
            client.connect(str(ends[1] / ".s.PGSQL.5432"))
            client.sendall(b"one")
            passed, _ = server.accept()
            with passed:
                assert passed.recv(3) == b"one"
                line.hold()
                client.sendall(b"two")
                passed.settimeout(0.05)
                with pytest.raises(TimeoutError):
                    passed.recv(3)
                passed.settimeout(60)
                line.release()
                assert passed.recv(3) == b"two"


@pytest.mark.long
def test_a_worker_that_is_drained_ends_once_its_session_has_and_leaves_the_queue_to_the_next(
    rig: FleetRig,
) -> None:
    running, queued = rig.submit("run cat gate", "run echo done > done.txt")
    with working(rig) as worker:
        wait_until_it_runs(rig, running)
        worker.terminate()
        wait_until(lambda: "draining" in rig.quorum("fleet", "status").out)
        assert rig.list_states() == ["running", "queued"]
        open_gate(rig)
        assert worker.wait(120) == 0

    assert rig.list_states() == ["ended", "queued"]
    assert list_outcomes(rig, running) == ["ok"]
    rig.work()
    assert rig.list_states() == ["ended", "ended"]
    assert list_outcomes(rig, queued) == ["ok"]
    assert (rig.project / "done.txt").read_text() == "done\n"


@pytest.mark.long
def test_a_worker_behind_a_partition_loses_its_session_to_another_and_nothing_runs_twice(
    rig: FleetRig, postgres: PostgresForTests
) -> None:
    database = parse_address(rig.url).database
    (session,) = rig.submit("run cat gate")
    with (
        TemporaryDirectory(prefix="quorum-line-", dir="/tmp") as folder,  # the path of a socket must be short
        closing(CuttingProxy(Path(folder), postgres.folder)) as line,
    ):
        behind = f"postgresql+psycopg://{USER}@/{database}?host={folder}"
        with working(rig, QUORUM_STORAGE__URL=behind) as cut_off:
            wait_until_it_runs(rig, session)
            line.hold()
            postgres.let_workers_be_missed(database)
            postgres.let_leases_end(database)
            with working(rig):
                wait_until(lambda: rig.list_states() == ["ended"])
            assert list_outcomes(rig, session) == ["unknown"]
            open_gate(rig)  # what runs behind the partition ends well, and nobody can be told
            line.release()
            (later,) = rig.submit("run echo later >> later.txt")
            wait_until(lambda: rig.list_states() == ["ended", "ended"])
            assert cut_off.poll() is None

    assert list_outcomes(rig, session) == ["unknown"]
    assert list_outcomes(rig, later) == ["ok"]
    assert (rig.project / "later.txt").read_text() == "later\n"
    verified = rig.quorum("sessions", "verify", "--all")
    assert verified.code == 0, verified.out + verified.err


@pytest.mark.skipif(COMPILER is None, reason="no compiler for a library that shifts the clock")
@pytest.mark.long
def test_workers_whose_clocks_are_two_minutes_apart_go_on_with_each_others_sessions(
    rig: FleetRig, postgres: PostgresForTests, tmp_path: Path
) -> None:
    database = parse_address(rig.url).database
    (session,) = rig.submit("run cat gate")
    with working(rig, **shift_clock(tmp_path, 60)) as ahead:
        wait_until_it_runs(rig, session)
        ahead.kill()
        ahead.wait()
    with working(rig, **shift_clock(tmp_path, -60)):
        assert rig.list_states() == ["running"]
        postgres.let_workers_be_missed(database)
        postgres.let_leases_end(database)
        wait_until(lambda: rig.list_states() == ["ended"])
        (later,) = rig.submit("run echo later")
        wait_until(lambda: rig.list_states() == ["ended", "ended"])

    assert (list_outcomes(rig, session), list_outcomes(rig, later)) == (["unknown"], ["ok"])
    times = [record["at_ms"] for record in json.loads(export(rig, session))["records"]]
    assert times == sorted(times)
    with postgres.connect(database) as connection:
        (ahead_secs,) = connection.execute(
            "SELECT max(at_ms) / 1000 - extract(epoch FROM clock_timestamp()) FROM records"
        ).fetchone() or (0,)
    assert -50 < float(str(ahead_secs)) <= 1


@pytest.mark.long
def test_a_backup_that_is_made_while_a_worker_runs_is_restored_and_its_sessions_are_ended(
    rig: FleetRig, postgres: PostgresForTests
) -> None:
    ended, running = rig.submit("run echo one >> one.txt", "run cat gate")
    with working(rig):
        wait_until_it_runs(rig, running)
        backup = run_program(postgres, "pg_dump", parse_address(rig.url).database)
        open_gate(rig)
        wait_until(lambda: rig.list_states() == ["ended", "ended"])
    assert list_outcomes(rig, running) == ["ok"]

    configure_url(rig, postgres.create_database(f"restored_{os.getpid()}"))
    run_program(postgres, "psql", "-q", "-v", "ON_ERROR_STOP=1", parse_address(rig.url).database, given=backup)
    assert rig.list_states() == ["ended", "running"]
    postgres.let_workers_be_missed(parse_address(rig.url).database)
    postgres.let_leases_end(parse_address(rig.url).database)
    with working(rig):
        wait_until(lambda: rig.list_states() == ["ended", "ended"])

    assert (list_outcomes(rig, ended), list_outcomes(rig, running)) == (["ok"], ["unknown"])
    assert (rig.project / "one.txt").read_text() == "one\n"
    assert rig.quorum("sessions", "verify", "--all").code == 0


@pytest.mark.long
def test_sessions_are_archived_in_a_file_and_then_pruned(rig: FleetRig, tmp_path: Path) -> None:
    (session,) = rig.submit("run echo one >> one.txt")
    rig.work()
    archive = f"sqlite:///{tmp_path}/archive.sqlite"

    copied = rig.quorum("db", "copy", "--to", archive)
    pruned = rig.quorum("sessions", "prune", "--older-than", "0", "--all", "--yes")

    assert (copied.code, pruned.code) == (0, 0), copied.err + pruned.err
    assert json.loads(rig.quorum("fleet", "status", "--json").out) == []
    rig.more["QUORUM_STORAGE__URL"] = archive
    assert rig.quorum("sessions", "verify", session).code == 0
    assert list_outcomes(rig, session) == ["ok"]


def run_program(postgres: PostgresForTests, program: str, *arguments: str, given: bytes = b"") -> bytes:
    done = subprocess.run(
        [postgres.programs / program, "-h", postgres.folder, "-U", USER, *arguments],
        input=given,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
