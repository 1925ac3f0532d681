"""A file that is replaced as a whole is held against what it held: protections that go are asked about."""

from pathlib import Path

import pytest

from quorum.domain.review.mode import Mode
from tests.support.fake_ports import FakePerson
from tests.support.real_session import SessionStage, call

_VIEW = "@login_required\ndef show(request):\n    return page(request)\n"


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("after", "asked"),
    [
        ("def show(request):\n    return page(request)\n", 1),
        ("@login_required\ndef show(request):\n    return other(request)\n", 0),
        ("# @login_required\ndef show(request):\n    return page(request)\n", 1),
    ],
)
async def test_a_protection_that_a_new_whole_text_leaves_out_is_asked_about(
    tmp_path: Path, after: str, asked: int
) -> None:
    stage, person = SessionStage(tmp_path), FakePerson()
    (stage.root / "views.py").write_text(_VIEW)
    async with stage.opened(person=person) as session:
        await session.agent.review.set_mode(Mode.ACCEPT_EDITS)
        await session.turn(call("read_file", path="views.py"))
        await session.turn(call("write_file", path="views.py", content=after))
    assert len(person.requests) == asked
    assert all("takes a protection out of" in reason for each in person.requests for reason in each.reasons)


async def test_the_person_is_told_where_each_edit_is_asked_about(tmp_path: Path) -> None:
    stage, person = SessionStage(tmp_path), FakePerson()
    (stage.root / "views.py").write_text(_VIEW)
    async with stage.opened(person=person) as session:
        await session.turn(call("read_file", path="views.py"))
        await session.turn(call("write_file", path="views.py", content="def show(request):\n    pass\n"))
    (request,) = person.requests
    assert any("takes a protection out of views.py" in reason for reason in request.reasons)


async def test_a_new_file_takes_no_protection_away(tmp_path: Path) -> None:
    stage, person = SessionStage(tmp_path), FakePerson()
    async with stage.opened(person=person) as session:
        await session.agent.review.set_mode(Mode.ACCEPT_EDITS)
        await session.turn(call("write_file", path="views.py", content="def show(request):\n    pass\n"))
    assert person.requests == []
