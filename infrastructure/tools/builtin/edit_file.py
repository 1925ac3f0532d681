"""edit_file: one passage of a file replaced by another."""

from __future__ import annotations

from collections.abc import Mapping

from domain.calls.access import Access
from domain.calls.execution import CallControls, ToolExecutionContext
from domain.calls.seal import Seal
from domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from domain.errors import ToolError
from domain.text.json_value import JsonObject
from infrastructure.blocking import Stop, in_thread
from infrastructure.files.encoding import Encoding, detect
from infrastructure.files.workspace import Location, Workspace
from infrastructure.tools.builtin.arguments import FILE_PARAMETER, flag, text
from infrastructure.tools.builtin.drafting import (
    Draft,
    carry_out,
    content_at,
    read_projected,
    require_seal,
    seal_of,
)
from infrastructure.tools.builtin.matching import replace_text
from infrastructure.tools.builtin.seen import SeenFiles, sha256_of


class EditFile:
    """Replaces a passage. Encoding, byte order mark and line ends of the file stay as they are."""

    def __init__(self, workspace: Workspace, seen: SeenFiles) -> None:
        self._workspace = workspace
        self._seen = seen
        self._definition = ToolDefinition(
            name="edit_file",
            description=(
                "Replace a passage of a file. old_text must occur exactly once (or set replace_all) and be "
                "copied exactly, indentation included, without the line numbers that read_file shows. "
                "If the file changed since you last saw it, the edit is refused: read it again first."
            ),
            parameters=(
                FILE_PARAMETER,
                ToolParameter(
                    name="old_text",
                    type="string",
                    description="The passage to replace, with enough surrounding lines to be unique.",
                    required=True,
                ),
                ToolParameter(
                    name="new_text",
                    type="string",
                    description="What stands there afterwards; empty to delete the passage.",
                    required=True,
                ),
                ToolParameter(
                    name="replace_all", type="boolean", description="Replace every occurrence. Default false."
                ),
            ),
            risk=RiskLevel.HIGH,
            access=self._access,
        )

    @property
    def definition(self) -> ToolDefinition:
        """What the tool is."""
        return self._definition

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """The diff on what the file holds or will hold. Raises ToolError if the edit cannot succeed."""

        def work(_stop: Stop) -> Seal:
            location = self._workspace.locate(text(arguments, "path"))
            before = read_projected(projected, self._workspace, location)
            if location.path not in projected:
                self._require_as_seen(location, before)
            return seal_of(self._workspace, self._draft(arguments, location, before)[0])

        return await in_thread(work)

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """Make the edit. Raises StaleSeal if the file is not as it was approved, and ToolError."""
        return await in_thread(lambda stop: self._edit(arguments, context.controls, stop), context.controls)

    def _access(self, arguments: JsonObject) -> Access:
        return Access.of(writes=self._workspace.locate(text(arguments, "path")).resources)

    def _edit(self, arguments: JsonObject, controls: CallControls, stop: Stop) -> str:
        location = self._workspace.locate(text(arguments, "path"))
        before = content_at(self._workspace, location)
        require_seal(self._workspace, controls.seal, location, before)
        self._require_as_seen(location, before)
        draft, count = self._draft(arguments, location, before)
        written = carry_out(self._workspace, self._seen, draft, sealed=controls.seal is not None, stop=stop)
        times = "1 replacement" if count == 1 else f"{count} replacements"
        return f"edited {self._workspace.relative(location.path)}: {times}, {written}"

    def _require_as_seen(self, location: Location, content: bytes | None) -> None:
        last, found = self._seen.last(location.path), sha256_of(content)
        if content is not None and last is not None and last != found:
            raise ToolError(
                f"{self._workspace.relative(location.path)} changed since you last saw it "
                f"(SHA-256 is now {found}): read it again, then repeat the edit on what it holds now"
            )

    def _draft(self, arguments: JsonObject, location: Location, before: bytes | None) -> tuple[Draft, int]:
        name = self._workspace.relative(location.path)
        if before is None:
            raise ToolError(f"{name} does not exist: use write_file to create it")
        encoding, content = _decode(before, name)
        edited, count = replace_text(
            content,
            text(arguments, "old_text"),
            text(arguments, "new_text"),
            everywhere=flag(arguments, "replace_all"),
            name=name,
        )
        return Draft(location=location, before=before, after=_encode(edited, encoding, name)), count


def _decode(content: bytes, name: str) -> tuple[Encoding, str]:
    encoding = detect(content, complete=True)
    if encoding is None:
        raise ToolError(f"{name} is a binary file ({len(content)} bytes): edit_file changes text only")
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


def _encode(content: str, encoding: Encoding, name: str) -> bytes:
    try:
        return encoding.encode(content)
    except UnicodeEncodeError as error:
        bad = content[error.start : error.end].encode("unicode_escape").decode("ascii")
        raise ToolError(
            f"{name} is {encoding.label}, which cannot hold {bad}: leave that character out"
        ) from error
