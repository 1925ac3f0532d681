"""A change that a caller would make to a file, as the draft that it is sealed by."""

from __future__ import annotations

from collections.abc import Mapping

from quorum.domain.calls.proposed_call import CallEffect, ProposedCall
from quorum.domain.errors import ToolError
from quorum.infrastructure.files.workspace import Location, Workspace
from quorum.infrastructure.tools.builtin.drafting import Draft, read_content
from quorum.infrastructure.tools.builtin.file_text import decode_file, encode_file
from quorum.infrastructure.tools.builtin.matching import replace_text

_UNKNOWN = "the new content is not known: the caller changes one part of the file by its own rules"


def draft_change(call: ProposedCall, workspace: Workspace, location: Location) -> tuple[Draft, str | None]:
    """The file before and after, and what that leaves open. Raises ToolError where it cannot be made."""
    before = read_content(workspace, location)
    if call.effect is CallEffect.WRITE:
        content = str(call.arguments["content"]).encode("utf-8", "surrogatepass")
        return Draft(location=location, before=before, after=content, create_folders=True), None
    edits = call.arguments.get("edits")
    if not isinstance(edits, list | tuple):
        return Draft(location=location, before=before, after=before or b""), _UNKNOWN
    name = workspace.format_path(location.path)
    if before is None:
        first = edits[0] if edits else None
        if isinstance(first, Mapping) and first.get("old_text") == "":  # how some callers make a file
            return _apply(edits[1:], str(first["new_text"]), location, before, name), None
        raise ToolError(f"{name} does not exist, so nothing in it can be replaced")
    encoding, content_before = decode_file(before, name)
    edited = _replace_all(edits, content_before, name)
    return Draft(location=location, before=before, after=encode_file(edited, encoding, name)), None


def _apply(
    edits: list[object] | tuple[object, ...], content: str, location: Location, before: bytes | None, name: str
) -> Draft:
    after = _replace_all(edits, content, name).encode("utf-8", "surrogatepass")
    return Draft(location=location, before=before, after=after, create_folders=True)


def _replace_all(edits: object, content: str, name: str) -> str:
    if not isinstance(edits, list | tuple):
        raise ToolError("edits must be a list")
    for edit in edits:
        if not isinstance(edit, Mapping):
            raise ToolError("each of the edits must be an object")
        content, _ = replace_text(
            content,
            str(edit["old_text"]),
            str(edit["new_text"]),
            everywhere=edit.get("replace_all") is True,
            name=name,
        )
    return content
