"""Large outputs in a bucket: on every machine, content-addressed, created and never replaced."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import Mock

import obstore
import pytest

from quorum.application.ports.storage import BlobStore
from quorum.domain.errors import BlobError, ConfigError, LedgerError
from quorum.domain.events.masking import SecretMask
from quorum.domain.text.output import Structured, Text
from quorum.infrastructure import blocking
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import list_storage_paths, open_blob_store, open_storage
from quorum.infrastructure.store.objects import object_store
from quorum.infrastructure.store.objects.bucket import parse_bucket
from tests.support.bucket_server import BUCKET, BucketForTests

LONG = "a line that is repeated\n" * 500_000


@pytest.fixture
def table(tmp_path: Path) -> StorageTable:
    """A prefix of the bucket that no other test has."""
    return StorageTable(blobs=f"s3://{BUCKET}/team/{tmp_path.name}")


@pytest.fixture
def prefix(table: StorageTable) -> str:
    return table.blobs.removeprefix(f"s3://{BUCKET}/")


@pytest.fixture
def machine(tmp_path: Path, table: StorageTable, bucket: BucketForTests) -> Callable[..., BlobStore]:
    """Opens the outputs as a machine of that name does."""

    def opens(name: str, mask: SecretMask | None = None) -> BlobStore:
        store = open_blob_store(table, {**bucket.environ, "XDG_STATE_HOME": str(tmp_path / name)}, mask)
        assert store is not None
        return store

    return opens


@pytest.mark.long
async def test_what_one_machine_keeps_another_loads_and_reads_line_by_line(machine):
    here, there = machine("here"), machine("there")
    spill = here.open_spill()
    spill.write("grown\n")

    text, data = await here.store(Text(LONG)), await here.store(Structured({"a": [1]}))
    grown = await asyncio.to_thread(spill.keep)

    assert await there.exists(text)
    assert await there.load(text) == Text(LONG)
    assert await there.load(data) == Structured({"a": [1]})
    assert await there.load(grown) == Text("grown\n")
    lines = await asyncio.to_thread(machine("third").open_lines, text)
    assert lines.read_lines(499_999, 5) == ["a line that is repeated"]


async def test_pieces_are_under_their_hash_and_the_same_piece_is_there_once(machine, prefix, bucket):
    here = machine("here")

    first, second = await here.store(Text("same")), await here.store(Text("same"))

    digest = hashlib.sha256(b"same").hexdigest()
    assert bucket.list_keys(prefix) == sorted(
        [f"{prefix}/outputs/{first}.txt", f"{prefix}/outputs/{second}.txt", f"{prefix}/pieces/{digest}"]
    )


async def test_what_is_there_is_never_replaced(machine, prefix, bucket):
    here = machine("here")
    digest = hashlib.sha256(b"one").hexdigest()
    obstore.put(bucket.everything, f"{prefix}/pieces/{digest}", b"planted")

    blob_id = await here.store(Text("one"))

    assert bytes(obstore.get(bucket.everything, f"{prefix}/pieces/{digest}").bytes()) == b"planted"
    with pytest.raises(BlobError, match="is damaged"):
        await machine("there").load(blob_id)


@pytest.mark.parametrize(
    "index", [b"{", b"[]", b'{"size": 3, "pieces": []}', b'{"size": 1, "pieces": ["../x"]}']
)
async def test_an_index_that_was_tampered_with_gives_nothing_out(machine, prefix, bucket, tmp_path, index):
    blob_id = await machine("here").store(Text("one"))
    obstore.put(bucket.everything, f"{prefix}/outputs/{blob_id}.txt", index)

    with pytest.raises(BlobError):
        await machine("there").load(blob_id)

    assert list((tmp_path / "there" / "quorum" / "blobs").glob("[!.]*")) == []


async def test_secrets_are_hidden_before_they_leave_the_machine(machine):
    mask = SecretMask()
    mask.learn("TOKEN", "very-secret-value")
    blob_id = await machine("here", mask).store(Text("it is very-secret-value"))

    assert await machine("there").load(blob_id) == Text("it is [secret:TOKEN]")


async def test_a_bucket_that_is_not_there_is_named_and_nothing_is_kept(bucket, tmp_path):
    environ = {**bucket.environ, "XDG_STATE_HOME": str(tmp_path)}
    store = open_blob_store(StorageTable(blobs="s3://absent"), environ)

    with pytest.raises(BlobError, match="s3://absent cannot be written: ") as caught:
        await store.store(Text("one"))

    assert "hunter2" not in str(caught.value)
    assert list((tmp_path / "quorum" / "blobs").iterdir()) == []


async def test_it_goes_with_sessions_in_a_file_too(prefix, bucket, tmp_path, table):
    environ = {**bucket.environ, "XDG_STATE_HOME": str(tmp_path)}
    storage = await asyncio.to_thread(open_storage, table, environ)

    blob_id = await storage.open_blobs().store(Text("one"))

    assert f"{prefix}/outputs/{blob_id}.txt" in bucket.list_keys(prefix)
    assert list_storage_paths(table, environ) == []
    await asyncio.to_thread(storage.close)


@pytest.mark.parametrize(
    "blobs", ["s3://", "s3://a", "s3://bucket/../other", "s3://Bucket", "s3://me:hunter2@bucket"]
)
def test_what_is_no_bucket_is_refused_and_not_repeated(blobs):
    with pytest.raises(ConfigError, match="expected one such as s3://bucket/prefix") as caught:
        open_blob_store(StorageTable(blobs=blobs), {"HOME": "/nonexistent"})

    assert "hunter2" not in str(caught.value)


class ForgetfulStore(BaseHTTPRequestHandler):
    """Says of every object that it is kept; gives back what the server says, or nothing."""

    answer: bytes | None = None

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200)
        self.send_header("ETag", '"5f"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(404 if self.answer is None else 200)
        data = self.answer or b""
        self.send_header("ETag", '"5f"')
        self.send_header("Last-Modified", "Sun, 29 Nov 2026 22:00:00 GMT")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(params=[None, b"another"], ids=["nothing", "another object"])
def forgetful(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a store that keeps nothing."""
    handler = type("Handler", (ForgetfulStore,), {"answer": request.param})
    served = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=served.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{served.server_port}"
    served.shutdown()
    thread.join()
    served.server_close()


