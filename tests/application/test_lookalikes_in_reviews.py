from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.review.questions import Reject
from tests.support.fake_ports import FakePerson
from tests.support.real_session import SessionStage, shell


@pytest.mark.long
async def test_a_command_that_is_not_what_it_looks_like_is_asked_about_with_a_warning(tmp_path: Path) -> None:
    person = FakePerson(lambda _: Reject())

    async with SessionStage(tmp_path, more_settings='[review]\nmode = "ask"').opened(person=person) as session:
        await session.turn(shell("m\u0430ke all"))

    (request,) = person.requests
    assert "U+0430 CYRILLIC SMALL LETTER A" in request.dangers[0]
    assert request.dangers[0] in request.notices
