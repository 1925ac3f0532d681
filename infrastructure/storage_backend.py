"""Where sessions can be kept: each package of `infrastructure/store/` with a module `backend` is a backend.

A new backend needs nothing but such a package: its `backend.BACKEND` is found here, and the settings, their
reference and the errors follow.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:  # the settings load this module, for which neither ports nor events are needed
    from quorum.application.ports.fleet import Fleet
    from quorum.application.ports.storage import BlobStore, Storage
    from quorum.domain.events.masking import SecretMask

OpenBlobs: TypeAlias = "Callable[[SecretMask | None], BlobStore | None]"
"""Opens the store of large outputs, which masks with this; None where there is no place for one."""

BUCKET_SCHEME = "s3://"
"""Begins the address of an object store, which may keep large outputs."""

_PACKAGE = "quorum.infrastructure.store"


class ContentObjects(Protocol):
    """Keeps former contents of files beside a database, compressed. It blocks, and raises LedgerError."""

    @property
    def place(self) -> str:
        """Where they are, as people read it: it begins with s3://."""
        ...

    def put(self, packed: Mapping[bytes, bytes]) -> None:
        """Keep these bytes under the hash of their contents. All are there when this returns."""
        ...

    def get(self, digest: bytes, *, at_most: int) -> bytes | None:
        """What is kept under this hash; None where there is nothing. No more bytes than `at_most` are read."""
        ...


class BlobPlace(Struct, frozen=True):
    """Where large outputs go. `is_named`: the settings name that place; else it is on this machine alone.

    `contents`: where former contents of files go that need not be in the database; None where there is no such
    place.
    """

    open: OpenBlobs
    is_named: bool
    contents: ContentObjects | None = None


class SchemaState(Struct, frozen=True, kw_only=True):
    """The version of the tables at a place, empty where there are none yet, and the one that is needed.

    `makes_itself`: where there are none, the first session makes them.
    """

    place: str
    found: str
    needed: str
    makes_itself: bool = False

    @property
    def is_current(self) -> bool:
        """Whether these are the tables that are needed."""
        return self.found == self.needed


class StorageBackend(Struct, frozen=True):
    """A kind of storage. Its module must load no database library: `open` imports what it needs.

    `scheme` begins each `storage.url` of it, up to the colon. `url_form` says what such a URL looks like.
    `accepts` tells whether a URL with this scheme is well-formed.

    `open` opens the storage or makes it; it blocks, and raises ConfigError for a URL that cannot be used, and
    LedgerError, which names the place and the remedy. `list_files` names the files of this machine that the
    storage at a URL consists of, which are quorum's own; it raises ConfigError.

    `read_state` looks which tables there are, and `upgrade` brings them to the version that is needed, or makes
    them. Both block, and raise ConfigError and LedgerError. None: the storage has no tables.

    `open_fleet` opens the queue of sessions that workers advance; it blocks, and raises as `open` does. None:
    one machine alone keeps sessions there.
    """

    scheme: str
    url_form: str
    accepts: Callable[[str], bool]
    open: Callable[[str, Mapping[str, str], BlobPlace], Storage]
    list_files: Callable[[str, Mapping[str, str]], list[Path]]
    read_state: Callable[[str, Mapping[str, str]], SchemaState] | None = None
    upgrade: Callable[[str, Mapping[str, str]], SchemaState] | None = None
    open_fleet: Callable[[str, Mapping[str, str]], Fleet] | None = None


@cache
def load_backends() -> Mapping[str, StorageBackend]:
    """Each backend by its scheme. Raises TypeError for a module `backend` that holds none, or one twice."""
    store = import_module(_PACKAGE)  # not by a statement: the packages in it depend on the settings
    found: dict[str, StorageBackend] = {}
    for package in pkgutil.iter_modules(store.__path__, f"{_PACKAGE}."):
        name = f"{package.name}.backend"
        places = [f"{place}/{package.name.rpartition('.')[2]}" for place in store.__path__]
        if not package.ispkg or PathFinder.find_spec(name, places) is None:
            continue
        backend = import_module(name).BACKEND
        if not isinstance(backend, StorageBackend) or backend.scheme in found:
            raise TypeError(
                f"{name}.BACKEND must be a StorageBackend with a scheme of its own, not {backend!r}"
            )
        found[backend.scheme] = backend
    return MappingProxyType(found)


def accepts_url(url: str) -> bool:
    """Whether a backend takes this URL, as far as that can be said without opening it."""
    backend = load_backends().get(url.partition(":")[0])
    return backend is not None and backend.accepts(url)


def describe_urls() -> str:
    """What a URL of a storage can be, for the reference and the errors of the settings."""
    return " or ".join(backend.url_form for backend in load_backends().values())
