"""The tools of a session, built in or offered by tool servers while it runs, and how the runtime calls them.

What the code of a tool returns is checked here, once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TypeVar

from quorum.application.cancellation import raise_if_cancelled
from quorum.application.ports.tools import CommandTool, SealingTool, Tool, ToolSchemaPort
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.tool import ToolDefinition, ToolSpec
from quorum.domain.errors import ToolError, explain_host_failure
from quorum.domain.shell.command_line import ShellVerdict
from quorum.domain.text.json_text import is_json
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import Inline, Printed, Spilled, Stored, Structured, Text, ToolOutput

_Value = TypeVar("_Value")


class GuardedTool:
    """One tool as the runtime calls it. Tools may be the code of plug-ins.

    `definition` is read once. Every method raises ToolError, naming the tool and the method, where the tool
    returns what its port does not allow, or tries to end the process; ToolError and OSError of its own pass.
    """

    def __init__(self, tool: Tool) -> None:
        self.definition: ToolDefinition = tool.definition
        self.tool = tool
        self._sealing = tool if isinstance(tool, SealingTool) else None
        self._command = tool if isinstance(tool, CommandTool) else None

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str | ToolOutput:
        """Run the tool; its output as it returned it. Other exceptions than those above pass as they are."""
        try:
            output: object = await self.tool.execute(arguments, context)
        except SystemExit as error:
            raise ToolError(f"{self.definition.name} tried to end the process ({error})") from error
        return self._check_output(output)

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal | None:
        """What the call would touch now; None for a tool that seals nothing."""
        if (tool := self._sealing) is None:
            return None
        return await self._await_tool("seal", lambda: tool.seal(arguments, projected), Seal)

    def find_command(self, arguments: JsonObject) -> str | None:
        """The shell text that a call would run; None where the tool runs none."""
        if (tool := self._command) is None:
            return None
        try:
            command: object = tool.find_command(arguments)
        except (ToolError, OSError):
            raise
        except (Exception, SystemExit) as error:
            raise self._explain_crash("find_command", error) from error
        if command is not None and not isinstance(command, str):
            raise self._build_odd_error("find_command", command, "a text or None")
        return command

    async def judge(self, arguments: JsonObject) -> ShellVerdict | None:
        """What is known of the command without running it; None where nothing is."""
        if (tool := self._command) is None:
            return None
        return await self._await_tool("judge", lambda: tool.judge(arguments), (ShellVerdict, type(None)))

    async def _await_tool(
        self, method: str, call: Callable[[], Awaitable[_Value]], kinds: type | tuple[type, ...]
    ) -> _Value:
        try:
            value = await call()
            raise_if_cancelled()  # a tool may return what it has finished; here it has no effect to report
        except (ToolError, OSError):
            raise
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            raise ToolError(f"{self.definition.name}.{method} was cancelled from within") from error
        except (Exception, SystemExit) as error:
            raise self._explain_crash(method, error) from error
        if not isinstance(value, kinds):
            raise self._build_odd_error(method, value, "a Seal" if kinds is Seal else "a ShellVerdict or None")
        return value

    def _check_output(self, output: object) -> str | ToolOutput:
        match output:
            case str() | Inline(str()) | Printed(str()) | Stored(Text(str()), str()) | Spilled(text=str()):
                return output
            case Structured(value) | Stored(Structured(value), str()) if is_json(value):
                return output
            case Structured() | Stored():
                kind = type(output).__name__
                raise ToolError(
                    f"{self.definition.name} returned a {kind} output whose content is neither text nor JSON"
                )
            case _:
                raise self._build_odd_error("execute", output, "text or a ToolOutput")

    def _explain_crash(self, method: str, error: BaseException) -> ToolError:
        if why := explain_host_failure(error):
            return ToolError(f"{self.definition.name} failed: {why}")
        return ToolError(f"{self.definition.name}.{method} crashed: {type(error).__name__}: {error}")

    def _build_odd_error(self, method: str, value: object, wanted: str) -> ToolError:
        given = "None" if value is None else f"a value of type {type(value).__name__}"
        return ToolError(f"{self.definition.name}.{method} returned {given}; it has to return {wanted}")


def _is_cancelled() -> bool:
    """Whether somebody cancels the task that runs; else a CancelledError comes from within the tool."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


class ToolSet:
    """The tools by name, in a stable order, so that requests can be cached.

    `built` are there from the beginning to the end. Those of a server may be replaced between requests: a call
    that is already under way keeps the tool it has.
    """

    def __init__(self, built: Mapping[str, Tool], schema: ToolSchemaPort) -> None:
        self._schema = schema
        self._built = {name: GuardedTool(tool) for name, tool in built.items()}
        self._of_servers: dict[str, dict[str, GuardedTool]] = {}
        self._tools: dict[str, GuardedTool] = {}
        self._schemas: tuple[JsonObject, ...] = ()
        self._bytes: int | None = None
        self._refresh()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def list_schemas(self) -> tuple[JsonObject, ...]:
        """The neutral schemas of all tools, for the next request."""
        return self._schemas

    def list_low_risk_schemas(self) -> tuple[JsonObject, ...]:
        """The neutral schemas of the tools whose calls run without review."""
        return self._schema.low_risk_tools_schema(ToolSpec(self.list_definitions()))

    def count_schema_bytes(self) -> int:
        """How many bytes the schemas take in every request."""
        if self._bytes is None:
            self._bytes = len(json.dumps(self._schemas, ensure_ascii=False).encode("utf-8", "replace"))
        return self._bytes

    def find(self, name: str) -> GuardedTool | None:
        return self._tools.get(name)

    def list_server_schemas(self) -> tuple[JsonObject, ...]:
        """The neutral schemas of the tools of servers."""
        names = {name for tools in self._of_servers.values() for name in tools}
        return tuple(each for each in self._schemas if each["name"] in names)

    def list_definitions(self) -> Iterator[ToolDefinition]:
        return (tool.definition for tool in self._tools.values())

    def list_server_tools(self) -> Mapping[str, Mapping[str, Tool]]:
        """The tools of each server, by their names."""
        return {
            server: {name: tool.tool for name, tool in tools.items()}
            for server, tools in self._of_servers.items()
        }

    def offer(self, server: str, tools: Mapping[str, Tool]) -> tuple[str, ...]:
        """From now on these are the tools of the server, in place of those it had. A name that another tool has
        is left out; the answer is which."""
        self._of_servers.pop(server, None)
        self._refresh()
        taken = tuple(name for name in tools if name in self._tools)
        kept = {name: GuardedTool(tool) for name, tool in sorted(tools.items()) if name not in taken}
        if kept:
            self._of_servers[server] = kept
        self._refresh()
        return taken

    def _refresh(self) -> None:
        self._tools = dict(self._built)
        for _, tools in sorted(self._of_servers.items()):
            self._tools |= tools
        self._bytes = None
        self._schemas = self._schema.all_tools_schema(ToolSpec(self.list_definitions()))
