"""The port to MCP servers: what a turn waits for, and what a front end shows of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.mcp.offers import ArgumentQuery, OfferedPrompt, OfferedResource, ServerStatus


class ToolServers(Protocol):
    """The servers of a session. Their tools join those of the session, and leave them, between turns only."""

    async def settle(self) -> tuple[str, ...]:
        """Wait for the servers that are starting, within their time limits, and put their tools as they are now
        in force; ask the person about tools that changed. The answer is what the person should know, once.

        Called before each turn. Cancelled, nothing has changed.
        """
        ...

    def list_statuses(self) -> tuple[ServerStatus, ...]:
        """Every server that the settings name, in their order."""
        ...

    def list_prompts(self) -> tuple[OfferedPrompt, ...]:
        """What the servers that run offer as prompts, one of each command."""
        ...

    def list_resources(self) -> tuple[OfferedResource, ...]:
        """What the servers that run list as resources."""
        ...

    async def complete_argument(self, query: ArgumentQuery) -> tuple[str, ...]:
        """The values that the server offers for an argument that is being typed, best first, as `choose_values`
        bounds them. None where it offers no completion, fails or is late: nothing depends on them."""
        ...

    async def read_prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> str:
        """The text of a prompt with these arguments, printable and bounded. Raises ToolError."""
        ...

    async def read_resource(self, server: str, uri: str, most_bytes: int) -> AttachedFile:
        """As many lines of a text resource as fit into so many bytes, or why there is nothing."""
        ...

    async def log_in(self, name: str, show: Callable[[str], Awaitable[None]]) -> None:
        """Log the person in to a server over HTTP, and start it anew. `show` gets the address to open in a
        browser, which has been checked; then it is waited for. Cancelled, nothing has changed.

        Raises LoginError, and ConfigError where no keyring can keep the login.
        """
        ...

    async def restart(self, name: str) -> bool:
        """Start a server anew; False where the settings name none of that name."""
        ...
