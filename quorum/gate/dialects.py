"""The forms in which callers say what they would run, and read what is decided about it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from quorum.domain.calls.packet import ProposedCall
from quorum.domain.calls.tool_traits import CallEffect
from quorum.domain.replacing import replace
from quorum.domain.review.gate_decision import GateDecision
from quorum.domain.review.permission_rules import Answer
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable
from quorum.gate.agent_forms import (
    FOLDER_DOUBT,
    read_copilot,
    read_cursor,
    read_gemini,
    read_kimi,
    read_opencode,
    read_qwen,
    read_vibe,
)
from quorum.gate.caller_calls import find_shell_text, is_server_tool, name_unknown, translate_call
from quorum.gate.payload import (
    BadPayload,
    list_unknown_beside,
    read_edit,
    read_edits,
    read_optional,
    require,
    require_absolute,
    require_fields,
    require_hook_fields,
    require_object,
)
from quorum.infrastructure.tools.built_in_tools import find_built_in_traits


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
    read_optional(given, "hosts", str)
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
    texts = ("old_text", "new_text")
    path, edits = require(given, "path", str), given.get("edits")
    if edits is None:
        return {"path": path, "edits": [read_edit(given, *texts)]}
    if set(given) != {"path", "edits"}:
        raise BadPayload("the call of edit_file has either edits, a list, or old_text and new_text")
    return {"path": path, "edits": read_edits(edits, *texts)}


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


class HookCaller(StrEnum):
    """A program that runs hooks. UNKNOWN is each that is not told apart."""

    CLAUDE_CODE = "Claude Code"
    CODEX = "Codex"
    COPILOT = "Copilot CLI"
    CURSOR = "Cursor"
    GEMINI = "Gemini CLI"
    KIMI = "Kimi Code"
    OPENCODE = "opencode"
    QWEN = "Qwen Code"
    VIBE = "Mistral Vibe"
    UNKNOWN = "an agent that cannot be told from others"

    @property
    def can_ask(self) -> bool:
        """Whether it asks its person, or runs nothing, where the answer is *ask*. The others run the call."""
        return self in (HookCaller.CLAUDE_CODE, HookCaller.COPILOT, HookCaller.QWEN)


def recognize_caller(payload: JsonObject, environment: Mapping[str, str]) -> HookCaller:
    """The program, by fields that it alone sends: variables may come from another one that started it."""
    if "turn_id" in payload:
        return HookCaller.CODEX
    if "workspace_roots" in payload:
        return HookCaller.CURSOR
    if "client_type" in payload:
        return HookCaller.KIMI
    if "parent_session_id" in payload:
        return HookCaller.VIBE
    if str(payload.get("hook_event_name", "")).startswith(("Before", "After")):
        return HookCaller.GEMINI
    if "transcript_path" in payload and "permission_mode" in payload:
        is_qwen = "timestamp" in payload and "QWEN_CODE_CLI" in environment
        return HookCaller.QWEN if is_qwen else HookCaller.CLAUDE_CODE
    if "transcript_path" not in payload and "timestamp" in payload and "COPILOT_CLI" in environment:
        return HookCaller.COPILOT
    return HookCaller.UNKNOWN


# The kinds of subagents that the programs define themselves.
_SUBAGENTS: Mapping[str, frozenset[str]] = {
    HookCaller.CLAUDE_CODE: frozenset(
        {"general-purpose", "Explore", "Plan", "claude-code-guide", "statusline-setup"}
    ),
    HookCaller.CODEX: frozenset({"default", "explorer", "worker"}),
    HookCaller.COPILOT: frozenset({"general-purpose", "explore", "task", "code-review"}),
    HookCaller.GEMINI: frozenset({"generalist", "codebase_investigator", "cli_help"}),
    HookCaller.KIMI: frozenset({"coder", "explore", "plan"}),
    HookCaller.OPENCODE: frozenset({"general", "explore"}),
    HookCaller.QWEN: frozenset({"general-purpose", "Explore", "statusline-setup"}),
}
PRE_TOOL_USE, PERMISSION_REQUEST, PROMPT = "PreToolUse", "PermissionRequest", "UserPromptSubmit"
IS_LEFT_OPEN = "quorum_is_left_open"
"""A field of hooks that stand for a permission: the caller asks only about what its own rules leave open."""
_BLOCKED = 2
_LONGEST_REASON = 4_000
_NOTIFICATION = "<task-notification>"  # Claude Code writes such prompts when a command or subagent has ended


class CallerRequest(Struct, frozen=True, kw_only=True):
    """What a caller sent: a call that it would make, or the prompt that the person gave it.

    `session` is the caller's own id of its session, `event` what its hook is called. `project` is the folder
    that the person started it in. That of a call is no more than where it would run: a model may choose it.
    `unknown` are names beside the call of which nothing is known here.
    """

    caller: str
    session: str
    project: str
    event: str = ""
    call: ProposedCall | None = None
    prompt: str = ""
    unknown: tuple[str, ...] = ()


class Reply(Struct, frozen=True):
    """What the process of the gate prints, and its exit code."""

    out: str = ""
    err: str = ""
    code: int = 0


class Dialect(Protocol):
    """One caller's form."""

    def adapt(self, payload: JsonObject, environment: Mapping[str, str]) -> Dialect:
        """The form for the caller that sent this. Before, it is that for a caller that is not known."""
        ...

    def read(self, payload: JsonObject, environment: Mapping[str, str], folder: str) -> CallerRequest:
        """What was sent, by a process with this environment in this folder. Raises BadPayload."""
        ...

    def reply(self, event: str, decision: GateDecision) -> Reply:
        """What is answered; `event` is that of the request, empty where it could not be read."""
        ...