async def test_a_store_that_takes_what_it_does_not_keep_gets_no_second_object(
    forgetful: str, table: StorageTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(object_store, "_READ_BACK_SECS", (0.0, 0.0))
    environ = {
        "AWS_ENDPOINT_URL": forgetful,
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "hunter2",
        "AWS_REGION": "us-east-1",
        "XDG_STATE_HOME": str(tmp_path),
    }
    storage = await asyncio.to_thread(open_storage, table, environ)
    before = set(threading.enumerate())
    large = [hashlib.sha512(b"%d" % number).digest() for number in range(400)]

    await storage.contents.put([b"".join(large)])
    for reading in set(threading.enumerate()) - before:
        if reading.name == "read back":
            await asyncio.to_thread(reading.join)
    with pytest.raises(
        LedgerError, match=r"said that it kept .*contents/.*, and holds (nothing|another object)"
    ):
        await storage.contents.put([b"".join(reversed(large))])
    await asyncio.to_thread(storage.close)


@pytest.mark.parametrize("status", [500, 502, 503, 504, 429])
def test_a_store_that_does_not_answer_for_a_while_is_waited_for_and_read_back_once(status, monkeypatch):
    monkeypatch.setattr(object_store, "_RETRY", {"max_retries": 0})
    monkeypatch.setattr(blocking, "_RETRY_SECS", 0.01)
    statuses = [status] * 3
    read: list[str] = []

    class Store(BaseHTTPRequestHandler):
        def answer(self, status: int, data: bytes = b"") -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response_only(status)
            self.send_header("ETag", '"5f"')
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Last-Modified", "Thu, 01 Jan 1970 00:00:00 GMT")
            self.end_headers()
            self.wfile.write(data)

        def do_PUT(self):
            self.answer(statuses.pop() if statuses else 200)

        def do_GET(self):
            read.append(self.path)
            self.answer(200, b"object")

    with ThreadingHTTPServer(("127.0.0.1", 0), Store) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environ = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_address[1]}",
            "AWS_ACCESS_KEY_ID": "someone",
            "AWS_SECRET_ACCESS_KEY": "hunter2",
            "AWS_REGION": "us-east-1",
        }
        store = object_store.ObjectStore(parse_bucket("s3://outputs", environ))

        for key in ("one", "two"):
            store.create(key, b"object")
            for thread in threading.enumerate():
                if thread.name == "read back":
                    thread.join()
        server.shutdown()

    assert (statuses, read) == ([], ["/outputs/one"])
    monkeypatch.setattr(blocking.Outage, "_pause", Mock(side_effect=blocking.Stopped))
    with pytest.raises(blocking.Stopped):
        store.holds("two")
