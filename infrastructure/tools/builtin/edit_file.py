"""edit_file: passages of a file replaced by others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.proposed_call import CallEffect
from quorum.domain.calls.seal import Seal
from quorum.domain.calls.seen_file import build_seen_file
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import OutputKind, ToolTraits
from quorum.domain.errors import ToolError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.files.workspace import Location, Workspace
from quorum.infrastructure.tools.builtin.arguments import FILE_PARAMETER, require_flag, require_text
from quorum.infrastructure.tools.builtin.drafting import (
    Draft,
    build_seal,
    carry_out,
    read_content,
    read_projected,
    require_seal,
)
from quorum.infrastructure.tools.builtin.file_text import decode_file, encode_file
from quorum.infrastructure.tools.builtin.matching import replace_text
from quorum.infrastructure.tools.builtin.reading import declare_writing
from quorum.infrastructure.tools.builtin.seen import SeenFiles, require_unchanged

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

_EDIT: JsonObject = {
    "type": "object",
    "properties": {
        "old_text": {"type": "string", "description": "The passage to replace."},
        "new_text": {"type": "string", "description": "What stands there afterwards."},
        "replace_all": {"type": "boolean", "description": "Replace every occurrence. Default false."},
    },
    "required": ["old_text", "new_text"],
    "additionalProperties": False,
}

TRAITS = ToolTraits(
    verb="edit",
    title="Edit",
    output=OutputKind.CHANGES,
    text="new_text",
    texts="edits",
    wording={"old_text": "", "new_text": "", "edits": "", "replace_all": "every occurrence"},
    kind="edit",
    effect=CallEffect.EDIT,
    arguments=("path", "old_text", "new_text", "replace_all", "edits"),
    instead=("apply_patch", "write_file"),
)


def build(parts: ToolParts) -> EditFile:
    return EditFile(parts.workspace, parts.seen)


class EditFile:
    """Replaces passages, all or none. Encoding, byte order mark and line ends of the file stay as they are."""

    def __init__(self, workspace: Workspace, seen: SeenFiles) -> None:
        self._workspace = workspace
        self._seen = seen
        self.definition = ToolDefinition(
            name="edit_file",
            description=(
                "Replace a passage of a file, or with edits several at once. old_text must occur exactly once "
                "(or set replace_all) and be copied exactly, indentation included, without the line numbers "
                "that read_file shows. If the file changed since you last saw it, the edit is refused: read it "
                "again first."
            ),
            parameters=(
                FILE_PARAMETER,
                ToolParameter(
                    name="old_text",
                    type="string",
                    description="The passage to replace, with enough surrounding lines to be unique.",
                ),
                ToolParameter(
                    name="new_text",
                    type="string",
                    description="What stands there afterwards; empty to delete the passage.",
                ),
                ToolParameter(
                    name="replace_all", type="boolean", description="Replace every occurrence. Default false."
                ),
                ToolParameter(
                    name="edits",
                    type="array",
                    description=(
                        "Several replacements in place of old_text and new_text, made in this order, each on "
                        "what those before it left. If one fails, none is made."
                    ),
                    items=_EDIT,
                ),
            ),
            risk=RiskLevel.HIGH,
            access=self._determine_access,
        )

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """The diff on what the file holds or will hold. Raises ToolError if the edit cannot succeed."""

        def build(stop: Stop) -> Seal:
            location = self._workspace.locate(require_text(arguments, "path"))
            before = read_projected(projected, self._workspace, location)
            if location.path not in projected:
                require_unchanged(self._workspace, self._seen, location, before)
            return build_seal(self._workspace, self._draft(arguments, location, before, stop)[0])

        return await run_in_thread(build)

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """Make the edit. Raises StaleSeal if the file is not as it was approved, and ToolError."""
        return await run_in_thread(lambda stop: self._edit(arguments, context, stop), context.controls)

    def _determine_access(self, arguments: JsonObject) -> Access:
        return declare_writing([self._workspace.resolve(require_text(arguments, "path"))])

    def _edit(self, arguments: JsonObject, context: ToolExecutionContext, stop: Stop) -> str:
        seal = context.controls.seal
        location = self._workspace.locate(require_text(arguments, "path"))
        before = read_content(self._workspace, location)
        require_seal(self._workspace, seal, location, before)
        require_unchanged(self._workspace, self._seen, location, before)
        draft, count = self._draft(arguments, location, before, stop)
        known = self._seen.find_knowledge(location.path)
        written = carry_out(self._workspace, draft, sealed=seal is not None, stop=stop)
        self._seen.note_written(context, build_seen_file(location.path, written.sha256, known))
        times = "1 replacement" if count == 1 else f"{count} replacements"
        done = f"edited {self._workspace.format_path(location.path)}: {times}, SHA-256 {written.sha256}"
        return f"{done}; {written.note}" if written.note else done

    def _draft(
        self, arguments: JsonObject, location: Location, before: bytes | None, stop: Stop
    ) -> tuple[Draft, int]:
        name = self._workspace.format_path(location.path)
        if before is None:
            raise ToolError(f"{name} does not exist: use write_file to create it")
        encoding, content = decode_file(before, name)
        edited, count = content, 0
        replacements = _read_replacements(arguments)
        for number, each in enumerate(replacements, start=1):
            stop.check()
            try:
                edited, times = replace_text(edited, each.old, each.new, everywhere=each.everywhere, name=name)
            except ToolError as error:
                if len(replacements) == 1:
                    raise
                raise ToolError(
                    f"edit {number} of {len(replacements)}, nothing was written: {error}"
                ) from error
            count += times
        if edited == content:
            raise ToolError(f"{name} would stay as it is: the replacements change nothing")
        return Draft(location=location, before=before, after=encode_file(edited, encoding, name)), count


class _Replacement(NamedTuple):
    """One passage, and what takes its place: at the only occurrence, or `everywhere`."""

    old: str
    new: str
    everywhere: bool


def _read_replacements(arguments: JsonObject) -> list[_Replacement]:
    """What a call asks for, in either form. Raises ToolError for both forms, neither, or what is no edit."""
    edits = arguments.get("edits")
    if not edits and "old_text" in arguments:
        return [_read_replacement(arguments)]  # an empty list is one that was left out
    if edits is None:
        return [_read_replacement(arguments)]
    if not isinstance(edits, list | tuple) or not all(isinstance(edit, Mapping) for edit in edits):
        raise ToolError("edits must be a list of objects with old_text and new_text")
    if not edits:
        raise ToolError("edits is empty: give at least one replacement")
    single = [name for name in ("old_text", "new_text", "replace_all") if arguments.get(name)]
    if single:
        raise ToolError(f"give either edits or {single[0]}, not both: put every replacement into edits")
    return [_read_replacement(edit) for edit in edits if isinstance(edit, Mapping)]


def _read_replacement(edit: JsonObject) -> _Replacement:
    for name in ("old_text", "new_text"):
        if edit.get(name) is None:
            raise ToolError(f"{name} is missing: give old_text and new_text, or a list of them as edits")
    return _Replacement(
        require_text(edit, "old_text"), require_text(edit, "new_text"), require_flag(edit, "replace_all")
    )
