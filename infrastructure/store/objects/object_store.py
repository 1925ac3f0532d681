"""Objects in a bucket, and what is kept in them: former contents of files, and large outputs.

Objects are created once, read and listed; never replaced or deleted, so a key that allows no more is enough. A
content is under its SHA-256, compressed, once for all sessions. An output is pieces under their hash, each of
them once, and an index.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from quorum.domain.errors import BlobError, LedgerError, LostConnection
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.blocking import PATIENCE_SECS, Outage
from quorum.infrastructure.store.objects.bucket import BucketAddress

if TYPE_CHECKING:
    from obstore.store import S3Store


_RETRY = {"max_retries": 3, "retry_timeout": timedelta(seconds=15)}
_READ_BACK_SECS = (0.0, 1.0, 4.0)
"""How long to wait before each look: some stores show an object a moment later."""
_LONGEST = 200
_ADDRESS = "look at the address in AWS_ENDPOINT_URL"
_CA = "and name the authority that signed it in SSL_CERT_FILE"
_CAUSE = re.compile(r'(?:message|error): "([^"]*)"')
_CERTIFICATE = re.compile(r"InvalidCertificate\(\s*(?:Other\(\s*OtherError\(\s*)?(\w+)")
# No answer, or one that says to come again.
_PASSING = re.compile(r"(?s)^(?!.*InvalidCertificate).*(?:HttpError \{|status: (?:429|50[0234])\b)")
_REASONS = {
    "UnauthenticatedError": "it refuses the key; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "PermissionDeniedError": "this key may not do that; allow it to create, read and list objects there",
    "FileNotFoundError": "it is not there; look whether the bucket of [storage] blobs exists",
}


_Result = TypeVar("_Result")


class LostStore(BlobError):
    """The store does not answer, and was waited for."""


class ObjectStore:
    """One bucket, by the S3 protocol. Every method blocks and raises BlobError; any thread may call it.

    The first object that is put there is read back in the background: a store that takes what it does not keep
    gets no second one.
    """

    def __init__(self, address: BucketAddress) -> None:
        self._address = address
        self._outage = Outage(address.place)  # not waited for before its first answer: the address may be wrong
        self._is_unread = threading.Lock()
        self._flaw = ""

    @property
    def place(self) -> str:
        """The bucket and the beginning of its names, as people read it."""
        return self._address.place

    def create(self, key: str, data: bytes) -> None:
        """Put an object there; one that is there already stays as it is."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        if self._flaw:
            raise BlobError(self._flaw)

        def put() -> bool:
            try:
                obstore.put(self._store, key, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False  # the same, by its hash or its id
            return True

        if self._ask("cannot be written", put) and self._is_unread.acquire(blocking=False):
            digest = sha256(data).digest()
            threading.Thread(target=self._read_back, args=(key, digest), name="read back", daemon=True).start()

    def _read_back(self, key: str, digest: bytes) -> None:
        import obstore

        def get() -> bytes:
            try:
                return sha256(obstore.get(self._store, key).bytes()).digest()
            except FileNotFoundError:
                return b""

        for wait in _READ_BACK_SECS:
            time.sleep(wait)
            try:
                found = self._ask("cannot be read", get)
            except BlobError:
                self._is_unread.release()  # that tells nothing; the next object is read back
                return
            if found == digest:
                return
        what = "another object than was put there" if found else "nothing"
        self._flaw = (
            f"{self.place} said that it kept {key}, and holds {what} under this name; look at the store, and "
            "at whatever stands before it, before you go on"
        )

    def read(self, key: str) -> bytes:
        import obstore

        return self._ask("cannot be read", lambda: bytes(obstore.get(self._store, key).bytes()))

    def find(self, key: str, *, at_most: int) -> bytes | None:
        """An object, or None where there is none. A larger one than `at_most` bytes is not fetched."""
        import obstore

        def get() -> bytes | None:
            try:
                found = obstore.get(self._store, key)
            except FileNotFoundError:
                return None
            if found.meta["size"] > at_most:
                raise BlobError(f"{self.place} holds another object than was put there, which is larger: {key}")
            return bytes(found.bytes())

        return self._ask("cannot be read", get)

    def holds(self, key: str) -> bool:
        import obstore

        def head() -> bool:
            try:
                obstore.head(self._store, key)
            except FileNotFoundError:
                return False
            return True

        return self._ask("cannot be read", head)

    def list_keys(self, prefix: str) -> list[str]:
        """The keys that begin so."""
        import obstore

        return self._ask(
            "cannot be read",
            lambda: [one["path"] for some in obstore.list(self._store, prefix) for one in some],
        )

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

    def _ask(self, what: str, work: Callable[[], _Result]) -> _Result:
        """Do this, and wait for a store that does not answer. What it refuses is a BlobError; `what` failed."""
        from obstore.exceptions import BaseError

        def translate() -> _Result:
            try:
                result = work()
            except (BaseError, OSError, ValueError) as error:
                details = _get_details(error)
                if "Status {" in details:
                    self._outage.patience_secs = PATIENCE_SECS
                kind = LostStore if _PASSING.search(details) else BlobError
                raise kind(f"{self.place} {what}: {_explain(error)}") from error
            self._outage.patience_secs = PATIENCE_SECS
            return result

        return self._outage.outlast(translate, LostStore)


def _explain(error: Exception) -> str:
    """Why, with the remedy where one is known. What obstore knows of a connection is in its details alone."""
    first, details = str(error).partition("Debug source")[0], _get_details(error)
    if reason := _REASONS.get(type(error).__name__):
        return reason
    if "InvalidCertificate" in details:
        return f"its certificate does not hold{_quote(_CERTIFICATE, details)}; {_ADDRESS}, {_CA}"
    if "kind: Connect" in details:
        return f"it does not answer{_quote(_CAUSE, details)}; {_ADDRESS}"
    return make_printable(first, newlines=False).strip()[:_LONGEST]


def _get_details(error: Exception) -> str:
    return str(error).partition("Debug source")[2]


def _quote(pattern: re.Pattern[str], details: str) -> str:
    found = pattern.search(details)
    return f" ({make_printable(found[1], newlines=False)[:_LONGEST]})" if found else ""


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
            raise _build_error("former contents of files cannot be kept", error) from error

    def get(self, digest: bytes, *, at_most: int) -> bytes | None:
        try:
            return self._objects.find(_name_object(digest), at_most=at_most)
        except BlobError as error:
            raise _build_error(f"the former content {digest.hex()} cannot be fetched", error) from error

    def _put_all(self, items: Iterable[tuple[bytes, bytes]]) -> None:
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="contents") as pool:
            waiting = [pool.submit(self._objects.create, _name_object(digest), data) for digest, data in items]
            try:
                for each in waiting:
                    each.result()
            finally:
                for each in waiting:
                    each.cancel()


def _build_error(what: str, error: BlobError) -> LedgerError:
    return (LostConnection if isinstance(error, LostStore) else LedgerError)(f"{what}: {error}")


def _name_object(digest: bytes) -> str:
    return f"{_FOLDER}{digest.hex()}"


_INDEX, _PIECES = "outputs/", "pieces/"
_SUFFIXES = (".txt", ".json")
_PIECES_AT_ONCE = 8  # of a mebibyte each: an object is held in memory
_HASH = re.compile(r"[0-9a-f]{64}")


class BucketOutputs:
    """Implements `SharedOutputs` with a store of the S3 protocol. Raises BlobError."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def put(self, name: str, size: int, read: Callable[[], Iterable[bytes]]) -> None:
        """Keep an output of so many bytes; one that is there already stays as it is."""
        hashes: list[JsonValue] = []
        rest = iter(read())
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
