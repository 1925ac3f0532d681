"""The connection to one MCP server: opened, listened to, opened again when it breaks, and closed.

The SDK wants a client to be entered and left by the same task, so one task owns it from start to end. The time
of a call stands still while the server asks the person.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Protocol, TypeVar

from msgspec import Struct

from quorum.domain.errors import FormError, ToolError
from quorum.domain.mcp.offers import ArgumentQuery, ServerState
from quorum.domain.mcp.server_question import ServerAction, ServerAnswer
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.extras import find_own_version
from quorum.infrastructure.mcp.offer import NO_OFFER, ServerOffer, describe_failure, list_offer

MOST_QUESTIONS = 10
"""As many questions a server may ask while it works on one call."""


class _OpenCall(Struct, eq=False):
    tool: str
    limit: asyncio.Timeout
    secs: float
    questions: int = 0


class OpenCalls:
    """Calls of one connection, and the questions that the server asks meanwhile."""

    def __init__(self) -> None:
        self._calls: list[_OpenCall] = []
        self._questions: set[asyncio.Future[ServerAnswer]] = set()

    @asynccontextmanager
    async def admit(self, tool: str, secs: float) -> AsyncIterator[None]:
        """Let a call have this time, questions apart. Raises TimeoutError when it is over.

        `tool` is empty for what is no call of a tool. With the last call its questions end.
        """
        async with asyncio.timeout(secs) as limit:
            call = _OpenCall(tool, limit, secs)
            self._calls.append(call)
            try:
                yield
            finally:
                self._calls.remove(call)
                if not self._calls:
                    for question in tuple(self._questions):
                        question.cancel()

    async def put_question(self, ask: Callable[[str], Awaitable[ServerAnswer]]) -> ServerAnswer:
        """Have `ask` put a question about the tool of this name, empty where several are worked on.

        A question whose call is over is cancelled. Raises FormError where the server may not ask.
        """
        if not self._calls:
            raise FormError("there is no call of this client that the question could be about")
        for call in self._calls:
            call.questions += 1
        if all(call.questions > MOST_QUESTIONS for call in self._calls):
            raise FormError(f"more than {MOST_QUESTIONS} questions were asked about one call")
        tools = {call.tool for call in self._calls}
        question = asyncio.ensure_future(ask(tools.pop() if len(tools) == 1 else ""))
        self._questions.add(question)
        self._hold()
        try:
            return await asyncio.shield(question)
        except asyncio.CancelledError:
            if question.cancelled():
                return ServerAnswer(action=ServerAction.CANCEL)
            question.cancel()
            raise
        finally:
            self._questions.discard(question)
            self._hold()

    def _hold(self) -> None:
        """Stop the time of all calls while a question is open; then each has its whole time again."""
        now = asyncio.get_running_loop().time()
        for call in self._calls:
            if not call.limit.expired():
                call.limit.reschedule(None if self._questions else now + call.secs)


TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp import Client
    from mcp.client._transport import Transport
    from mcp.client.session import ElicitationFnT, IncomingMessage
    from mcp_types import CallToolResult, CompleteResult, GetPromptResult, ReadResourceResult

# Else what the SDK warns of, as one of these, is drawn over the screen or stands in the output of a run.
for _logger in ("mcp", "client"):
    logging.getLogger(_logger).addHandler(logging.NullHandler())
_FIRST_PAUSE_SECS = 1.0
_LONGEST_PAUSE_SECS = 60.0
# of answers that ask for something first; the limit of the call's time, or the person, ends them before
_MOST_ROUNDS = 10_000
_RELIST_PAUSE_SECS = 1.0
_PROBE_SECS = 3.0
"""How long a server may leave the first question unanswered before it is greeted in the older way."""
_LONGEST_PROBE_SECS = 9.0
"""The same for one that failed so: maybe it is only slow, and knows the older way no more."""
_Answer = TypeVar("_Answer")
_CLOSED = "Connection closed"  # the SDK's text of it
_CUT_STREAM = "SSE stream"  # and of an answer that ends too early


class OpenTransport(Protocol):
    """One way to a server, for one connection."""

    @property
    def problem(self) -> str:
        """What went wrong with it; empty where nothing did."""
        ...

    @property
    def needs_login(self) -> bool:
        """Whether the problem is one that a login of the person ends."""
        ...

    @property
    def notice(self) -> str:
        """What the person should know although it works; usually empty."""
        ...

    @property
    def dropped(self) -> tuple[str, ...]:
        """A phrase about each entry of the server's lists that cannot be used."""
        ...

    @property
    def is_forgotten(self) -> bool:
        """Whether the server no longer knows the session: what it refuses since then it has not done."""
        ...

    @property
    def is_unread(self) -> bool:
        """Whether the server has ended without reading what it was sent."""
        ...

    @property
    def ended(self) -> asyncio.Event:
        """Set once nothing can come any more."""
        ...

    def get_transport(self) -> Transport:
        """What the SDK reads and writes."""
        ...


