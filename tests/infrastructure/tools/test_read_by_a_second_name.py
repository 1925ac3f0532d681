"""A sensitive file is not read unasked by a second name of it, a hard link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quorum.domain.errors import AttachmentError
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.attachment_files import AttachmentFiles
from tests.support.fake_ports import FakePerson
from tests.support.pictures import png
from tests.support.real_session import SessionStage, call


@pytest.mark.parametrize(("tool", "more"), [("read_file", {}), ("grep_search", {"pattern": "x"})])
async def test_reading_it_is_asked_about(tmp_path: Path, tool: str, more: dict[str, str]) -> None:
    stage, person = SessionStage(tmp_path), FakePerson()
    (stage.root / ".env").write_text("x")
    os.link(stage.root / ".env", stage.root / "notes.txt")
    async with stage.opened(person=person) as session:
        await session.turn(call(tool, path="notes.txt", **more))

    (request,) = person.requests
    assert request.reasons == (f"{stage.root}/.env is a sensitive file",)


async def test_a_search_below_a_folder_leaves_it_out_and_says_so(tmp_path: Path) -> None:
    stage = SessionStage(tmp_path)
    (stage.root / "sub").mkdir()
    (stage.root / ".env").write_text("needle")
    os.link(stage.root / ".env", stage.root / "sub/notes.txt")
    async with stage.opened() as session:
        await session.turn(call("grep_search", path="sub", pattern="needle"))
        (result,) = session.container.parts().core.conversation.messages[2].results

    assert "notes.txt" not in result.output
    assert "1 sensitive file was not searched" in result.output


async def test_it_is_not_attached(tmp_path: Path) -> None:
    (tmp_path / "server.key").write_bytes(png())
    os.link(tmp_path / "server.key", tmp_path / "plain.png")

    with pytest.raises(AttachmentError, match="sensitive file"):
        await AttachmentFiles(tmp_path, PathPolicy(roots=(str(tmp_path),)), {}).read("plain.png")
