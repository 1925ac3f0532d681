"""What other agents send a hook, in the form of Claude Code: their tools and fields under its names.

Held against what the programs themselves send: Gemini CLI 0.61, Qwen Code 0.24, Copilot CLI 1.0, Kimi Code 2.1,
opencode 1.18 and Mistral Vibe 3.0; Cursor against what is published about it. A tool that is missing here is
not known, and a field that is missing is refused by name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct, field

from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once
from quorum.gate.caller_calls import is_plain_path
from quorum.gate.payload import BadPayload, read_optional, require, require_hook_fields, require_object

_DROPPED = ""
"""In place of a name: the field changes nothing that is looked at here."""
_FOLDER = "folder of the command"
"""In place of a name: the folder that a command runs in, relative to that of the call."""
_SHELL = "shell of the command"
"""In place of a name: a shell of the agent that the command runs in, whose folder only the agent knows."""
FOLDER_DOUBT = "quorum_folder_doubt"
"""The field of a translated hook that says why its command may run in another folder than `cwd`."""


class AgentTool(Struct, frozen=True):
    """A tool by the name that Claude Code has for it; `fields` are those that are called otherwise there."""

    name: str
    fields: Mapping[str, str] = field(default_factory=dict)


_FILE = {"absolute_path": "file_path", "path": "file_path", "filePath": "file_path"}
_OLD_AND_NEW = {"old_str": "old_string", "new_str": "new_string", "oldString": "old_string"} | {
    "newString": "new_string",
    "replaceAll": "replace_all",
    "allow_multiple": "replace_all",
}


def _drop(*names: str) -> Mapping[str, str]:
    return dict.fromkeys(names, _DROPPED)


_READ = AgentTool("Read", _FILE)
_WRITE = AgentTool("Write", {**_FILE, "file_text": "content", "contents": "content"})
_EDIT = AgentTool("Edit", {**_FILE, **_OLD_AND_NEW, "instruction": _DROPPED})
_GREP = AgentTool("Grep", {"include": "glob", "dir_path": "path"})
_LIST = AgentTool("LS", {"dir_path": "path", **_drop("file_filtering_options")})
_NOTE = AgentTool("TodoWrite")
_STATUS = AgentTool("TaskGet")  # what is about the agent's own tasks and subagents
# It reads the text of a skill that the person has, and runs nothing that stands in it. Not so in Claude Code
# and Qwen Code, whose skills may run commands, and not known of Copilot CLI.
_SKILL = AgentTool(_STATUS.name, _drop("name", "skill", "args"))
_TASK = AgentTool("Task", dict.fromkeys(("agent_type", "agent_name"), "subagent_type"))
_GEMINI: Mapping[str, AgentTool] = {
    "run_shell_command": AgentTool(
        "Bash",
        {
            "is_background": "run_in_background",
            "dir_path": _FOLDER,
            "directory": _FOLDER,
            **_drop("delay_ms"),
        },
    ),
    "read_file": AgentTool("Read", {**_FILE, **_drop("start_line", "end_line")}),
    "write_file": AgentTool("Write", {**_FILE, **_drop("record_as_artifact")}),
    "replace": _EDIT,
    "edit": _EDIT,
    "glob": AgentTool(
        "Glob", {"dir_path": "path", **_drop("case_sensitive", "respect_git_ignore", "respect_gemini_ignore")}
    ),
    "grep_search": AgentTool(
        "Grep",
        {
            **_GREP.fields,
            "include_pattern": "glob",
            "limit": "head_limit",
            **_drop("exclude_pattern", "names_only", "max_matches_per_file", "total_max_matches"),
        },
    ),
    "search_file_content": _GREP,
    "list_directory": _LIST,
    "web_fetch": AgentTool("WebFetch"),
    "google_web_search": AgentTool("WebSearch"),
    "web_search": AgentTool("WebSearch"),
    "todo_write": _NOTE,
    "write_todos": _NOTE,
    "update_topic": _NOTE,
    "list_background_processes": _STATUS,
    "read_background_output": _STATUS,
    "tool_search": AgentTool("ToolSearch"),
    "report_findings": AgentTool("ReportFindings"),
    "notebook_edit": AgentTool("NotebookEdit"),
    "monitor": AgentTool("Monitor", {"directory": _FOLDER, **_drop("max_events", "idle_timeout_ms")}),
    "agent": _TASK,
    "invoke_agent": _TASK,
}
# Its hooks run behind the question: whatever the person has answered would be thrown away.
_GEMINI_ALONE: Mapping[str, AgentTool] = {
    **_GEMINI,
    "ask_user": AgentTool("AskUserQuestion"),
    "activate_skill": _SKILL,
    "enter_plan_mode": AgentTool("EnterPlanMode"),
    "exit_plan_mode": AgentTool("ExitPlanMode", {"plan_filename": "planFilePath"}),
}
_QWEN: Mapping[str, AgentTool] = {
    **_GEMINI,
    **dict.fromkeys(("list_agents", "get_goal", "update_goal"), _STATUS),
    "zoom_image": AgentTool("Read", _drop("x1", "y1", "x2", "y2")),
}
_KIMI: Mapping[str, AgentTool] = {
    "Bash": AgentTool("Bash", {"cwd": _FOLDER, **_drop("disable_timeout")}),
    "Read": AgentTool("Read", {**_FILE, **_drop("line_offset", "column_offset", "n_lines", "max_chars")}),
    "Write": _WRITE,
    "Edit": _EDIT,
    "Glob": AgentTool("Glob", _drop("head_limit", "offset", "include_ignored", "include_dirs")),
    "Grep": AgentTool("Grep", _drop("include_ignored")),
    "FetchURL": AgentTool("WebFetch"),
    "ReadMediaFile": AgentTool("Read", {**_FILE, **_drop("region", "full_resolution")}),
    "TodoList": _NOTE,
    "TaskOutput": _STATUS,
    "WaitFor": _STATUS,
    "GetGoal": _STATUS,
    "UpdateGoal": _STATUS,
    "CreateGoal": AgentTool(_STATUS.name, _drop("objective", "completionCriterion")),
    "Skill": _SKILL,
    "AgentSwarm": AgentTool("Task", {"prompt_template": "prompt", "resume_agent_ids": "resume"}),
}
# What these fields say by default; anything else adds to the file, or lifts the limits of the goal before.
_KIMI_DEFAULTS: Mapping[tuple[str, str], JsonValue] = {
    ("Write", "mode"): "overwrite",
    ("CreateGoal", "replace"): False,
}
_COPILOT_BASH = AgentTool(
    "Bash", {"detach": "run_in_background", "shellId": _SHELL, **_drop("mode", "initial_wait")}
)
_COPILOT_READ = AgentTool("Read", {**_FILE, **_drop("view_range", "forceReadLargeFiles")})
_COPILOT_GREP = AgentTool("Grep", {"paths": "path"})
_COPILOT_GLOB = AgentTool("Glob", {"paths": "path"})
_COPILOT: Mapping[str, AgentTool] = {
    "bash": _COPILOT_BASH,
    "Bash": _COPILOT_BASH,
    "view": _COPILOT_READ,
    "Read": _COPILOT_READ,
    "edit": _EDIT,
    "Edit": _EDIT,
    "create": _WRITE,
    "Write": _WRITE,
    "grep": _COPILOT_GREP,
    "Grep": _COPILOT_GREP,
    "glob": _COPILOT_GLOB,
    "Glob": _COPILOT_GLOB,
    "read_bash": _STATUS,
    "list_bash": _STATUS,
    "stop_bash": _STATUS,
    "read_agent": _STATUS,
    "write_agent": _STATUS,
    "list_agents": _STATUS,
    "fetch_copilot_cli_documentation": _STATUS,
    "task": AgentTool("Task", {**_TASK.fields, **_drop("mode")}),
    "sql": AgentTool(_STATUS.name, _drop("query", "description")),  # on the lists of its own session
}
_SQL_TEXT = r"'(?:[^']|'')*'"
_SQL_BEYOND = (
    r"(?i)\b(?:attach|detach|vacuum|pragma|load_extension|readfile|writefile|edit|fts\w*|virtual)\b"
    r"|--|/\*|[\"`\[\0']"
)
_OPENCODE: Mapping[str, AgentTool] = {
    "bash": AgentTool("Bash", {"workdir": _FOLDER}),
    "read": _READ,
    "write": _WRITE,
    "edit": _EDIT,
    "glob": AgentTool("Glob"),
    "grep": _GREP,
    "list": _LIST,
    "patch": AgentTool("apply_patch", {"patchText": "patch"}),
    "webfetch": AgentTool("WebFetch"),
    "todowrite": _NOTE,
    "task": _TASK,
    "skill": _SKILL,
}
_VIBE: Mapping[str, AgentTool] = {
    "file_system.bash": AgentTool("Bash"),
    "process.start": AgentTool("Bash", {"cwd": _FOLDER}),
    "vibe.todo": AgentTool("TodoWrite", _drop("action")),
    "vibe.unified_harness_scratchpad": AgentTool(_STATUS.name, _drop("action", "path", "content")),
    "skill.read": _SKILL,
    "process.list": _STATUS,
    "process.output": _STATUS,
    "file_system.read_file": _READ,
    "file_system.write_file": _WRITE,
    "file_system.search_replace": _EDIT,
    "agents.spawn": _TASK,
    "agents.list": _STATUS,
    "agents.list_configs": _STATUS,
    "self.wait": _STATUS,
    "self.sleep": _STATUS,
}
_CURSOR: Mapping[str, AgentTool] = {
    "Shell": AgentTool("Bash", {"cwd": _FOLDER, "working_directory": _FOLDER}),
    "Read": _READ,
    "Write": _WRITE,
    "StrReplace": _EDIT,
    "ApplyPatch": AgentTool("apply_patch"),
    "Grep": AgentTool("Grep", {"file_path": "path"}),
}
_ALL: dict[str, AgentTool] = {}
for _name, _tool in (pair for tools in (_COPILOT, _GEMINI, _OPENCODE, _KIMI) for pair in tools.items()):
    if _tool.name == _STATUS.name:
        continue  # to another agent it may be the tool of a server
    _ALL[_name] = AgentTool(_tool.name, {**(_ALL[_name].fields if _name in _ALL else {}), **_tool.fields})
_GEMINI_EVENTS = {"BeforeTool": "PreToolUse", "BeforeAgent": "UserPromptSubmit"}


def read_gemini(payload: JsonObject, _folder: str) -> JsonObject:
    """What Gemini CLI sends, in the form of Claude Code. Raises BadPayload."""
    event = require(payload, "hook_event_name", str)
    if event not in _GEMINI_EVENTS:
        raise BadPayload(f"hook_event_name is none of {' and '.join(_GEMINI_EVENTS)}")
    hook = {**payload, "hook_event_name": _GEMINI_EVENTS[event]}
    if (
        payload.get("mcp_context") is not None
    ):  # Gemini CLI joins both names by an underscore, which both may have
        server = require_object(payload, "mcp_context")
        name = f"mcp__{require(server, 'server_name', str)}__{require(server, 'tool_name', str)}"
        return {**hook, "tool_name": name}
    return _translate(hook, _GEMINI_ALONE)


def read_qwen(payload: JsonObject, _folder: str) -> JsonObject:
    """What Qwen Code sends, in the form of Claude Code. Raises BadPayload."""
    return _translate(payload, _QWEN)


def read_kimi(payload: JsonObject, _folder: str) -> JsonObject:
    """What Kimi Code sends, in the form of Claude Code. Raises BadPayload."""
    tool, given = payload.get("tool_name"), payload.get("tool_input")
    if isinstance(tool, str) and isinstance(given, Mapping):
        plain = {
            name: value for name, value in given.items() if _KIMI_DEFAULTS.get((tool, name), given) != value
        }
        payload = {**payload, "tool_input": plain}
    return _translate(payload, _KIMI)


def read_copilot(payload: JsonObject, _folder: str) -> JsonObject:
    """What Copilot CLI sends: for hooks of its own no event, and names in another style. Raises BadPayload."""
    if "hook_event_name" in payload:
        return _read_copilot_call(payload)
    session, cwd = require(payload, "sessionId", str), require(payload, "cwd", str)
    hook: JsonObject = {"session_id": session, "cwd": cwd}
    if "prompt" in payload:
        prompt = {"prompt": payload["prompt"], "agent_id": payload.get("parentAgentId")}
        return {**hook, "hook_event_name": "UserPromptSubmit", **prompt}
    tool = require(payload, "toolName", str)
    if read_optional(payload, "hookName", str) == "permissionRequest":
        event, given = "PermissionRequest", require_object(payload, "toolInput")
    else:
        event, given = "PreToolUse", require_object(payload, "toolArgs")
    return _read_copilot_call({**hook, "hook_event_name": event, "tool_name": tool, "tool_input": given})


def _read_copilot_call(hook: JsonObject) -> JsonObject:
    given = hook.get("tool_input")
    if hook.get("tool_name") == "sql" and isinstance(given, Mapping):
        query = given.get("query")
        if not (isinstance(query, str) and _stays_in_database(query)):
            return hook
    return _translate(hook, _COPILOT)


def _stays_in_database(query: str) -> bool:
    """Whether statements of SQLite name no file, setting or program: what is not plain to read does not count.

    SQLite attaches a file, copies a database to one, and loads libraries by functions, all by their names.
    """
    outside = compile_once(_SQL_TEXT).sub("?", query)
    return compile_once(_SQL_BEYOND).search(outside) is None


def read_opencode(payload: JsonObject, folder: str) -> JsonObject:
    """What opencode gives a plugin: `input` and `output` of the hook, and no folder. Raises BadPayload."""
    given, output = require_object(payload, "input"), require_object(payload, "output")
    hook: JsonObject = {"session_id": require(given, "sessionID", str), "cwd": folder}
    if "parts" in output:
        return {**hook, "hook_event_name": "UserPromptSubmit", "prompt": output["parts"]}
    tool, arguments = require(given, "tool", str), require_object(output, "args")
    for part in (given, output):
        require_hook_fields(part)
    call: JsonObject = {**hook, "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": arguments}
    return _translate(call, _OPENCODE)


def read_vibe(payload: JsonObject, _folder: str) -> JsonObject:
    """What Mistral Vibe sends, in the form of Claude Code. Raises BadPayload."""
    if require(payload, "hook_event_name", str) != "pre_tool":
        raise BadPayload("hook_event_name is not pre_tool")
    hook: JsonObject = {**payload, "hook_event_name": "PreToolUse"}
    group, _, tool = require(payload, "tool_name", str).partition(".")
    if group.startswith("mcp_"):
        return {**hook, "tool_name": f"mcp__{group.removeprefix('mcp_')}__{tool}"}
    given = payload.get("tool_input")
    if tool == "unified_harness_scratchpad" and isinstance(given, Mapping):
        path = read_optional(given, "path", str)
        if path is not None and (not is_plain_path(path) or path.startswith("/") or ".." in path.split("/")):
            return hook
    return _translate(hook, _VIBE)


def read_cursor(payload: JsonObject, _folder: str) -> JsonObject:
    """What Cursor sends, in the form of Claude Code, and the workspace as `project`. Raises BadPayload."""
    roots = payload.get("workspace_roots")
    if not isinstance(roots, list) or len(roots) != 1 or not isinstance(roots[0], str):
        raise BadPayload("workspace_roots is not a list of one folder")
    session, cwd = require(payload, "conversation_id", str), read_optional(payload, "cwd", str) or roots[0]
    hook: JsonObject = {**payload, "session_id": session, "cwd": cwd, "project": roots[0]}
    match require(payload, "hook_event_name", str):
        case "preToolUse":
            return _translate({**hook, "hook_event_name": "PreToolUse"}, _CURSOR)
        case "beforeSubmitPrompt":
            return {**hook, "hook_event_name": "UserPromptSubmit"}
        case _:
            raise BadPayload("hook_event_name is none of preToolUse and beforeSubmitPrompt")


def name_as_claude(tool: str, given: JsonObject) -> tuple[str, JsonObject]:
    """The tool of any of these agents, and its fields, by the names of Claude Code. Raises BadPayload."""
    hook = _translate({"tool_name": tool, "tool_input": given}, _ALL)
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
        if called in (_FOLDER, _SHELL) and "cwd" not in hook:
            called = name
        if called != _DROPPED and fields.setdefault(called, value) != value:
            raise BadPayload(f"{name} is another {called} than a field beside it names")
    if _FOLDER in fields:
        hook = {
            **hook,
            "cwd": _join_folder(require(hook, "cwd", str), read_optional(fields, _FOLDER, str) or ""),
        }
        del fields[_FOLDER]
    if fields.pop(_SHELL, None) is not None:
        hook = {**hook, FOLDER_DOUBT: "it runs in a shell of the agent, whose folder is not known"}
    return {**hook, "tool_name": tool.name, "tool_input": fields}


def _join_folder(cwd: str, folder: str) -> str:
    """The folder that a command runs in. Raises BadPayload where the agent may read another one out of it."""
    if folder and (not is_plain_path(folder) or ".." in folder.split("/")):
        raise BadPayload("the folder of the command is no plain path")
    return os.path.join(cwd, folder)
