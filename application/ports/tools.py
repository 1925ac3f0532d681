"""Ports of tools: what a tool is, how its definition becomes a schema, what tools need, and the MCP servers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from quorum.domain.calls.command_end import CommandRun
from quorum.domain.calls.execution import Orphan, Seal, ToolExecutionContext
from quorum.domain.calls.tool import ToolCall, ToolDefinition, ToolResultMessage, ToolSpec
from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.mcp.offers import ArgumentQuery, OfferedPrompt, OfferedResource, ServerStatus
from quorum.domain.shell.command_line import ShellVerdict
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import Printed, ToolOutput


class ToolSchemaPort(Protocol):
    """Turns definitions into the neutral schema {name, description, input_schema}."""

    def tool_to_schema(self, definition: ToolDefinition) -> JsonObject: ...

    def all_tools_schema(self, spec: ToolSpec) -> tuple[JsonObject, ...]: ...

    def low_risk_tools_schema(self, spec: ToolSpec) -> tuple[JsonObject, ...]:
        """The schemas of the tools that run without review."""
        ...

    def find_problems(self, definition: ToolDefinition, arguments: JsonObject) -> tuple[str, ...]:
        """What is wrong with these arguments, naming the field; empty when they fit the schema."""
        ...

    def repair(self, definition: ToolDefinition, arguments: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
        """The arguments as they are meant where one reading exists, and what was changed for that."""
        ...

    def give_example(self, definition: ToolDefinition, arguments: JsonObject) -> str:
        """Arguments that fit, as JSON, with what is known of these."""
        ...


class Tool(Protocol):
    """One tool. `execute` returns the text for the model; ToolError and OSError become error results."""

    @property
    def definition(self) -> ToolDefinition: ...

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str | ToolOutput:
        """Do it. Plain text is promoted to a stored output where it is long.

        Cancelled, it stops what it started before it lets CancelledError through, or, when its effect is
        already done, returns as usual.
        """
        ...


@runtime_checkable
class SealingTool(Tool, Protocol):
    """A tool whose calls can be reviewed: it can say beforehand what a call will touch.

    Its `execute` compares `context.controls.seal` with the world at the last moment and raises StaleSeal.
    """

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """What these arguments would touch now. `projected` holds contents that earlier calls of the batch,
        not yet run, will have written. Raises ToolError where the call cannot succeed."""
        ...


@runtime_checkable
class CommandTool(Tool, Protocol):
    """A tool whose calls run a shell command."""

    def find_command(self, arguments: JsonObject) -> str | None:
        """The shell text that a call would run; None where the arguments hold none."""
        ...

    async def judge(self, arguments: JsonObject) -> ShellVerdict | None:
        """What is known of that text without running it; None where it cannot even be looked at."""
        ...


class OrphanFinderPort(Protocol):
    """Finds the processes of calls that run on though the quorum they belonged to was killed."""

    async def find_by_batch(self, batch_id: str) -> tuple[Orphan, ...]:
        """Those of this batch's calls; none where they cannot be distinguished. Nothing is done to them."""
        ...


class UserShellPort(Protocol):
    """Runs commands of the person's own, with their rights, their environment and their shell."""

    async def run(self, command: str, *, owner: str, report: Callable[[Printed], None]) -> CommandRun:
        """Run it to its end, without a terminal and without anything to read; `report` gets its last lines now.

        Cancelled, it ends the command and all it started, and answers with what had been printed by then. Its
        processes can be found by `owner`, should they outlive us.
        """
        ...


class AnswerTools(Protocol):
    """What a model may call before it answers."""

    @property
    def schemas(self) -> tuple[JsonObject, ...]:
        """The neutral schemas of the tools."""
        ...

    @property
    def most_rounds(self) -> int:
        """After so many answers that call them the model has to give its own."""
        ...

    async def run(self, calls: Sequence[ToolCall], round_index: int) -> tuple[ToolResultMessage, ...]:
        """A result for each call, in their order. Raises HookAborted where a hook ends the run."""
        ...


class SessionSandbox(Protocol):
    """What a session keeps for its commands from its beginning to its end."""

    async def describe_former(self) -> tuple[str, ...]:
        """What the person should know of what sessions before have left here and of what still holds of this
        one, in sentences."""
        ...

    async def close(self) -> None:
        """Remove what the commands shared. None may run any more."""
        ...


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
