"""Large outputs in a bucket: pieces under their hash, each of them once, and an index for each output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice

from quorum.domain.errors import BlobError
from quorum.domain.text.json_value import JsonValue
from quorum.infrastructure.store.objects.object_store import ObjectStore

_INDEX, _PIECES = "outputs/", "pieces/"
_SUFFIXES = (".txt", ".json")
_PIECES_AT_ONCE = 8  # of a mebibyte each: an object is held in memory
_HASH = re.compile(r"[0-9a-f]{64}")


class BucketOutputs:
    """Implements `SharedOutputs` with a store of the S3 protocol. Raises BlobError."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def put(self, name: str, size: int, pieces: Iterable[bytes]) -> None:
        """Keep an output of so many bytes; one that is there already stays as it is."""
        hashes: list[JsonValue] = []
        rest = iter(pieces)
        while data := b"".join(islice(rest, _PIECES_AT_ONCE)):
            digest = sha256(data).hexdigest()
            self._objects.create(f"{_PIECES}{digest}", data)
            hashes.append(digest)
        # The index comes last: without it there is no output.
        self._objects.create(f"{_INDEX}{name}", json.dumps({"size": size, "pieces": hashes}).encode())

    def find(self, blob_id: str) -> str | None:
        for suffix in _SUFFIXES:
            if self._objects.holds(f"{_INDEX}{blob_id}{suffix}"):
                return f"{blob_id}{suffix}"
        return None

    def get(self, name: str) -> Iterator[bytes]:
        """The pieces of an output, each checked against its hash."""
        whole, digests = self._read_index(name)
        size = 0
        for digest in digests:
            data = self._objects.read(f"{_PIECES}{digest}")
            if sha256(data).hexdigest() != digest:
                raise BlobError(f"a piece of the stored output {name} in {self._objects.place} is damaged")
            size += len(data)
            yield data
        if size != whole:
            raise BlobError(f"the stored output {name} in {self._objects.place} is not whole")

    def list_names(self) -> list[str]:
        return [path.rpartition("/")[2] for path in self._objects.list_keys(_INDEX)]

    def _read_index(self, name: str) -> tuple[int, list[str]]:
        """The size of an output and the hashes of its pieces."""
        try:
            index = json.loads(self._objects.read(f"{_INDEX}{name}"))
            size, digests = index["size"], index["pieces"]
        except (ValueError, KeyError, TypeError):
            size, digests = None, None
        if not isinstance(size, int) or not isinstance(digests, list) or not all(map(_is_hash, digests)):
            raise BlobError(f"the index of the stored output {name} in {self._objects.place} is damaged")
        return size, digests


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and _HASH.fullmatch(value) is not None
