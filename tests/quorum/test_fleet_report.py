"""The table of `quorum fleet status`: on a terminal ids are as short as they can be, elsewhere whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quorum.command_line.reading import parse
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.events.event import CallStarted
from quorum.domain.fleet_session import (
    MOST_KILLS,
    Advance,
    FleetRequest,
    FleetSession,
    FleetState,
    LiveWorker,
    WorkerIdentity,
)
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.errors import UsageError
from quorum.fleet.requests import encode_result, render_fleet, render_workers, summarise_fleet
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_fleet
from quorum.infrastructure.store.postgres.fleet import PostgresFleet
from tests.support.postgres_server import PostgresForTests

FIRST, LATER = "01a20eba-6ba6-7091-bb41-8f20ae8a1842", "01a20eba-6bd5-71d9-97fa-cc0495e20ea4"
SAME_MILLISECOND = "01a20eba-6ba6-7092-bb41-8f20ae8a1842"


def build_session(
    session_id: str, state: FleetState = FleetState.QUEUED, error: str = "", **more: Any
) -> FleetSession:
    return FleetSession(
        session_id=session_id,
        name="fix the tests of the parser",
        cwd="/srv",
        advance=Advance(state=state, error=error),
        submitted_by="somebody",
        submitted_ms=0,
        updated_ms=0,
        **more,
    )


def list_ids(*sessions: FleetSession, width: int | None) -> list[str]:
    lines = render_fleet(sessions, str, now_ms=0, width=width)
    return [line.split()[0] for line in lines[1:-1]]


def test_ids_are_as_short_as_they_can_be_on_a_terminal_and_whole_elsewhere() -> None:
    sessions = build_session(FIRST), build_session(LATER)

    assert list_ids(*sessions, width=80) == ["01a20eba-6ba6", "01a20eba-6bd5"]
    assert list_ids(*sessions, width=None) == [FIRST, LATER]
    assert "fix the tests of the parser" in "\n".join(render_fleet(sessions, str, now_ms=0, width=80))


def test_ids_of_one_millisecond_are_told_apart() -> None:
    sessions = build_session(FIRST), build_session(SAME_MILLISECOND)

    assert list_ids(*sessions, width=80) == ["01a20eba-6ba6-7091", "01a20eba-6ba6-7092"]


def test_the_last_line_says_how_far_all_of_them_are() -> None:
    states = (FleetState.ENDED, FleetState.RUNNING, FleetState.CANCELLED, FleetState.REVIEW_OPEN)
    sessions = [build_session(FIRST, state) for state in states]

    assert (
        summarise_fleet(sessions) == "2 of 4 have ended (50 %): 1 running, 1 review open, 1 ended, 1 cancelled"
    )
    assert summarise_fleet([]) == "no session was submitted"


def test_a_parked_session_says_until_when_and_why_and_one_set_aside_how_often_it_was_tried() -> None:
    sessions = (
        build_session(FIRST, error="process 7 has it", parked_until_ms=15_000, attempts=2),
        build_session(LATER, parked_until_ms=86_400_000),
        build_session(SAME_MILLISECOND, FleetState.FAILED, "set aside: killed", attempts=3, kills=3),
    )

    _, parked, later, set_aside, _ = render_fleet(sessions, str, now_ms=0, width=None)

    assert parked.split("  ")[1] == "queued until 00:00:15 UTC"
    assert parked.endswith("2      fix the tests of the parser: process 7 has it")
    assert "queued until 1970-01-02 00:00 UTC" in later
    assert set_aside.split()[1:3] == ["set", "aside"]
    assert set_aside.endswith("3      fix the tests of the parser: set aside: killed")


def test_workers_are_listed_with_what_they_run_and_their_absence_is_told() -> None:
    sessions = [build_session(FIRST)]
    known = WorkerIdentity(name="process 7 on build1", version="1.2", folder="/srv")
    workers = [
        LiveWorker(identity=known, is_draining=True, sessions=(FIRST,)),
        LiveWorker(identity=WorkerIdentity(name="worker 2\x1b[2J"), is_draining=False, sessions=()),
    ]

    lines = render_workers(workers, sessions, str)

    assert lines[0] == f"process 7 on build1 (quorum 1.2, /srv, draining): {FIRST} fix the tests of the parser"
    assert lines[1].startswith("worker 2")
    assert lines[1].endswith(": idle")
    assert "\x1b" not in lines[1]
    assert render_workers([], sessions, str) == ["no worker gives signs of life"]
    assert render_workers([], [], str) == []


def test_the_result_of_a_session_without_an_end_says_what_it_began_to_run_last() -> None:
    context = ToolExecutionContext(call_id="call-1", batch_id="b", call_index=0, turn_index=0)
    begun = CallStarted(context=context, tool="run_command", arguments={"command": "sort key-1"})
    records = [LedgerRecord(seq=0, at_ms=0, event=begun)]
    session = build_session(FIRST, FleetState.FAILED, "set aside: killed")

    result = encode_result(session, records, lambda text: text.replace("key-1", "[hidden]"))

    assert (result["status"], result["error"]) == ("failed", "set aside: killed")
    assert result["last_call"] == {"tool": "run_command", "arguments": '{"command": "sort [hidden]"}'}
    assert encode_result(session, (), str)["last_call"] is None


def run_command(action: str, *arguments: str, of: str = "fleet") -> int:
    parsed = parse([of, action, *arguments])
    assert parsed.command.run is not None
    return parsed.command.run(parsed.options, Path.cwd())


@pytest.mark.long
def test_a_session_that_was_set_aside_is_listed_by_its_state_and_queued_again(
    postgres: PostgresForTests,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    url = postgres.new_database()
    for name, value in {"HOME": str(tmp_path), "QUORUM_STORAGE__URL": url}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    fleet = open_fleet(StorageTable(url=url), {})
    requests = [FleetRequest(prompt="x", name=name, cwd="/srv") for name in ("poison", "sound")]
    poison, _ = fleet.submit(requests)
    assert isinstance(fleet, PostgresFleet)
    for _ in range(MOST_KILLS):
        fleet.put_kill(poison.session_id, "killed by SIGKILL")
    fleet.close()

    assert run_command("status", "--state", "failed") == 0
    listed = capsys.readouterr().out.splitlines()
    assert run_command("retry", poison.session_id) == 0
    retried = capsys.readouterr().out
    assert run_command("retry", "--all") == 0
    nothing = capsys.readouterr().err
    assert run_command("status", "--json", "--state", "queued") == 0
    queued = json.loads(capsys.readouterr().out)

    assert "set aside" in listed[1]
    assert "killed by SIGKILL" in listed[1]
    assert listed[2:] == ["1 of 2 have ended (50 %): 1 queued, 1 failed", "no worker gives signs of life"]
    assert retried == f"{poison.session_id}\n"
    assert "none of these sessions failed" in nothing
    assert [(each["name"], each["kills"], each["error"]) for each in queued] == [
        ("poison", 0, ""),
        ("sound", 0, ""),
    ]
    with pytest.raises(UsageError, match="name the sessions to queue again, or --all"):
        run_command("retry")
    assert run_command("cancel", "--all") == 0
    capsys.readouterr()
    assert run_command("prune", "--older-than", "0", "--all", "--yes", of="sessions") == 0
    assert "0 sessions (0 bytes) and 2 of a fleet that never began deleted" in capsys.readouterr().err
    assert run_command("status") == 0
    assert "no session was submitted" in capsys.readouterr().out
