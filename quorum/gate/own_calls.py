"""Calls in our own words, as the dialect `quorum` brings them."""

from __future__ import annotations

from collections.abc import Mapping

from quorum.domain.calls.proposed_call import CallEffect, ProposedCall
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.gate.caller_calls import is_server_tool, name_unknown
from quorum.gate.payload import BadPayload, read_optional, require, require_fields
from quorum.gate.shell_arguments import find_shell_text
from quorum.infrastructure.tools.table import find_built_in_traits


def read_own_call(
    tool: str, given: JsonObject, *, cwd: str, environment: Mapping[str, str], task: str = ""
) -> ProposedCall:
    """A call of a tool of ours, or of an unknown one. Raises BadPayload for arguments that do not fit."""
    traits = find_built_in_traits(tool)
    effect = traits.effect if traits is not None else CallEffect.OTHER
    if traits is None or effect is CallEffect.OTHER:
        name, arguments = name_unknown(tool), given
    else:
        name = tool
        require_fields(given, traits.arguments, f"the call of {tool}")
        arguments = _READERS[effect](given)
        if effect is CallEffect.COMMAND and (folder := read_optional(given, "working_dir", str)) is not None:
            cwd = folder if folder.startswith("/") else f"{cwd.rstrip('/')}/{folder}"
    is_other = effect is CallEffect.OTHER
    return ProposedCall(
        tool=name,
        arguments=arguments,
        effect=effect,
        caller_tool=tool,
        cwd=cwd,
        environment=environment,
        task=task,
        shell_text=find_shell_text(arguments) if is_other else None,
        is_known=not is_other or is_server_tool(tool),
    )


def _translate_command(given: JsonObject) -> JsonObject:
    require(given, "command", str)
    for name in ("background", "outside_sandbox", "opens_git"):
        read_optional(given, name, bool)
    return given


def _read_listing(given: JsonObject) -> JsonObject:
    path = read_optional(given, "path", str) or read_optional(given, "base_dir", str) or "."
    pattern = read_optional(given, "pattern", str) or ""
    if pattern.startswith(("/", "~")) or ".." in pattern:
        raise BadPayload("the pattern leads out of its folder")
    return {**given, "path": path}


def _search(given: JsonObject) -> JsonObject:
    require(given, "pattern", str)
    return {**given, "path": read_optional(given, "path", str) or "."}


def _read(given: JsonObject) -> JsonObject:
    require(given, "path", str)
    return given


def _write(given: JsonObject) -> JsonObject:
    require(given, "path", str)
    require(given, "content", str)
    return given


def _edit(given: JsonObject) -> JsonObject:
    path, edits = require(given, "path", str), given.get("edits")
    if edits is None:
        return {"path": path, "edits": [_translate_replacement(given)]}
    if not isinstance(edits, list) or not edits or set(given) != {"path", "edits"}:
        raise BadPayload("the call of edit_file has either edits, a list, or old_text and new_text")
    found: list[JsonValue] = []
    for edit in edits:
        if not isinstance(edit, Mapping):
            raise BadPayload("edits holds what is no object")
        require_fields(edit, ("old_text", "new_text", "replace_all"), "an edit")
        found.append(_translate_replacement(edit))
    return {"path": path, "edits": found}


def _translate_replacement(given: JsonObject) -> dict[str, JsonValue]:
    return {
        "old_text": require(given, "old_text", str),
        "new_text": require(given, "new_text", str),
        "replace_all": read_optional(given, "replace_all", bool) or False,
    }


def _patch(given: JsonObject) -> JsonObject:
    require(given, "patch", str)
    return given


_READERS = {
    CallEffect.COMMAND: _translate_command,
    CallEffect.READ: _read,
    CallEffect.LIST: _read_listing,
    CallEffect.SEARCH: _search,
    CallEffect.WRITE: _write,
    CallEffect.EDIT: _edit,
    CallEffect.PATCH: _patch,
}
