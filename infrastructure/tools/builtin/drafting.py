"""A change to one file before it is made: how it is sealed, and how it is carried out."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from quorum.domain.calls.seal import Seal, SealedFile
from quorum.domain.errors import StaleSeal, ToolError
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.files.diff import render_unified_diff
from quorum.infrastructure.files.replacing import change, replace_file
from quorum.infrastructure.files.workspace import Location, Workspace
from quorum.infrastructure.tools.builtin.seen import compute_sha256

_LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """New content for a file. `before` is what it is made from, None where there is no file.

    `note` says what of the file stays or does not.
    """

    location: Location
    before: bytes | None
    after: bytes
    create_folders: bool = False
    note: str = ""


def read_content(workspace: Workspace, location: Location) -> bytes | None:
    """The whole content of a file, None where there is none. Raises ToolError for what is not a file."""
    try:
        with workspace.open_file(location) as file:
            content = file.read(_LARGEST + 1)
    except ToolError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise
    if len(content) > _LARGEST:
        raise ToolError(
            f"{workspace.format_path(location.path)} is larger than {_LARGEST >> 20} MB: too large for "
            "this tool; change it with a command"
        )
    return content


def require_seal(workspace: Workspace, seal: Seal | None, location: Location, content: bytes | None) -> None:
    """Raises StaleSeal unless the location and its content are those of the seal, if there is one."""
    if seal is None:
        return
    shown_path = workspace.format_path(location.path)
    sealed = {file.path: file.sha256 for file in seal.files}
    if location.path not in sealed:
        raise StaleSeal(
            f"the call now leads to {shown_path}, which is not what was approved; nothing was written"
        )
    if sealed[location.path] != (found := compute_sha256(content)):
        raise StaleSeal(f"{shown_path} changed after it was approved ({change(sealed[location.path], found)})")


def build_seal(workspace: Workspace, draft: Draft) -> Seal:
    """The seal of a draft: its file, the full diff, and the content it will have."""
    path = draft.location.path
    return Seal(
        cwd=str(workspace.cwd),
        files=(SealedFile(path=path, sha256=compute_sha256(draft.before)),),
        folders=list_missing_folders([path]) if draft.create_folders else (),
        diff=render_unified_diff(draft.before, draft.after, workspace.format_path(path), is_text=True),
        projected={path: draft.after},
    )


def list_missing_folders(paths: Iterable[str]) -> tuple[str, ...]:
    """The folders that have to be made before files can be at these paths, outermost first."""
    missing: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)
        while folder not in missing and not os.path.lexists(folder):
            missing.add(folder)
            folder = os.path.dirname(folder)
    return tuple(sorted(missing))


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """What was written: its SHA-256, and a note for who asked, empty where there is nothing to say."""

    sha256: str
    note: str


def carry_out(workspace: Workspace, draft: Draft, *, sealed: bool, stop: Stop) -> WrittenFile:
    """Write the draft.

    Raises StaleSeal (ToolError if nothing was `sealed`) when the file is no longer what the draft was made
    from, ToolError and Stopped; nothing was changed then.
    """
    try:
        note = replace_file(
            workspace,
            draft.location,
            draft.after,
            expected=compute_sha256(draft.before),
            create_folders=draft.create_folders,
            stop=stop,
        )
    except StaleSeal as stale:
        if sealed:
            raise
        raise ToolError(f"{stale}; read it again before you repeat the call") from stale
    return WrittenFile(hashlib.sha256(draft.after).hexdigest(), note)


def read_projected(projected: Mapping[str, bytes], workspace: Workspace, location: Location) -> bytes | None:
    """What a file will hold at the call's turn: what earlier calls will have written, else its content now."""
    content = projected.get(location.path)
    return read_content(workspace, location) if content is None else content
