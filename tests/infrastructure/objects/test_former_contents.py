"""Former contents of files in a bucket: the larger ones, once, on every machine that names the bucket."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import sqlite3
import ssl
import subprocess
import sys
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import obstore
import pytest

from quorum.application.ports.storage import Storage
from quorum.domain.errors import LedgerError, LostConnection, RestoreError
from quorum.domain.sessions.session_summary import LatestSession, NamedSession, NewSession
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import copy_sessions, open_storage, open_unrecorded
from quorum.infrastructure.store.objects import object_store
from tests.support.bucket_server import BUCKET, BucketForTests, run_encrypted_bucket_server
from tests.support.certificates import Authority
from tests.support.headless_run import configure
from tests.support.postgres_server import PostgresForTests
from tests.support.real_session import SessionStage, write

ROOT = Path(__file__).parents[3]
LARGE = random.Random(7).randbytes(50_000)
DIGEST = hashlib.sha256(LARGE).hexdigest()
Opens = Callable[..., Storage]


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    """A prefix of the bucket that no other test has."""
    return f"former/{tmp_path.name}"


@pytest.fixture
def blobs(prefix: str) -> str:
    return f"s3://{BUCKET}/{prefix}"


@pytest.fixture
def machine(tmp_path: Path, bucket: BucketForTests) -> Iterator[Opens]:
    """Opens what the settings name as a machine of that name does, with a state folder of its own."""
    opened: list[Storage] = []

    def opens(name: str = "here", *, url: str = "", blobs: str = "", **environ: str) -> Storage:
        state = {"XDG_STATE_HOME": str(tmp_path / name)}
        storage = open_storage(StorageTable(url=url, blobs=blobs), {**bucket.environ, **state, **environ})
        opened.append(storage)
        return storage

    yield opens
    for storage in opened:
        storage.close()


def stored_row(tmp_path: Path, name: str = "here") -> tuple[int, bytes]:
    with closing(sqlite3.connect(tmp_path / name / "quorum" / "ledger.sqlite")) as file:
        row: tuple[int, bytes] = file.execute("SELECT size, data FROM contents").fetchone()
    return row


async def test_a_large_content_is_in_the_bucket_once_and_a_small_one_in_the_database(
    machine, blobs, bucket, prefix, tmp_path
):
    storage = machine(blobs=blobs)

    digests = await storage.contents.put([LARGE, b"small"])
    again = await storage.contents.put([LARGE])

    assert bucket.list_keys(prefix) == [f"{prefix}/contents/{DIGEST}"]
    assert (digests[0], *again) == (DIGEST, DIGEST)
    assert [await storage.contents.get(each) for each in digests] == [LARGE, b"small"]
    assert (len(LARGE), blobs.encode()) in [stored_row(tmp_path)]


async def test_a_list_of_files_stays_in_the_database_as_pruning_reads_it(machine, blobs, bucket, prefix):
    files = b'{"roots":' + LARGE.hex().encode()

    (digest,) = await machine(blobs=blobs).contents.put([files])

    assert bucket.list_keys(prefix) == []
    assert await machine(blobs=blobs).contents.get(digest) == files


@pytest.mark.long
async def test_what_one_machine_keeps_another_gives_back(machine, blobs, postgres):
    url = postgres.new_database()
    await machine("here", url=url, blobs=blobs).contents.put([LARGE])

    there = machine("there", url=url, blobs=blobs)

    assert await there.contents.list_absent([DIGEST]) == frozenset()
    assert await there.contents.get(DIGEST) == LARGE


@pytest.mark.long
async def test_a_machine_that_does_not_name_the_bucket_says_which_one_to_name(machine, blobs, postgres):
    url = postgres.new_database()
    await machine("here", url=url, blobs=blobs).contents.put([LARGE])

    there = machine("there", url=url)

    assert await there.contents.list_absent([DIGEST]) == {DIGEST}
    with pytest.raises(LedgerError, match=f"{DIGEST} is in {blobs}, which this quorum does not use: name that"):
        await there.contents.get(DIGEST)


async def test_what_is_out_of_reach_is_kept_again_where_it_is_needed(machine, blobs, postgres):
    url = postgres.new_database()
    await machine("here", url=url, blobs=blobs).contents.put([LARGE])

    there = machine("there", url=url)
    await there.contents.put([LARGE])

    assert await there.contents.get(DIGEST) == LARGE
    assert await machine("here", url=url, blobs=blobs).contents.get(DIGEST) == LARGE


async def test_a_content_that_somebody_removed_from_the_bucket_is_named(machine, blobs, bucket, prefix):
    storage = machine(blobs=blobs)
    await storage.contents.put([LARGE])
    obstore.delete(bucket.everything, f"{prefix}/contents/{DIGEST}")

    with pytest.raises(LedgerError, match=f"{DIGEST} is not in {blobs} any more, so that file cannot be given"):
        await storage.contents.get(DIGEST)


@pytest.mark.parametrize(
    "planted", [b"", b"noise", zlib.compress(b"another"), zlib.compress(bytes(len(LARGE))), bytes(90_000)]
)
async def test_what_was_planted_in_the_bucket_is_not_given_out(machine, blobs, bucket, prefix, planted):
    storage = machine(blobs=blobs)
    obstore.put(bucket.everything, f"{prefix}/contents/{DIGEST}", planted)

    await storage.contents.put([LARGE])

    with pytest.raises(LedgerError, match=r"damaged|which is larger"):
        await storage.contents.get(DIGEST)


async def test_without_the_bucket_nothing_is_kept_and_small_contents_are_still_there(machine, blobs, tmp_path):
    storage = machine(blobs=blobs)
    (small,) = await storage.contents.put([b"small"])
    await storage.contents.put([LARGE])

    away = machine(blobs="s3://absent")

    with pytest.raises(
        LedgerError, match="former contents of files cannot be kept: s3://absent cannot be"
    ) as e:
        await away.contents.put([LARGE, b"other"])
    assert "hunter2" not in str(e.value)
    assert await away.contents.get(small) == b"small"
    with pytest.raises(LedgerError, match="no stored content"):
        await away.contents.get(hashlib.sha256(b"other").hexdigest())


async def test_a_store_that_never_answered_is_named_at_once_with_what_to_look_at(machine, blobs, monkeypatch):
    monkeypatch.setattr(object_store.Outage, "_pause", lambda _outage: pytest.fail("it is waited for"))
    away = machine(blobs=blobs, AWS_ENDPOINT_URL="http://127.0.0.1:9")

    with pytest.raises(
        LostConnection, match=r"does not answer \(Connection refused\); look at .* AWS_ENDPOINT_URL"
    ):
        await away.contents.put([LARGE])


KEEP = """
import asyncio, os
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage

