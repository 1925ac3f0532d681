"""What files held before they were changed: each content once, under its hash, compressed.

With objects beside the database, larger contents are there, and their rows say where: an object is there before
its row, so what a row names can be read. Pruning takes rows away, and never an object.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future

from quorum.domain.errors import ContentGone, LedgerError
from quorum.domain.sessions.session_summary import is_list_of_files
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.storage_backend import ContentObjects
from quorum.infrastructure.store.sql.connection import SqlConnection, SqlEngine, Values, expand
from quorum.infrastructure.store.sql.rows import ADD_CONTENT
from quorum.infrastructure.store.sql.session_locks import wait_to_the_end
from quorum.infrastructure.store.sql.writer import Writer

KEPT_INLINE_BYTES = 4096
"""Contents that compress to at most so much stay in the database: a request takes longer than a row."""
# Data of zlib never begins so: the low half of its first byte is 8.
_MARK = b"s3://"
_LONGEST_PLACE = 4096


def encode_place(place: str) -> bytes:
    """What the row of a content holds that is kept at this place."""
    return place.encode()


def read_place(data: object) -> str | None:
    """The place where the content of a row is; None where it is in the row itself."""
    if not isinstance(data, bytes) or not data.startswith(_MARK) or len(data) > _LONGEST_PLACE:
        return None
    return data.decode(errors="replace")


# Only rows that may hold a place are read: the others are large, and their length is known without that.
_IS_WITHIN_REACH = (
    f"NOT (LENGTH(contents.data) <= {_LONGEST_PLACE} AND SUBSTR(contents.data, 1, {len(_MARK)}) = :mark"
    " AND contents.data <> :here)"
)
"""Whether the content of a row is in the database, or where the objects of `_name_reach` are."""


def _name_reach(objects: ContentObjects | None) -> dict[str, object]:
    """The values of _IS_WITHIN_REACH."""
    return {"mark": _MARK, "here": b"" if objects is None else encode_place(objects.place)}


_LEVEL = 1  # most of the gain for a tenth of the time: a person waits for the call behind it
_ASKED_AT_ONCE = 500  # no build of SQLite takes fewer values in one statement
_NEEDED = "UPDATE contents SET kept_ms = :needed_ms WHERE sha256 = :digest"
_FIND = "SELECT data, size FROM contents WHERE sha256 = :digest"
_LIST = "SELECT sha256 FROM contents"
# What is there already is needed now, too, as its time tells: nothing takes it away before it is referred to.
# What is there beyond reach, whoever keeps it now can read where it is from now on.
_KEEP = (
    f"{ADD_CONTENT} ON CONFLICT (sha256) DO UPDATE SET kept_ms = excluded.kept_ms,"
    f" data = CASE WHEN {_IS_WITHIN_REACH} THEN contents.data ELSE excluded.data END"
)
_ARE_THERE = f"SELECT sha256, {_IS_WITHIN_REACH} FROM contents WHERE sha256 IN ({{}})"


class SqlContents:
    """Keeps contents of files in the database of the records, and larger ones in `objects`, if there are any.

    Lists of files stay in the database: pruning reads them, all at one moment.
    """

    def __init__(
        self,
        engine: SqlEngine,
        writer: Writer,
        clock: Callable[[], int],
        objects: ContentObjects | None = None,
    ) -> None:
        self._engine = engine
        self._writer = writer
        self._clock = clock
        self._objects = objects
        self._reach = _name_reach(objects)

    async def put(self, given: Sequence[bytes]) -> tuple[str, ...]:
        """Keep these; the SHA-256 of each, in hexadecimal. Raises LedgerError, and then none is kept.

        Cancelled, it lets them be kept all the same.
        """
        return await wait_to_the_end(self._put(tuple(given)))

    async def get(self, sha256: str) -> bytes:
        """The content of that hash, checked against it. Raises ContentGone and LedgerError."""
        return await run_in_thread(lambda _stop: self.get_blocking(sha256))

    async def list_absent(self, hashes: Collection[str]) -> frozenset[str]:
        """Those of the hashes whose contents are not kept, or out of reach. Raises LedgerError."""
        return await run_in_thread(lambda _stop: frozenset(self.find_absent(hashes)))

    async def _put(self, given: tuple[bytes, ...]) -> tuple[str, ...]:
        if not given:
            return ()
        wanted, packed = await run_in_thread(lambda _stop: self._pack(given))
        await wait_to_the_end(self._keep_in_turn(wanted, packed))
        return tuple(digest.hex() for digest in map(_hash, given))

    def put_blocking(self, given: Sequence[bytes]) -> None:
        """The same as `put`. Blocks."""
        wanted, packed = self._pack(tuple(given))
        self._keep_in_turn(wanted, packed).result()

    def list_hashes(self) -> list[str]:
        """The hashes of all contents, also of those out of reach. Blocks. Raises LedgerError."""
        rows = self._engine.read(lambda connection: connection.execute(_LIST).fetchall())
        return [bytes(each).hex() for (each,) in rows]

    def find_absent(self, hashes: Collection[str]) -> set[str]:
        """The same as `absent`. Blocks."""
        digests = {bytes.fromhex(sha256) for sha256 in hashes}
        there = self._engine.read(lambda connection: self._find_there(connection, digests))
        return {digest.hex() for digest in digests - there}

    def get_blocking(self, sha256: str) -> bytes:
        """The same as `get`. Blocks."""
        try:
            digest = bytes.fromhex(sha256)
        except ValueError:
            digest = b""
        row = self._engine.read(lambda connection: connection.execute(_FIND, {"digest": digest}).fetchone())
        if row is None:
            raise ContentGone(
                f"there is no stored content {sha256[:70]!a} in {self._engine.place}: it was pruned, or "
                "never kept"
            )
        data, size = row
        place = read_place(data)
        content = unpack_content(data if place is None else self._fetch(digest, place, size), size)
        if content is None or not is_whole(digest, content):
            raise LedgerError(
                f"the stored content {sha256} in {place or self._engine.place} is damaged, "
                "so that file cannot be given back"
            )
        return content

    def _fetch(self, digest: bytes, place: str, size: object) -> bytes:
        shown = make_printable(place, newlines=False)
        if self._objects is None or self._objects.place != place:
            raise LedgerError(
                f"the stored content {digest.hex()} is in {shown}, which this quorum does not use: name that "
                "in [storage] blobs to have the file given back"
            )
        data = self._objects.get(digest, at_most=_compute_largest_packed(size))
        if data is None:
            raise ContentGone(
                f"the stored content {digest.hex()} is not in {shown} any more, "
                "so that file cannot be given back"
            )
        return data

    def _pack(self, given: tuple[bytes, ...]) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
        """Each content by its hash, and what the rows are to hold of those that are small or not there yet.

        What goes beside the database is there when this returns.
        """
        wanted = {_hash(content): content for content in given}
        if sum(map(len, wanted.values())) <= KEPT_INLINE_BYTES:
            return wanted, {digest: zlib.compress(data, _LEVEL) for digest, data in wanted.items()}
        there = self._engine.read(lambda connection: self._find_there(connection, wanted))
        packed = {digest: zlib.compress(data, _LEVEL) for digest, data in wanted.items() if digest not in there}
        if self._objects is not None:
            large = {
                digest: data
                for digest, data in packed.items()
                if len(data) > KEPT_INLINE_BYTES and not is_list_of_files(wanted[digest])
            }
            if large:
                self._objects.put(large)
                packed |= dict.fromkeys(large, encode_place(self._objects.place))
        return wanted, packed

    def _keep_in_turn(self, wanted: Mapping[bytes, bytes], packed: Mapping[bytes, bytes]) -> Future[None]:
        return self._writer.submit(
            lambda connection: self._keep(connection, wanted, packed),
            is_repeatable=True,
            is_beside_events=True,  # what refers to them is given once they are kept
        )

    def _keep(
        self, connection: SqlConnection, wanted: Mapping[bytes, bytes], packed: Mapping[bytes, bytes]
    ) -> None:
        now = self._clock()
        if len(wanted) == 1 and wanted.keys() == packed.keys():  # one statement is a transaction of its own
            connection.executemany(_KEEP, self._build_rows(wanted, packed, now))
            return
        with self._engine.begin_transaction(connection):
            self._engine.lock_contents(connection, alone=False)
            there = self._find_there(connection, wanted)
            if there:
                connection.executemany(_NEEDED, [{"digest": digest, "needed_ms": now} for digest in there])
            absent = {digest: data for digest, data in wanted.items() if digest not in there}
            if absent:
                connection.executemany(_KEEP, self._build_rows(absent, packed, now))

    def _build_rows(
        self, wanted: Mapping[bytes, bytes], packed: Mapping[bytes, bytes], now: int
    ) -> list[Values]:
        return [
            {
                "sha256": digest,
                "size": len(data),
                "kept_ms": now,
                "data": packed.get(digest) or zlib.compress(data, _LEVEL),
                **self._reach,
            }
            for digest, data in wanted.items()
        ]

    def _find_there(self, connection: SqlConnection, digests: Collection[bytes]) -> set[bytes]:
        """Those of the hashes whose content is kept within reach."""
        there: set[bytes] = set()
        asked = list(digests)
        for start in range(0, len(asked), _ASKED_AT_ONCE):
            places, values = expand("digest", asked[start : start + _ASKED_AT_ONCE])
            found = connection.execute(_ARE_THERE.format(places), {**values, **self._reach})
            there |= {digest for digest, is_there in found if is_there}
        return there


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
    return _hash(content) == digest


def _hash(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _compute_largest_packed(size: object) -> int:
    """The most bytes that a content of this size has compressed, however badly it does."""
    return size + size // 1000 + 1024 if isinstance(size, int) and size >= 0 else 0
