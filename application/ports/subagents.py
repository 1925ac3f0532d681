"""Ports to work beside the session: of subagents in sessions of their own, and in the background."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Protocol

from quorum.application.ports.people import Observer
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.job import JobPage, JobResult
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import QuorumError
from quorum.domain.events.subagents import SubagentOutcome
from quorum.domain.subagent_task import SubagentTask
from quorum.domain.text.output import Printed


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


class BackgroundCommand(Protocol):
    """A running command, and what it prints."""

    def follow(self, report: Callable[[Printed], None]) -> None:
        """From now on `report` gets the last lines as they look now, some times a second at most."""
        ...

    def read_page(self, offset: int | None, most: int) -> JobPage:
        """At most `most` characters of finished lines from character `offset` on; None: the last of them."""
        ...

    async def inspect(self) -> tuple[str, ...]:
        """Set protected paths aside that it has made although nobody was asked about it; what is new to say of
        that, a sentence each."""
        ...

    def end(self) -> None:
        """Ask that it ends, with all it started. Does not wait."""
        ...

    async def wait_for_result(self) -> JobResult:
        """How it ended, once nothing of it is alive. Cancelled, it ends it first."""
        ...


class BackgroundWork(Protocol):
    """Work of which nothing depends on that it is done: what is not done yet is done when it is needed."""

    def begin(self) -> None:
        """Do it from now on, once the front end had time to come up. Needs a running event loop."""
        ...

    async def aclose(self) -> None:
        """Stop, and wait until nothing of it runs any more."""
        ...
