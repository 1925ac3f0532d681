"""Which program a hook in the form of Claude Code runs for, and whether *ask* reaches a person there."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from quorum.domain.text.json_value import JsonObject


class HookCaller(StrEnum):
    """A program that runs hooks. UNKNOWN is each that is not told apart."""

    CLAUDE_CODE = "Claude Code"
    CODEX = "Codex"
    COPILOT = "Copilot CLI"
    GEMINI = "Gemini CLI"
    KIMI = "Kimi Code"
    OPENCODE = "opencode"
    QWEN = "Qwen Code"
    UNKNOWN = "an agent that cannot be told from others"

    @property
    def can_ask(self) -> bool:
        """Whether it asks its person, or runs nothing, where the answer is *ask*. The others run the call."""
        return self in (HookCaller.CLAUDE_CODE, HookCaller.COPILOT, HookCaller.QWEN)


def recognize_caller(payload: JsonObject, environment: Mapping[str, str]) -> HookCaller:
    """The program, by fields that it alone sends: variables may come from another one that started it."""
    if "turn_id" in payload:
        return HookCaller.CODEX
    if "client_type" in payload:
        return HookCaller.KIMI
    if str(payload.get("hook_event_name", "")).startswith(("Before", "After")):
        return HookCaller.GEMINI
    if "transcript_path" in payload and "permission_mode" in payload:
        is_qwen = "timestamp" in payload and "QWEN_CODE_CLI" in environment
        return HookCaller.QWEN if is_qwen else HookCaller.CLAUDE_CODE
    if "transcript_path" not in payload and "timestamp" in payload and "COPILOT_CLI" in environment:
        return HookCaller.COPILOT
    return HookCaller.UNKNOWN
