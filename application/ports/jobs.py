"""Ports to work in the background: a command that continues after its call, and what nobody waits for yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from quorum.domain.calls.job import JobPage, JobResult
from quorum.domain.text.output import Printed


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
