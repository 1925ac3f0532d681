"""What files held before they were changed: each content once, under its hash, compressed."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence

from sqlalchemy import bindparam, select, update
from sqlalchemy.engine import Connection

from domain.errors import LedgerError
from infrastructure.blocking import run_in_thread
from infrastructure.store.sql.engine import SqlEngine
from infrastructure.store.sql.schema import contents
from infrastructure.store.sql.waiting import wait_to_the_end
from infrastructure.store.sql.writer import Writer

_LEVEL = 1  # most of the gain for a tenth of the time: a person waits for the call behind it
_ASKED_AT_ONCE = 500  # no build of SQLite takes fewer values in one statement
# Made once, and given many rows at once: a statement for each content takes longer than to write it.
_NEEDED = (
    update(contents).where(contents.c.sha256 == bindparam("digest")).values(kept_ms=bindparam("needed_ms"))
)


class SqlContents:
    """Keeps contents of files in the database of the records."""

    def __init__(self, engine: SqlEngine, writer: Writer, clock: Callable[[], int]) -> None:
        self._engine = engine
        self._writer = writer
        self._clock = clock

    async def put(self, given: Sequence[bytes]) -> tuple[str, ...]:
        """Keep these; the SHA-256 of each, in hexadecimal. Raises LedgerError, and then none is kept.

        Cancelled, it lets them be kept all the same.
        """
        return await wait_to_the_end(self._put(tuple(given)))

    async def get(self, sha256: str) -> bytes:
        """The content of that hash, checked against it. Raises LedgerError."""
        return await run_in_thread(lambda _stop: self._get(sha256))

    async def absent(self, hashes: Collection[str]) -> frozenset[str]:
        """Those of the hashes whose contents are not kept. Raises LedgerError."""
        return await run_in_thread(lambda _stop: self._absent(hashes))

    async def _put(self, given: tuple[bytes, ...]) -> tuple[str, ...]:
        if not given:
            return ()
        digests, packed = await run_in_thread(lambda _stop: self._pack(given))
        wanted = dict(zip(digests, given, strict=True))
        done = self._writer.do(lambda connection: self._keep(connection, wanted, packed))
        await wait_to_the_end(done)
        return tuple(digest.hex() for digest in digests)

    def _pack(self, given: tuple[bytes, ...]) -> tuple[list[bytes], dict[bytes, bytes]]:
        """The hash of each content, and those of them compressed that are not there yet."""
        digests = [hashlib.sha256(content).digest() for content in given]
        with self._engine.reading() as connection:
            there = _those_there(connection, set(digests))
        wanted = zip(digests, given, strict=True)
        return digests, {digest: zlib.compress(data, _LEVEL) for digest, data in wanted if digest not in there}

    def _keep(
        self, connection: Connection, wanted: Mapping[bytes, bytes], packed: Mapping[bytes, bytes]
    ) -> None:
        now = self._clock()
        with self._engine.transaction(connection):
            self._engine.lock_contents(connection, alone=False)
            there = _those_there(connection, wanted)
            if there:
                # The time tells that it is needed now, so that nothing takes it away before it is referred to.
                connection.execute(_NEEDED, [{"digest": digest, "needed_ms": now} for digest in there])
            rows = [
                {
                    "sha256": digest,
                    "size": len(data),
                    "kept_ms": now,
                    "data": packed.get(digest) or zlib.compress(data, _LEVEL),
                }
                for digest, data in wanted.items()
                if digest not in there
            ]
            if rows:
                connection.execute(self._engine.add_contents, rows)

    def _absent(self, hashes: Collection[str]) -> frozenset[str]:
        digests = {bytes.fromhex(sha256) for sha256 in hashes}
        with self._engine.reading() as connection:
            there = _those_there(connection, digests)
        return frozenset(digest.hex() for digest in digests - there)

    def _get(self, sha256: str) -> bytes:
        try:
            digest = bytes.fromhex(sha256)
        except ValueError:
            digest = b""
        with self._engine.reading() as connection:
            query = select(contents.c.data, contents.c.size).where(contents.c.sha256 == digest)
            row = connection.execute(query).one_or_none()
        if row is None:
            raise LedgerError(
                f"there is no stored content {sha256[:70]!a} in {self._engine.place}: it was pruned, or "
                "never kept"
            )
        content = unpack_content(row.data, row.size)
        if content is None or not is_whole(digest, content):
            raise LedgerError(
                f"the stored content {sha256} in {self._engine.place} is damaged, "
                "so that file cannot be given back"
            )
        return content


def unpack_content(data: object, size: object) -> bytes | None:
    """A content out of its row; None where the row is damaged."""
    if not isinstance(data, bytes) or not isinstance(size, int) or size < 0:
        return None
    opened = zlib.decompressobj()
    try:
        content = opened.decompress(data, size + 1)
    except (zlib.error, MemoryError, OverflowError):
        return None
    return content if len(content) == size else None


def read_beginning(data: object) -> bytes:
    """The beginning of a content, out of the beginning of its row; empty where the row is damaged."""
    try:
        return zlib.decompressobj().decompress(data) if isinstance(data, bytes) else b""
    except zlib.error:
        return b""


def is_whole(digest: object, content: bytes) -> bool:
    """Whether this is the content of that hash."""
    return hashlib.sha256(content).digest() == digest


def _those_there(connection: Connection, digests: Collection[bytes]) -> set[bytes]:
    """Those of the hashes whose content is kept."""
    there: set[bytes] = set()
    asked = list(digests)
    for start in range(0, len(asked), _ASKED_AT_ONCE):
        some = contents.c.sha256.in_(asked[start : start + _ASKED_AT_ONCE])
        there.update(connection.execute(select(contents.c.sha256).where(some)).scalars())
    return there
