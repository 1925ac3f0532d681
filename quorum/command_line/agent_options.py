"""What the options of `quorum agent` say, as values."""

from __future__ import annotations

from dataclasses import dataclass

from quorum.command_line.options import PromptOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions(PromptOptions):
    """What `quorum agent` was asked: which agent, and in which of its modes and with which of its models."""

    agent: str = ""
    agent_mode: str | None = None
    agent_model: str | None = None
