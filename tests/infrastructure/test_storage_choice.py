from __future__ import annotations

from pathlib import Path

import pytest

from domain.errors import ConfigError
from domain.sessions.past_session import NewSession
from domain.text.output import Text
from infrastructure.config.schema import STORAGE_SCHEMES, StorageTable
from infrastructure.storage import list_storage_paths, open_record, open_storage


@pytest.mark.parametrize("scheme", STORAGE_SCHEMES)
async def test_each_scheme_that_the_settings_take_can_be_opened(scheme: str, tmp_path: Path) -> None:
    table = StorageTable(url=f"{scheme}:///{tmp_path}/sessions", blobs=str(tmp_path / "outputs"))

    storage = open_storage(table, {})

    assert await storage.archive.sessions() == ()
    assert storage.notices == ()
    blobs = storage.blobs()
    assert blobs is not None
    assert await blobs.load(await blobs.store(Text("one"))) == Text("one")
    storage.close()
    assert {path.name for path in list_storage_paths(table, {})} >= {"sessions", "outputs"}


def test_a_scheme_that_nothing_is_known_of_is_an_error_that_names_those_that_are() -> None:
    with pytest.raises(ConfigError, match="'mysql'; sessions can be kept in: sqlite"):
        open_storage(StorageTable(url="mysql://host/sessions"), {})


async def test_a_session_that_cannot_be_recorded_still_keeps_its_large_outputs(tmp_path: Path) -> None:
    (tmp_path / "in the way").touch()
    table = StorageTable(url=f"sqlite:///{tmp_path}/in the way/ledger.sqlite", blobs=str(tmp_path / "outputs"))

    record = open_record(table, {}, NewSession(), cwd=str(tmp_path))
    blobs = record.storage.blobs()
    assert blobs is not None
    blob_id = await blobs.store(Text("one"))
    await record.release()

    assert not record.outlives
    assert [file.stem for file in (tmp_path / "outputs").iterdir()] == [blob_id]
