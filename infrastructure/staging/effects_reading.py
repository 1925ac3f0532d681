"""What a layer changes, as effects: paired, counted, and held against what the person did meanwhile."""

from __future__ import annotations

import ctypes
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from quorum.domain.calls.effects import FileKind, FileState
from quorum.domain.staging.layer_effects import LayerEffect, LayerEffectKind, LayerEffects
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.files.diff import count_changed_lines
from quorum.infrastructure.files.file_metadata import read_birth_time
from quorum.infrastructure.files.searching import IgnoredFolders
from quorum.infrastructure.staging.layer_repository import HEAD, INDEX, LayerRepository
from quorum.infrastructure.staging.lower_files import LowerFiles, is_unchanged
from quorum.infrastructure.staging.renaming import open_root
from quorum.infrastructure.staging.upper_folder import (
    FolderChanges,
    UpperChange,
    UpperFolder,
    read_origin,
    read_status,
)

_MOST_COUNTED_BYTES = 1_000_000
_MOST_LOOKED_AT = 8_000
_YOURS = "you changed it since the layer began"
_MADE = "you made something of that name since the layer began"
_DELETED = "you deleted it since the layer began"
_PERHAPS_DELETED = "perhaps you deleted it since the layer began"
_FOLDER_DELETED = "you deleted or renamed its folder since the layer began"


class ReadEffects(NamedTuple):
    """Effects, and what is needed to apply them: the change behind the effect of each path."""

    effects: LayerEffects
    changes: Mapping[str, UpperChange]
    folders: FolderChanges


