"""Command hooks in the form of Claude Code: what they read, and what their output means here.

Where a form has no equal, it moves towards asking: a hook may deny a call, and its `allow` is only noted.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, assert_never

from quorum.application.calls.hooks import (
    CallDraft,
    CompactionDraft,
    HookSubject,
    Notification,
    PermissionRequest,
    SessionEnd,
    SessionStart,
    TurnEnd,
    find_point,
)
from quorum.domain.calls.hook_points import (
    AnyAnswer,
    Continue,
    ContinueWithMessages,
    HookPoint,
    Skip,
    describe_point,
)
from quorum.domain.calls.tool import PATCH_TOOL
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import HookFailure
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.patch import (
    AddFile,
    BadPatch,
    DeleteFile,
    PatchHunk,
    PatchOperation,
    UpdateFile,
    parse_patch,
)
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.hooks.command_hook import EXIT_SKIP, CommandAnswer, CommandHook

CLAUDE_EVENTS: Mapping[str, HookPoint] = {
    "SessionStart": HookPoint.ON_SESSION_START,
    "SessionEnd": HookPoint.ON_SESSION_END,
    "PreToolUse": HookPoint.BEFORE_TOOL_CALL,
    "PermissionRequest": HookPoint.ON_PERMISSION_REQUEST,
    "Notification": HookPoint.ON_NOTIFICATION,
    "PreCompact": HookPoint.ON_COMPACTION,
    "Stop": HookPoint.ON_TURN_END,
}
"""The events of Claude Code that a hook in its form runs at here, and their points."""

_NAMES = {point: event for event, point in CLAUDE_EVENTS.items()}
_SOURCES = {"new": "startup", "resume": "resume", "copy": "fork"}
_KINDS = {"needs_approval": "permission_prompt", "question": "elicitation_dialog", "turn_ended": "idle_prompt"}
_ENDS = {"closed": "prompt_input_exit", "new": "clear", "resume": "resume"}
_FIELDS: Mapping[str, Mapping[str, str]] = {
    "run_command": {"command": "command", "run_in_background": "background"},
    "write_file": {"file_path": "path", "content": "content"},
    "read_file": {"file_path": "path", "offset": "offset", "limit": "limit"},
    "edit_file": {"file_path": "path"},
    "list_directory": {"path": "path"},
    "glob_search": {"pattern": "pattern", "path": "path"},
    "grep_search": {
        "pattern": "pattern",
        "path": "path",
        "glob": "file_pattern",
        "-C": "context_lines",
        "-i": "case_insensitive",
    },
    "task": {"prompt": "prompt", "subagent_type": "agent"},
}
_SAME_FIELDS = {"list_directory": "LS", "glob_search": "Glob", "grep_search": "Grep", "task": "Task"}
_EDIT_FIELDS = {"old_string": "old_text", "new_string": "new_text", "replace_all": "replace_all"}
_Call: TypeAlias = CallDraft | PermissionRequest
_ANY = "*"
_PLAIN_MATCHER = re.compile(r"[\w| -]*", re.ASCII)


def has_claude_form(point: HookPoint) -> bool:
    """Whether a hook in the form of Claude Code can run at this point."""
    return point in _NAMES


def find_matcher_problem(matcher: str) -> str | None:
    """Why a matcher cannot be understood; None where it can."""
    if matcher == _ANY:
        return None
    try:
        re.compile(matcher)
    except re.error as error:
        return f"it is no regular expression: {error}"
    return None


def matches(matcher: str, value: str) -> bool:
    """Whether a matcher, as Claude Code reads it, fits: names with | between them, or a regular expression."""
    if matcher in ("", _ANY):
        return True
    if _PLAIN_MATCHER.fullmatch(matcher):
        return value in (each.strip() for each in matcher.split("|"))
    return re.search(matcher, value) is not None


class ClaudeCommandHook(CommandHook):
    """A command that was written for Claude Code. `matcher` chooses among the events of its points."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        matcher: str,
        session_id: str,
        cwd: Path,
        environment: Mapping[str, str],
        timeout_secs: float = 30.0,
        sandbox: Sandbox | None = None,
    ) -> None:
        super().__init__(
            argv,
            cwd=cwd,
            environment={**environment, "CLAUDE_PROJECT_DIR": str(cwd)},
            timeout_secs=timeout_secs,
            sandbox=sandbox,
        )
        self._matcher = matcher
        self._session_id = session_id
        self._sent: tuple[str, ...] = ()

    async def answer(self, subject: HookSubject) -> AnyAnswer:
        """Remembers what it made a turn continue with, to tell it so at the next end. Of a patch it is asked
        about each file: there is none there, and who guards files guards them from that, too."""
        if isinstance(subject, CallDraft | PermissionRequest):
            for part in self._list_wanted(subject):
                answer = await self._answer_part(subject, part)
                if not isinstance(answer, Continue):
                    return answer
            return Continue()
        answer = await super().answer(subject)
        if isinstance(answer, ContinueWithMessages):
            self._sent = tuple(each if isinstance(each, str) else each.text for each in answer.messages)
        return answer

    async def _answer_part(self, whole: _Call, part: _Call) -> AnyAnswer:
        if isinstance(part, PermissionRequest) and isinstance(whole, PermissionRequest):
            part.note = whole.note
        before = part.arguments
        answer = await super().answer(part)
        if part is not whole and part.arguments != before:
            raise HookFailure(
                f"it changes the input of a part of {PATCH_TOOL}, which can only be changed whole"
            )
        if isinstance(part, PermissionRequest) and isinstance(whole, PermissionRequest):
            whole.note = part.note
        return answer

    def _list_wanted(self, call: _Call) -> list[_Call]:
        return [each for each in _list_parts(call) if matches(self._matcher, find_matched_value(each))]

    def wants(self, subject: HookSubject) -> bool:
        if isinstance(subject, CallDraft | PermissionRequest):
            return bool(self._list_wanted(subject))
        return isinstance(subject, TurnEnd) or matches(self._matcher, find_matched_value(subject))

    def encode(self, subject: HookSubject) -> JsonObject:
        """The fields that all events have, and those of this one. There is no transcript to name."""
        return {
            "session_id": self._session_id,
            "transcript_path": "",
            "cwd": str(self.cwd),
            "permission_mode": "default",
            "hook_event_name": _NAMES[find_point(subject)],
            **self._encode_own(subject),
        }

    def put_back(self, subject: HookSubject, carried: JsonValue) -> None:
        """New input of a call becomes its arguments, and is validated and reviewed as these are."""
        if isinstance(subject, CallDraft) and isinstance(carried, Mapping):
            carried = translate_input(subject.tool, subject.arguments, carried, str(self.cwd))
        super().put_back(subject, carried)

    def _encode_own(self, subject: HookSubject) -> JsonObject:
        match subject:
            case TurnEnd():
                return self._encode_end(subject)
            case CallDraft() | PermissionRequest():
                tool, given = _translate_call(subject.tool, subject.arguments, str(self.cwd))
                return {"tool_name": tool, "tool_input": given, "tool_use_id": subject.context.call_id}
            case _:
                return _encode(subject)

    def _encode_end(self, end: TurnEnd) -> JsonObject:
        """Whether the turn went on because of this hook, which else might never let it end."""
        asked = next((each.text for each in reversed(end.messages) if isinstance(each, UserMessage)), "")
        return {"stop_hook_active": asked in self._sent}

    def read(self, exit_code: int, printed: bytes, errors: str, point: HookPoint) -> CommandAnswer | None:
        """None for an exit code that is a failure."""
        if exit_code == EXIT_SKIP and Skip in describe_point(point).answers:
            return CommandAnswer(decision="skip", reason=errors)
        if exit_code == EXIT_SKIP and point is HookPoint.ON_TURN_END:
            return _go_on(errors)
        return read_claude_answer(printed, point) if exit_code == 0 else None


