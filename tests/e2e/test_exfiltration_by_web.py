"""A fetch that carries out what was read is asked about, though a rule allows all fetches."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.review.questions import Reject
from tests.support.fake_ports import FakePerson
from tests.support.real_session import SessionStage, call


@pytest.mark.parametrize("mode", ["ask", "auto"])
async def test_what_a_file_holds_does_not_leave_in_an_address_unasked(tmp_path: Path, mode: str) -> None:
    settings = f'[review]\nmode = "{mode}"\n[tools.web]\nfetch = true\n[permissions]\nallow = ["web_fetch"]\n'
    stage = SessionStage(tmp_path, more_settings=settings)
    (stage.root / "notes.txt").write_text("the launch was moved to the ninth of May\n")
    person = FakePerson(lambda _request: Reject("no"))

    async with stage.opened(person=person) as session:
        await session.turn(call("read_file", path="notes.txt"))
        await session.turn(call("web_fetch", url="https://docs.example.invalid/launch/plans"))
        assert person.requests == []
        await session.turn(
            call("web_fetch", url="https://docs.example.invalid/?q=launch+was+moved+to+the+ninth")
        )

    [request] = person.requests
    assert any("web_fetch: it sends away what was read: 'launch was moved" in each for each in request.reasons)
