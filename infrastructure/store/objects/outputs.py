"""Large outputs in a bucket: pieces under their hash, each of them once, and an index for each output.

Objects are created and never replaced or deleted, so a key that may only create is enough.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING

from domain.errors import BlobError
from domain.text.json_value import JsonValue
from domain.text.printable import printable
from infrastructure.store.objects.bucket import BucketAddress

if TYPE_CHECKING:
    from obstore.store import S3Store

_INDEX, _PIECES = "outputs/", "pieces/"
_SUFFIXES = (".txt", ".json")
_PIECES_AT_ONCE = 8  # of a mebibyte each: an object is held in memory
_RETRY = {"max_retries": 3, "retry_timeout": timedelta(seconds=15)}
_LONGEST = 200
_HASH = re.compile(r"[0-9a-f]{64}")
_REASONS = {
    "UnauthenticatedError": "it refuses the key; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "PermissionDeniedError": "this key may not do that; allow it to create, read and list objects there",
    "FileNotFoundError": "it is not there; look whether the bucket of [storage] blobs exists",
}


class BucketOutputs:
    """Implements `SharedOutputs` with a store of the S3 protocol. Raises BlobError."""

    def __init__(self, address: BucketAddress) -> None:
        self._address = address

    def put(self, name: str, size: int, pieces: Iterable[bytes]) -> None:
        """Keep an output of so many bytes; one that is there already stays as it is."""
        hashes: list[JsonValue] = []
        rest = iter(pieces)
        while data := b"".join(islice(rest, _PIECES_AT_ONCE)):
            digest = sha256(data).hexdigest()
            self._create(f"{_PIECES}{digest}", data)
            hashes.append(digest)
        # The index comes last: without it there is no output.
        self._create(f"{_INDEX}{name}", json.dumps({"size": size, "pieces": hashes}).encode())

    def find(self, blob_id: str) -> str | None:
        """The name of the output with that id; None where there is none."""
        import obstore

        for suffix in _SUFFIXES:
            with self._translate_errors("cannot be read"):
                try:
                    obstore.head(self._store, f"{_INDEX}{blob_id}{suffix}")
                except FileNotFoundError:
                    continue
                return f"{blob_id}{suffix}"
        return None

    def get(self, name: str) -> Iterator[bytes]:
        """The pieces of an output, each checked against its hash."""
        whole, digests = self._read_index(name)
        size = 0
        for digest in digests:
            data = self._read(f"{_PIECES}{digest}")
            if sha256(data).hexdigest() != digest:
                raise BlobError(f"a piece of the stored output {name} in {self._address.place} is damaged")
            size += len(data)
            yield data
        if size != whole:
            raise BlobError(f"the stored output {name} in {self._address.place} is not whole")

    def list_names(self) -> list[str]:
        """The names of all outputs."""
        import obstore

        with self._translate_errors("cannot be read"):
            found = [one["path"] for some in obstore.list(self._store, _INDEX) for one in some]
        return [path.rpartition("/")[2] for path in found]

    @cached_property
    def _store(self) -> S3Store:
        from obstore.store import S3Store

        address = self._address
        named = {
            "endpoint": address.endpoint,
            "region": address.region,
            "access_key_id": address.key,
            "secret_access_key": address.secret,
            "session_token": address.token,
        }
        given = {name: value for name, value in named.items() if value}
        return S3Store(
            address.bucket,
            prefix=address.prefix or None,
            config=given,  # type: ignore[arg-type]
            client_options={
                "allow_http": address.endpoint.startswith("http://"),
                "connect_timeout": timedelta(seconds=5),
                "timeout": timedelta(seconds=120),
            },
            retry_config=_RETRY,  # type: ignore[arg-type]
        )

    def _create(self, key: str, data: bytes) -> None:
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with self._translate_errors("cannot be written"):
            try:
                obstore.put(self._store, key, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return  # the same, by its hash or its id

    def _read(self, key: str) -> bytes:
        import obstore

        with self._translate_errors("cannot be read"):
            return bytes(obstore.get(self._store, key).bytes())

    def _read_index(self, name: str) -> tuple[int, list[str]]:
        """The size of an output and the hashes of its pieces."""
        try:
            index = json.loads(self._read(f"{_INDEX}{name}"))
            size, digests = index["size"], index["pieces"]
        except (ValueError, KeyError, TypeError):
            size, digests = None, None
        if not isinstance(size, int) or not isinstance(digests, list) or not all(map(_is_hash, digests)):
            raise BlobError(f"the index of the stored output {name} in {self._address.place} is damaged")
        return size, digests

    @contextmanager
    def _translate_errors(self, what: str) -> Iterator[None]:
        """Turns what the store refuses into a BlobError; `what` failed, such as "cannot be read"."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            first = printable(str(error).partition("Debug source")[0], newlines=False).strip()[:_LONGEST]
            reason = _REASONS.get(type(error).__name__) or first
            raise BlobError(f"{self._address.place} {what}: {reason}") from error


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and _HASH.fullmatch(value) is not None
