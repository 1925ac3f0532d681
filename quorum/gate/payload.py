"""What a caller sends, read strictly: one bounded JSON object that all readers understand alike.

Held against what the programs of the versions in docs/gate.md tell their models, and send.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import BinaryIO, NoReturn, TypeVar

from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once

MOST_BYTES = 4 << 20

_Kind = TypeVar("_Kind", str, bool, int)
_NAMES: Mapping[type, str] = {str: "a text", bool: "true or false", int: "a whole number"}


class BadPayload(Exception):
    """What was sent cannot be understood. The text says why; `event` is the one to answer, as far as known."""

    def __init__(self, message: str, event: str = "") -> None:
        super().__init__(message)
        self.event = event


def read_payload(stream: BinaryIO) -> bytes:
    """All that a stream holds. Raises BadPayload where that is more than a call may have."""
    content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise BadPayload(f"the call is larger than {MOST_BYTES >> 20} MB, too large to be reviewed")
    return content


def parse_payload(content: bytes) -> JsonObject:
    """The one JSON object. Raises BadPayload."""
    if len(content) > MOST_BYTES:
        raise BadPayload(f"the call is larger than {MOST_BYTES >> 20} MB, too large to be reviewed")
    try:
        value = json.loads(
            content.decode("utf-8-sig"), object_pairs_hook=_require_unique_keys, parse_constant=_refuse_constant
        )
    except UnicodeDecodeError as error:
        raise BadPayload(f"the call is not UTF-8: byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise BadPayload(f"the call is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadPayload("the call is not a JSON object")
    return value


def _require_unique_keys(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def require_fields(given: JsonObject, known: Collection[str], what: str) -> None:
    """Raises BadPayload for a field that is not among the known ones."""
    if strange := sorted(set(given).difference(known)):
        raise BadPayload(f"{what} has the field {strange[0][:100]!r}, of which nothing is known here")


def require_object(given: JsonObject, name: str) -> JsonObject:
    """The object of that name. Raises BadPayload."""
    value = given.get(name)
    if not isinstance(value, Mapping):
        raise BadPayload(f"{name} is missing or no object")
    return value


def require(given: JsonObject, name: str, kind: type[_Kind]) -> _Kind:
    """The value of that name. Raises BadPayload where it is missing or of another type."""
    value = read_optional(given, name, kind)
    if value is None:
        raise BadPayload(f"{name} is missing")
    return value


def read_optional(given: JsonObject, name: str, kind: type[_Kind]) -> _Kind | None:
    """The value of that name, None where there is none. Raises BadPayload for one of another type."""
    value = given.get(name)
    if value is None:
        return None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise BadPayload(f"{name} is not {_NAMES[kind]}")
    return value


def read_edits(edits: JsonValue, old: str, new: str) -> list[JsonValue]:
    """A list of edits whose texts are called so, in the words of edit_file. Raises BadPayload."""
    if not isinstance(edits, list) or not edits:
        raise BadPayload("edits is not a list of edits")
    found: list[JsonValue] = []
    for edit in edits:
        if not isinstance(edit, Mapping):
            raise BadPayload("edits holds what is no object")
        require_fields(edit, (old, new, "replace_all"), "an edit")
        found.append(read_edit(edit, old, new))
    return found


def read_edit(given: JsonObject, old: str, new: str) -> JsonObject:
    """One edit whose texts are called so, in the words of edit_file. Raises BadPayload."""
    return {
        "old_text": require(given, old, str),
        "new_text": require(given, new, str),
        "replace_all": read_optional(given, "replace_all", bool) or False,
    }


def require_absolute(path: str, name: str) -> str:
    """The path, if it is absolute. Raises BadPayload."""
    if not path.startswith("/") or "\0" in path:
        raise BadPayload(f"{name} is not an absolute path")
    return path


ANY_FIELDS = "*"
# What the caller asks its person. A hook before the call does not answer it, a permission does.
QUESTIONS: Mapping[str, str] = {
    "AskUserQuestion": "questions answers annotations metadata background",
    "EnterPlanMode": "reason",
    "ExitPlanMode": "plan planFilePath allowedPrompts options",
}
# What changes nothing but the caller's own notes, shows something of the caller itself, or is about commands
# that it has begun. Not among them is what loads a skill: Claude Code runs the commands that the file of the
# skill names, and asks no hook about them. Under the names of Claude Code, those of other agents have their
# fields, too (`agent_forms.py`).
NOTES: Mapping[str, str] = {
    "TodoWrite": "todos title summary strategic_intent wait_for_previous",
    "TaskCreate": "subject description activeForm metadata",
    "TaskGet": (
        "taskId task_id status reason block timeout shellId delay agent_id agent_ids wait since_turn message "
        "scope include_completed pid lines delay_ms wait_for_previous processId from cursor waitMs maxBytes "
        "seconds blockerKind"
    ),
    "TaskList": "active_only limit",
    "TaskUpdate": "taskId subject description activeForm status addBlocks addBlockedBy owner metadata",
    "TaskOutput": "task_id block timeout",
    "TaskStop": "task_id shell_id reason",
    "BashOutput": "bash_id filter",
    "KillShell": "shell_id",
    "CronList": "",
    "ListAgents": "channel q cursor",
    "ListMcpResourcesTool": "server",
    "ToolSearch": "query max_results",
    "ReportFindings": "level findings",
    "StructuredOutput": ANY_FIELDS,  # the person names them
}
# How Codex begins the names of its tools for subagents, which goes by the model.
CODEX_GROUPS = ("", "collaboration", "multi_agent_v1")
_CODEX_AGENTS = {
    "list_agents": "path_prefix",
    "wait_agent": "targets ids timeout_ms",
    "interrupt_agent": "target",
    "close_agent": "target id",
    "resume_agent": "id target",
    "send_message": "target message",
    "send_input": "target id message items interrupt",
    "followup_task": "target message",
}
# Where other agents call tools so, they may be those of a server.
CODEX_NOTES: Mapping[str, str] = {
    "get_goal": "",
    "update_goal": "status",
    "update_plan": "explanation plan",
    "clocksleep": "duration_ms",
    "clockcurr_time": "",
    "request_user_input": "questions",
    "request_user_input_async": "questions",
    "send_message_to_user_async": "message",
    "list_mcp_resources": "server cursor",
    "list_mcp_resource_templates": "server cursor",
    **{f"{group}{tool}": fields for group in CODEX_GROUPS for tool, fields in _CODEX_AGENTS.items()},
}


def find_note_fields(tool: str, *, is_codex: bool, is_before_use: bool) -> str | None:
    """The fields of a note, or of a question that the hook does not answer; None for any other tool."""
    if tool in QUESTIONS:
        return QUESTIONS[tool] if is_before_use else None
    return NOTES.get(tool, CODEX_NOTES.get(tool) if is_codex else None)


_HOOK_WORD = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])"
# An unknown field beside the call may be for statistics. These words say that it is about what runs, or where.
_ABOUT_THE_CALL = frozenset(
    {
        *("command", "commands", "cmd", "shell", "args", "arguments", "argv", "input", "inputs", "patch"),
        *("modified", "updated", "override", "overrides", "rewritten"),
        *("cwd", "workdir", "dir", "directory", "directories", "folder", "folders", "root", "roots"),
        *("host", "hostname", "remote", "machine", "container", "env", "environment", "server"),
        *("sandbox", "sandboxed", "unsandboxed", "escalated", "elevated", "privileged", "sudo", "bypass"),
        *("script", "executable", "interpreter", "ssh", "docker", "vm", "chroot", "dangerously"),
    }
)
# What is counted or numbered says neither, whatever it belongs to.
_COUNTED = frozenset({"tokens", "count", "length", "size", "bytes", "ms", "duration", "version"})
_TRACED = frozenset({"span", "trace", "session"})
_KNOWN_BESIDE = frozenset(
    {
        *("cwd", "workspace_roots", "tool_input", "toolInput", "toolArgs", "input", "output", "args"),
        *(
            "mcp_context",
            "tool_name",
            "toolName",
            "tool",
            "original_request_name",
            "hook_event_name",
            "hookName",
        ),
        *("session_id", "sessionId", "sessionID", "parent_session_id", "conversation_id", "generation_id"),
        *("turn_id", "prompt_id", "tool_use_id", "tool_call_id", "callID", "agent_id", "agent_type"),
        *("transcript_path", "permission_mode", "permissionSuggestions", "permission_suggestions"),
        *("model", "effort", "source", "client_type", "timestamp", "cursor_version", "user_email"),
    }
)
_MOST_NAMED = 10


def require_hook_fields(payload: JsonObject) -> None:
    """Raises BadPayload where a field beside the call is not known, and its name says that it is about what
    runs, or where. Others may come with each version of a program."""
    for name in sorted(set(payload) - _KNOWN_BESIDE):
        words = [word.lower() for word in compile_once(_HOOK_WORD).findall(name)]
        if not _ABOUT_THE_CALL.isdisjoint(words) and not _is_for_statistics(words, payload[name]):
            raise BadPayload(f"the hook has the field {name[:100]!r}, of which nothing is known here")


def list_unknown_beside(payload: JsonObject) -> tuple[str, ...]:
    """The names beside the call of which nothing is known, and which do not have to ask: they are recorded."""
    parts = (payload, payload.get("input"), payload.get("output"))  # opencode has them in two
    names = {name for part in parts if isinstance(part, Mapping) for name in part}
    return tuple(name[:100] for name in sorted(names - _KNOWN_BESIDE)[:_MOST_NAMED])


def _is_for_statistics(words: Sequence[str], value: JsonValue) -> bool:
    is_traced = words[-1] == "id" and words[0] == "root" and not _TRACED.isdisjoint(words)
    return (words[-1] in _COUNTED or is_traced) and not isinstance(value, bool | Mapping | list)
