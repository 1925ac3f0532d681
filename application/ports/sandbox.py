"""The port to the sandbox that the commands of a session share."""

from __future__ import annotations

from typing import Protocol


class SessionSandbox(Protocol):
    """What a session keeps for its commands from its beginning to its end."""

    async def describe_resumed(self) -> tuple[str, ...]:
        """What the person should know of what still holds from before the session was resumed, in sentences."""
        ...

    async def close(self) -> None:
        """Remove what the commands shared. None may run any more."""
        ...
