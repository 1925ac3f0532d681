"""The MCP servers of a session: started in the background, their tools checked, accepted and put in force."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct, field

from quorum.application.calls.tool_set import ToolSet
from quorum.application.ports.workspace import AttachmentViewer
from quorum.application.session.server_questions import ServerQuestions
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition
from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.errors import AttachmentError, ConfigError, LoginError, StaleSeal, ToolError
from quorum.domain.mcp.offers import (
    ArgumentQuery,
    OfferedPrompt,
    OfferedResource,
    OfferedTool,
    ServerState,
    ServerStatus,
    choose_values,
    find_changed_tools,
    render_full_name,
)
from quorum.domain.sessions.trust import TrustItem, TrustQuestion
from quorum.domain.text.amounts import format_size
from quorum.domain.text.base64_text import decode_base64
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import ToolOutput
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.config.program_tables import McpServerTable
from quorum.infrastructure.extras import is_installed, render_install_command

if TYPE_CHECKING:  # loaded where there is a server
    from mcp.client.session import ElicitationFnT
    from mcp_types import ContentBlock

    from quorum.infrastructure.mcp.connection import OpenCalls, ServerConnection
    from quorum.infrastructure.mcp.pinned_tools import PinnedTools
    from quorum.infrastructure.mcp.server_credentials import ServerCredentials


class ServerTool:
    """One tool of the server that `connection` leads to and `target` names for the person.

    `reads_only`: the settings say that its calls only read. `attachments` shows its images.
    """

    def __init__(
        self,
        tool: OfferedTool,
        connection: ServerConnection,
        *,
        target: str,
        cwd: str,
        reads_only: bool,
        timeout_secs: float,
        attachments: AttachmentViewer,
    ) -> None:
        from quorum.infrastructure.mcp.argument_schema import adapt_schema

        self._tool = tool
        self._arguments = adapt_schema(tool.input_schema)
        self._connection = connection
        self._target = target
        self._cwd = cwd
        self._reads_only = reads_only
        self._timeout_secs = timeout_secs
        self._attachments = attachments

    @property
    def definition(self) -> ToolDefinition:
        """As the server describes it; high risk, and alone while it runs, unless it only reads."""
        reads_only = self._reads_only
        return ToolDefinition(
            name=self._tool.full_name,
            description=f"[MCP server {self._tool.server}] {self._tool.outline}",
            parameters=(),
            input_schema=self._arguments.schema,
            risk=RiskLevel.LOW if reads_only else RiskLevel.HIGH,
            access=lambda _arguments: Access(exclusive=not reads_only),
        )

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """Which tool of which server, as it was described when this was asked. What it does is not sealed."""
        return self._seal()

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str | ToolOutput:
        """Have the server do it; the output is what it answered. Raises ToolError where it says that it failed,
        and StaleSeal where the tool is no longer what was approved."""
        approved = context.controls.seal
        if approved is not None and approved != self._seal():
            raise StaleSeal(f"{self._tool.full_name} is no longer the tool that was approved")
        result = await self._connection.call(
            self._tool.name,
            self._arguments.restore(arguments),
            timeout_secs=self._timeout_secs,
            report=context.controls.report,
        )
        from quorum.infrastructure.mcp.answers import add_structure, show_structure

        parts = [await self._render_part(block, context) for block in result.content]
        if result.is_error:
            text = show_structure(parts, result.structured_content)
            raise ToolError(
                text or f"the MCP server {self._tool.server} says that the call failed, and not why"
            )
        return add_structure(parts, result.structured_content)

    def _seal(self) -> Seal:
        server, tool = self._tool.server, self._tool
        says = make_printable(tool.outline.partition("\n")[0].strip(), newlines=False).replace('"', "'")
        says = says if len(says) <= _LONGEST_SAYING else f"{says[:_LONGEST_SAYING]}…"
        said = f'; it says of this tool: "{says}"' if says else ""
        return Seal(
            cwd=self._cwd,
            executables=(
                f"MCP server {server}: {self._target}",
                f"its tool {tool.name}, as described then (sha256 {tool.digest[:16]})",
            ),
            unsealed=f"the MCP server {server}, {_name_place(self._target)}, does this: what it changes is not "
            f"known beforehand, and no sandbox holds it{said}",
        )

    async def _render_part(self, block: ContentBlock, context: ToolExecutionContext) -> str:
        from mcp_types import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent

        match block:
            case TextContent():
                return block.text
            case ImageContent():
                return await self._show(block.data, block.mime_type, context)
            case AudioContent():
                return (
                    f"[audio, {_make_line(block.mime_type)}, {format_size(len(block.data) * 3 // 4)}: left out]"
                )
            case ResourceLink():
                return f"[resource {_make_line(block.uri)}: {_make_line(block.name)}]"
            case EmbeddedResource():
                text = getattr(block.resource, "text", None)
                data, kind = getattr(block.resource, "blob", None), block.resource.mime_type or ""
                place = _make_line(str(block.resource.uri))
                if isinstance(data, str) and kind.lower().startswith("image/"):
                    text = await self._show(data, kind, context)
                return (
                    f"[resource {place}]\n{text}" if isinstance(text, str) else f"[resource {place}: no text]"
                )

    async def _show(self, data: str, mime_type: str, context: ToolExecutionContext) -> str:
        from quorum.infrastructure.attachment_files import build_attachment

        try:
            content = decode_base64(data)
            name = self._tool.full_name
            image = build_attachment(f"the answer of {name}", name, content)
            shown = await self._attachments.show(image, content, call_id=context.call_id)
        except (ValueError, AttachmentError) as error:
            return f"[image, {_make_line(mime_type)}, left out: {error}]"
        return shown.label


def _name_place(target: str) -> str:
    """Where a server is; of an address that is its machine."""
    parts = urlsplit(target) if target.startswith(("http://", "https://")) else None
    return f"at {parts.netloc.rpartition('@')[2]}" if parts is not None else "a program on this machine"


def _make_line(text: str) -> str:
    return make_printable(text, newlines=False)[:200]


_LONGEST_PROMPT_SECS = 30.0
_COMPLETION_SECS = 2.0
_LONGEST_SAYING = 160


class _Server(Struct):
    """One server, and what of it is in force."""

    name: str
    table: McpServerTable
    target: str
    connection: ServerConnection
    is_changed: bool = True
    in_force: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    refused: frozenset[str] = field(default_factory=frozenset)


class McpServers:
    """Implements `ToolServers` and `BackgroundWork`.

    `is_offered` says whether the session has a tool of this name, by whether it only reads. A server's tools
    are accepted as they are when it is first seen, for the person has named it; each that changes or is new
    later is asked about, and is not offered until then. `questions` are those that servers ask. `learn` gets
    the secrets of logins, for the mask; `credentials` are, by server, what the settings do not hold.
    """

    def __init__(  # noqa: PLR0913 - what a session knows, and its servers may need
        self,
        tables: Mapping[str, McpServerTable],
        *,
        tools: ToolSet,
        pins: PinnedTools,
        questions: ServerQuestions,
        attachments: AttachmentViewer,
        cwd: Path,
        environ: Mapping[str, str],
        secret_names: Collection[str] = (),
        is_offered: Callable[[str, bool], bool] = lambda _name, _reads_only: True,
        learn: Callable[[str, str], object] = lambda _name, _value: None,
        credentials: Mapping[str, ServerCredentials] | None = None,
    ) -> None:
        self._tools = tools
        self._pins = pins
        self._questions = questions
        self._attachments = attachments
        self._cwd = cwd
        self._environ = environ
        self._secret_names = tuple(secret_names)
        self._is_offered = is_offered
        self._learn = learn
        self._credentials = credentials or {}
        self._said: set[str] = set()
        self._servers = tuple(self._find_server(name, table) for name, table in tables.items() if table.enabled)

    def begin(self) -> None:
        if is_installed("mcp"):
            for server in self._servers:
                server.connection.start()

    async def aclose(self) -> None:
        await asyncio.gather(*(server.connection.close() for server in self._servers))

    async def settle(self) -> tuple[str, ...]:
        """Wait for those that are starting, and put their tools as they are now in force."""
        if self._servers and not is_installed("mcp"):
            return self._select_new_notices(
                [f"no MCP server is started: for that, {render_install_command('mcp')}"]
            )
        await asyncio.gather(*(server.connection.wait_until_settled() for server in self._servers))
        notices: list[str] = []
        for server in self._servers:
            if server.is_changed:
                server.is_changed = False
                try:
                    server.problems = await self._put_in_force(server)
                except BaseException:
                    server.is_changed = True
                    raise
            notices += server.problems
            if server.connection.notice:
                notices.append(f"the MCP server {server.name}: {server.connection.notice}")
            # also while it is tried once more
            if server.connection.state is not ServerState.RUNNING and server.connection.problem:
                notices.append(f"the MCP server {server.name} is not running: {server.connection.problem}")
        return self._select_new_notices(notices)

    def is_wanted(self, tool: str) -> bool:
        """Whether the settings name the server of a tool, by its full name, and have it offered."""

        def names(server: _Server, tools: Sequence[str]) -> bool:
            return any(render_full_name(server.name, each) == tool for each in tools)

        return any(
            tool.startswith(render_full_name(server.name, ""))
            and (not server.table.tools or names(server, server.table.tools))
            and self._is_offered(tool, names(server, server.table.read_only))
            for server in self._servers
        )

    def list_names(self) -> tuple[str, ...]:
        """The full names of all their tools, also of those that are not offered."""
        return tuple(tool.full_name for server in self._servers for tool in server.connection.listing.tools)

    def list_statuses(self) -> tuple[ServerStatus, ...]:
        """Every server that is not switched off."""
        return tuple(
            ServerStatus(
                name=server.name,
                target=server.target,
                state=server.connection.state,
                version=server.connection.listing.version,
                tools=server.in_force,
                problem=server.connection.problem or server.connection.notice or "; ".join(server.problems),
            )
            for server in self._servers
        )

    def list_prompts(self) -> tuple[OfferedPrompt, ...]:
        """Those of the servers that run."""
        return tuple(
            prompt
            for server in self._servers
            if server.connection.state is ServerState.RUNNING
            for prompt in server.connection.listing.prompts
        )

    def list_resources(self) -> tuple[OfferedResource, ...]:
        """Those of the servers that run."""
        return tuple(
            resource
            for server in self._servers
            if server.connection.state is ServerState.RUNNING
            for resource in server.connection.listing.resources
        )

    async def complete_argument(self, query: ArgumentQuery) -> tuple[str, ...]:
        """Ask the server, for two seconds at most."""
        found = next((each for each in self._servers if each.name == query.server), None)
        if found is None:
            return ()
        try:
            return choose_values(await found.connection.complete(query, timeout_secs=_COMPLETION_SECS))
        except ToolError:
            return ()  # the person types on without

    async def read_prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> str:
        found = next(each for each in self._servers if each.name == server)
        from quorum.infrastructure.mcp.offer import render_prompt

        result = await found.connection.get_prompt(
            name, arguments, timeout_secs=min(found.table.timeout_secs, _LONGEST_PROMPT_SECS)
        )
        return render_prompt(result)

    async def read_resource(self, server: str, uri: str, most_bytes: int) -> AttachedFile:
        """As much of a text resource as fits."""
        named = next((each for each in self._servers if each.name == server), None)
        name = make_printable(f"{server}:{uri}", newlines=False)[:200]
        if named is None:
            known = ", ".join(each.name for each in self._servers)
            return AttachedFile(
                name=name,
                note=f"there is no MCP server {server}; there is: {known}"
                if known
                else "it names a resource of an MCP server, and the settings name none",
            )
        from quorum.infrastructure.mcp.offer import attach_resource

        await named.connection.wait_until_settled()
        try:
            found = await named.connection.read_resource(uri, timeout_secs=named.table.timeout_secs)
        except ToolError as error:
            return AttachedFile(name=name, note=str(error))
        return attach_resource(name, found, most_bytes)

    async def log_in(self, name: str, show: Callable[[str], Awaitable[None]]) -> None:
        """Log the person in to it, and start it anew."""
        server = next((each for each in self._servers if each.name == name), None)
        if server is None:
            known = ", ".join(each.name for each in self._servers) or "none"
            raise LoginError(f"there is no MCP server {name}; there is: {known}")
        from quorum.infrastructure.mcp.oauth.login import run_login
        from quorum.infrastructure.mcp.oauth.login_store import LoginStore

        store = LoginStore(self._learn)
        await run_login(name, server.table, store=store, show=show, environ=self._environ)
        await self.restart(name)

    async def restart(self, name: str) -> bool:
        for server in self._servers:
            if server.name == name:
                await server.connection.close()
                server.refused = frozenset()
                server.connection.start()
                return True
        return False

    @asynccontextmanager
    async def suspended(self) -> AsyncIterator[None]:
        """End the servers that are programs of ours, until the block ends: then they begin anew."""
        ended = [each for each in self._servers if each.table.command and each.connection.is_kept_up]
        await asyncio.gather(*(server.connection.close() for server in ended))
        try:
            yield
        finally:
            for server in ended:
                server.connection.start()

    # ---------------------------------------------------------------- its tools

    async def _put_in_force(self, server: _Server) -> tuple[str, ...]:
        if server.connection.state is not ServerState.RUNNING:
            return server.problems  # what it offered stays, so that a call says why it cannot be done
        from quorum.infrastructure.mcp.offer import select_usable_tools

        listed = server.connection.listing.tools
        usable = await asyncio.to_thread(select_usable_tools, server.name, listed, server.table.tools)
        accepted, problems = await self._accept(server, usable.tools)
        offered = {
            tool.full_name: self._build_tool(server, tool)
            for tool in accepted
            if self._is_offered(tool.full_name, tool.name in server.table.read_only)
        }
        taken = self._tools.offer(server.name, offered)
        server.in_force = tuple(name for name in offered if name not in taken)
        return (
            *usable.problems,
            *problems,
            *(f"the tool {name} of an MCP server is not offered: another tool has that name" for name in taken),
            *_list_unknown_read_only(server),
            *server.connection.listing.notices,
        )

    async def _accept(
        self, server: _Server, tools: tuple[OfferedTool, ...]
    ) -> tuple[tuple[OfferedTool, ...], tuple[str, ...]]:
        """Those of them that the person has accepted as they are now."""
        from quorum.infrastructure.mcp.pinned_tools import compute_server_key

        key = compute_server_key(server.name, server.target)
        digests = {tool.name: tool.digest for tool in tools}
        try:
            pinned = await asyncio.to_thread(self._pins.load, key)
        except ConfigError as error:
            return (), (f"no tool of the MCP server {server.name} is offered: {error}",)
        if pinned is None:
            problem = await self._pins.save(key, digests)
            return tools, () if problem is None else (problem,)
        changed = find_changed_tools(tools, pinned)
        if not changed:
            return tools, ()
        asked = frozenset(tool.digest for tool in changed)
        if not asked <= server.refused and await self._questions.trust(
            self._build_question(server, changed, pinned)
        ):
            problem = await self._pins.save(key, {**pinned, **digests})
            return tools, () if problem is None else (problem,)
        server.refused |= asked
        names = ", ".join(make_printable(tool.name, newlines=False) for tool in changed)
        kept = tuple(tool for tool in tools if tool not in changed)
        return kept, (
            f"not offered, because you have not accepted what the MCP server {server.name} says of them now: "
            f"{names}; the app asks again when it starts the server anew: /mcp restart {server.name}",
        )

    def _build_question(
        self, server: _Server, changed: Sequence[OfferedTool], pinned: Mapping[str, str]
    ) -> TrustQuestion:
        items = tuple(
            TrustItem(
                file=f"the tool {make_printable(tool.name, newlines=False)} of the MCP server {server.name}",
                digest=tool.digest,
                wants=(*tool.outline.splitlines(), *_render_schema(tool)),
                changed=tool.name in pinned,
            )
            for tool in changed
        )
        return TrustQuestion(folder=str(self._cwd), items=items)

    def _build_tool(self, server: _Server, tool: OfferedTool) -> ServerTool:
        return ServerTool(
            tool,
            server.connection,
            target=server.target,
            cwd=str(self._cwd),
            reads_only=tool.name in server.table.read_only,
            timeout_secs=server.table.timeout_secs,
            attachments=self._attachments,
        )

    # ---------------------------------------------------------------- its connection

    def _find_server(self, name: str, table: McpServerTable) -> _Server:
        from quorum.infrastructure.mcp.connection import ServerConnection
        from quorum.infrastructure.mcp.server_credentials import NO_CREDENTIALS
        from quorum.infrastructure.mcp.transports import describe_target, open_transport

        target = describe_target(table)
        server = _Server(
            name,
            table,
            target,
            ServerConnection(
                name,
                lambda: open_transport(
                    name,
                    table,
                    cwd=self._cwd,
                    environ=self._environ,
                    secret_names=self._secret_names,
                    learn=self._learn,
                    credentials=self._credentials.get(name, NO_CREDENTIALS),
                ),
                start_timeout_secs=table.start_timeout_secs,
                on_change=lambda: self._note_change(name),
                build_elicitation=self._choose_elicitation(name, table),
            ),
        )
        return server

    def _choose_elicitation(
        self, name: str, table: McpServerTable
    ) -> Callable[[OpenCalls], ElicitationFnT] | None:
        """What answers the server's questions; None where nobody could."""
        if not self._questions.can_be_answered:
            return None

        def build(calls: OpenCalls) -> ElicitationFnT:
            from quorum.infrastructure.mcp.elicitation import build_elicitation  # it loads the SDK

            return build_elicitation(name, table.url, calls, self._questions.ask)

        return build

    def _note_change(self, name: str) -> None:
        for server in self._servers:
            server.is_changed |= server.name == name

    def _select_new_notices(self, notices: Sequence[str]) -> tuple[str, ...]:
        new = tuple(dict.fromkeys(notice for notice in notices if notice not in self._said))
        self._said = set(notices)  # what is over and comes back is said again
        return new


def _list_unknown_read_only(server: _Server) -> tuple[str, ...]:
    known = {tool.name for tool in server.connection.listing.tools}
    return tuple(
        f"the MCP server {server.name} has no tool {name}, which mcp.servers.{server.name}.read_only names"
        for name in server.table.read_only
        if name not in known
    )


def _render_schema(tool: OfferedTool) -> list[str]:
    text = make_printable(json.dumps(tool.input_schema, indent=1, ensure_ascii=False))
    return ["its arguments:", *text.splitlines()]
