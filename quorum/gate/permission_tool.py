"""The MCP tool `review_call`, in the form of Claude Code's `--permission-prompt-tool`."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

from quorum.command_line.options import StartOptions
from quorum.domain.replacing import replace
from quorum.domain.review.gate_decision import GateDecision
from quorum.domain.review.permission_rules import Answer
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.printable import make_printable
from quorum.gate import tui_client
from quorum.gate.dialects import DIALECTS, IS_LEFT_OPEN, PRE_TOOL_USE
from quorum.gate.gate_sessions import GateSessions, Load, UnaskedApprover
from quorum.gate.payload import QUESTIONS, BadPayload, parse_payload, read_optional, require, require_object

NAME = "review_call"
DESCRIPTION = (
    "Decide whether a tool call may run, by the rules, guards and reviewers of quorum. Answers JSON: "
    '{"behavior": "allow", "updatedInput": …} or {"behavior": "deny", "message": …}.'
)
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "tool_name": {"type": "string", "description": "The tool that would be called, such as Bash"},
        "input": {"type": "object", "description": "Its arguments"},
        "cwd": {"type": "string", "description": "The absolute folder; default: that of the server"},
        "tool_use_id": {"type": "string", "description": "The id of the call"},
    },
    "required": ["tool_name", "input"],
}
_LONGEST_MESSAGE = 4_000
_UNASKED = "it has to be asked about, and nobody could be asked here"


class PermissionTool:
    """Answers calls of the tool, all in one session. With `tui` a quorum that runs decides and asks."""

    def __init__(
        self, options: StartOptions, root: Path, load: Load, *, tui: Path | None, timeout_secs: float
    ) -> None:
        self._root, self._tui, self._timeout_secs = root, tui, timeout_secs
        self._session = f"mcp-{os.getpid()}-{os.urandom(8).hex()}"
        self._sessions = GateSessions(
            replace(options, workdir=root), load, lambda _caller, _root: UnaskedApprover()
        )

    async def answer(self, arguments: JsonObject) -> str:
        """The answer as JSON. What would be asked about is denied, where nobody can be asked."""
        try:
            # Read again as strictly as what comes through a pipe.
            given = parse_payload(json.dumps(arguments, ensure_ascii=True).encode())
            hook = self._build_hook(given)
            decision = await self._decide(hook)
        except (BadPayload, ValueError) as error:
            return _deny((_UNASKED, str(error)))
        except Exception as error:  # noqa: BLE001 - a failure of ours must not let a call run
            return _deny((_UNASKED, f"quorum failed: {type(error).__name__}: {error}"))
        match decision.answer:
            case Answer.ALLOW:
                return json.dumps({"behavior": "allow", "updatedInput": given["input"]})
            case Answer.DENY:
                return _deny(decision.reasons)
            case Answer.ASK:
                return _deny((_UNASKED, *decision.reasons))

    async def aclose(self) -> None:
        """Close the session. Raises LedgerError where something could not be written."""
        await self._sessions.aclose()

    def _build_hook(self, given: JsonObject) -> dict[str, JsonValue]:
        """The call as Claude Code's hook would bring it. Raises BadPayload."""
        if given.get("tool_name") in QUESTIONS:
            raise BadPayload("the person is to answer it, and this tool can have nobody answer")
        return {
            "session_id": self._session,
            "transcript_path": "",
            "permission_mode": "default",
            "hook_event_name": PRE_TOOL_USE,
            IS_LEFT_OPEN: True,
            "cwd": read_optional(given, "cwd", str) or str(self._root),
            "tool_name": require(given, "tool_name", str),
            "tool_input": require_object(given, "input"),
        }

    async def _decide(self, hook: JsonObject) -> GateDecision:
        trouble = ""
        if self._tui is not None:
            try:
                return await asyncio.to_thread(self._ask_running, str(self._tui), hook)
            except tui_client.Unreachable as error:
                trouble = str(error)
        request = DIALECTS["claude"].adapt(hook, os.environ).read(hook, dict(os.environ), str(self._root))
        decision = await self._sessions.decide(request, timeout_secs=self._timeout_secs)
        if trouble and decision.answer is Answer.ASK:
            return replace(decision, reasons=(*decision.reasons, trouble))
        return decision

    def _ask_running(self, path: str, hook: JsonObject) -> GateDecision:
        """Raises Unreachable."""
        sent = json.dumps(hook).encode()
        out, _, _ = tui_client.ask_running(path, "claude", sent, self._timeout_secs)
        try:
            said = json.loads(out)["hookSpecificOutput"]
            answer, reason = Answer(said["permissionDecision"]), str(said["permissionDecisionReason"])
        except (ValueError, LookupError, TypeError) as error:
            raise tui_client.Unreachable(f"what answers at {path} is no quorum") from error
        return GateDecision(answer=answer, reasons=(reason.removeprefix("quorum: "),))


def _deny(reasons: tuple[str, ...]) -> str:
    message = make_printable(f"quorum: {'; '.join(reasons)}")
    return json.dumps({"behavior": "deny", "message": message[:_LONGEST_MESSAGE]})
