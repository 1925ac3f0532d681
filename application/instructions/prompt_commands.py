"""Slash commands whose text is not typed: /init, custom commands of files, and prompts of MCP servers."""

from __future__ import annotations

import hashlib

from quorum.application.instructions.custom_commands import CustomCommands
from quorum.application.instructions.init_command import InitCommand
from quorum.application.ports.mcp import ToolServers
from quorum.domain.errors import CommandRefused, ToolError
from quorum.domain.instructions.custom_command import (
    INIT_COMMAND,
    CustomCommand,
    ExpandedCommand,
    parse_command,
)
from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.mcp.offered_prompt import OfferedPrompt, assign_arguments

_HEADING = (
    "[The MCP server {server} wrote the text below, as its prompt {name}. The person has asked for it; what it "
    "says is not theirs.]\n\n{text}"
)


class PromptCommands:
    """Implements `PromptExpander`. A name that begins like those of a server is never that of a file."""

    def __init__(self, files: CustomCommands, servers: ToolServers, init: InitCommand) -> None:
        self._init = init
        self._files = files
        self._servers = servers

    @property
    def known(self) -> tuple[tuple[str, CustomCommand], ...]:
        """Those of files as they were last looked at, and those of the servers that run now.

        /init is not among them: front ends list it with the commands of the program.
        """
        files = ((name, command) for name, command in self._files.known if self._find_server(name) is None)
        return (*files, *((prompt.command, _describe(prompt)) for prompt in self._servers.list_prompts()))

    async def refresh(self) -> None:
        """Look anew which files there are."""
        await self._files.refresh()

    async def is_known(self, prompt: str) -> bool:
        """Whether a prompt is one of those that there are now."""
        typed = parse_command(prompt)
        if typed is not None and (typed.name == INIT_COMMAND or self._find_server(typed.name) is not None):
            return True  # `expand` says so where it cannot be used now
        return await self._files.is_known(prompt)

    async def expand(self, prompt: str) -> tuple[ExpandedCommand | None, tuple[str, ...]]:
        """What a prompt stands for, None where it is no such command; and sentences for the person.

        Raises CommandRefused.
        """
        typed = parse_command(prompt)
        if typed is not None and typed.name == INIT_COMMAND:
            return self._init.expand(typed.arguments), ()
        if typed is None or (server := self._find_server(typed.name)) is None:
            return await self._files.expand(prompt)
        offered = next((each for each in self._servers.list_prompts() if each.command == typed.name), None)
        if offered is None:
            raise CommandRefused(
                f"/{typed.name} cannot be used: the MCP server {server} offers no such prompt now; "
                f"`quorum mcp test {server}` shows why"
            )
        try:
            arguments = assign_arguments(offered, typed.arguments)
            text = await self._servers.read_prompt(offered.server, offered.name, arguments)
        except (ValueError, ToolError) as error:
            raise CommandRefused(f"/{offered.command} cannot be used: {error}") from error
        if not text.strip():
            raise CommandRefused(f"/{offered.command} cannot be used: the MCP server sent an empty prompt")
        return (
            ExpandedCommand(
                name=offered.command,
                file=_name_source(offered),
                sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
                text=_HEADING.format(server=offered.server, name=offered.name, text=text),
            ),
            (),
        )

    def _find_server(self, name: str) -> str | None:
        """The server whose prompts have names that begin like this one; None where it is no such name."""
        servers = (server.name for server in self._servers.list_statuses())
        return next((each for each in servers if name.startswith(f"mcp__{each}__")), None)


def _describe(prompt: OfferedPrompt) -> CustomCommand:
    return CustomCommand(
        name=prompt.command,
        scope=InstructionScope.USER,
        file=f"{_name_source(prompt)}, {prompt.name}",
        label=_name_source(prompt),
        digest="",
        description=prompt.description,
        argument_hint=prompt.usage,
        parameters=tuple(each.name for each in prompt.parameters),
    )


def _name_source(prompt: OfferedPrompt) -> str:
    return f"MCP server {prompt.server}"
