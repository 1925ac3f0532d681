"""What the process of a session says is kept; what is wrong with the machine leaves the session to others."""

from __future__ import annotations

import json

import pytest

from quorum.application.ports.fleet import SessionBusy, SessionKilled
from quorum.domain.fleet_session import Advance, FleetState
from quorum.fleet.work import read_advance


def said(**report: object) -> bytes:
    return json.dumps({"session_id": "s", "status": "completed", "stop_reason": "end_turn", **report}).encode()


def test_the_status_of_a_turn_that_ended_is_kept() -> None:
    assert read_advance(0, said(), b"") == Advance(state=FleetState.ENDED, status="completed")
    assert read_advance(4, said(status="failed", error="no network"), b"") == Advance(
        state=FleetState.ENDED, status="failed", error="no network"
    )


def test_a_turn_that_an_earlier_process_interrupted_has_ended() -> None:
    interrupted = said(status="interrupted", stop_reason=None)

    assert read_advance(0, interrupted, b"") == Advance(state=FleetState.ENDED, status="interrupted")
    with pytest.raises(SessionBusy):  # this process was, and nothing may have begun
        read_advance(130, interrupted, b"")


def test_a_review_that_was_left_open_is_no_end() -> None:
    report = said(status="needs_approval", stop_reason="review_open")

    assert read_advance(3, report, b"").state is FleetState.REVIEW_OPEN
    assert read_advance(3, said(status="needs_approval"), b"").state is FleetState.ENDED


def test_a_crash_is_a_failure_with_its_last_words() -> None:
    advance = read_advance(1, b"", b"x" * 5_000 + b"KeyError: 'a'\n")

    assert advance.state is FleetState.FAILED
    assert advance.error.endswith("KeyError: 'a'")
    assert len(advance.error) == 500


@pytest.mark.parametrize("code", [2, 75, 137, -9])
def test_a_machine_that_cannot_run_it_and_a_killed_process_leave_the_session_to_others(code: int) -> None:
    with pytest.raises(SessionBusy, match="OPENAI_API_KEY is not set"):
        read_advance(code, b"", b"quorum: OPENAI_API_KEY is not set\n")


@pytest.mark.parametrize(
    ("code", "said", "told"),
    [
        (-9, b"", "killed by SIGKILL"),
        (-11, b"quorum: a folder is gone\n", "killed by SIGSEGV; it said last: a folder is gone"),
        (-63, b"", "killed by signal 63"),
    ],
)
def test_a_process_that_a_signal_ended_was_killed_with_its_last_words(code: int, said: bytes, told: str):
    with pytest.raises(SessionKilled) as killed:
        read_advance(code, b"", said)

    assert str(killed.value) == told