class EffectsReader:
    """Reads the layer in `upper` over `lower`, a path of a descriptor of the real folder, whose canonical path
    is `workspace`."""

    def __init__(
        self,
        upper: str,
        lower: str,
        workspace: str,
        *,
        began_ns: int,
        known: LowerFiles,
        scratch: Path,
        environ: Mapping[str, str],
        is_protected: Callable[[str], bool],
    ) -> None:
        self._upper = upper
        self._lower = lower
        self._workspace = workspace
        self._began_ns = began_ns
        self._known = known
        self._is_protected = is_protected
        # What the layer says in its ignore files does not count: it could hide what it does.
        self._ignored = IgnoredFolders((lower,))
        self._repository = LayerRepository(upper, lower, workspace, scratch, environ)

    def note_before(self) -> None:
        """Take note of what the changed files held. Raises OSError, StagingError."""
        self._note(UpperFolder(self._upper, self._lower).list_changes()[0])

    def read(self) -> ReadEffects:
        """All of it. Raises OSError, StagingError."""
        changes, folders = UpperFolder(self._upper, self._lower).list_changes()
        self._note(changes)
        has_repository = self._repository.is_there
        shown = [each for each in changes if not (has_repository and self._repository.covers(each.path))]
        kept, meanwhile = self._leave_out_new_files(shown)
        effects = [self._describe(each) for each in kept]
        effects = _pair_renames(effects)
        found = self._repository.read(self._known, self._began_ns) if has_repository else None
        if found is not None and found.has_index:
            effects.append(self._describe_index())
        effects.sort(key=lambda effect: effect.path)
        self._known.save()
        return ReadEffects(
            effects=LayerEffects(
                workspace=self._workspace,
                effects=tuple(effects),
                commits=found.commits if found is not None else (),
                not_captured=(*(found.not_captured if found is not None else ()), *_name_lost_links(kept)),
                read_meanwhile=tuple(meanwhile),
            ),
            changes={each.path: each for each in kept},
            folders=folders,
        )

    def _note(self, changes: Sequence[UpperChange]) -> None:
        has_repository = self._repository.is_there
        looked_at = (
            each
            for each in changes
            if not (has_repository and self._repository.covers(each.path)) or each.path in (INDEX, HEAD)
        )
        self._known.note_before(looked_at, self._lower, self._began_ns)
        if has_repository:
            self._repository.note_head(self._known, self._began_ns)
        for each in changes:
            is_new = each.before is None and each.path not in self._known and not each.lost_folder
            if is_new and each.had_origin and not self._has_changed_folder(each):
                self._known.note(each.path, None)
        self._known.save()

    def _leave_out_new_files(self, changes: Sequence[UpperChange]) -> tuple[list[UpperChange], list[str]]:
        """Without the files that the person made where the layer only hides a folder: they stay."""
        kept, meanwhile = [], []
        for change in changes:
            if change.after is None and change.before is not None and self._is_new(change):
                meanwhile.append(change.path)
            else:
                kept.append(change)
        return kept, meanwhile

    def _is_new(self, change: UpperChange) -> bool:
        before = change.before
        if before is None or change.path in self._known or before.st_ctime_ns < self._began_ns:
            return False
        folder, _, name = change.path.rstrip("/").rpartition("/")
        with open_root(f"{self._lower}/{folder}") as opened:
            born = read_birth_time(name, opened)
        return born is not None and born >= self._began_ns

    def _describe(self, change: UpperChange) -> LayerEffect:
        path = change.path
        is_protected = self._is_protected(f"{self._workspace}/{path.rstrip('/')}")
        below = f"{self._lower}/{path.rstrip('/')}"
        is_ignored = not is_protected and self._is_ignored(change, below)
        before, old = _read_state(f"{self._lower}/{path}", change.before)
        after, new = _read_state(f"{self._upper}/{path}", change.after)
        kind = _find_kind(change, before, after)
        is_counted = not is_ignored and old is not None and new is not None
        added, removed = count_changed_lines(old, new) if is_counted else (0, 0)
        return LayerEffect(
            path=path,
            kind=kind,
            before=before,
            after=after,
            added=added,
            removed=removed,
            conflict="" if kind is LayerEffectKind.OTHER else self._find_conflict(change, before),
            ignored=is_ignored,
            protected=is_protected,
        )

    def _is_ignored(self, change: UpperChange, below: str) -> bool:
        """Whether nobody needs to read it. A text that git ignores, in a folder that it does not, may be notes
        or settings of the person, which nothing gives back."""
        if self._ignored.is_made_anew(below) or self._ignored.contains(below):
            return True
        return self._ignored.covers(below) and not (
            change.before is not None and stat.S_ISREG(change.before.st_mode) and _is_text(below)
        )

    def _describe_index(self) -> LayerEffect:
        before, after = read_status(f"{self._lower}/{INDEX}"), read_status(f"{self._upper}/{INDEX}")
        return LayerEffect(
            path=INDEX,
            kind=LayerEffectKind.CREATE if before is None else LayerEffectKind.REPLACE,
            before=_read_state(f"{self._lower}/{INDEX}", before)[0],
            after=_read_state(f"{self._upper}/{INDEX}", after)[0],
            ignored=True,
        )

    def _find_conflict(self, change: UpperChange, state: FileState | None) -> str:
        if change.lost_folder:
            return _FOLDER_DELETED
        before, known = change.before, self._known.get(change.path)
        if before is None:
            if known is not None:
                return _DELETED
            if not change.had_origin or change.path in self._known:
                return ""
            if self._has_changed_folder(change) and not self._is_copy(change):
                return _PERHAPS_DELETED
            self._known.note(change.path, None)
            return ""
        if change.is_folder:  # its times change with the names in it
            return _YOURS if known is not None and known.mode != before.st_mode else ""
        if known is not None:
            if is_unchanged(known, before):
                return ""
            is_same = (
                state is not None
                and known.sha256 is not None
                and known.sha256 == state.sha256
                and known.mode == before.st_mode
            )
            return "" if is_same else _YOURS
        if change.path in self._known:
            return _MADE
        if before.st_ctime_ns < self._began_ns:
            return ""
        return _YOURS if change.after is None or change.had_origin else _MADE

    def _has_changed_folder(self, change: UpperChange) -> bool:
        """Whether the person may have removed a name beside this one since the layer began."""
        status = read_status(os.path.dirname(f"{self._lower}/{change.path}"))
        return status is None or status.st_ctime_ns >= self._began_ns

    def _is_copy(self, change: UpperChange) -> bool:
        """Whether a file that only the layer has is one of the workspace, renamed or linked in the layer. The
        kernel notes of what it was copied; where it may not, files of the same time are taken to be one."""
        if change.after is None:
            return False
        origin = read_origin(f"{self._upper}/{change.path}")
        folder = UpperFolder(self._upper, self._lower)
        touched = folder.list_touched()
        changed = (each.path for each in folder.list_changes()[0] if each.before is not None)
        for path in (*touched, *(each for each in changed if not each.endswith("/"))):
            status = read_status(f"{self._lower}/{path}")
            if status is None:
                continue
            if not origin:
                is_same = (status.st_mtime_ns, status.st_size) == (
                    change.after.st_mtime_ns,
                    change.after.st_size,
                )
            else:
                handle = _read_handle(f"{self._lower}/{path}")
                is_same = handle is not None and origin.endswith(handle)
            if is_same:
                return True
        return False