def _read_hook(
    caller: str,
    payload: JsonObject,
    environment: Mapping[str, str],
    project: str,
    sent: JsonObject | None = None,
) -> CallerRequest:
    """What a hook of Claude Code or Codex gets; `sent` is what it was before it was put in that form."""
    event = read_optional(payload, "hook_event_name", str) or ""
    prompt, call = "", None
    unknown: tuple[str, ...] = ()
    try:
        session, cwd = require(payload, "session_id", str), require(payload, "cwd", str)
        require_absolute(cwd, "cwd")
        require_absolute(project, "the folder that the hook was started in")
        if event == PROMPT:
            prompt = _read_prompt(payload)
        elif event in (PRE_TOOL_USE, PERMISSION_REQUEST):
            beside = payload if sent is None else sent
            require_hook_fields(beside)
            unknown = list_unknown_beside(beside)
            tool, given = require(payload, "tool_name", str), require_object(payload, "tool_input")
            call = translate_call(
                tool,
                given,
                cwd=cwd,
                environment=environment,
                is_before_use=event == PRE_TOOL_USE and IS_LEFT_OPEN not in payload,
                is_codex=caller == HookCaller.CODEX,
                subagents=_SUBAGENTS.get(caller, frozenset()),
            )
            if doubt := read_optional(payload, FOLDER_DOUBT, str):
                call = replace(call, folder_doubt=doubt)
        else:
            raise BadPayload(f"hook_event_name is none of {PRE_TOOL_USE}, {PERMISSION_REQUEST} and {PROMPT}")
    except BadPayload as error:
        raise BadPayload(str(error), event) from error
    return CallerRequest(
        caller=caller,
        session=session,
        project=project,
        event=event,
        call=call,
        prompt=prompt,
        unknown=unknown,
    )


def _read_prompt(payload: JsonObject) -> str:
    """A text, or a list of blocks of which some are text; empty where no person wrote it. Raises BadPayload."""
    blocks = payload.get("prompt")
    if isinstance(blocks, list):
        texts = [block["text"] for block in blocks if isinstance(block, Mapping) and "text" in block]
        prompt = "\n".join(text for text in texts if isinstance(text, str))
    else:
        prompt = require(payload, "prompt", str)
    is_of_model = payload.get("agent_id") is not None or prompt.lstrip().startswith(_NOTIFICATION)
    return "" if is_of_model else prompt


def _show(decision: GateDecision) -> str:
    text = make_printable(f"quorum: {decision.reason}")
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"


def _name_permission(behavior: str, message: str | None = None) -> str:
    decision = {"behavior": behavior} | ({"message": message} if message is not None else {})
    return json.dumps({"hookSpecificOutput": {"hookEventName": PERMISSION_REQUEST, "decision": decision}})


def _answer_permission(decision: GateDecision) -> Reply:
    """Where it is to be asked, nothing is said: the caller then asks the person itself."""
    match decision.answer:
        case Answer.ALLOW:
            return Reply(out=_name_permission("allow"))
        case Answer.DENY:
            return Reply(out=_name_permission("deny", _show(decision)))
        case Answer.ASK:
            return Reply()


def _read_tool_use(permission: str, decision: GateDecision) -> Reply:
    return Reply(
        out=json.dumps(
            {
                "hookSpecificOutput": {
                    "hookEventName": PRE_TOOL_USE,
                    "permissionDecision": permission,
                    "permissionDecisionReason": _show(decision),
                }
            }
        )
    )


