"""What files of the workspace held before the layer and the person changed them, as far as somebody has looked.

A file of the workspace whose times are older than the layer is as it was when the layer began: it is noted
then, and its text is kept. So it is known whether the person changes it later, and what both did can be merged.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field

from quorum.application.whole_file import write_synced_file
from quorum.domain.errors import StagingError
from quorum.infrastructure.staging.change_journal import PlaceMark, mark_status
from quorum.infrastructure.staging.upper_folder import UpperChange, read_status

MOST_KEPT_BYTES = 1_000_000


class LowerFile(Struct, frozen=True, kw_only=True):
    """What a file of the workspace was like when the layer's own version of it began. `sha256` is None where
    the content was not read, and for what is no regular file."""

    inode: int
    modified_ns: int
    changed_ns: int
    size: int
    mode: int
    sha256: str | None = None


class _Known(Struct, frozen=True, kw_only=True):
    files: Mapping[str, LowerFile | None] = field(default_factory=dict)
    refs: Mapping[str, str] = field(default_factory=dict)


class LowerFiles:
    """Of one layer, whose folder is `place`. A path that is known as None had no file. All methods block."""

    def __init__(self, place: Path) -> None:
        self._path = place / "known.json"
        self._bases = place / "bases"
        self._files: dict[str, LowerFile | None] = {}
        self.refs: dict[str, str] = {}
        self._read()
        self._is_new = False

    def __contains__(self, path: str) -> bool:
        return path in self._files

    def get(self, path: str) -> LowerFile | None:
        """What is known of a path; None where nothing is, and where no file was there."""
        return self._files.get(path)

    def note(self, path: str, status: os.stat_result | None, sha256: str | None = None) -> None:
        """Take note of what stands at a path of the workspace, from now on."""
        known = None if status is None else _describe(status, sha256)
        if path not in self._files or self._files[path] != known:
            self._files[path] = known
            self._is_new = True

    def renew(self, path: str, place: str) -> None:
        """Take note of what stands at a path now, and keep it where it is a text. Raises OSError."""
        status = read_status(place)
        is_file = status is not None and stat.S_ISREG(status.st_mode)
        self.note(path, status, self._keep(place, status) if status is not None and is_file else None)

    def note_restored(self, path: str, place: str, mark: PlaceMark) -> None:
        """A file that was known, and has this mark again after it was elsewhere, is the one that was known."""
        known, status = self._files.get(path), read_status(place)
        if known is None or status is None or mark_status(status) != mark:
            return
        if (known.inode, known.modified_ns, known.size, known.mode) == (
            mark.inode,
            mark.modified_ns,
            mark.size,
            mark.mode,
        ):
            self.note(path, status, known.sha256)

    def note_ref(self, ref: str, commit: str) -> None:
        """Take note of where a ref of the workspace stands; empty: nowhere."""
        if self.refs.get(ref) != commit:
            self.refs[ref] = commit
            self._is_new = True

    def note_before(self, changes: Iterable[UpperChange], lower: str, began_ns: int) -> None:
        """Take note of the files that the layer changed and the person did not; the texts of those that it
        still has are kept. Raises OSError."""
        for change in changes:
            before = change.before
            if before is None or change.path in self._files or before.st_ctime_ns >= began_ns:
                continue
            sha256 = None
            if stat.S_ISREG(before.st_mode) and change.after is not None:
                sha256 = self._keep(f"{lower}/{change.path}", before)
            self.note(change.path, before, sha256)

    def read_base(self, path: str) -> bytes | None:
        """What a file held before; None where that is not known."""
        known = self._files.get(path)
        if known is None or known.sha256 is None:
            return None
        try:
            content = (self._bases / known.sha256).read_bytes()
        except FileNotFoundError:
            return None
        return content if hashlib.sha256(content).hexdigest() == known.sha256 else None

    def keep_base(self, content: bytes) -> None:
        """Keep a content that a file of the workspace has now. Raises OSError."""
        if len(content) > MOST_KEPT_BYTES:
            return
        self._bases.mkdir(mode=0o700, exist_ok=True)
        path = self._bases / hashlib.sha256(content).hexdigest()
        if not path.exists():
            unfinished = self._bases / "new"
            unfinished.write_bytes(content)  # whoever reads it holds it against its name
            os.replace(unfinished, path)

    def save(self) -> None:
        """Have it found by whoever opens the layer next. Raises OSError."""
        if not self._is_new:
            return
        known = _Known(files=self._files, refs=self.refs)
        write_synced_file(self._path, json.dumps(msgspec.to_builtins(known)).encode("ascii"))
        self._is_new = False

    def forget(self) -> None:
        """Nothing is known: a new layer begins. Raises OSError."""
        self._files.clear()
        self.refs.clear()
        self._path.unlink(missing_ok=True)
        if self._bases.is_dir():
            for path in self._bases.iterdir():
                path.unlink()

    def _keep(self, path: str, before: os.stat_result) -> str | None:
        """The hash of a file, whose content is kept if it is a text that can be merged."""
        if before.st_size > MOST_KEPT_BYTES:
            return None
        try:
            with open(path, "rb") as file:
                content = file.read(MOST_KEPT_BYTES + 1)
                if os.fstat(file.fileno()).st_ctime_ns != before.st_ctime_ns:
                    return None
        except PermissionError:
            return None
        self.keep_base(content)
        return hashlib.sha256(content).hexdigest()

    def _read(self) -> None:
        try:
            known = msgspec.convert(json.loads(self._path.read_bytes()), _Known)
        except FileNotFoundError:
            return
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            raise StagingError(
                f"{self._path} cannot be read ({error}), so what you changed meanwhile is not known; "
                "quorum staged discard drops the layer"
            ) from error
        self._files, self.refs = dict(known.files), dict(known.refs)


def is_unchanged(known: LowerFile, status: os.stat_result) -> bool:
    """Whether a file has not been touched at all."""
    return _describe(status, known.sha256) == known


def _describe(status: os.stat_result, sha256: str | None) -> LowerFile:
    return LowerFile(
        inode=status.st_ino,
        modified_ns=status.st_mtime_ns,
        changed_ns=status.st_ctime_ns,
        size=status.st_size,
        mode=status.st_mode,
        sha256=sha256,
    )
