"""The calls of other agents' tools in the words of our own, and what in their arguments reads like shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from quorum.domain.calls.packet import ProposedCall
from quorum.domain.calls.tool_traits import CallEffect
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.gate.payload import (
    ANY_FIELDS,
    CODEX_GROUPS,
    BadPayload,
    find_note_fields,
    read_edit,
    read_edits,
    read_optional,
    require,
    require_fields,
)

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_COMMAND_WORDS = frozenset(
    {
        *("command", "commands", "commandline", "cmd", "cmds", "cmdline", "script", "scripts"),
        *("shell", "bash", "sh", "zsh", "powershell", "pwsh", "exec", "execute", "argv"),
        *("program", "executable", "binary", "run", "code", "input", "stdin", "entrypoint", "terminal"),
    }
)
_REST = ("args", "arguments", "argv")


def find_shell_text(arguments: JsonObject) -> str | None:
    """The texts that may be run by a shell, a line each; None where there are none.

    Everything below the name of a command is read, and a text beside a list of arguments as its program. A list
    is read both as the words of one command and as one command each. It is good for tightening only.
    """
    found = list(dict.fromkeys(_list_shell_texts(arguments)))
    return "\n".join(found) or None


def _list_shell_texts(arguments: JsonObject) -> Iterator[str]:
    waiting: list[tuple[JsonValue, bool]] = [(arguments, False)]
    while waiting:
        value, is_command = waiting.pop()
        match value:
            case Mapping() as fields:
                rest = " ".join(filter(None, (_join_words(fields.get(name)) for name in _REST)))
                for name, field in fields.items():
                    is_read = is_command or _is_command_name(name)
                    if is_read or rest:
                        yield from _read_command(field, "" if name in _REST else rest)
                    waiting.append((field, is_read or name in _REST))
            case list() | tuple() as items:
                if is_command:
                    yield from _read_command(items, "")
                waiting += [(item, is_command) for item in items]
            case _:
                continue


def _is_command_name(name: str) -> bool:
    return any(word.lower() in _COMMAND_WORDS for word in _WORD.findall(name))


def _read_command(value: JsonValue, rest: str) -> Iterator[str]:
    match value:
        case str(text) if text.strip():
            yield f"{text} {rest}".rstrip()
        case list() | tuple() if words := _list_words(value):
            yield f"{shlex.join(words)} {rest}".rstrip()
            yield from (word for word in words if " " in word)


def _join_words(value: JsonValue) -> str:
    return value if isinstance(value, str) else shlex.join(_list_words(value))


def _list_words(value: JsonValue) -> Sequence[str]:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list | tuple) else []


# To start a subagent of the program's own with nothing but these is a note where its calls pass the same hook.
# With others it may run where there are no hooks, and so may one that a file of the project defines: the file
# may name hooks and servers, which are started unasked, too.
_SUBAGENTS = frozenset({"Agent", "Task"})
_CODEX_SUBAGENTS = frozenset(f"{group}spawn_agent" for group in CODEX_GROUPS)
_FIELDS_OF_SUBAGENTS = frozenset(
    {
        *("description", "prompt", "message", "items", "name", "task_name", "run_in_background"),
        *("subagent_type", "agent_type", "model", "effort", "reasoning_effort", "context_tier"),
        *("fork_turns", "fork_context", "task_id", "resume", "wait_for_previous"),
    }
)
# Their effects are not known either, and yet what kind they are of: the mode decides about them as about ours.
_LEFT_TO_THE_MODE = _SUBAGENTS | _CODEX_SUBAGENTS | {"WebFetch", "WebSearch"}
_STRANGE = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 60
_SERVER_TOOL = re.compile(r"mcp__[A-Za-z0-9_-]{1,120}")


class _Unplaced(Exception):
    """The arguments are understood, but not what they would touch."""


def translate_call(
    tool: str,
    given: JsonObject,
    *,
    cwd: str,
    environment: Mapping[str, str] | None = None,
    is_before_use: bool = False,
    is_codex: bool = False,
    subagents: Collection[str] = (),
) -> ProposedCall:
    """A call in the form of Claude Code or Codex. Raises BadPayload for arguments that its tool does not have.

    `is_before_use`: a hook asks which each call passes, also of subagents, and does not answer for the person.
    `subagents` are the kinds that the caller itself brings.
    What cannot be placed, and a tool that is not known, has effects that are not known.
    """
    environment = environment or {}
    translate = _TOOLS.get(tool) or (_CODEX_TOOLS.get(tool) if is_codex else None)
    if translate is not None:
        try:
            name, arguments, effect = translate(given)
            return ProposedCall(
                tool=name,
                arguments=arguments,
                effect=effect,
                caller_tool=tool,
                cwd=cwd,
                environment=environment,
                is_typed_into=is_codex and effect is CallEffect.COMMAND,
            )
        except _Unplaced:
            pass
    if tool in _SUBAGENTS or (is_codex and tool in _CODEX_SUBAGENTS):
        is_note = is_before_use and _is_usual_subagent(given, subagents)
    else:
        fields = find_note_fields(tool, is_codex=is_codex, is_before_use=is_before_use)
        is_note = fields is not None
        if fields is not None and fields != ANY_FIELDS:
            require_fields(given, fields.split(), f"the call of {tool}")
    if is_note:
        return ProposedCall(
            tool=f"caller__{tool}", arguments=given, effect=CallEffect.NOTE, caller_tool=tool, cwd=cwd
        )
    return ProposedCall(
        tool=_OUR_NAMES.get(tool) or name_unknown(tool),
        arguments=given,
        effect=CallEffect.OTHER,
        caller_tool=tool,
        cwd=cwd,
        environment=environment,
        shell_text=find_shell_text(given),
        is_known=tool in _TOOLS or tool in _LEFT_TO_THE_MODE or is_server_tool(tool),
    )


def _is_usual_subagent(given: JsonObject, subagents: Collection[str]) -> bool:
    kinds = (given.get(name) for name in ("subagent_type", "agent_type"))
    return _FIELDS_OF_SUBAGENTS.issuperset(given) and all(
        kind is None or (isinstance(kind, str) and kind in subagents) for kind in kinds
    )


def name_unknown(tool: str) -> str:
    """The name that rules know a tool of a caller by. It is never that of a tool of ours."""
    if is_server_tool(tool):
        return tool
    return "caller__" + _STRANGE.sub("_", tool)[:_LONGEST_NAME]


def is_server_tool(tool: str) -> bool:
    """Whether the name is that of a tool of an MCP server, as callers and we write it."""
    return _SERVER_TOOL.fullmatch(tool) is not None


_Translated = tuple[str, JsonObject, CallEffect]


def place(path: str) -> str:
    """A path as its caller reads it too. Raises _Unplaced where callers may read another one out of it."""
    if not is_plain_path(path):
        raise _Unplaced
    return path


def is_plain_path(path: str) -> bool:
    """Whether callers read no other path out of it than we do."""
    return bool(path) and path == path.strip() and not path.startswith("~") and "\0" not in path


_EDIT_TEXTS = ("old_string", "new_string")


def _translate_bash(given: JsonObject) -> _Translated:
    known = ("command", "timeout", "description", "run_in_background", "dangerouslyDisableSandbox")
    require_fields(given, known, "the call of Bash")
    arguments: dict[str, JsonValue] = {"command": require(given, "command", str)}
    if read_optional(given, "run_in_background", bool):
        arguments["background"] = True
    if read_optional(given, "dangerouslyDisableSandbox", bool):
        arguments["outside_sandbox"] = True
    return "run_command", arguments, CallEffect.COMMAND


def _translate_monitor(given: JsonObject) -> _Translated:
    """A shell command that runs beside the session, each of whose lines the model reads."""
    require_fields(given, ("command", "description", "timeout_ms", "persistent"), "the call of Monitor")
    arguments: JsonObject = {"command": require(given, "command", str), "background": True}
    return "run_command", arguments, CallEffect.COMMAND


def _read(given: JsonObject) -> _Translated:
    require_fields(given, ("file_path", "offset", "limit", "pages", "allow_large"), "the call of Read")
    return "read_file", {"path": place(require(given, "file_path", str))}, CallEffect.READ


def _write(given: JsonObject) -> _Translated:
    require_fields(given, ("file_path", "content"), "the call of Write")
    path, content = place(require(given, "file_path", str)), require(given, "content", str)
    return "write_file", {"path": path, "content": content}, CallEffect.WRITE


def _edit(given: JsonObject) -> _Translated:
    require_fields(given, ("file_path", "old_string", "new_string", "replace_all"), "the call of Edit")
    path = place(require(given, "file_path", str))
    return "edit_file", {"path": path, "edits": [read_edit(given, *_EDIT_TEXTS)]}, CallEffect.EDIT


def _translate_multi_edit(given: JsonObject) -> _Translated:
    require_fields(given, ("file_path", "edits"), "the call of MultiEdit")
    path = place(require(given, "file_path", str))
    edits = read_edits(given.get("edits"), *_EDIT_TEXTS)
    return "edit_file", {"path": path, "edits": edits}, CallEffect.EDIT


def _translate_notebook(given: JsonObject) -> _Translated:
    known = ("notebook_path", "cell_id", "cell_number", "new_source", "cell_type", "edit_mode")
    require_fields(given, known, "the call of NotebookEdit")
    path = place(require(given, "notebook_path", str))
    rest = {name: value for name, value in given.items() if name != "notebook_path"}
    return "edit_file", {"path": path, **rest}, CallEffect.EDIT


def _translate_grep(given: JsonObject) -> _Translated:
    known = (
        *("pattern", "path", "glob", "output_mode", "-A", "-B", "-C", "-n", "-i", "-o", "type", "context"),
        *("head_limit", "offset", "multiline"),
    )
    require_fields(given, known, "the call of Grep")
    folders = _place_folders(given)
    return "grep_search", {"pattern": require(given, "pattern", str), **folders}, CallEffect.SEARCH


def _place_folders(given: JsonObject) -> JsonObject:
    """The folder that is searched, or those, where the caller names several."""
    folders = given.get("path")
    if not isinstance(folders, list):
        return {"path": place(read_optional(given, "path", str) or ".")}
    if not folders or not all(isinstance(each, str) for each in folders):
        raise BadPayload("the folders to search are no list of texts")
    return {"paths": [place(str(each)) for each in folders]}


def _translate_glob(given: JsonObject) -> _Translated:
    require_fields(given, ("pattern", "path"), "the call of Glob")
    pattern, folders = require(given, "pattern", str), _place_folders(given)
    if place(pattern).startswith("/") or ".." in pattern:
        raise _Unplaced
    return "glob_search", {"pattern": pattern, **folders}, CallEffect.LIST


def _list(given: JsonObject) -> _Translated:
    require_fields(given, ("path", "ignore"), "the call of LS")
    return "list_directory", {"path": place(read_optional(given, "path", str) or ".")}, CallEffect.LIST


def _patch(given: JsonObject) -> _Translated:
    require_fields(given, ("command", "input", "patch"), "the call of apply_patch")
    found = [read_optional(given, name, str) for name in ("command", "input", "patch") if name in given]
    if len(found) != 1 or found[0] is None:
        raise BadPayload("the call of apply_patch has no patch, or more than one")
    return "apply_patch", {"patch": found[0]}, CallEffect.PATCH


def _view_image(given: JsonObject) -> _Translated:
    require_fields(given, ("path",), "the call of view_image")
    return "read_file", {"path": place(require(given, "path", str))}, CallEffect.READ


_TOOLS: Mapping[str, Callable[[JsonObject], _Translated]] = {
    "Bash": _translate_bash,
    "Monitor": _translate_monitor,
    "Read": _read,
    "Write": _write,
    "Edit": _edit,
    "MultiEdit": _translate_multi_edit,
    "NotebookEdit": _translate_notebook,
    "Grep": _translate_grep,
    "Glob": _translate_glob,
    "LS": _list,
    "apply_patch": _patch,
}
_CODEX_TOOLS: Mapping[str, Callable[[JsonObject], _Translated]] = {"view_image": _view_image}
# What the caller's tool does is not what ours guards; the name is for rules.
_OUR_NAMES = {
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
    "Read": "read_file",
    "Write": "write_file",
    "Edit": "edit_file",
    "MultiEdit": "edit_file",
    "NotebookEdit": "edit_file",
    "Grep": "grep_search",
    "Glob": "glob_search",
    "LS": "list_directory",
}