def _write_both_forms(decision: GateDecision) -> str:
    """What hooks of Copilot CLI read, of its own form and that of Claude Code: each reads its half."""
    answer = decision.answer.value
    said = {"permissionDecision": answer, "permissionDecisionReason": _show(decision)}
    return json.dumps(said | json.loads(_read_tool_use(answer, decision).out))


class ClaudeDialect:
    """The hooks of Claude Code, which other programs run as well."""

    def __init__(self, caller: HookCaller = HookCaller.UNKNOWN) -> None:
        self._caller = caller

    def adapt(self, payload: JsonObject, environment: Mapping[str, str]) -> Dialect:
        """The form for the program that is recognized."""
        caller = recognize_caller(payload, environment)
        return _AGENTS.get(caller) or ClaudeDialect(caller)

    def read(self, payload: JsonObject, environment: Mapping[str, str], folder: str) -> CallerRequest:
        """What a hook is given on standard input. Raises BadPayload."""
        # Codex does not set it, and may have it from another agent that started it.
        is_set = self._caller is not HookCaller.CODEX
        project = (is_set and environment.get("CLAUDE_PROJECT_DIR")) or folder
        unknown = self._caller is HookCaller.UNKNOWN
        caller = HookCaller.CLAUDE_CODE if unknown else self._caller  # whose form it has
        return _read_hook(caller.value, payload, environment, project)

    def reply(self, event: str, decision: GateDecision) -> Reply:
        """Exit code 0 and JSON. Where *ask* would let the call run, exit code 2, which all of them obey."""
        if event == PROMPT:
            return Reply()
        if event == PERMISSION_REQUEST:
            return _answer_permission(decision)
        if self._caller.can_ask or decision.answer is Answer.ALLOW:
            return _read_tool_use(decision.answer.value, decision)
        if decision.answer is Answer.ASK:
            decision = _forbid(decision, f"{self._caller} would run it if the answer were to ask")
        return Reply(err=_show(decision), code=_BLOCKED)


class CodexDialect:
    """The hooks of Codex. They can forbid a call and not ask, so what is to be asked about is forbidden."""

    def adapt(self, payload: JsonObject, environment: Mapping[str, str]) -> CodexDialect:
        """The same for all callers."""
        return self

    def read(self, payload: JsonObject, environment: Mapping[str, str], folder: str) -> CallerRequest:
        """What a hook is given on standard input. Raises BadPayload.

        The hook runs in the folder of the session; the `cwd` of the payload is what the model chose.
        """
        return _read_hook(HookCaller.CODEX.value, payload, environment, folder)

    def reply(self, event: str, decision: GateDecision) -> Reply:
        """Nothing where it may run; exit code 2 where the event could not be read."""
        if event == PROMPT:
            return Reply()
        if event == PERMISSION_REQUEST:
            return _answer_permission(decision)
        if event != PRE_TOOL_USE:
            return Reply(err=_show(decision), code=_BLOCKED)
        match decision.answer:
            case Answer.ALLOW:
                return Reply()
            case Answer.DENY:
                return _read_tool_use("deny", decision)
            case Answer.ASK:
                return _read_tool_use("deny", _forbid(decision, "this hook cannot ask you"))


