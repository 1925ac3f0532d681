"""A fleet in the mode `staged`: each session in a layer of its own, reviewed and applied where it lies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.test_fleet_command import FleetRig, wait_until
from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.fleet_workers import find_session_processes
from tests.support.headless_run import QUORUM, environment
from tests.support.layer_process import layers
from tests.support.postgres_server import PostgresForTests

pytestmark = [pytest.mark.usefixtures("layers"), needs_bubblewrap, pytest.mark.long]
__all__ = ["layers"]


@pytest.fixture
def rig(tmp_path: Path, postgres: PostgresForTests) -> FleetRig:
    rig = FleetRig(tmp_path, postgres.new_database())
    rig.more["QUORUM_REVIEW__MODE"] = "staged"
    return rig


@contextmanager
def begin_to_work(rig: FleetRig) -> Iterator[subprocess.Popen[bytes]]:
    """A worker, killed at the end with the one that forked it."""
    command = [QUORUM, "fleet", "work", "-q"]
    with subprocess.Popen(
        command, cwd=rig.project, env=environment(rig.home, **rig.more), process_group=0
    ) as worker:
        try:
            yield worker
        finally:
            os.killpg(worker.pid, signal.SIGKILL)


def test_sessions_of_one_folder_are_applied_in_the_order_of_their_answers_and_conflicts_are_asked_about(
    rig: FleetRig,
) -> None:
    (rig.project / "c.txt").write_text("alpha\n")
    first, second, third = rig.submit(
        'replace "alpha" with "omega" in c.txt', 'replace "alpha" with "beta" in c.txt', "run echo x > d.txt"
    )

    assert rig.work().count("review open") == 3
    assert (rig.project / "c.txt").read_text() == "alpha\n"
    assert sorted(path.name for path in rig.project.iterdir()) == ["c.txt"]
    waiting = rig.list_waiting()
    assert waiting.keys() == {first, second, third}
    for session in (first, third, second):
        assert rig.quorum("inbox", "approve", waiting[session]["digest"]).code == 0
    rig.work()

    states = {
        each["session"]: each["state"] for each in json.loads(rig.quorum("fleet", "status", "--json").out)
    }
    applied, asked = sorted((first, second), key=lambda session: states[session] != "ended")
    assert (states[applied], states[asked], states[third]) == ("ended", "review open", "ended")
    assert (rig.project / "d.txt").read_text() == "x\n"
    again = rig.list_waiting()[asked]
    assert "it was changed in the folder, too: c.txt" in again["dangers"]
    assert rig.quorum("inbox", "reject", again["digest"], "--discard").code == 0
    rig.work()

    assert (rig.project / "c.txt").read_text() == ("omega\n" if applied == first else "beta\n")
    results = [json.loads(line) for line in rig.quorum("fleet", "results").out.splitlines()]
    assert [each["status"] for each in results] == ["completed"] * 3
    verified = rig.quorum("sessions", "verify", "--all")
    assert verified.code == 0, verified.out + verified.err


def test_what_a_killed_worker_leaves_in_a_layer_is_taken_up_by_the_next_one(rig: FleetRig) -> None:
    (session,) = rig.submit("run echo x > begun.txt; sleep 600")
    layers_of = rig.home / "state" / "quorum" / "staged"

    def has_begun() -> bool:
        return any(layers_of.glob("*/*/up/begun.txt"))

    with begin_to_work(rig) as worker:
        wait_until(has_begun)
        (process,) = find_session_processes(worker.pid)
    wait_until(lambda: not Path(f"/proc/{process}").exists())
    assert not (rig.project / "begun.txt").exists()
    with begin_to_work(rig):
        wait_until(lambda: rig.list_states() == ["review open"])
    waiting = rig.list_waiting()[session]
    assert "begun.txt" in waiting["packet"]["arguments"]["rows"]
    assert rig.quorum("inbox", "approve", waiting["digest"]).code == 0
    rig.work()

    assert (rig.project / "begun.txt").read_text() == "x\n"


def test_where_the_layer_is_not_the_session_waits_for_it(rig: FleetRig) -> None:
    (session,) = rig.submit("run echo x > made.txt")
    rig.work()
    waiting = rig.list_waiting()[session]
    state = rig.home / "state"
    state.rename(rig.home / "elsewhere")
    assert rig.quorum("inbox", "approve", waiting["digest"]).code == 0

    advanced = rig.quorum("fleet", "advance", session)

    assert advanced.code == 75
    assert "which is not in the state folder any more" in advanced.err
    assert not (rig.project / "made.txt").exists()
    if state.exists():
        state.rename(rig.home / "other")
    (rig.home / "elsewhere").rename(state)
    rig.more["QUORUM_REVIEW__MODE"] = "ask"
    outside = rig.quorum("fleet", "advance", session)
    assert (outside.code, "a worker in the mode staged goes on" in outside.err) == (75, True), outside.err
    rig.more["QUORUM_REVIEW__MODE"] = "staged"
    rig.work()

    assert (rig.project / "made.txt").read_text() == "x\n"


def test_a_folder_over_which_no_layer_can_be_leaves_its_session_queued_with_the_reason(
    rig: FleetRig, tmp_path: Path
) -> None:
    (session,) = rig.submit("run echo x > made.txt")
    rig.more["XDG_STATE_HOME"] = str(rig.project / "state")

    advanced = rig.quorum("fleet", "advance", session)

    assert advanced.code == 2
    assert "no layer can be had" in advanced.err
    assert not (rig.project / "made.txt").exists()
