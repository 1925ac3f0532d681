"""The bounds of one turn."""

from __future__ import annotations

from msgspec import Struct


class AgentLimits(Struct, frozen=True, kw_only=True):
    """Bounds of one run.

    `max_tool_turns` counts responses whose calls were executed, however many each had; `max_continuations` how
    often a cut-off text is continued and a paused answer resumed; `max_identical_rejections` rejections of the
    same call end the turn; hooks at its end may make it continue `max_turn_end_retries` times, and so may
    diagnostics.
    """

    max_tool_turns: int = 100
    max_continuations: int = 3
    max_identical_rejections: int = 3
    max_turn_end_retries: int = 3
