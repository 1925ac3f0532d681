"""The port to what a session does in the background before anybody waits for it."""

from __future__ import annotations

from typing import Protocol


class BackgroundWork(Protocol):
    """Work of which nothing depends on that it is done: what is not done yet is done when it is needed."""

    def begin(self) -> None:
        """Do it from now on, once the front end had time to come up. Needs a running event loop."""
        ...

    async def aclose(self) -> None:
        """Stop, and wait until nothing of it runs any more."""
        ...
