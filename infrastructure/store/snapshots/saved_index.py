"""What is known of the files of a workspace from one session to the next, so that they are not read again.

    quorum-file-index SHA-256\\n, then compressed: JSON, a line each
    {"version": 1, "policy": ..., "saved_ns": ...}
    ["/folder", [[name, kind, size, modified_ns, changed_ns, inode, sha256], ...]]

It is a help and no record: one that is damaged, of another version or of other settings is as good as none.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from quorum.application.session.session_record import SessionRecord
from quorum.domain.calls.effects import FileMark
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.files.mounts import are_local

_VERSION = 1
_MAGIC = b"quorum-file-index "
_MOST_FILES = 400_000
_MOST_BYTES = 16 * 1024 * 1024
_MOST_TEXT_BYTES = 256 * 1024 * 1024
_MOST_INDEXES = 10
_LEVEL = 1
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class IndexedFile(Struct, frozen=True):
    """A regular file that was read when it had this mark, and the hash of its content, which was stored."""

    mark: FileMark
    sha256: str


class SavedIndex:
    """The file of one index, private to the person and replaced as a whole.

    `folder` holds those of all workspaces: so many at most, the newest. `policy` stands for the settings under
    which the files were read. Names that are secrets are left out.
    """

    def __init__(
        self,
        folder: Path,
        roots: Sequence[str],
        *,
        store: str,
        policy: str,
        holds_secret: Callable[[bytes], bool],
        most_indexes: int = _MOST_INDEXES,
    ) -> None:
        """`store` names the store of contents, as its file does; `roots` may grow, see `WorkspaceRoots`."""
        self._roots = roots
        self._folder, self._store = folder, store
        self._policy = policy
        self._holds_secret = holds_secret
        self._most_indexes = most_indexes

    @property
    def _path(self) -> Path:
        return self._folder / _compute_digest(*self._roots, self._store)[:32]

    def load(self) -> dict[str, IndexedFile]:
        """The files by path; none where there is no index that can be trusted. Blocks, and never raises."""
        try:
            return dict(self._read_entries(_read_content(self._path))) if are_local(self._roots) else {}
        except (
            OSError,
            ValueError,
            TypeError,
            KeyError,
            ArithmeticError,
            RecursionError,
            MemoryError,
            zlib.error,
        ):
            return {}

    def save(self, files: Mapping[str, IndexedFile]) -> None:
        """Replace it. Blocks, and never raises: what cannot be saved is read again."""
        if not are_local(self._roots) or len(files) > _MOST_FILES:
            return
        content = self._pack(files)
        if len(content) > _MOST_BYTES:
            return
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(self._path, content)
            _remove_oldest(self._folder, self._most_indexes)

    def _pack(self, files: Mapping[str, IndexedFile]) -> bytes:
        packer = zlib.compressobj(_LEVEL)
        head = {"version": _VERSION, "policy": self._policy, "saved_ns": time.time_ns()}
        pieces = [packer.compress(_encode_line(head))]
        # A line for each folder, because making one long text of it would let nobody else come round meanwhile.
        for folder, paths in groupby(sorted(files, key=os.path.split), key=os.path.dirname):
            rows = [(os.path.basename(path), *files[path].mark, files[path].sha256) for path in paths]
            line = _encode_line([folder, rows])
            if self._holds_secret(line):
                rows = [
                    row for row in rows if not self._holds_secret(os.fsencode(os.path.join(folder, row[0])))
                ]
                line = _encode_line([folder, rows]) if not self._holds_secret(os.fsencode(folder)) else b""
            pieces.append(packer.compress(line))
        body = b"".join([*pieces, packer.flush()])
        return _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body

    def _read_entries(self, content: bytes) -> Iterator[tuple[str, IndexedFile]]:
        """Raises ValueError, TypeError, KeyError or zlib.error where this is no index of this version."""
        head, _, body = content.partition(b"\n")
        if head != _MAGIC + hashlib.sha256(body).hexdigest().encode():
            raise ValueError("it is damaged")
        first, *lines = zlib.decompressobj().decompress(body, _MOST_TEXT_BYTES).splitlines()
        facts = json.loads(first)
        if (facts["version"], facts["policy"]) != (_VERSION, self._policy):
            raise ValueError("it is of another version, or of other settings")
        saved_ns = facts["saved_ns"]
        if saved_ns > time.time_ns():
            raise ValueError("the clock went back: times do not tell any more what changed")
        for line in lines:
            folder, rows = json.loads(line)
            for name, kind, size, modified_ns, changed_ns, inode, sha256 in rows:
                if changed_ns < saved_ns and stat.S_ISREG(kind) and len(bytes.fromhex(sha256)) == 32:
                    mark = FileMark(kind, size, modified_ns, changed_ns, inode)
                    yield os.path.join(folder, name), IndexedFile(mark, sha256)


def open_saved_index(
    settings: Settings,
    environ: Mapping[str, str],
    policy: PathPolicy,
    record: SessionRecord,
    holds_secret: Callable[[bytes], bool],
) -> SavedIndex | None:
    """That of a session's workspace; None where what the session stores does not outlive it."""
    state = locate_state_folder(environ)
    if state is None or not record.outlives:
        return None
    return SavedIndex(
        state / "file-index",
        policy.roots,
        store=settings.storage.url,
        policy=json.dumps(policy.sensitive),
        holds_secret=holds_secret,
    )


def _encode_line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def _compute_digest(*texts: str) -> str:
    return hashlib.sha256(json.dumps(texts).encode("ascii")).hexdigest()


def _read_content(path: Path) -> bytes:
    """What stands in the file. Raises OSError, ValueError where others may write it or it is too long."""
    with os.fdopen(os.open(path, _FILE), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise ValueError("it is not private")
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError("it is too long")
    return content


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, _NEW, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


def _remove_oldest(folder: Path, most: int) -> None:
    """Remove all but so many files of the folder, with what a killed process left of one."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns, reverse=True)
    for entry in found[most:]:
        os.unlink(entry.path)