def find_matched_value(subject: HookSubject) -> str:
    """What a matcher is held against."""
    match subject:
        case SessionStart():
            return _SOURCES.get(subject.source, subject.source)
        case SessionEnd():
            return _ENDS.get(subject.reason, "other")
        case PermissionRequest() | CallDraft():
            return _translate_call(subject.tool, subject.arguments, "")[0]
        case Notification():
            return _KINDS.get(subject.kind, subject.kind)
        case CompactionDraft():
            return subject.trigger
        case _:  # it has no matcher there, or is at a point that has no event there
            return ""


def _encode(subject: HookSubject) -> JsonObject:
    match subject:
        case SessionStart():
            return {"source": find_matched_value(subject), "model": subject.model}
        case SessionEnd():
            return {"reason": find_matched_value(subject)}
        case Notification():
            kind = find_matched_value(subject)
            return {"message": subject.message, "title": "quorum", "notification_type": kind}
        case CompactionDraft():
            return {"trigger": subject.trigger, "custom_instructions": subject.focus}
        case _:  # it has no fields of its own there, or is at a point that has no event there
            return {}


def _translate_call(tool: str, given: JsonObject, cwd: str) -> tuple[str, JsonObject]:
    """The call as a tool of Claude Code would have it, with whole paths; one that it does not have keeps its
    name."""
    path = given.get("path")
    path = os.path.normpath(os.path.join(cwd, path)) if isinstance(path, str) and cwd else path
    match tool:
        case "run_command":
            background: JsonObject = {"run_in_background": True} if given.get("background") is True else {}
            return "Bash", {"command": given.get("command"), **background}
        case "write_file":
            return "Write", {"file_path": path, "content": given.get("content")}
        case "read_file":
            rest = {name: given[name] for name in ("offset", "limit") if name in given}
            return "Read", {"file_path": path, **rest}
        case "edit_file":
            edits = given.get("edits")
            found = [_translate_edit(each) for each in (edits if isinstance(edits, list | tuple) else (given,))]
            if len(found) == 1:
                return "Edit", {"file_path": path, **found[0]}
            return "MultiEdit", {"file_path": path, "edits": found}
        case "list_directory" | "glob_search" | "grep_search" | "task":
            had = {**given, "path": path} if "path" in given else given
            return _SAME_FIELDS[tool], {name: had[ours] for name, ours in _FIELDS[tool].items() if ours in had}
        case "web_fetch":
            return "WebFetch", given
        case "web_search":
            return "WebSearch", given
        case _:
            return tool, given