def _is_text(path: str) -> bool:
    """Whether a file seems to hold text, as git decides it."""
    try:
        with open(path, "rb") as file:
            return b"\0" not in file.read(_MOST_LOOKED_AT)
    except OSError:
        return False


def _find_kind(change: UpperChange, before: FileState | None, after: FileState | None) -> LayerEffectKind:
    if not change.is_folder and after is not None and after.kind is FileKind.OTHER:
        return LayerEffectKind.OTHER
    if after is None:
        return LayerEffectKind.DELETE
    if before is None:
        return LayerEffectKind.CREATE
    if change.is_folder:
        return LayerEffectKind.MODE
    is_same = before.kind is after.kind is FileKind.FILE and before.sha256 == after.sha256 is not None
    return LayerEffectKind.MODE if is_same else LayerEffectKind.REPLACE


def _read_state(path: str, status: os.stat_result | None) -> tuple[FileState | None, bytes | None]:
    """The state of a file, hashed whatever its size: what is approved is what is applied. Beside it what it
    holds, None where lines of it cannot be counted, and nothing where it has none."""
    if status is None:
        return None, b""
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(path)
        return FileState(kind=FileKind.LINK, mode=mode, size=status.st_size, target=target), b""
    if not stat.S_ISREG(status.st_mode):
        return FileState(kind=FileKind.OTHER, mode=mode), b""
    content: bytes | None = None
    try:
        with open(path, "rb", buffering=0) as file:
            if status.st_size <= _MOST_COUNTED_BYTES:
                content = file.readall()
                sha256 = hashlib.sha256(content).hexdigest()
            else:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except PermissionError:
        return FileState(kind=FileKind.FILE, mode=mode, size=status.st_size, unkept="it may not be read"), None
    return FileState(kind=FileKind.FILE, mode=mode, size=status.st_size, sha256=sha256), content


def _pair_renames(effects: Sequence[LayerEffect]) -> list[LayerEffect]:
    """Name for each new file the deleted one that held the same, that of the same name first."""
    deleted: dict[tuple[str, str | None], list[str]] = {}
    for effect in effects:
        if effect.kind is LayerEffectKind.DELETE and (key := _name_content(effect.before)) is not None:
            deleted.setdefault(key, []).append(effect.path)
    return [_pair(effect, deleted) for effect in effects]


def _pair(effect: LayerEffect, deleted: dict[tuple[str, str | None], list[str]]) -> LayerEffect:
    key = _name_content(effect.after) if effect.kind is LayerEffectKind.CREATE else None
    paths = deleted.get(key) if key is not None else None
    if not paths:
        return effect
    name = os.path.basename(effect.path)
    former = next((path for path in paths if os.path.basename(path) == name), paths[0])
    paths.remove(former)
    return LayerEffect(
        path=effect.path,
        kind=effect.kind,
        before=effect.before,
        after=effect.after,
        renamed_from=former,
        conflict=effect.conflict,
        ignored=effect.ignored,
        protected=effect.protected,
    )


def _name_content(state: FileState | None) -> tuple[str, str | None] | None:
    """What two states have in common where one is the other renamed; None where they hold nothing."""
    if state is None or not state.size:
        return None
    match state.kind:
        case FileKind.FILE:
            return ("file", state.sha256) if state.sha256 is not None else None
        case FileKind.LINK:
            return ("link", state.target)
        case FileKind.OTHER:
            return None


def _name_lost_links(changes: Sequence[UpperChange]) -> Iterator[str]:
    """Sentences about what applying cannot keep."""
    for change in changes:
        before, after = change.before, change.after
        if before is None or after is None or change.is_folder:
            continue
        if stat.S_ISREG(before.st_mode) and before.st_nlink > 1:
            shown = make_printable(change.path, newlines=False)
            yield f"{shown} has other names (hard links) in the workspace, which keep what it held"


_HANDLE_BYTES = 128
_AT_FDCWD = -100


class _Handle(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint),
        ("kind", ctypes.c_int),
        ("name", ctypes.c_ubyte * _HANDLE_BYTES),
    ]


@cache
def _load() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _read_handle(path: str) -> bytes | None:
    """The name that the kernel has for a file whatever its path; None where the file system has none."""
    handle = _Handle(size=_HANDLE_BYTES)
    mount = ctypes.c_int()
    found = _load().name_to_handle_at(
        _AT_FDCWD, os.fsencode(path), ctypes.byref(handle), ctypes.byref(mount), 0
    )
    return bytes(handle.name[: handle.size]) if found == 0 else None
