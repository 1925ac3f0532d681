from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.cli import unasked_calls
from quorum.domain.review.mode import Mode
from quorum.domain.review.unasked_calls import CallKind, SampledCall
from quorum.infrastructure.permissions.sample_file import SampleFile
from tests.support.command_line import run_command


@pytest.fixture
async def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SampleFile:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    file = SampleFile(tmp_path / "quorum" / "unasked-calls.jsonl")
    for number in range(3):
        call = SampledCall(
            id=f"s/b/{number}",
            session_id="s",
            mode=Mode.AUTO,
            kind=CallKind.COMMANDS,
            text=f"make {number}\x1b[2J",
            at_ms=1_700_000_000_000,
            change=f"+line {number}\x1b[2J",
        )
        await file.add(call)
    return file


def _type(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Have a person at a terminal type these, and then end the input."""
    typed = iter(lines)

    def read(_prompt: str) -> str:
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr(unasked_calls.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", read)


def test_each_call_that_waits_is_asked_about_once(
    file: SampleFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _type(monkeypatch, "r", "what?", "wrong", "")

    assert run_command(["permissions", "judge"], tmp_path) == 0

    assert [call.is_right for call in file.read_calls()] == [True, False, None]
    told = capsys.readouterr().out
    assert "commands: ≤ 98 % wrong (95 %, n = 2); 1 call to judge" in told
    assert "+line 0" in told
    assert "\x1b" not in told

    _type(monkeypatch, "q")
    run_command(["permissions", "judge"], tmp_path)
    assert "1 of 1" in capsys.readouterr().out


def test_the_end_of_the_input_leaves_the_rest_for_another_time(
    file: SampleFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _type(monkeypatch, "r")

    assert run_command(["permissions", "judge"], tmp_path) == 0
    assert [call.is_right for call in file.read_calls()] == [True, None, None]


def test_as_json_nothing_is_asked(file: SampleFile, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.keep_verdict("s/b/0", is_right=False)

    assert run_command(["permissions", "judge", "--json"], tmp_path) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["kinds"][0] == {
        "kind": "commands",
        "judged": 1,
        "wrong": 1,
        "waiting": 2,
        "upper_bound": 1.0,
    }
    assert [call["id"] for call in told["waiting"]] == ["s/b/1", "s/b/2"]
