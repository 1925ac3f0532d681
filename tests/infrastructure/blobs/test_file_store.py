from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from quorum.application.identifiers import generate_id
from quorum.domain.errors import BlobError
from quorum.domain.text.output import Structured, Text
from quorum.infrastructure.store.blobs.file_store import FileBlobStore

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state" / "blobs"


@pytest.fixture
def store(folder):
    return FileBlobStore(folder)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.requirement("D08")
async def test_text_lies_in_a_txt_and_json_in_a_json_file_side_by_side(store, folder):
    text = await store.store(Text("one\ntwo"))
    structured = await store.store(Structured({"é": [1, 2]}))

    assert names(folder) == {f"{text}.txt", f"{structured}.json"}
    assert (folder / f"{text}.txt").read_bytes() == b"one\ntwo"
    assert (folder / f"{structured}.json").read_text("utf-8") == '{\n  "é": [\n    1,\n    2\n  ]\n}\n'


@pytest.mark.requirement("D08")
async def test_outputs_belong_to_no_session_and_another_one_can_read_them(store, folder):
    blob_id = await store.store(Text("kept"))

    assert await FileBlobStore(folder).load(blob_id) == Text("kept")


async def test_the_folder_and_the_files_are_private_whatever_the_umask(store, folder):
    before = os.umask(0)
    try:
        blob_id = await store.store(Text("secret"))
    finally:
        os.umask(before)

    assert mode_of(folder) == 0o700
    assert mode_of(folder / f"{blob_id}.txt") == 0o600


async def test_a_folder_that_others_could_read_is_closed(store, folder):
    folder.mkdir(parents=True)
    folder.chmod(0o755)

    await store.store(Text("secret"))

    assert mode_of(folder) == 0o700


async def test_a_store_that_nothing_was_put_into_makes_no_folder(store, folder):
    assert not await store.exists(generate_id())
    assert not folder.exists()


@pytest.mark.long
def test_a_full_disk_is_an_error_and_leaves_nothing_behind(folder):
    code = f"""
import asyncio, pathlib, resource
from quorum.domain.errors import BlobError
from quorum.domain.text.output import Text
from quorum.infrastructure.store.blobs.file_store import FileBlobStore

store = FileBlobStore(pathlib.Path({str(folder)!r}))
kept = asyncio.run(store.store(Text("small")))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    asyncio.run(store.store(Text("x" * 3_000_000)))
except BlobError as error:
    print(error)
"""

    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )

    assert result.stdout == f"the output cannot be kept in {folder}: it is larger than a file may be here\n", (
        result.stderr
    )
    assert [path.read_text() for path in folder.iterdir()] == ["small"]


async def test_a_place_that_is_no_folder_is_an_error_that_names_it(folder):
    folder.parent.mkdir()
    folder.write_text("a file")

    with pytest.raises(BlobError, match=f"cannot be kept in {folder}: "):
        await FileBlobStore(folder).store(Text("x"))


@pytest.mark.parametrize("value", [{1, 2}, {"a": object()}])
async def test_what_is_no_json_is_an_error_and_leaves_nothing_behind(store, folder, value):
    with pytest.raises(BlobError, match="it is not JSON"):
        await store.store(Structured(value))

    assert names(folder) == set()


@pytest.mark.long
async def test_nesting_too_deep_to_follow_is_an_error_and_leaves_nothing_behind(store, folder):
    value: list = []
    for _ in range(100_000):
        value = [value]

    with pytest.raises(BlobError, match="nested too deeply"):
        await store.store(Structured(value))

    assert names(folder) == set()


@pytest.mark.parametrize(
    ("suffix", "content"), [("json", b'{"cut": '), ("json", b""), ("json", b'"\xff"'), ("txt", b"a\xff")]
)
async def test_a_damaged_file_is_an_error_that_names_it(store, folder, suffix, content):
    blob_id = generate_id()
    folder.mkdir(parents=True)
    (folder / f"{blob_id}.{suffix}").write_bytes(content)

    with pytest.raises(BlobError, match=rf"{blob_id}\.{suffix} is damaged"):
        await store.load(blob_id)


async def test_a_link_in_place_of_an_output_is_not_followed(store, folder, tmp_path):
    (tmp_path / "secret").write_text("secret")
    folder.mkdir(parents=True)
    blob_id = generate_id()
    (folder / f"{blob_id}.txt").symlink_to(tmp_path / "secret")

    assert not await store.exists(blob_id)
    with pytest.raises(BlobError, match=f"there is no stored output {blob_id}"):
        await store.load(blob_id)


async def test_a_wrong_id_reaches_no_file_and_is_shown_escaped(store, folder):
    folder.mkdir(parents=True)
    (folder.parent / "x.txt").write_text("outside")

    assert store.find_path("../x") is None
    with pytest.raises(BlobError, match=r"'\.\./x' is not an id of a stored output"):
        await store.load("../x")
    with pytest.raises(BlobError, match=r"'\\x1b\[2J\\x00' is not an id"):
        await store.load("\x1b[2J\0")


async def test_a_store_that_is_cancelled_while_it_writes_leaves_nothing_behind(store, folder):
    reached, released = threading.Event(), threading.Event()

    class Waiting(dict):
        def items(self):
            yield "first", 1
            reached.set()
            released.wait(timeout=30)
            yield "second", 2

    task = asyncio.create_task(store.store(Structured(Waiting(a=1))))
    await asyncio.to_thread(reached.wait, 30)
    task.cancel()
    asyncio.get_running_loop().call_soon(released.set)

    with pytest.raises(asyncio.CancelledError):
        await task
    assert names(folder) == set()


async def test_the_path_of_an_output_is_reported_to_those_who_read_it_piece_by_piece(store, folder):
    text = await store.store(Text("one\ntwo"))
    structured = await store.store(Structured([1]))

    assert store.find_path(text) == folder / f"{text}.txt"
    assert store.find_path(structured) == folder / f"{structured}.json"
    assert store.find_path(generate_id()) is None
    assert store.open_lines(text).read_lines(0, 9) == ["one", "two"]
    assert store.open_lines(structured).read_lines(0, 9) == ["[", "  1", "]"]
    with pytest.raises(BlobError, match="there is no stored output"):
        store.open_lines(generate_id())
