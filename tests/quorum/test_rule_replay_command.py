from __future__ import annotations

import asyncio
import json
from itertools import chain
from pathlib import Path

import pytest

from quorum.cli.permissions import ReplayOptions
from quorum.domain.calls.execution import Outcome, Seal, ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ConfigError
from quorum.domain.events.calls import PlannedLane
from quorum.domain.events.event import BatchPlanned, CallFinished, Event, ReviewDecided, ReviewRequested
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.sessions.session_summary import NewSession
from quorum.domain.text.json_value import JsonObject
from quorum.errors import UsageError
from quorum.infrastructure.store.ledger.opening import Database
from tests.support.builders import a_call
from tests.support.command_line import run_command


def _record(tool: str, arguments: JsonObject, decision: DecisionLabel, number: int) -> list[Event]:
    context = ToolExecutionContext(call_id=f"c{number}", batch_id="b", call_index=number, turn_index=0)
    lane = PlannedLane(context=context, tool=tool, arguments=arguments, risk=RiskLevel.HIGH, follows=())
    finished = CallFinished(
        context=context, tool=tool, outcome=Outcome.OK, decision=decision, output="", duration_secs=0.0
    )
    return [BatchPlanned(batch_id="b", lanes=(lane,)), finished]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, folder in (("HOME", "home"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    (tmp_path / "work").mkdir()
    (tmp_path / "state" / "quorum").mkdir(parents=True)
    return tmp_path / "work"


def _fill(root: Path, *calls: tuple[str, DecisionLabel], cwd: Path | None = None) -> None:
    """Record a session of these commands."""
    records = (
        _record("run_command", {"command": command}, decision, number)
        for number, (command, decision) in enumerate(calls)
    )
    _fill_with(root, *chain.from_iterable(records), cwd=cwd)


def _fill_with(root: Path, *events: Event, cwd: Path | None = None) -> None:
    """Record a session of these events."""

    async def write() -> None:
        opened = await asyncio.to_thread(database.open_session, NewSession(), cwd=str(cwd or root))
        assert opened.ledger is not None
        for event in events:
            await opened.ledger.append(event)
        await opened.ledger.aclose()

    database = Database(root.parent / "state" / "quorum" / "ledger.sqlite")
    try:
        asyncio.run(write())
    finally:
        database.close()


def _replay(root: Path, capsys: pytest.CaptureFixture[str], *words: str) -> JsonObject:
    assert run_command(["permissions", "replay", "--json", *words], root) == 0
    found: JsonObject = json.loads(capsys.readouterr().out)
    return found


def test_a_call_that_was_approved_and_whose_end_nothing_records_is_counted(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planned, ended = _record("run_command", {"command": "make"}, DecisionLabel.NONE, 1)
    assert isinstance(ended, CallFinished)
    decided = ReviewDecided(context=ended.context, digest="d", decision=DecisionLabel.APPROVED, reason=None)
    _fill_with(root, planned, decided)
    _fill_with(root, planned, decided, ended)

    assert _replay(root, capsys)["calls"] == 2


def test_calls_of_all_sessions_of_this_folder_are_replayed(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _fill(root, ("make", DecisionLabel.APPROVED), ("make deploy", DecisionLabel.REJECTED))
    _fill(root, ("make", DecisionLabel.NEEDS_APPROVAL), ("make x", DecisionLabel.NONE))
    _fill(root, ("make elsewhere", DecisionLabel.REJECTED), cwd=root / "other")

    found = _replay(root, capsys, "--rule", "run_command(make *)")

    assert (found["calls"], found["sessions"]) == (3, 2)
    assert found["groups"] == [
        {"now": "allow", "then": "rejected", "loosens": True, "calls": 1, "examples": ["make deploy"]},
        {"now": "allow", "then": "withheld", "loosens": True, "calls": 1, "examples": ["make"]},
        {"now": "allow", "then": "approved", "loosens": False, "calls": 1, "examples": ["make"]},
    ]


def test_the_text_names_what_you_rejected_first(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _fill(root, ("make", DecisionLabel.APPROVED), ("make deploy\x1b[2J", DecisionLabel.REJECTED))

    assert run_command(["permissions", "replay", "--rule", "run_command(make **)"], root) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 past calls of 1 session,")
    assert any(line.strip() == "make" for line in lines)
    assert "\x1b" not in "".join(lines)


def test_a_call_counts_with_the_arguments_that_the_person_gave_it(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planned, finished = _record("run_command", {"command": "make all"}, DecisionLabel.EDITED, 0)
    assert isinstance(planned, BatchPlanned)
    context = planned.lanes[0].context
    packet = ReviewPacket(
        call=a_call("run_command", {"command": "make one"}), context=context, seal=Seal(cwd=str(root))
    )
    asked = ReviewRequested(context=context, packet=packet, digest=packet.digest, reasons=(), edited=True)

    async def write() -> None:
        opened = await asyncio.to_thread(database.open_session, NewSession(), cwd=str(root))
        assert opened.ledger is not None
        for event in (planned, asked, finished):
            await opened.ledger.append(event)
        await opened.ledger.aclose()

    database = Database(root.parent / "state" / "quorum" / "ledger.sqlite")
    asyncio.run(write())
    database.close()

    groups = _replay(root, capsys, "--rule", "run_command(make *)")["groups"]
    assert groups == [
        {"now": "allow", "then": "approved", "loosens": False, "calls": 1, "examples": ["make one"]}
    ]


def test_calls_before_the_date_are_left_out(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _fill(root, ("make", DecisionLabel.APPROVED))

    assert _replay(root, capsys, "--since", "30")["calls"] == 1
    assert _replay(root, capsys, "--since", "2999-01-01")["calls"] == 0


def test_calls_of_a_file_are_replayed_in_place_of_recorded_ones(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _fill(root, ("make", DecisionLabel.APPROVED))
    calls = [
        {"tool": "run_command", "arguments": {"command": "cargo test"}, "answer": "rejected"},
        {"tool": "read_file", "arguments": {"path": "a.py"}, "answer": "unasked"},
    ]
    (root / "calls.jsonl").write_text("\n".join(map(json.dumps, calls)))

    found = _replay(root, capsys, "--import", "calls.jsonl")

    assert found["groups"] == [
        {"now": "allow", "then": "unasked", "loosens": False, "calls": 1, "examples": ["read_file a.py"]},
        {"now": "ask", "then": "rejected", "loosens": False, "calls": 1, "examples": ["cargo test"]},
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[]", "it is not a JSON object"),
        ('{"tool": 3}', '"tool" must be the name of a tool'),
        ('{"tool": "x", "arguments": []}', '"arguments" must be an object'),
        ('{"tool": "x", "arguments": {}, "answer": "yes"}', '"answer" must be one of rejected'),
        ("{", "Expecting"),
    ],
)
def test_a_line_that_is_no_call_is_named(root: Path, line: str, problem: str) -> None:
    (root / "calls.jsonl").write_text('{"tool": "x", "arguments": {}, "answer": "approved"}\n' + line)

    with pytest.raises(ConfigError, match=problem) as raised:
        run_command(["permissions", "replay", "--import", "calls.jsonl"], root)
    assert "calls.jsonl:2: " in str(raised.value)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--rule", "run_command("), "this is not a rule"),
        (("--since", "yesterday"), "write a date"),
    ],
)
def test_what_cannot_be_meant_is_refused(root: Path, words: tuple[str, ...], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        run_command(["permissions", "replay", *words], root)


def test_a_missing_file_is_named(root: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.jsonl: it cannot be read"):
        run_command(["permissions", "replay", "--import", "gone.jsonl"], root)


def test_a_date_says_nothing_about_the_calls_of_a_file() -> None:
    options = ReplayOptions(since="30", import_file=Path("calls.jsonl"))

    assert options.find_conflict().startswith("--since is about recorded calls")
