"""The calls that an MCP server works on. Their time stands still while the server asks the person."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from msgspec import Struct

from quorum.domain.errors import FormError
from quorum.domain.mcp.server_question import ServerAction, ServerAnswer

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
