"""What other agents send a hook, in the form of Claude Code: their tools and fields under its names.

Held against what the programs themselves send: Gemini CLI 0.61, Qwen Code 0.24, Copilot CLI 1.0, Kimi Code 2.1
and opencode 1.18. A tool that is missing here is not known, and a field that is missing is refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.gate.payload import BadPayload, read_optional, require, require_object

_DROPPED = ""
"""In place of a name: the field changes nothing that is looked at here."""


class AgentTool(Struct, frozen=True):
    """A tool by the name that Claude Code has for it; `fields` are those that are called otherwise there."""

    name: str
    fields: Mapping[str, str] = field(default_factory=dict)


_FILE = {"absolute_path": "file_path", "path": "file_path", "filePath": "file_path"}
_OLD_AND_NEW = {"old_str": "old_string", "new_str": "new_string", "oldString": "old_string"} | {
    "newString": "new_string",
    "replaceAll": "replace_all",
}
_READ = AgentTool("Read", _FILE)
_WRITE = AgentTool("Write", {**_FILE, "file_text": "content"})
_EDIT = AgentTool("Edit", {**_FILE, **_OLD_AND_NEW, "instruction": _DROPPED})
_GREP = AgentTool("Grep", {"include": "glob", "dir_path": "path"})
_LIST = AgentTool("LS", {"dir_path": "path"})
_GEMINI: Mapping[str, AgentTool] = {
    "run_shell_command": AgentTool("Bash", {"is_background": "run_in_background"}),
    "read_file": _READ,
    "write_file": _WRITE,
    "replace": _EDIT,
    "edit": _EDIT,
    "glob": AgentTool("Glob", {"dir_path": "path"}),
    "grep_search": _GREP,
    "search_file_content": _GREP,
    "list_directory": _LIST,
    "web_fetch": AgentTool("WebFetch"),
    "google_web_search": AgentTool("WebSearch"),
    "web_search": AgentTool("WebSearch"),
    "todo_write": AgentTool("TodoWrite"),
    "write_todos": AgentTool("TodoWrite"),
}
_KIMI: Mapping[str, AgentTool] = {"Read": _READ, "Write": _WRITE, "Edit": _EDIT}
_COPILOT: Mapping[str, AgentTool] = {
    "bash": AgentTool("Bash", {"mode": _DROPPED}),
    "Bash": AgentTool("Bash", {"mode": _DROPPED}),
    "view": AgentTool("Read", {**_FILE, "view_range": _DROPPED}),
    "Read": AgentTool("Read", {**_FILE, "view_range": _DROPPED}),
    "edit": _EDIT,
    "Edit": _EDIT,
    "create": _WRITE,
    "Write": _WRITE,
}
_OPENCODE: Mapping[str, AgentTool] = {
    "bash": AgentTool("Bash"),
    "read": _READ,
    "write": _WRITE,
    "edit": _EDIT,
    "glob": AgentTool("Glob"),
    "grep": _GREP,
    "list": _LIST,
    "patch": AgentTool("apply_patch", {"patchText": "patch"}),
    "webfetch": AgentTool("WebFetch"),
    "todowrite": AgentTool("TodoWrite"),
    "task": AgentTool("Task"),
}
_VIBE: Mapping[str, AgentTool] = {}
_GEMINI_EVENTS = {"BeforeTool": "PreToolUse", "BeforeAgent": "UserPromptSubmit"}


def read_gemini(payload: JsonObject, _folder: str) -> JsonObject:
    """What Gemini CLI sends, in the form of Claude Code. Raises BadPayload."""
    event = require(payload, "hook_event_name", str)
    if event not in _GEMINI_EVENTS:
        raise BadPayload(f"hook_event_name is none of {' and '.join(_GEMINI_EVENTS)}")
    return _translate({**payload, "hook_event_name": _GEMINI_EVENTS[event]}, _GEMINI)


def read_qwen(payload: JsonObject, _folder: str) -> JsonObject:
    """What Qwen Code sends, in the form of Claude Code. Raises BadPayload."""
    return _translate(payload, _GEMINI)


def read_kimi(payload: JsonObject, _folder: str) -> JsonObject:
    """What Kimi Code sends, in the form of Claude Code. Raises BadPayload."""
    return _translate(payload, _KIMI)


def read_copilot(payload: JsonObject, _folder: str) -> JsonObject:
    """What Copilot CLI sends: for hooks of its own no event, and names in another style. Raises BadPayload."""
    if "hook_event_name" in payload:
        return _translate(payload, _COPILOT)
    session, cwd = require(payload, "sessionId", str), require(payload, "cwd", str)
    hook: JsonObject = {"session_id": session, "cwd": cwd}
    if "prompt" in payload:
        return {**hook, "hook_event_name": "UserPromptSubmit", "prompt": payload["prompt"]}
    tool = require(payload, "toolName", str)
    if read_optional(payload, "hookName", str) == "permissionRequest":
        event, given = "PermissionRequest", require_object(payload, "toolInput")
    else:
        event, given = "PreToolUse", require_object(payload, "toolArgs")
    return _translate({**hook, "hook_event_name": event, "tool_name": tool, "tool_input": given}, _COPILOT)


def read_opencode(payload: JsonObject, folder: str) -> JsonObject:
    """What opencode gives a plugin: `input` and `output` of the hook, and no folder. Raises BadPayload."""
    given, output = require_object(payload, "input"), require_object(payload, "output")
    hook: JsonObject = {"session_id": require(given, "sessionID", str), "cwd": folder}
    if "parts" in output:
        return {**hook, "hook_event_name": "UserPromptSubmit", "prompt": output["parts"]}
    tool, arguments = require(given, "tool", str), require_object(output, "args")
    call: JsonObject = {**hook, "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": arguments}
    return _translate(call, _OPENCODE)


def read_vibe(payload: JsonObject, _folder: str) -> JsonObject:
    """What Mistral Vibe sends, in the form of Claude Code. Raises BadPayload."""
    if require(payload, "hook_event_name", str) != "pre_tool":
        raise BadPayload("hook_event_name is not pre_tool")
    return _translate({**payload, "hook_event_name": "PreToolUse"}, _VIBE)


def name_as_claude(tool: str, given: JsonObject) -> tuple[str, JsonObject]:
    """The tool of any of these agents, and its fields, by the names of Claude Code. Raises BadPayload."""
    hook = _translate({"tool_name": tool, "tool_input": given}, {**_COPILOT, **_GEMINI, **_OPENCODE, **_KIMI})
    return str(hook["tool_name"]), require_object(hook, "tool_input")


def _translate(hook: JsonObject, tools: Mapping[str, AgentTool]) -> JsonObject:
    """The tool and its fields by the names of Claude Code; what is not known stays as it is."""
    tool = tools.get(str(hook.get("tool_name")))
    given = hook.get("tool_input")
    if tool is None or not isinstance(given, Mapping):
        return hook
    fields: dict[str, JsonValue] = {}
    for name, value in given.items():
        called = tool.fields.get(name, name)
        if called != _DROPPED and fields.setdefault(called, value) != value:
            raise BadPayload(f"{name} is another {called} than a field beside it names")
    return {**hook, "tool_name": tool.name, "tool_input": fields}
