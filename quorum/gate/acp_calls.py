"""The calls of agents that speak the Agent Client Protocol, in the words of our own tools.

A call is read by the diff that the agent shows, else by its arguments. What neither tells has effects that are
not known, and asks in every mode.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from contextlib import suppress

from quorum.application.ports.agents import ReportedCall
from quorum.domain.calls.packet import ProposedCall
from quorum.domain.calls.tool_traits import CallEffect
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.gate.agent_forms import name_as_claude
from quorum.gate.caller_calls import find_shell_text, is_plain_path, name_unknown, translate_call
from quorum.gate.payload import BadPayload

_FOLDER_FIELDS = ("cwd", "workdir", "working_directory")
# Of commands as agents show them: what they mean changes nothing that is looked at.
_PASSED_OVER = frozenset(
    {*_FOLDER_FIELDS, "description", "timeout", "timeout_ms", "command", "cmd", "commands", "mode"}
)
_FOLDER_SHOWN = "[current working directory {cwd}]"
_LOOKING = frozenset({CallEffect.READ, CallEffect.LIST, CallEffect.SEARCH, CallEffect.NOTE})
_EDITS = ("Write", "Edit")
_KINDS_OF_EDITS = frozenset({"", "add", "update", "modify"})  # the latter two of Codex and Gemini CLI
_NO_EDITS = frozenset({"delete", "move", "execute"})
_CHANGING = _NO_EDITS | {"edit"}


def read_reported_call(
    call: ReportedCall, *, cwd: str, environment: Mapping[str, str], tells_no_arguments: bool = False
) -> ProposedCall:
    """The call in our own terms. Nothing is refused: what is not understood is not known.

    `tells_no_arguments`: the agent shows a command as the title, with its folder in the text below, and names
    the tool at the beginning of the call's id.
    """
    if call.diffs:
        return _read_diff(call, cwd) or _build_unknown(call, cwd, environment)
    command = _find_command(call.arguments)
    if tells_no_arguments and not call.arguments and call.output.startswith(_FOLDER_SHOWN.format(cwd=cwd)):
        command = call.title
    if call.kind == "execute" and command is not None:
        return ProposedCall(
            tool="run_command",
            arguments={"command": command},
            effect=CallEffect.COMMAND,
            caller_tool=call.tool or "execute",
            cwd=_find_folder(call.arguments, cwd),
            environment=environment,
        )
    tool = call.tool or _find_named_tool(call)
    if tells_no_arguments and not tool and _is_note(call):
        return translate_call("TodoWrite", {"title": call.title}, cwd=cwd, environment=environment)
    if tool:
        with suppress(BadPayload):
            name, arguments = name_as_claude(tool, call.arguments)
            proposed = translate_call(name, arguments, cwd=cwd, environment=environment)
            if proposed.effect not in _LOOKING or call.kind not in _CHANGING:
                return proposed
    return _build_unknown(call, cwd, environment)


def _find_named_tool(call: ReportedCall) -> str:
    """The tool by its kind, or by a title that is no more than its name, as Kimi Code shows edits."""
    if call.kind == "read":
        return "Read"
    return call.title if call.kind == "edit" and call.title in _EDITS else ""


def _is_note(call: ReportedCall) -> bool:
    """Whether it changes no more than the agent's list of what is to be done, whatever its arguments are."""
    tool, mark, _ = call.call_id.partition("__")  # the model may have chosen what follows
    return bool(mark) and call.kind not in _CHANGING and name_as_claude(tool, {})[0] == "TodoWrite"


def _read_diff(call: ReportedCall, cwd: str) -> ProposedCall | None:
    """A change of one file. Agents show the whole of it or the part that is replaced: both are replacements.

    None where there is more to it: a file that is deleted, another one that a file is moved from, or what is
    shown in a form that is not known.
    """
    diff = call.diffs[0]
    if len(call.diffs) != 1 or call.unread or call.kind in _NO_EDITS or not is_plain_path(diff.path):
        return None
    place = _place(diff.path, cwd)
    if diff.kind not in _KINDS_OF_EDITS or any(_place(path, cwd) != place for path in call.paths):
        return None
    arguments: JsonObject
    if not diff.before:
        tool, effect = "write_file", CallEffect.WRITE
        arguments = {"path": diff.path, "content": diff.after}
    else:
        tool, effect = "edit_file", CallEffect.EDIT
        every = call.arguments.get("replace_all") is True or call.arguments.get("replaceAll") is True
        edits: list[JsonValue] = [
            {"old_text": diff.before, "new_text": diff.after, "replace_all": every},
        ]
        arguments = {"path": diff.path, "edits": edits}
    return ProposedCall(tool=tool, arguments=arguments, effect=effect, caller_tool=call.tool or "edit", cwd=cwd)


def _place(path: str, cwd: str) -> str:
    return os.path.normpath(os.path.join(cwd, path))


def _find_command(given: JsonObject) -> str | None:
    """The shell text of a call that holds no more than that; None where there may be more to it."""
    command, parts = given.get("command", given.get("cmd")), given.get("commands")
    if parts is not None and not (
        isinstance(parts, list)
        and isinstance(command, str)
        and all(isinstance(part, str) and part in command for part in parts)
    ):
        return None
    if not set(given) <= _PASSED_OVER:
        return None
    if isinstance(command, str) and command.strip():
        return command
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        return shlex.join(map(str, command))
    return None


def _find_folder(given: JsonObject, cwd: str) -> str:
    for name in _FOLDER_FIELDS:
        if isinstance(folder := given.get(name), str) and folder:
            return os.path.join(cwd, folder)
    return cwd


def _build_unknown(call: ReportedCall, cwd: str, environment: Mapping[str, str]) -> ProposedCall:
    """All that the agent shows, for the person to read."""
    diffs: list[JsonValue] = [
        {"path": each.path, "before": each.before, "after": each.after}
        | ({"kind": each.kind} if each.kind else {})
        for each in call.diffs
    ]
    shown: dict[str, JsonValue] = {"title": call.title, "kind": call.kind, "arguments": dict(call.arguments)}
    more: dict[str, JsonValue] = {"diffs": diffs} if diffs else {}
    if call.unread:
        more["unread"] = list(call.unread)
    text = find_shell_text(call.arguments) or (call.title if call.kind == "execute" else None)
    return ProposedCall(
        tool=name_unknown(call.tool or call.kind or "tool"),
        arguments={**shown, "paths": list(call.paths), **more},
        effect=CallEffect.OTHER,
        caller_tool=call.tool or call.kind or call.title or "tool",
        cwd=cwd,
        environment=environment,
        shell_text=text,
        is_known=False,
    )
