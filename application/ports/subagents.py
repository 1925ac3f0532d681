"""Ports to the sessions in which subagents work."""

from __future__ import annotations

from decimal import Decimal
from typing import Protocol

from quorum.application.ports.jobs import BackgroundCommand
from quorum.application.ports.people import Observer
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import QuorumError
from quorum.domain.events.subagents import SubagentOutcome
from quorum.domain.subagents.subagent_task import SubagentTask


class SubagentStopped(QuorumError):
    """The person stopped the whole turn, from a question about a call of a subagent."""


class SubagentSession(Protocol):
    """A session of a subagent, which has begun. It is used by one task, once."""

    async def run(self, prompt: str) -> SubagentOutcome:
        """Have the task done. Every ending is an outcome, also a failed provider or a cancellation."""
        ...

    def take_spent(self) -> list[tuple[Usage, Decimal | None]]:
        """The tokens of each request since the last time, and its cost in USD where that is known."""
        ...

    async def aclose(self) -> None:
        """End what it runs in the background, and let go of its record. Raises LedgerError."""
        ...


class SubagentSessions(Protocol):
    """Opens sessions for subagents, with the rules, hooks, mode, workspace and spend caps of their owner."""

    def choose_model(self, task: SubagentTask) -> str:
        """The model that will be asked, "provider/model"."""
        ...

    async def open(
        self, task: SubagentTask, session_id: str, context: ToolExecutionContext, observer: Observer
    ) -> SubagentSession:
        """Begin the session `session_id` for a task that the call of `context` gave.

        What changes files or is paid for is put on the owner's record as well, as done by that call. `observer`
        receives every event. Raises LedgerError, ConfigError and ProviderError where there can be no such
        session.
        """
        ...


class SubagentPort(Protocol):
    """Has subagents do tasks."""

    async def run(self, task: SubagentTask, context: ToolExecutionContext) -> SubagentOutcome:
        """Have a task done that the call of `context` gives, once there is room for one more subagent.

        Cancelled, it ends the subagent first. Raises LedgerError where the task cannot be recorded, and
        SubagentStopped.
        """
        ...

    async def start(self, task: SubagentTask, context: ToolExecutionContext) -> tuple[str, BackgroundCommand]:
        """Have a task done while the owner works on: the id of the subagent, and what is known of it.

        Raises ToolError where there is no room for one more subagent, and LedgerError where the task cannot be
        recorded.
        """
        ...

    def take_spent(self) -> list[tuple[Usage, Decimal | None]]:
        """The tokens of each request since the last time, and its cost in USD where that is known."""
        ...

    def take_needs_approval(self) -> bool:
        """Whether a call of a subagent was withheld since the last time because nobody could approve it."""
        ...