class ServerConnection:
    """Keeps the connection to the server `name` up, in the background, until it is closed.

    `open_transport` makes a new way to the server, and raises OSError or ToolError where that cannot be done.
    `pause` waits before another try; `on_change` is called when what the server offers, or how it stands, has
    changed. `build_elicitation` makes what answers the server's questions; without it, it may ask none.
    """

    def __init__(
        self,
        name: str,
        open_transport: Callable[[], OpenTransport],
        *,
        start_timeout_secs: float,
        on_change: Callable[[], None] = lambda: None,
        pause: Callable[[float], asyncio.Future[None]] | None = None,
        build_elicitation: Callable[[OpenCalls], ElicitationFnT] | None = None,
    ) -> None:
        self._name = name
        self._open_transport = open_transport
        self._start_timeout_secs = start_timeout_secs
        self._on_change = on_change
        self._pause = pause
        self._build_elicitation = build_elicitation
        self._calls = OpenCalls()
        self._client: Client | None = None
        self._way: OpenTransport | None = None
        self._owner: asyncio.Task[None] | None = None
        self._lost = asyncio.Event()
        self._settled = asyncio.Event()
        self._changed = asyncio.Event()
        self._is_older = False
        self._probe_secs = _PROBE_SECS
        self.state = ServerState.STOPPED
        self.problem = ""
        self.listing = NO_OFFER

    @property
    def notice(self) -> str:
        """What the person should know of the connection although it works; usually empty."""
        return self._way.notice if self._way is not None else ""

    @property
    def is_kept_up(self) -> bool:
        """Whether it was started and not closed."""
        return self._owner is not None

    def start(self) -> None:
        """Begin. Needs a running event loop."""
        if self._owner is None:
            self.state = ServerState.STARTING
            self._settled = asyncio.Event()
            self._owner = asyncio.create_task(self._keep_up())

    async def close(self) -> None:
        """End the connection, and the server if it is a process of ours."""
        owner, self._owner = self._owner, None
        if owner is not None:
            owner.cancel()
            await asyncio.gather(owner, return_exceptions=True)
        self.state = ServerState.STOPPED
        self._settled.set()

    async def wait_until_settled(self) -> None:
        """Wait until it runs, or its first try has failed."""
        await self._settled.wait()

    async def call(
        self,
        tool: str,
        arguments: JsonObject,
        *,
        timeout_secs: float,
        report: Callable[[str], None],
    ) -> CallToolResult:
        """Have the server do it. Raises ToolError where it does not answer, refuses, or is not there.

        Cancelled, it tells the server so. A server that has forgotten the session has not done it: the call is
        sent once more, in a new one.
        """
        way = self._way
        try:
            return await self._call_once(tool, arguments, timeout_secs=timeout_secs, report=report)
        except ToolError:
            if way is None or not way.is_forgotten:
                raise
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_secs):
                await self._begin_anew(way)
        return await self._call_once(tool, arguments, timeout_secs=timeout_secs, report=report)

    async def _begin_anew(self, way: OpenTransport) -> None:
        """Wait until the connection after this one is up, or could not be had."""
        if self._way is way:
            self._settled.clear()
            self._lost.set()
        await self._settled.wait()

    async def _call_once(
        self,
        tool: str,
        arguments: JsonObject,
        *,
        timeout_secs: float,
        report: Callable[[str], None],
    ) -> CallToolResult:
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED

        if (client := self._client) is None:
            why = f": {self.problem}" if self.problem else ""
            raise ToolError(f"the MCP server {self._name} is not running{why} (quorum mcp test {self._name})")

        way = self._way

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
            report(f"{share}: {make_printable(message, newlines=False)}" if message else share)

        try:
            async with self._calls.admit(tool, timeout_secs):
                return await client.call_tool(tool, dict(arguments), progress_callback=on_progress)
        except MCPError as error:
            # Servers use the SDK's code for errors of their own, too.
            if error.code == CONNECTION_CLOSED and str(error) == _CLOSED:
                self._lost.set()
                why = f" ({way.problem})" if way is not None and way.needs_login else ""
                raise self._build_unknown_error(f"broke off the connection{why}") from error
            if error.code == CONNECTION_CLOSED and str(error).startswith(_CUT_STREAM):
                raise self._build_unknown_error("ended the stream of its answer before it was whole") from error
            if way is not None and way.needs_login:
                raise ToolError(f"the MCP server {self._name} refused the call: {way.problem}") from error
            raise ToolError(
                f"the MCP server {self._name} refused the call: {make_printable(str(error))}"
            ) from error
        except TimeoutError as error:
            raise self._build_unknown_error(f"did not answer within {timeout_secs:g} s") from error
        except (OSError, ValueError) as error:
            detail = make_printable(str(error))[:500]
            raise self._build_unknown_error(f"sent no usable answer ({detail})") from error

    async def read_resource(self, uri: str, *, timeout_secs: float) -> ReadResourceResult:
        """What the server has under this address. Raises ToolError where it gives nothing."""
        return await self._ask(lambda client: client.read_resource(uri), timeout_secs)

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str], *, timeout_secs: float
    ) -> GetPromptResult:
        """A prompt of the server with these arguments. Raises ToolError where it gives none."""
        return await self._ask(lambda client: client.get_prompt(name, dict(arguments)), timeout_secs)

    async def complete(self, query: ArgumentQuery, *, timeout_secs: float) -> Sequence[str]:
        """The values that the server offers for an argument; unasked, none, where it says that it has none.

        Raises ToolError where it does not answer. Meanwhile it may ask the person nothing: they are typing.
        """
        from mcp_types import PromptReference, ResourceTemplateReference

        client = self._client
        if client is None or client.server_capabilities.completions is None:
            return ()
        reference = (
            PromptReference(name=query.prompt)
            if query.prompt
            else ResourceTemplateReference(uri=query.template)
        )
        argument = {"name": query.argument, "value": query.value}
        others = dict(query.others) or None

        async def ask(client: Client) -> CompleteResult:
            return await client.complete(reference, argument, others)

        result = await self._translate_failures(ask, asyncio.timeout(timeout_secs), timeout_secs)
        return result.completion.values

    async def _ask(self, question: Callable[[Client], Awaitable[_Answer]], timeout_secs: float) -> _Answer:
        return await self._translate_failures(question, self._calls.admit("", timeout_secs), timeout_secs)

    async def _translate_failures(
        self,
        question: Callable[[Client], Awaitable[_Answer]],
        limit: AbstractAsyncContextManager[object],
        timeout_secs: float,
    ) -> _Answer:
        """Ask within a limit; whatever goes wrong is a ToolError."""
        from mcp.shared.exceptions import MCPError

        if (client := self._client) is None:
            why = f": {self.problem}" if self.problem else ""
            raise ToolError(f"the MCP server {self._name} is not running{why}")
        try:
            async with limit:
                return await question(client)
        except MCPError as error:
            raise ToolError(f"the MCP server {self._name} refused it: {make_printable(str(error))}") from error
        except TimeoutError as error:
            raise ToolError(f"the MCP server {self._name} did not answer within {timeout_secs:g} s") from error
        except (OSError, ValueError) as error:
            detail = make_printable(str(error), newlines=False)[:500]
            raise ToolError(f"the MCP server {self._name} sent no usable answer ({detail})") from error

    def _build_unknown_error(self, what: str) -> ToolError:
        return ToolError(f"the MCP server {self._name} {what}; whether the call took effect is not known")

    # ---------------------------------------------------------------- the owner of the client

    async def _keep_up(self) -> None:
        pause = _FIRST_PAUSE_SECS
        while True:
            was_up = await self._connect_once()
            self._client = None
            if was_up and self._way is not None and self._way.is_forgotten:
                continue  # nothing is wrong with the server
            needs_login = self._way is not None and self._way.needs_login
            self.state = ServerState.NEEDS_LOGIN if needs_login else ServerState.FAILED
            self._settled.set()
            self._on_change()
            if needs_login:
                return  # trying again would ask the keyring again; a login starts it anew
            pause = _FIRST_PAUSE_SECS if was_up else min(2 * pause, _LONGEST_PAUSE_SECS)
            await (asyncio.sleep(pause) if self._pause is None else self._pause(pause))
            self.state = ServerState.STARTING
            self._on_change()

    async def _connect_once(self) -> bool:
        """Whether the connection came up, and was lost then."""
        self._lost = asyncio.Event()
        self._way = None
        was_up = False
        began_older = self._is_older
        limit = asyncio.timeout(self._start_timeout_secs)
        try:
            async with AsyncExitStack() as stack:
                async with limit:
                    client, way = await self._greet(stack)
                    self.listing = await self._list(client, way)
                self._client, self.state, self.problem = client, ServerState.RUNNING, ""
                was_up, self._probe_secs = True, _PROBE_SECS
                self._settled.set()
                self._on_change()
                await self._wait_until_lost(client, way)
                self.problem = way.problem or "the connection broke off"
        except Exception as error:  # noqa: BLE001 - whatever a server brings about is its failure, not ours
            if not was_up:
                self._is_older = limit.expired() and not began_older
                self._probe_secs = _LONGEST_PROBE_SECS
            tried = self._way
            self.problem = (tried.problem if tried is not None else "") or describe_failure(error)
            if limit.expired() and not (
                tried is not None and tried.needs_login
            ):  # what follows is its end by us
                self.problem = f"it did not start within {self._start_timeout_secs:g} s"
        finally:
            self._client = None
        return was_up

    async def _greet(self, stack: AsyncExitStack) -> tuple[Client, OpenTransport]:
        """Open a connection as servers since the revision of 2026-07-28 want it, and where that fails, another
        one in the older way, which is kept to from then on.

        The first question of the newer way is not known to older servers. Most refuse it and go on; some end at
        it, or do not recover from it.
        """
        try:
            return await self._enter_client(stack)
        except Exception:
            way = self._way
            if self._is_older or way is None or way.needs_login or way.is_unread:
                raise
        self._is_older = True
        return await self._enter_client(stack)

    async def _enter_client(self, stack: AsyncExitStack) -> tuple[Client, OpenTransport]:
        from mcp import Client
        from mcp.client import session
        from mcp_types import Implementation

        session.DISCOVER_TIMEOUT_SECONDS = self._probe_secs  # no argument sets it
        self._way = None
        self._way = way = self._open_transport()
        client = Client(
            way.get_transport(),
            mode="legacy" if self._is_older else "auto",
            message_handler=self._handle_message,
            cache=None,
            input_required_max_rounds=_MOST_ROUNDS,
            client_info=Implementation(name="quorum", version=find_own_version()),
            elicitation_callback=None
            if self._build_elicitation is None
            else self._build_elicitation(self._calls),
        )
        return await stack.enter_async_context(client), way

    async def _wait_until_lost(self, client: Client, way: OpenTransport) -> None:
        """Wait for the end of the connection, and look again at what the server offers when that changes."""
        from mcp.client.subscriptions import ListenNotSupportedError
        from mcp.shared.exceptions import MCPError

        async def listen() -> None:
            try:
                async with client.listen(
                    tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
                ) as changes:
                    async for _ in changes:
                        self._changed.set()
            except (ListenNotSupportedError, MCPError, TimeoutError, ValueError):
                return  # it tells of changes in the older way, or not at all

        tasks = [
            asyncio.create_task(work)
            for work in (self._lost.wait(), way.ended.wait(), self._relist(client, way))
        ]
        listening = asyncio.create_task(listen())
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (*tasks, listening):
                task.cancel()
            await asyncio.gather(*tasks, listening, return_exceptions=True)

    async def _relist(self, client: Client, way: OpenTransport) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self._list_again(client, way)
            await asyncio.sleep(_RELIST_PAUSE_SECS)  # however often it says so

    async def _handle_message(self, message: IncomingMessage) -> None:
        from mcp_types import (
            PromptListChangedNotification,
            ResourceListChangedNotification,
            ToolListChangedNotification,
        )

        changes = ToolListChangedNotification | PromptListChangedNotification | ResourceListChangedNotification
        if isinstance(message, changes):
            self._changed.set()

    async def _list_again(self, client: Client, way: OpenTransport) -> None:
        self.listing = await self._list(client, way)
        self._on_change()

    async def _list(self, client: Client, way: OpenTransport) -> ServerOffer:
        offer = await list_offer(self._name, client, timeout_secs=self._start_timeout_secs / 4)
        dropped = (f"the MCP server {self._name}: {phrase}" for phrase in way.dropped)
        return replace(offer, notices=tuple(dict.fromkeys((*dropped, *offer.notices))))
