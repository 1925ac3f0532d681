"""One body for every store of large outputs: the one on disk, those that machines share, the fake that other
tests stand on, and one that knows the port alone."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from quorum.application.identifiers import generate_id
from quorum.application.ports.storage import BlobStore
from quorum.domain.errors import BlobError
from quorum.domain.text.output import Structured, Text
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_blob_store, open_storage
from quorum.infrastructure.store.blobs.file_store import FileBlobStore
from tests.support.fake_blob_store import FakeBlobStore
from tests.support.sqlite_blob_store import SqliteBlobStore

# An id as good as any other, of which there is no output.
NOBODY = "01a20114-a558-70a2-8f00-0123456789ab"


@pytest.fixture(params=["files", "fake", "a third one", "a bucket", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BlobStore]:
    match request.param:
        case "a bucket":
            environment = {"XDG_STATE_HOME": str(tmp_path), **request.getfixturevalue("bucket").environ}
            bucket = open_blob_store(StorageTable(blobs="s3://outputs/contract"), environment)
            assert bucket is not None
            yield bucket
        case "postgresql":
            url = request.getfixturevalue("postgres").new_database()
            storage = open_storage(StorageTable(url=url), {"XDG_STATE_HOME": str(tmp_path)})
            shared = storage.open_blobs()
            assert shared is not None
            yield shared
            storage.close()
        case "files":
            yield FileBlobStore(tmp_path / "state" / "blobs")
        case "fake":
            yield FakeBlobStore()
        case _:
            yield SqliteBlobStore(tmp_path / "outputs.sqlite")


@pytest.mark.long
@pytest.mark.parametrize(
    "content",
    [
        Text(""),
        Text("one\r\ntwo\rthree\n\n"),
        Text('{"looks": "like JSON"}'),
        Text("é 漢 😀 \0 \x1b[31m \u2028"),
        Text("half of a pair: \ud83d"),
        Text("é" * 1_500_000),
        Structured(None),
        Structured(True),
        Structured(1.5),
        Structured("text as JSON"),
        Structured([]),
        Structured({"a": [1, {"b": None}], "é\n": "\ud83d"}),
    ],
    ids=lambda content: repr(content)[:30],
)
@pytest.mark.requirement("D01")
async def test_what_was_stored_comes_back_as_it_was(store, content):
    blob_id = await store.store(content)

    assert await store.load(blob_id) == content


@pytest.mark.long
@pytest.mark.requirement("D07")
async def test_ids_are_uuids_of_version_7_and_sort_by_the_time_of_storing(store):
    ids = [await store.store(Text(str(number))) for number in range(20)]

    assert ids == sorted(set(ids))
    assert {uuid.UUID(blob_id).version for blob_id in ids} == {7}
    assert all(str(uuid.UUID(blob_id)) == blob_id for blob_id in ids)


@pytest.mark.requirement("D07")
async def test_what_was_stored_exists_and_nothing_else_does(store):
    stored = await store.store(Structured([1]))

    assert await store.exists(stored)
    assert not await store.exists(generate_id())
    assert not await store.exists("../etc/passwd")


@pytest.mark.requirement("D07")
async def test_outputs_stored_at_once_are_kept_apart(store):
    ids = await asyncio.gather(*(store.store(Text(f"output {number}")) for number in range(20)))

    contents = await asyncio.gather(*(store.load(blob_id) for blob_id in ids))

    assert contents == [Text(f"output {number}") for number in range(20)]


@pytest.mark.parametrize(
    "unknown",
    [
        NOBODY,
        "",
        ".",
        "../x",
        "/etc/passwd",
        "a\0b",
        "x" * 10_000,
        NOBODY.upper(),
        f"{NOBODY}\n",
        "\ud800",
    ],
    ids=lambda unknown: ascii(unknown)[:20],
)
@pytest.mark.requirement("D12")
async def test_an_unknown_id_is_an_error_that_names_it(store, unknown):
    with pytest.raises(BlobError, match="stored output"):
        await store.load(unknown)


async def test_the_lines_of_an_output_are_read_found_and_counted(store):
    blob_id = await store.store(Text("alpha\nbeta\ngamma\nbeta again\n"))

    lines = store.open_lines(blob_id)

    assert lines.read_lines(1, 2) == ["beta", "gamma"]
    assert lines.read_lines(4, 2) == []
    assert lines.find("beta", 2, backwards=False) == 3
    assert lines.find("beta", 2, backwards=True) == 1
    assert lines.find("delta", 0, backwards=False) is None
    assert lines.count_so_far() == (4, True)


async def test_the_lines_of_an_unknown_output_are_an_error(store):
    with pytest.raises(BlobError):
        store.open_lines(generate_id())


async def test_a_growing_text_is_kept_as_a_text_like_any_other(store):
    spill = store.open_spill()

    spill.write("one\nzw")
    spill.write("ei ö\n")
    spill.write("three \ud83d")
    blob_id = await asyncio.to_thread(spill.keep)
    spill.discard()

    assert await store.load(blob_id) == Text("one\nzwei ö\nthree \ud83d")
    assert await store.exists(blob_id)
    assert uuid.UUID(blob_id).version == 7
    assert (spill.lines, spill.size_bytes) == (3, 21)
    assert store.open_lines(blob_id).read_lines(1, 1) == ["zwei ö"]


async def test_a_newline_at_the_end_of_a_growing_text_begins_no_other_line(store):
    spill = store.open_spill()

    spill.write("one\n")

    assert spill.lines == 1
    spill.discard()


async def test_nothing_is_written_is_an_empty_text(store):
    spill = store.open_spill()

    blob_id = await asyncio.to_thread(spill.keep)

    assert await store.load(blob_id) == Text("")
    assert (spill.lines, spill.size_bytes) == (0, 0)


async def test_a_growing_text_that_was_given_up_cannot_be_kept(store):
    spill = store.open_spill()
    spill.write("text")

    spill.discard()

    with pytest.raises(BlobError):
        spill.keep()


async def test_growing_texts_do_not_mix(store):
    first, second = store.open_spill(), store.open_spill()
    first.write("a")
    second.write("b")
    first.write("c")

    ids = [await asyncio.to_thread(spill.keep) for spill in (first, second)]

    assert [await store.load(blob_id) for blob_id in ids] == [Text("ac"), Text("b")]