def _list_parts(call: _Call) -> Iterator[_Call]:
    """What a call is asked about as: a patch as edits of its files, and as what it is; any other as that."""
    patch = call.arguments.get("patch")
    if call.tool == PATCH_TOOL and isinstance(patch, str):
        try:
            operations = parse_patch(patch)
        except BadPatch:
            operations = ()  # it will not be applied
        for operation in operations:
            for tool, arguments in _split_operation(operation):
                yield replace(call, tool=tool, arguments=arguments)
    yield call


def _split_operation(operation: PatchOperation) -> Iterator[tuple[str, dict[str, JsonValue]]]:
    match operation:
        case AddFile(path=path, lines=lines):
            yield "write_file", {"path": path, "content": "".join(f"{line}\n" for line in lines)}
        case DeleteFile(path=path):
            yield "write_file", {"path": path, "content": ""}
        case UpdateFile(path=path, move_to=target, hunks=hunks):
            for each in (path, *((target,) if target is not None else ())):
                yield "edit_file", {"path": each, "edits": [_build_edit(hunk) for hunk in hunks]}
        case _:
            assert_never(operation)


def _build_edit(hunk: PatchHunk) -> dict[str, JsonValue]:
    old, new = ("\n".join(text for sign, text in hunk.lines if sign != other) for other in "+-")
    return {"old_text": old, "new_text": new}


def translate_input(tool: str, given: JsonObject, wanted: JsonObject, cwd: str) -> dict[str, JsonValue]:
    """The arguments of a call with the input that a hook wants for it. Raises HookFailure for an input that the
    tool does not have here."""
    now = _translate_call(tool, given, cwd)[1]
    changed = {name for name in {*now, *wanted} if now.get(name) != wanted.get(name)}
    fields = _FIELDS.get(tool)
    if fields is None:
        return dict(wanted)
    edits = given.get("edits")
    is_one_edit = tool == "edit_file" and not (isinstance(edits, list | tuple) and len(edits) != 1)
    known = {*fields, *(_EDIT_FIELDS if is_one_edit else ())}
    if unknown := sorted((changed - known) | (changed - set(wanted))):
        raise HookFailure(f"it changes {json.dumps(unknown[0])[:100]} of the input, which {tool} has not here")
    new = {**given, **{fields[name]: wanted[name] for name in changed & set(fields)}}
    if edit := {_EDIT_FIELDS[name]: wanted[name] for name in changed - set(fields)}:
        if isinstance(edits, list | tuple):
            former = edits[0] if isinstance(edits[0], Mapping) else {}
            return {**new, "edits": [{**former, **edit}]}
        return {**new, **edit}
    return new


