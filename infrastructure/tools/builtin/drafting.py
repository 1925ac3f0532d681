"""A change to one file before it is made: how it is sealed, and how it is carried out.

The file's encoding and byte order mark stay as they are.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping

from msgspec import Struct

from quorum.domain.calls.execution import Seal, SealedFile
from quorum.domain.errors import StaleSeal, ToolError
from quorum.infrastructure.blocking import Stop
from quorum.infrastructure.files.diff import render_unified_diff
from quorum.infrastructure.files.encoding import UTF_8, Encoding, detect
from quorum.infrastructure.files.replacing import change, replace_file
from quorum.infrastructure.files.workspace import Location, Workspace
from quorum.infrastructure.tools.builtin.seen import compute_sha256


def decode_file(content: bytes, name: str) -> tuple[Encoding, str]:
    """The encoding of a file and its text. Raises ToolError where it would not keep its bytes."""
    encoding = detect(content, complete=True)
    if encoding is None:
        raise ToolError(f"{name} is a binary file ({len(content)} bytes): only text can be edited")
    try:
        decoded = encoding.decode(content)
    except UnicodeDecodeError as error:
        raise ToolError(
            f"{name} is not valid {encoding.label} at byte {error.start}: it cannot be edited"
        ) from error
    if encoding.encode(decoded) != content:
        raise ToolError(
            f"{name} seems to be {encoding.codec}, but would not keep its bytes: it cannot be edited"
        )
    return encoding, decoded


def encode_like(content: str, before: bytes | None) -> tuple[bytes, str]:
    """The bytes of a text that replaces a file, and what of the file they keep or lose, empty where nothing.

    Encoding, byte order mark and line ends stay as they are, unless the encoding cannot hold the text: then it
    is UTF-8. Raises UnicodeEncodeError for half of a surrogate pair.
    """
    encoding = detect(before, complete=True) if before else None
    if encoding is None or before is None or encoding.is_broken:
        return content.encode("utf-8"), ""
    try:
        former = encoding.decode(before)
    except UnicodeDecodeError:
        return content.encode("utf-8"), ""
    adopted, ends = _adopt_line_ends(content.removeprefix("\ufeff") if encoding.mark else content, former)
    kept = [ends] if ends else []
    try:
        after = encoding.encode(adopted)
    except UnicodeEncodeError:
        after = adopted.encode("utf-8")
        kept.append(f"the encoding is now utf-8, as {encoding.label} cannot hold the text")
    else:
        if encoding != UTF_8:
            kept.append(f"the encoding stays {encoding.label}")
    return after, "; ".join(kept)


def _adopt_line_ends(content: str, former: str) -> tuple[str, str]:
    """A text with the line ends of a former one, and what is to be said about them."""
    if "\r" in content or not former:
        return content, ""
    windows, all_ends = former.count("\r\n"), former.count("\n")
    if windows and windows == all_ends:
        return content.replace("\n", "\r\n"), "line ends stay CRLF"
    if windows:
        return content, "line ends were mixed, and are now LF"
    if "\r" in former and not all_ends:
        return content.replace("\n", "\r"), "line ends stay CR"
    return content, ""


def encode_file(content: str, encoding: Encoding, name: str) -> bytes:
    """The bytes of a text in the encoding of its file. Raises ToolError for what that cannot hold."""
    try:
        return encoding.encode(content)
    except UnicodeEncodeError as error:
        bad = content[error.start : error.end].encode("unicode_escape").decode("ascii")
        raise ToolError(
            f"{name} is {encoding.label}, which cannot hold {bad}: leave that character out"
        ) from error


LARGEST_EDITED = 64 * 1024 * 1024


class Draft(Struct, frozen=True, kw_only=True):
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
            content = file.read(LARGEST_EDITED + 1)
    except ToolError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise
    if len(content) > LARGEST_EDITED:
        raise ToolError(
            f"{workspace.format_path(location.path)} is larger than {LARGEST_EDITED >> 20} MB: too large for "
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


class WrittenFile(Struct, frozen=True):
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
