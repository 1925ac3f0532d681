"""Finds the files and folders that a prompt mentions, and reads what is attached of them."""

from __future__ import annotations

import os
from pathlib import Path

from quorum.application.calls.batch_state import hold_to_access
from quorum.application.ports.workspace import MentionTarget
from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.errors import ToolError
from quorum.domain.replacing import replace
from quorum.domain.text.amounts import format_size
from quorum.domain.text.mention import LineRange, split_lines
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.files.workspace import Location, Workspace, escape_path
from quorum.infrastructure.tools.builtin.list_directory import ListDirectory
from quorum.infrastructure.tools.builtin.parts import declare_reading
from quorum.infrastructure.tools.builtin.read_file import PAGE_BYTES, BinaryFile, FilePage, PageReader
from quorum.infrastructure.tools.builtin.seen import SeenFiles

LARGEST_BYTES = 50_000_000
"""A longer file is not read before a prompt is sent, which would have to wait for it."""

_MOST_ENTRIES = 200
_LONGEST_NAME = 200
_LEAST_BYTES = 400
_NO_ROOM = "the context window has no room left for it; read_file shows pages of it"


class MentionedFiles:
    """Implements `MentionSource`: files and folders of the workspace. What is attached counts as seen."""

    def __init__(self, workspace: Workspace, seen: SeenFiles) -> None:
        self._workspace = workspace
        self._pages = PageReader(workspace)
        self._seen = seen

    async def find(self, mention: str) -> MentionTarget | AttachedFile | None:
        """What is mentioned; a file that cannot be attached says why, and None stands for what is none."""
        return await run_in_thread(lambda _stop: self._find(mention))

    async def read(self, target: MentionTarget, most_bytes: int) -> AttachedFile:
        """As much of it as fits, whole lines. Raises ToolError."""
        return await run_in_thread(lambda stop: self._read(target, min(most_bytes, PAGE_BYTES), stop))

    def _find(self, mention: str) -> MentionTarget | AttachedFile | None:
        path, lines = mention, None
        if not self._exists(path):
            path, lines = split_lines(mention)
        if not self._exists(path):
            return None
        try:
            location = self._workspace.locate(path)
        except ToolError as error:
            return AttachedFile(name=_name_path(path), note=str(error))
        is_folder = os.path.isdir(location.path)
        return MentionTarget(
            path=path,
            name=_name_path(self._workspace.format_path(location.path)),
            tool="list_directory" if is_folder else "read_file",
            access=declare_reading(location),
            lines=None if is_folder else lines,
        )

    def _exists(self, path: str) -> bool:
        try:
            return os.path.lexists(self._workspace.cwd / Path(path).expanduser())
        except (OSError, RuntimeError, ValueError):  # a name too long, a home not known, a NUL
            return False

    def _read(self, target: MentionTarget, most_bytes: int, stop: Stop) -> AttachedFile:
        with hold_to_access(target.access):
            location = self._workspace.locate(target.path)
        if most_bytes < _LEAST_BYTES:
            return AttachedFile(name=target.name, note=_NO_ROOM)
        if target.tool == "list_directory":
            return self._read_listing(location, target.name, most_bytes, stop)
        return self._read_page(location, target, most_bytes, stop)

    def _read_listing(self, location: Location, name: str, most_bytes: int, stop: Stop) -> AttachedFile:
        entries, total = ListDirectory(self._workspace).list_entries(location, _MOST_ENTRIES, stop)
        lines: list[str] = []
        for entry in entries:
            most_bytes -= len(entry.encode("utf-8", "replace")) + 3
            if most_bytes < 0:
                break
            lines.append(f"  {entry}")
        left_out = total - len(lines)
        note = (
            f"{left_out} more entries are left out; list_directory or glob_search shows them"
            if left_out
            else ""
        )
        if not lines:
            return AttachedFile(name=name, is_folder=True, note=note or "it is an empty folder")
        return AttachedFile(
            name=name if name.endswith("/") else f"{name}/",
            content="\n".join(lines),
            total_lines=total,
            is_folder=True,
            note=note,
        )

    def _read_page(
        self, location: Location, target: MentionTarget, most_bytes: int, stop: Stop
    ) -> AttachedFile:
        first, limit = _read_first_and_limit(target.lines)
        if limit is not None and limit < 1:
            return AttachedFile(
                name=target.name, note=f"the lines {_describe_range(target.lines)} end before they begin"
            )
        page = FilePage(first, limit, most_bytes=most_bytes)
        read = self._pages.read(location, page, stop, largest_bytes=LARGEST_BYTES)
        facts = AttachedFile(name=target.name, size_bytes=page.size_bytes)
        match read:
            case None:
                size = format_size(page.size_bytes)
                note = f"it has {size}; read_file shows pages of it, and grep_search finds lines"
            case BinaryFile() as binary:
                note = f"it is a {binary.description}"
                note += "; read_file shows it" if binary.largest_bytes else binary.remedy
            case FilePage() if page.lines:
                self._seen.note_folder(location.path)
                return replace(_attach_page(facts, page, target.lines), seen=page.build_seen(location.path))
            case FilePage():
                note = _explain_nothing(page)
        return AttachedFile(name=facts.name, size_bytes=facts.size_bytes, note=note)


def _attach_page(facts: AttachedFile, page: FilePage, wanted: LineRange | None) -> AttachedFile:
    end = page.total if wanted is None or wanted.last is None else min(wanted.last, page.total)
    notes = page.notes
    if page.last < end:
        notes = [
            f"lines {page.last + 1}-{end} are left out; read_file with offset={page.last + 1} shows them",
            *notes,
        ]
    return AttachedFile(
        name=facts.name,
        content="\n".join(page.lines),
        first_line=page.first,
        last_line=page.last,
        total_lines=page.total,
        size_bytes=facts.size_bytes,
        note="; ".join(notes),
    )


def _explain_nothing(page: FilePage) -> str:
    if not page.total:
        return "it is empty"
    if page.first > page.total:
        return f"it has {page.total} lines, and line {page.first} is past its end"
    return _NO_ROOM


def _read_first_and_limit(lines: LineRange | None) -> tuple[int, int | None]:
    if lines is None:
        return 1, None
    first = max(lines.first, 1)
    return first, None if lines.last is None else lines.last - first + 1


def _describe_range(lines: LineRange | None) -> str:
    return "" if lines is None else f"{lines.first}-{lines.last}"


def _name_path(path: str) -> str:
    name = escape_path(path)
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