async def keep():
    storage = open_storage(StorageTable(blobs="s3://outputs"), os.environ)
    try:
        (digest,) = await storage.contents.put([os.urandom(20_000)])
        print(len(await storage.contents.get(digest)))
    except Exception as error:
        print(error)
    storage.close()

asyncio.run(keep())
"""


@pytest.mark.long
def test_an_object_store_over_tls_must_have_a_certificate_that_is_trusted(tmp_path):
    authority, other = Authority(tmp_path / "ca"), Authority(tmp_path / "other", "other")
    found: dict[str, str] = {}
    with run_encrypted_bucket_server(authority.sign("localhost")) as port:
        context = ssl.create_default_context(cafile=authority.file)
        made = urllib.request.Request(f"https://localhost:{port}/outputs", method="PUT")
        urllib.request.urlopen(made, context=context).close()
        for name, host, trusted in (
            ("fits", "localhost", authority),
            ("other authority", "localhost", other),
            ("other name", "127.0.0.1", authority),
        ):
            environ = {
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT),
                "XDG_STATE_HOME": str(tmp_path / name),
                "AWS_ENDPOINT_URL": f"https://{host}:{port}",
                "AWS_ACCESS_KEY_ID": "someone",
                "AWS_SECRET_ACCESS_KEY": "hunter2",
                "SSL_CERT_FILE": str(trusted.file),
            }
            done = subprocess.run([sys.executable, "-c", KEEP], env=environ, capture_output=True, text=True)
            found[name] = done.stdout + done.stderr

    assert found["fits"] == "20000\n"
    assert "its certificate does not hold (UnknownIssuer); look at the address in" in found["other authority"]
    assert "its certificate does not hold (NotValidForName" in found["other name"]
    assert "hunter2" not in "".join(found.values())


async def test_pruning_removes_what_names_a_content_and_never_the_object(machine, blobs, bucket, prefix):
    storage = machine(blobs=blobs)
    await storage.contents.put([LARGE])

    pruned = await storage.archive.prune(keep=0)

    assert pruned.contents == 1
    assert await storage.contents.list_absent([DIGEST]) == {DIGEST}
    assert len(bucket.list_keys(prefix)) == 1
    await storage.contents.put([LARGE])
    assert await storage.contents.get(DIGEST) == LARGE


@pytest.mark.long
async def test_contents_are_copied_with_the_sessions_from_wherever_they_are(
    machine, blobs, bucket, prefix, postgres, tmp_path
):
    url = postgres.new_database()
    here = machine(blobs=blobs)
    small = [b"%d" % number for number in range(25)]
    await here.contents.put([LARGE, *small])
    here.close()
    file, shared = StorageTable(blobs=blobs), StorageTable(url=url, blobs=blobs)

    async def copy(source: StorageTable, target: StorageTable, name: str = "here") -> Any:
        environ = {**bucket.environ, "XDG_STATE_HOME": str(tmp_path / name)}
        return await asyncio.to_thread(copy_sessions, source, target, environ, lambda _sentence: None)

    there = await copy(file, shared)
    again = await copy(file, shared)
    back = await copy(shared, StorageTable(blobs=blobs), "back")

    assert (there.contents, there.left) == (26, ())
    assert (again.contents, again.left) == (0, ())
    assert (back.contents, back.left) == (26, ())
    for storage in (machine("here", url=url, blobs=blobs), machine("back", blobs=blobs)):
        assert await storage.contents.get(DIGEST) == LARGE
        assert await storage.contents.get(hashlib.sha256(b"24").hexdigest()) == b"24"
    obstore.delete(bucket.everything, f"{prefix}/contents/{DIGEST}")
    lost = await copy(shared, StorageTable(blobs=blobs), "third")
    assert (lost.contents, len(lost.left)) == (25, 1)
    assert f"1 former content cannot be copied, for example: the stored content {DIGEST}" in lost.left[0]


async def test_contents_in_the_database_go_into_the_bucket_with_a_copy(machine, blobs, bucket, tmp_path):
    here = machine()
    await here.contents.put([LARGE])
    here.close()
    environ = {**bucket.environ, "XDG_STATE_HOME": str(tmp_path / "here")}
    target = StorageTable(url=f"sqlite:///{tmp_path}/other.sqlite", blobs=blobs)

    report = await asyncio.to_thread(copy_sessions, StorageTable(), target, environ, lambda _sentence: None)

    assert report.contents == 1
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as file:
        assert file.execute("SELECT data FROM contents").fetchall() == [(blobs.encode(),)]


async def test_a_damaged_ledger_is_saved_with_what_says_where_contents_are(machine, blobs, tmp_path):
    storage = machine(blobs=blobs)
    await storage.contents.put([LARGE])
    storage.close()
    path = tmp_path / "here" / "quorum" / "ledger.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("PRAGMA writable_schema = ON")
        file.execute("DELETE FROM sqlite_master WHERE name = 'records_of_session'")
        file.execute("PRAGMA user_version = 0")

    mended = machine(blobs=blobs)

    assert "was damaged" in "".join(mended.notices)
    assert await mended.contents.get(DIGEST) == LARGE


async def test_a_session_that_is_not_recorded_leaves_no_contents_in_the_bucket(blobs, bucket, prefix, tmp_path):
    environ = {**bucket.environ, "XDG_STATE_HOME": str(tmp_path)}
    record = await asyncio.to_thread(open_unrecorded, StorageTable(blobs=blobs), environ, begun=NewSession())

    (digest,) = await record.storage.contents.put([LARGE])

    assert await record.storage.contents.get(digest) == LARGE
    assert bucket.list_keys(prefix) == []
    await record.release()


class _Machines(SessionStage):
    """Machines that have the same project, each with settings and a state folder of its own."""

    more_environ: dict[str, str]

    def use(self, name: str, *, url: str, blobs: str) -> _Machines:
        self.home = self.folder / name
        self.home.mkdir(exist_ok=True)
        configure(
            self.home, f'[storage]\nurl = "{url}"\nblobs = "{blobs}"\n[tools.run_command]\nsandbox = "off"\n'
        )
        return self

    @property
    def environ(self) -> dict[str, str]:
        return {**super().environ, **self.more_environ}


@pytest.mark.long
async def test_undo_on_another_machine_gives_back_what_it_can_and_names_the_rest(
    tmp_path: Path, bucket: BucketForTests, postgres: PostgresForTests, blobs: str
) -> None:
    url = postgres.new_database()
    stage = _Machines(tmp_path)
    stage.more_environ = bucket.environ
    large = LARGE.hex()
    (stage.root / "large").write_text(large)
    (stage.root / "small").write_text("small")
    async with stage.use("here", url=url, blobs=blobs).opened(NewSession()) as session:
        await session.turn(write("large", "new"), write("small", "new"))
        session_id = session.agent.session_id

    async with stage.use("there", url=url, blobs="").opened(NamedSession(session_id)) as session:
        with pytest.raises(
            RestoreError, match=rf"1 file was given back, 1 could not be .*is in {blobs}, which"
        ):
            await session.undo(conversation=False)
    assert [(stage.root / name).read_text() for name in ("large", "small")] == ["new", "small"]

    async with stage.use("third", url=url, blobs=blobs).opened(LatestSession()) as session:
        await session.undo()
    assert (stage.root / "large").read_text() == large
