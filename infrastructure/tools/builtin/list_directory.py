"""list_directory: what is in a folder."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import CallEffect, CountedLook, OutputKind, ToolTraits
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.files.workspace import Location, Workspace, escape_path, translate_os_errors
from quorum.infrastructure.tools.builtin.parts import declare_listing, require_text

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

_MOST_ENTRIES = 1000

TRAITS = ToolTraits(
    verb="list",
    title="List",
    output=OutputKind.TREE,
    look=CountedLook("listed", "folder"),
    wording={"depth": "{} deep", "show_hidden": "with hidden ones"},
    kind="read",
    effect=CallEffect.LIST,
    arguments=("path", "depth", "show_hidden"),
    program="ls",
)


def build(parts: ToolParts) -> ListDirectory:
    return ListDirectory(parts.workspace)


class ListDirectory:
    """Names, kinds and sizes of a folder's entries."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.definition = ToolDefinition(
            name="list_directory",
            description=(
                "List a folder, hidden entries included: folders first, with a slash; then files with their "
                "size in bytes and symbolic links with their target."
            ),
            parameters=(
                ToolParameter(
                    name="path",
                    type="path",
                    description='Default ".".',
                ),
            ),
            risk=RiskLevel.LOW,
            inline_bytes=20_000,
            access=lambda arguments: declare_listing(workspace.resolve(require_text(arguments, "path", "."))),
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """One entry a line. Raises ToolError."""
        path = require_text(arguments, "path", ".")
        return await run_in_thread(lambda stop: self._list(path, stop), context.controls)

    def list_entries(self, location: Location, most: int, stop: Stop) -> tuple[list[str], int]:
        """The first lines of the listing, at most so many, and how many entries there are. Raises ToolError."""
        name = self._workspace.format_path(location.path)
        with self._workspace.open_folder(location) as folder, translate_os_errors(name):
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda e: (not e.is_dir(follow_symlinks=False), e.name))
            lines = []
            for entry in entries[:most]:
                stop.check()
                lines.append(_format_line(entry, folder))
        return lines, len(entries)

    def _list(self, path: str, stop: Stop) -> str:
        location = self._workspace.locate(path)
        lines, total = self.list_entries(location, _MOST_ENTRIES, stop)
        if not total:
            return f"{self._workspace.format_path(location.path)} is an empty folder"
        if total > _MOST_ENTRIES:
            lines.append(f"[… and {total - _MOST_ENTRIES} more entries; use glob_search to narrow them]")
        return "\n".join(lines)


def _format_line(entry: os.DirEntry[str], folder: int) -> str:
    name = escape_path(entry.name)
    try:
        status = os.stat(entry.name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return f"{name} -> {escape_path(os.readlink(entry.name, dir_fd=folder))}"
    except FileNotFoundError:
        return f"{name}  (gone meanwhile)"
    if stat.S_ISDIR(status.st_mode):
        return f"{name}/"
    if stat.S_ISREG(status.st_mode):
        return f"{name}  {status.st_size}"
    return f"{name}  (neither file nor folder)"
