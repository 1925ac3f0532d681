"""Large outputs of a session in PostgreSQL are there on every machine, whole or not at all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quorum.domain.errors import BlobError
from quorum.domain.text.output import Structured, Text
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage
from quorum.infrastructure.store.blobs.file_store import FileBlobStore
from quorum.infrastructure.store.postgres.address import parse_address

LONG = "a line that is repeated\n" * 100_000


async def test_what_one_machine_keeps_another_loads_and_reads_line_by_line(machine):
    here, there = machine("here").open_blobs(), machine("there").open_blobs()

    text, data = await here.store(Text(LONG)), await here.store(Structured({"a": [1]}))

    assert await there.load(text) == Text(LONG)
    assert await there.load(data) == Structured({"a": [1]})
    assert await machine("third").open_blobs().exists(text)
    lines = await asyncio.to_thread(machine("fourth").open_blobs().open_lines, text)
    assert lines.read_lines(99_999, 5) == ["a line that is repeated"]


async def test_a_text_that_grew_is_shared_when_it_is_kept(machine):
    here, there = machine("here").open_blobs(), machine("there").open_blobs()
    spill = here.open_spill()
    for _ in range(100):
        spill.write("ä line\n")

    blob_id = await asyncio.to_thread(spill.keep)

    assert await there.load(blob_id) == Text("ä line\n" * 100)


async def test_an_output_that_nobody_kept_is_an_error_on_every_machine(machine):
    blobs = machine().open_blobs()
    absent = "0199c0de-0000-7000-8000-000000000000"

    assert not await blobs.exists(absent)
    for name in (absent, "../../etc/passwd"):
        with pytest.raises(BlobError):
            await blobs.load(name)


async def test_an_output_of_which_a_piece_is_missing_is_not_given_out(machine, postgres, url):
    blob_id = await machine("here").open_blobs().store(Text(LONG))
    with postgres.connect(parse_address(url).database) as connection:
        connection.execute("DELETE FROM output_pieces WHERE number = 1")

    with pytest.raises(BlobError, match="is not whole"):
        await machine("there").open_blobs().load(blob_id)


async def test_an_output_that_cannot_be_shared_is_not_kept_here_either(machine, postgres, url, tmp_path):
    storage = machine("here")
    with postgres.connect(parse_address(url).database) as connection:
        connection.execute("ALTER TABLE output_pieces RENAME TO away")

    with pytest.raises(BlobError, match=r"cannot be shared: .* a table is missing; run quorum db upgrade"):
        await storage.open_blobs().store(Text("one"))

    assert list((tmp_path / "here" / "quorum" / "blobs").iterdir()) == []


async def test_a_folder_that_the_settings_name_is_where_outputs_go(url, tmp_path: Path):
    table = StorageTable(url=url, blobs=str(tmp_path / "shared"))
    storage = await asyncio.to_thread(open_storage, table, {"XDG_STATE_HOME": str(tmp_path)})
    blobs = storage.open_blobs()

    blob_id = await blobs.store(Text("one"))

    assert isinstance(blobs, FileBlobStore)
    assert [file.stem for file in (tmp_path / "shared").iterdir()] == [blob_id]
    await asyncio.to_thread(storage.close)
