"""The table of `quorum fleet status`: on a terminal ids are as short as they can be, elsewhere whole."""

from __future__ import annotations

from quorum.domain.fleet_session import Advance, FleetSession, FleetState
from quorum.fleet.requests import render_fleet, summarise_fleet

FIRST, LATER = "01a20eba-6ba6-7091-bb41-8f20ae8a1842", "01a20eba-6bd5-71d9-97fa-cc0495e20ea4"
SAME_MILLISECOND = "01a20eba-6ba6-7092-bb41-8f20ae8a1842"


def build_session(session_id: str, state: FleetState = FleetState.QUEUED) -> FleetSession:
    return FleetSession(
        session_id=session_id,
        name="fix the tests of the parser",
        cwd="/srv",
        advance=Advance(state=state),
        submitted_by="somebody",
        submitted_ms=0,
        updated_ms=0,
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
