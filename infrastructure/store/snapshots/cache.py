"""The store of former contents, with what is known of the files they came from.

That knowledge is kept from one session to the next, so that files are not read again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
import stat
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from quorum.application.ports.storage import ContentStore
from quorum.application.session.session_record import SessionRecord
from quorum.domain.calls.effects import FileKind, FileMark, FileState
from quorum.domain.errors import LedgerError
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.files.mounts import are_local
from quorum.infrastructure.store.snapshots.reading import FileContent

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


# A file that changed just before it was read may change again within the same tick of its clock, unnoticed.
# Two seconds are the coarsest tick of a file system in use.
_TICK_NS = 2_000_000_000


class _KnownFile(Struct, frozen=True):
    mark: FileMark
    state: FileState
    settled: bool


class StatIndex:
    """States by path, each good for as long as the file's mark stays the same."""

    def __init__(self) -> None:
        self._known: dict[str, _KnownFile] = {}
        self.read_paths: list[str] = []
        """The paths of files that were read, in the order of reading."""
        self.learned = 0
        """How many files were read whose states can be taken over by another session."""

    def learn(self, path: str, mark: FileMark, state: FileState, at_ns: int) -> None:
        """A file with this mark was read at this time, and is so."""
        settled = max(mark.modified_ns, mark.changed_ns) < at_ns - _TICK_NS
        before = self._known.get(path)
        # The very same object tells those who compare thousands of them that nothing changed.
        same = before.state if before is not None and before.state == state else state
        self._known[path] = known = _KnownFile(mark, same, settled)
        self.read_paths.append(path)
        self.learned += known != before and _can_be_saved(known)

    def find_state(self, path: str, mark: FileMark) -> FileState | None:
        """The state of a file with this mark; None where it must be read."""
        known = self._known.get(path)
        return known.state if known is not None and known.settled and known.mark == mark else None

    def take_over(self, files: Mapping[str, IndexedFile], absent: Collection[str]) -> None:
        """Know what an earlier session knew, but for files read since and for contents that are absent."""
        for path, file in files.items():
            if file.sha256 not in absent:
                mode, size = stat.S_IMODE(file.mark.kind), file.mark.size
                state = FileState(kind=FileKind.FILE, mode=mode, size=size, sha256=file.sha256)
                self._known.setdefault(path, _KnownFile(file.mark, state, settled=True))

    def forget(self, hashes: Collection[str]) -> None:
        """Know no more of files with these contents."""
        gone = [path for path, known in list(self._known.items()) if known.state.sha256 in hashes]
        for path in gone:
            del self._known[path]

    def list_files(self, marks: Mapping[str, FileMark]) -> dict[str, IndexedFile]:
        """What another session may take over, of the files that have these marks."""
        return {
            path: IndexedFile(known.mark, known.state.sha256)
            for path, known in list(self._known.items())
            if _can_be_saved(known) and known.state.sha256 is not None and marks.get(path) == known.mark
        }


def _can_be_saved(known: _KnownFile) -> bool:
    return known.settled and known.state.sha256 is not None and known.state.unkept is None


# So many files that a later session would have to read again are worth writing an index.
_WORTH_SAVING = 1_000


class ContentCache:
    """Stores each content once, and remembers the state of each file whose content it took.

    `saved` is the index that an earlier session left. The contents that it names may have been pruned since,
    and may be until a stored list names them: until then they are unproven.
    """

    def __init__(self, contents: ContentStore, saved: SavedIndex | None = None) -> None:
        self._contents = contents
        self._index = StatIndex()
        self._stored: set[str] = set()
        self._saved = saved
        self._is_recalled = saved is None
        self._recalling = asyncio.Lock()
        self._unproven: set[str] = set()

    async def recall(self) -> None:
        """Take over what an earlier session knew, once. Never raises for what cannot be read of it."""
        async with self._recalling:
            if self._is_recalled or self._saved is None:
                return
            files = await asyncio.to_thread(self._saved.load)
            hashes = {file.sha256 for file in files.values()}
            try:
                absent = await self._contents.list_absent(hashes)
            except LedgerError:
                absent = frozenset(hashes)
            self._unproven = hashes - absent
            await asyncio.to_thread(self._index.take_over, files, absent)
            self._is_recalled = True

    async def prove(self, states: Mapping[str, FileState], *, whole: bool) -> bool:
        """Whether all contents of a list that is stored by now are there still; else they must be read anew.

        No prune takes what a list names that was stored while its session is open. `whole` says that the list
        is that of all files: what it does not name is forgotten. Raises LedgerError.
        """
        if not self._unproven:
            return True
        named = {state.sha256 for state in states.values() if state.sha256 is not None} & self._unproven
        absent = await self._contents.list_absent(named) if named else frozenset()
        gone = absent | (self._unproven - named if whole else set())
        if gone:
            await asyncio.to_thread(self._index.forget, gone)
        self._unproven -= named | gone
        return not absent

    def save(self, marks: Mapping[str, FileMark]) -> None:
        """Leave what is known of the files that have these marks to a later session, if that is worth it."""
        if self._saved is not None and self._is_recalled and self._index.learned >= _WORTH_SAVING:
            self._index.learned = 0
            self._saved.save(self._index.list_files(marks))

    @property
    def reads(self) -> int:
        """How many times a file was read so far."""
        return len(self._index.read_paths)

    def list_read(self, since: int) -> frozenset[str]:
        """Return the paths of the files that were read after so many reads."""
        return frozenset(self._index.read_paths[since:])

    def find_state(self, path: str, mark: FileMark) -> FileState | None:
        return self._index.find_state(path, mark)

    def get_proven_state(self, path: str, mark: FileMark) -> FileState | None:
        """The same, of a file that this process read."""
        state = self._index.find_state(path, mark)
        return None if state is None or state.sha256 in self._unproven else state

    async def get(self, sha256: str) -> bytes:
        """The content of that hash. Raises LedgerError where there is none."""
        return await self._contents.get(sha256)

    async def store(self, readings: Sequence[FileContent], *more: bytes) -> tuple[str, ...]:
        """Store what is not stored yet, in one step, and remember it; the hashes of `more`.

        Raises LedgerError, and then nothing is remembered.
        """
        new: dict[str, bytes] = {}
        for reading in readings:
            if reading.content is not None and reading.state is not None and reading.state.sha256 is not None:
                new[reading.state.sha256] = reading.content
        missing = [content for sha256, content in new.items() if sha256 not in self._stored]
        hashes = await self._contents.put([*missing, *more]) if missing or more else ()
        self._stored.update(new)
        self._unproven.difference_update(new)
        for reading in readings:
            if reading.mark is not None and reading.state is not None:
                self._index.learn(reading.path, reading.mark, reading.state, reading.at_ns)
        return hashes[len(missing) :]
