"""write_file: a file's whole new content."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.run_state import SeenFile
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import CallEffect, OutputKind, ToolTraits
from quorum.domain.errors import StaleSeal, ToolError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.files.workspace import Location, Workspace
from quorum.infrastructure.tools.builtin.drafting import (
    Draft,
    build_seal,
    carry_out,
    encode_like,
    list_missing_folders,
    read_content,
    read_projected,
    require_seal,
)
from quorum.infrastructure.tools.builtin.parts import (
    FILE_PARAMETER,
    declare_writing,
    require_flag,
    require_text,
)
from quorum.infrastructure.tools.builtin.seen import SeenFiles, require_known

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

TRAITS = ToolTraits(
    verb="write",
    title="Write",
    output=OutputKind.CHANGES,
    text="content",
    wording={"content": "", "create_dirs": "makes its folder"},
    kind="edit",
    effect=CallEffect.WRITE,
    arguments=("path", "content", "create_dirs"),
    instead=("edit_file", "apply_patch"),
)


def build(parts: ToolParts) -> WriteFile:
    return WriteFile(parts.workspace, parts.seen)


class WriteFile:
    """Creates a file or replaces all of it. Its calls are sealed by the former content's hash."""

    def __init__(self, workspace: Workspace, seen: SeenFiles) -> None:
        self._workspace = workspace
        self._seen = seen
        self.definition = ToolDefinition(
            name="write_file",
            description=(
                "Create a file as UTF-8 text, or replace the whole content of one, whose encoding, byte order "
                "mark and line ends (LF in content means them) stay. Read all of an existing file before; to "
                "change a part of it use edit_file."
            ),
            parameters=(
                FILE_PARAMETER,
                ToolParameter(name="content", type="string", required=True),
                ToolParameter(
                    name="create_dirs",
                    type="boolean",
                    description="Create missing parent folders (default true).",
                ),
            ),
            risk=RiskLevel.HIGH,
            access=self._determine_access,
        )

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """The diff against what the file holds or will hold. Raises ToolError if it cannot be written."""

        def build(_stop: Stop) -> Seal:
            location = self._workspace.locate(require_text(arguments, "path"))
            before = read_projected(projected, self._workspace, location)
            if location.path not in projected:
                require_known(self._workspace, self._seen, location, before)
            return build_seal(self._workspace, self._draft(arguments, location, before, frozenset(projected)))

        return await run_in_thread(build)

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """Write the file. Raises StaleSeal if it is not as it was approved, and ToolError."""
        return await run_in_thread(lambda stop: self._write(arguments, context, stop), context.controls)

    def _determine_access(self, arguments: JsonObject) -> Access:
        return declare_writing([self._workspace.resolve(require_text(arguments, "path"))])

    def _write(self, arguments: JsonObject, context: ToolExecutionContext, stop: Stop) -> str:
        seal = context.controls.seal
        location = self._workspace.locate(require_text(arguments, "path"))
        before = read_content(self._workspace, location)
        require_seal(self._workspace, seal, location, before)
        require_known(self._workspace, self._seen, location, before)
        draft = self._draft(arguments, location, before, frozenset())
        if seal is not None and not set(list_missing_folders([location.path])) <= set(seal.folders):
            raise StaleSeal("a folder that was there when it was approved is gone; nothing was written")
        written = carry_out(self._workspace, draft, sealed=seal is not None, stop=stop)
        self._seen.note_written(context, SeenFile(path=location.path, sha256=written.sha256))
        done = "created" if before is None else "replaced"
        done = f"{done} {self._workspace.format_path(location.path)}: {len(draft.after)} bytes"
        return "; ".join(filter(None, (done, draft.note, written.note)))

    def _draft(
        self, arguments: JsonObject, location: Location, before: bytes | None, coming: frozenset[str]
    ) -> Draft:
        create = "create_dirs" not in arguments or require_flag(arguments, "create_dirs")
        if before is None and not create:
            self._require_folder(location, coming)
        try:
            after, note = encode_like(require_text(arguments, "content"), before)
        except UnicodeEncodeError as error:
            raise ToolError("content holds half of a surrogate pair, which no file can hold as text") from error
        return Draft(location=location, before=before, after=after, create_folders=create, note=note)

    def _require_folder(self, location: Location, coming: frozenset[str]) -> None:
        """Raises ToolError where the parent does not exist, nor will through a `coming` file of the batch."""
        folder = os.path.dirname(location.path)
        if os.path.isdir(folder) or any(path.startswith(folder + "/") for path in coming):
            return
        shown_folder = self._workspace.format_path(folder)
        if os.path.lexists(folder):
            raise ToolError(f"{shown_folder} is not a folder, so nothing can be written in it")
        raise ToolError(f"the folder {shown_folder} does not exist: leave out create_dirs to create it")
