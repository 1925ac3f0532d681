"""Large outputs in a bucket: on every machine, content-addressed, created and never replaced."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path

import obstore
import pytest
from moto.server import ThreadedMotoServer
from obstore.store import S3Store

from application.ports.storage import BlobStore
from domain.errors import BlobError, ConfigError
from domain.events.masking import SecretMask
from domain.text.output import Structured, Text
from infrastructure.config.schema import StorageTable
from infrastructure.storage import list_storage_paths, open_blob_store, open_storage

LONG = "a line that is repeated\n" * 500_000
KEYS = {"AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "hunter2", "AWS_REGION": "us-east-1"}
TABLE = StorageTable(blobs="s3://outputs/team/one")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """An object store on loopback."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str) -> S3Store:
    """The bucket, empty, as somebody with all rights sees it."""
    import urllib.request

    for path in ("/moto-api/reset", "/outputs"):
        method = "POST" if "reset" in path else "PUT"
        urllib.request.urlopen(urllib.request.Request(endpoint + path, method=method)).close()
    return S3Store(
        "outputs",
        endpoint=endpoint,
        region="us-east-1",
        access_key_id="root",
        secret_access_key="root",
        client_options={"allow_http": True},
    )


def machine(folder: Path, name: str, endpoint: str, mask: SecretMask | None = None) -> BlobStore:
    environ = {**KEYS, "AWS_ENDPOINT_URL": endpoint, "XDG_STATE_HOME": str(folder / name)}
    store = open_blob_store(TABLE, environ, mask)
    assert store is not None
    return store


def paths(bucket: S3Store) -> list[str]:
    return sorted(one["path"] for some in obstore.list(bucket) for one in some)


async def test_what_one_machine_keeps_another_loads_and_reads_line_by_line(tmp_path, endpoint, bucket):
    here, there = machine(tmp_path, "here", endpoint), machine(tmp_path, "there", endpoint)
    spill = here.open_spill()
    spill.write("grown\n")

    text, data = await here.store(Text(LONG)), await here.store(Structured({"a": [1]}))
    grown = await asyncio.to_thread(spill.keep)

    assert await there.exists(text)
    assert await there.load(text) == Text(LONG)
    assert await there.load(data) == Structured({"a": [1]})
    assert await there.load(grown) == Text("grown\n")
    lines = await asyncio.to_thread(machine(tmp_path, "third", endpoint).open_lines, text)
    assert lines.lines(499_999, 5) == ["a line that is repeated"]


async def test_pieces_are_under_their_hash_and_the_same_piece_is_there_once(tmp_path, endpoint, bucket):
    here = machine(tmp_path, "here", endpoint)

    first, second = await here.store(Text("same")), await here.store(Text("same"))

    digest = hashlib.sha256(b"same").hexdigest()
    assert paths(bucket) == sorted(
        [f"team/one/outputs/{first}.txt", f"team/one/outputs/{second}.txt", f"team/one/pieces/{digest}"]
    )


async def test_what_is_there_is_never_replaced(tmp_path, endpoint, bucket):
    here = machine(tmp_path, "here", endpoint)
    digest = hashlib.sha256(b"one").hexdigest()
    obstore.put(bucket, f"team/one/pieces/{digest}", b"planted")

    blob_id = await here.store(Text("one"))

    assert bytes(obstore.get(bucket, f"team/one/pieces/{digest}").bytes()) == b"planted"
    with pytest.raises(BlobError, match="is damaged"):
        await machine(tmp_path, "there", endpoint).load(blob_id)


@pytest.mark.parametrize(
    "index", [b"{", b"[]", b'{"size": 3, "pieces": []}', b'{"size": 1, "pieces": ["../x"]}']
)
async def test_an_index_that_was_tampered_with_gives_nothing_out(tmp_path, endpoint, bucket, index):
    blob_id = await machine(tmp_path, "here", endpoint).store(Text("one"))
    obstore.put(bucket, f"team/one/outputs/{blob_id}.txt", index)

    with pytest.raises(BlobError):
        await machine(tmp_path, "there", endpoint).load(blob_id)

    assert list((tmp_path / "there" / "quorum" / "blobs").glob("[!.]*")) == []


async def test_secrets_are_hidden_before_they_leave_the_machine(tmp_path, endpoint, bucket):
    mask = SecretMask()
    mask.learn("TOKEN", "very-secret-value")
    blob_id = await machine(tmp_path, "here", endpoint, mask).store(Text("it is very-secret-value"))

    assert await machine(tmp_path, "there", endpoint).load(blob_id) == Text("it is [secret:TOKEN]")


async def test_a_bucket_that_is_not_there_is_named_and_nothing_is_kept(tmp_path, endpoint, bucket):
    environ = {**KEYS, "AWS_ENDPOINT_URL": endpoint, "XDG_STATE_HOME": str(tmp_path)}
    store = open_blob_store(StorageTable(blobs="s3://absent"), environ)

    with pytest.raises(BlobError, match="s3://absent cannot be written: ") as caught:
        await store.store(Text("one"))

    assert "hunter2" not in str(caught.value)
    assert list((tmp_path / "quorum" / "blobs").iterdir()) == []


async def test_it_goes_with_sessions_in_a_file_too(tmp_path, endpoint, bucket):
    environ = {**KEYS, "AWS_ENDPOINT_URL": endpoint, "XDG_STATE_HOME": str(tmp_path)}
    storage = await asyncio.to_thread(open_storage, TABLE, environ)

    blob_id = await storage.blobs().store(Text("one"))

    assert f"team/one/outputs/{blob_id}.txt" in paths(bucket)
    assert list_storage_paths(TABLE, environ) == []
    await asyncio.to_thread(storage.close)


@pytest.mark.parametrize(
    "blobs", ["s3://", "s3://a", "s3://bucket/../other", "s3://Bucket", "s3://me:hunter2@bucket"]
)
def test_what_is_no_bucket_is_refused_and_not_repeated(blobs):
    with pytest.raises(ConfigError, match="expected one such as s3://bucket/prefix") as caught:
        open_blob_store(StorageTable(blobs=blobs), {"HOME": "/nonexistent"})

    assert "hunter2" not in str(caught.value)
