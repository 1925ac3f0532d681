"""/export writes the session into a file whose name chooses the form."""

from __future__ import annotations

import json
import stat
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from quorum.application.export.formats import export_to
from quorum.domain.errors import ConfigError
from quorum.domain.events.event import TurnStarted
from quorum.domain.events.masking import SecretMask
from quorum.domain.sessions.session_summary import LedgerRecord, SessionSummary
from tests.support.fake_archive import FakeArchive, a_session


class _Archive(FakeArchive):
    async def read(self, session_id: str) -> tuple[LedgerRecord, ...]:
        return (LedgerRecord(seq=0, at_ms=0, event=TurnStarted(prompt="say hunter2-hunter2")),)


def _listed() -> _Archive:
    listed: list[SessionSummary] = [a_session("one")]
    return _Archive(listed)


@dataclass
class Exporting:
    session_id: str = "one"
    archive: FakeArchive = field(default_factory=_listed)

    @property
    def record(self) -> Exporting:
        return self

    @property
    def mask(self) -> SecretMask:
        mask = SecretMask()
        mask.learn("X", "hunter2-hunter2")
        return mask


@pytest.mark.parametrize(("name", "holds"), [("a.md", "say"), ("a.html", "<!doctype html>"), ("a.json", "{")])
async def test_the_ending_of_the_name_chooses_the_form_and_no_secret_is_in_it(
    tmp_path: Path, name: str, holds: str
) -> None:
    file = await export_to(name, Exporting(), folder=tmp_path, exports=tmp_path / "state")  # type: ignore[arg-type]

    text = file.read_text(encoding="utf-8")
    assert file == tmp_path / name
    assert holds.lower() in text.lower()
    assert "[secret:X]" in text
    assert "hunter2" not in text
    if name.endswith(".json"):
        json.loads(text)


async def test_without_a_name_it_is_a_new_file_out_of_the_project_that_only_the_person_can_read(
    tmp_path: Path,
) -> None:
    project, exports = tmp_path / "project", tmp_path / "state" / "exports"
    project.mkdir()
    for name in ("quorum-one.md", "quorum-one-2.md"):
        file = await export_to("", Exporting(), folder=project, exports=exports)  # type: ignore[arg-type]
        assert file == exports / name
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(exports.stat().st_mode) == 0o700
    assert list(project.iterdir()) == []


async def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("mine")
    with pytest.raises(FileExistsError):
        await export_to("a.md", Exporting(), folder=tmp_path, exports=tmp_path)  # type: ignore[arg-type]
    assert (tmp_path / "a.md").read_text() == "mine"


async def test_a_name_that_chooses_no_form_is_refused_with_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\.md, \.json, \.html"):
        await export_to("a.doc", Exporting(), folder=tmp_path, exports=tmp_path / "state")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["a\0b.md", "~nobody-of-that-name/a.md"])
async def test_what_can_be_no_file_is_refused_and_ends_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="file"):
        await export_to(name, Exporting(), folder=tmp_path, exports=tmp_path / "state")  # type: ignore[arg-type]