def _translate_edit(edit: JsonValue) -> JsonObject:
    given = edit if isinstance(edit, Mapping) else {}
    return {
        "old_string": given.get("old_text"),
        "new_string": given.get("new_text"),
        "replace_all": given.get("replace_all") is True,
    }


def read_claude_answer(printed: bytes, point: HookPoint) -> CommandAnswer:
    """What a hook printed that ended well. Raises HookFailure for an answer that cannot be honoured here."""
    text = printed.decode("utf-8", "replace").strip()
    given = _parse(text)
    if point is HookPoint.ON_TURN_END:
        return _read_end(given or {})
    if given is None and text.startswith("{") and Skip in describe_point(point).answers:
        raise HookFailure("what it printed begins as a JSON object and is none, so it may hold a denial")
    if given is None:
        is_read = point in (HookPoint.ON_SESSION_START, HookPoint.ON_COMPACTION)
        return CommandAnswer(decision="continue", carried=text if is_read and text else None)
    if given.get("continue") is False:
        return _refuse(point, given.get("stopReason"), "continue: false")
    if given.get("decision") in ("block", "deny"):
        return _refuse(point, given.get("reason"), "a decision to block")
    more = given.get("hookSpecificOutput")
    specific: JsonObject = more if isinstance(more, Mapping) else {}
    match point:
        case HookPoint.ON_SESSION_START:
            return CommandAnswer(decision="continue", carried=_read_text(specific, "additionalContext"))
        case HookPoint.BEFORE_TOOL_CALL:
            return _read_use(specific)
        case HookPoint.ON_PERMISSION_REQUEST:
            return _read_permission(specific, _read_text(given, "systemMessage"))
        case _:
            return CommandAnswer(decision="continue")


def _read_end(given: JsonObject) -> CommandAnswer:
    """Whether the turn may end; `continue: false` counts before a decision to block."""
    if given.get("continue") is False or given.get("decision") not in ("block", "deny"):
        return CommandAnswer(decision="finish")
    return _go_on(_read_text(given, "reason") or "")


def _go_on(reason: str) -> CommandAnswer:
    if not reason.strip():
        raise HookFailure("it does not let the turn end, and gives the model no reason to go on")
    return CommandAnswer(decision="continue_with", carried=[reason])


def _read_use(specific: JsonObject) -> CommandAnswer:
    """Nothing that a hook allows is decided by that: the call is, as any other, with the input it has then."""
    reason = _read_text(specific, "permissionDecisionReason") or ""
    match specific.get("permissionDecision"):
        case "deny":
            return CommandAnswer(decision="skip", reason=reason)
        case None | "allow" | "ask" as decision:
            wanted = specific.get("updatedInput")
            if wanted is not None and not isinstance(wanted, Mapping):
                raise HookFailure("its updatedInput must be an object")
            answer = "ask" if decision == "ask" else "continue"
            return CommandAnswer(decision=answer, reason=reason if decision == "ask" else "", carried=wanted)
        case other:
            raise HookFailure(
                f"its permissionDecision must be allow, deny or ask, not {json.dumps(other)[:100]}"
            )


def _read_permission(specific: JsonObject, note: str | None) -> CommandAnswer:
    decision = specific.get("decision")
    if decision is None:
        return CommandAnswer(decision="continue", carried=note)
    behavior = decision.get("behavior") if isinstance(decision, Mapping) else decision
    match behavior:
        case "deny":
            reason = _read_text(decision, "message") if isinstance(decision, Mapping) else None
            return CommandAnswer(decision="skip", reason=reason or "")
        case "allow":
            would = "it would allow this call; here only you can"
            return CommandAnswer(decision="continue", carried=f"{note}; {would}" if note else would)
        case _:
            named = json.dumps(behavior)[:100]
            raise HookFailure(f"its decision must have the behavior allow or deny, not {named}")


def _refuse(point: HookPoint, reason: JsonValue, what: str) -> CommandAnswer:
    if Skip not in describe_point(point).answers:
        raise HookFailure(f"it answered {what}, and nothing can be held back at {_NAMES[point]}")
    return CommandAnswer(decision="skip", reason=reason if isinstance(reason, str) else "")


def _read_text(given: JsonObject, key: str) -> str | None:
    text = given.get(key)
    return text if isinstance(text, str) and text else None


def _parse(text: str) -> dict[str, JsonValue] | None:
    """The object that was printed; None for a text, which means something at some points."""
    if not text.startswith("{"):
        return None
    try:
        given: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, dict) else None