class AgentDialect:
    """The hooks of another agent, whose calls are read in the form of Claude Code.

    `translate` gives this form of a payload, or raises BadPayload.
    """

    def __init__(self, caller: HookCaller, translate: Callable[[JsonObject, str], JsonObject]) -> None:
        self._caller, self._translate = caller, translate

    def adapt(self, payload: JsonObject, environment: Mapping[str, str]) -> AgentDialect:
        """The same for all callers."""
        return self

    def read(self, payload: JsonObject, environment: Mapping[str, str], folder: str) -> CallerRequest:
        """What a hook is given on standard input. Raises BadPayload."""
        # Those that do not set it may have it from another agent that started them.
        sets_project = self._caller not in (HookCaller.KIMI, HookCaller.OPENCODE, HookCaller.VIBE)
        project = (sets_project and environment.get("CLAUDE_PROJECT_DIR")) or folder
        try:
            hook = self._translate(payload, folder)
        except BadPayload as error:
            raise BadPayload(f"this is no hook of {self._caller}: {error}", error.event) from error
        if self._caller is HookCaller.CURSOR:  # it runs hooks in a folder of its own
            project = require(hook, "project", str)
        return _read_hook(self._caller.value, hook, environment, project, payload)

    def reply(self, event: str, decision: GateDecision) -> Reply:
        """Exit code 2, which all obey, where the caller cannot ask or what it sent could not be read."""
        if event == PROMPT:
            return Reply(out=json.dumps({"continue": True}) if self._caller is HookCaller.CURSOR else "")
        if decision.answer is Answer.ASK and not (event and self._caller.can_ask):
            why = f"{self._caller} would run it if the answer were to ask" if event else "it could not be read"
            decision = _forbid(decision, why)
        if (
            self._caller is HookCaller.CURSOR and event
        ):  # with exit code 2 it takes all that is printed for the reason
            said = {"permission": decision.answer.value, "user_message": _show(decision)}
            return Reply(out=json.dumps(said))
        if decision.answer is Answer.DENY:  # Copilot CLI reads no reason but that on standard output
            out = _write_both_forms(decision) if self._caller is HookCaller.COPILOT else ""
            return Reply(out=out, err=_show(decision), code=_BLOCKED)
        match self._caller:
            case HookCaller.GEMINI:
                return Reply(out=json.dumps({"decision": "allow"}))
            case HookCaller.KIMI | HookCaller.OPENCODE | HookCaller.VIBE:
                return Reply()
            case HookCaller.QWEN if event == PERMISSION_REQUEST:
                return _answer_permission(decision)
            case _ if event == PERMISSION_REQUEST:
                return Reply()  # the caller asks the person itself
            case HookCaller.COPILOT:
                return Reply(out=_write_both_forms(decision))
            case _:
                return _read_tool_use(decision.answer.value, decision)


_AGENTS: dict[HookCaller, AgentDialect] = {
    caller: AgentDialect(caller, translate)
    for caller, translate in (
        (HookCaller.COPILOT, read_copilot),
        (HookCaller.CURSOR, read_cursor),
        (HookCaller.GEMINI, read_gemini),
        (HookCaller.KIMI, read_kimi),
        (HookCaller.OPENCODE, read_opencode),
        (HookCaller.QWEN, read_qwen),
        (HookCaller.VIBE, read_vibe),
    )
}


def _forbid(decision: GateDecision, why: str) -> GateDecision:
    """What is to be asked about, where nobody can be asked."""
    remedy = f"{why}: approve such calls with a rule, or run quorum gate with --tui"
    reasons = ("it has to be asked about", *decision.reasons, remedy)
    return GateDecision(answer=Answer.DENY, reasons=reasons)


class QuorumDialect:
    """Our own form, for programs that have none."""

    def adapt(self, payload: JsonObject, environment: Mapping[str, str]) -> QuorumDialect:
        """The same for all callers."""
        return self

    def read(self, payload: JsonObject, environment: Mapping[str, str], folder: str) -> CallerRequest:
        """`tool`, `arguments` and `cwd`, and perhaps `task` and `session`. Raises BadPayload."""
        require_fields(payload, ("tool", "arguments", "cwd", "task", "session"), "the request")
        cwd = require_absolute(require(payload, "cwd", str), "cwd")
        call = read_own_call(
            require(payload, "tool", str),
            require_object(payload, "arguments"),
            cwd=cwd,
            environment=environment,
            task=read_optional(payload, "task", str) or "",
        )
        session = read_optional(payload, "session", str) or time.strftime("%Y-%m-%d", time.gmtime())
        return CallerRequest(caller="agent", session=session, project=cwd, call=call)

    def reply(self, event: str, decision: GateDecision) -> Reply:
        """One JSON object; exit code 0 where it may run, 1 where not, 3 where a person is to be asked."""
        codes = {Answer.ALLOW: 0, Answer.DENY: 1, Answer.ASK: 3}
        reasons = [make_printable(reason)[:_LONGEST_REASON] for reason in decision.reasons]
        answer = {"decision": decision.answer.value, "reasons": reasons, "digest": decision.digest}
        return Reply(out=json.dumps(answer), code=codes[decision.answer])


DIALECTS: dict[str, Dialect] = {
    "claude": ClaudeDialect(),
    "codex": CodexDialect(),
    "copilot": _AGENTS[HookCaller.COPILOT],
    "cursor": _AGENTS[HookCaller.CURSOR],
    "gemini": _AGENTS[HookCaller.GEMINI],
    "kimi": _AGENTS[HookCaller.KIMI],
    "opencode": _AGENTS[HookCaller.OPENCODE],
    "qwen": _AGENTS[HookCaller.QWEN],
    "vibe": _AGENTS[HookCaller.VIBE],
    "quorum": QuorumDialect(),
}
