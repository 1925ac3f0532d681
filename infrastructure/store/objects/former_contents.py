"""Former contents of files in a bucket: each under its SHA-256, compressed, once for all sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from quorum.domain.errors import BlobError, LedgerError
from quorum.infrastructure.store.objects.object_store import ObjectStore

_FOLDER = "contents/"
_AT_ONCE = 16  # requests: each waits for the network most of its time


class BucketContents:
    """Implements `ContentObjects`. Raises LedgerError."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    @property
    def place(self) -> str:
        """The bucket, as people read it."""
        return self._objects.place

    def put(self, packed: Mapping[bytes, bytes]) -> None:
        try:
            self._put_all(packed.items())
        except BlobError as error:
            raise LedgerError(f"former contents of files cannot be kept: {error}") from error

    def get(self, digest: bytes, *, at_most: int) -> bytes | None:
        try:
            return self._objects.find(_name_object(digest), at_most=at_most)
        except BlobError as error:
            raise LedgerError(f"the former content {digest.hex()} cannot be fetched: {error}") from error

    def _put_all(self, items: Iterable[tuple[bytes, bytes]]) -> None:
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="contents") as pool:
            waiting = [pool.submit(self._objects.create, _name_object(digest), data) for digest, data in items]
            try:
                for each in waiting:
                    each.result()
            finally:
                for each in waiting:
                    each.cancel()


def _name_object(digest: bytes) -> str:
    return f"{_FOLDER}{digest.hex()}"
