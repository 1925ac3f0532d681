"""An MCP server as a supervised process: one JSON message a line, on its standard input and output."""

from __future__ import annotations

import asyncio
import fcntl
import math
import os
import re
import termios
from array import array
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import Transport
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic import ValidationError

from quorum.domain.text.amounts import format_size
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.execution.commands.process import SupervisedProcess
from quorum.infrastructure.mcp.answers import ServerAnswers
from quorum.infrastructure.mcp.json_lines import JsonLines, Piece, is_whole

_LARGEST_MESSAGE = 16 << 20
_MOST_WAITING = 64 << 20
_PARSED_BESIDE = 1 << 16
_LAST_LINES = 4
_ERRORS_KEPT = 2_000
_USAGE = re.compile(r"usage:", re.IGNORECASE)
_ERROR = re.compile(r"\S.*\berror\b|error\b", re.IGNORECASE)
_LEAVE_SECS = 2.0
_REST_SECS = 2.0


class StdioTransport:
    """Implements the SDK's `Transport`. Whatever becomes of quorum, the process and all it started are ended.

    A line that is no message is dropped, and one that should have been an answer ends its call; so does one
    that is begun and not continued for two seconds. A server that sends a message above 16 MB, or more than
    64 MB that nobody has read yet, is ended; `problem` says so, or how it ended by itself, and quotes its last
    words.
    """

    def __init__(self, server: str, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> None:
        self._argv = tuple(argv)
        self._cwd = cwd
        self._environment = environment
        self._lines: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._partial: list[bytes] = []
        self._partial_bytes = 0
        self._errors = b""
        self._fault = ""
        self._is_over = self._is_left = False
        self._is_refused = False
        self._seen_bytes = 0
        self._news = asyncio.Event()
        self._reader = JsonLines()
        self._answers = ServerAnswers(server)
        self.needs_login = False
        self.is_unread = False
        self._written_bytes = 0
        self.is_forgotten = False  # a process has one session
        self.notice = ""
        self.ended = asyncio.Event()

    @property
    def problem(self) -> str:
        """What went wrong with the server so far; empty where nothing did."""
        printed = make_printable(self._errors.decode("utf-8", "replace")).strip()
        words = "\n".join(_select_words(printed.splitlines()))
        return f"{self._fault}; its last words: {words}" if self._fault and words else self._fault

    @property
    def dropped(self) -> tuple[str, ...]:
        """What of the server's lists cannot be used."""
        return self._answers.dropped

    async def __aenter__(
        self,
    ) -> tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]:
        """Start it. Raises OSError where that cannot be done."""
        theirs, ours = os.pipe()
        try:
            self._process = SupervisedProcess(
                self._argv,
                cwd=self._cwd,
                environment=self._environment,
                timeout_secs=None,
                on_output=self._feed,
                on_errors=self._take_errors,
                stdin=theirs,
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        os.set_blocking(ours, False)
        self._input = ours
        self._incoming, readable = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
        writable, self._outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        self._tasks = [asyncio.create_task(work) for work in (self._deliver(), self._write(), self._watch())]
        return readable, writable

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close its standard input, give it two seconds to leave, and end what is left of it."""
        await asyncio.shield(asyncio.ensure_future(self._close()))

    async def _close(self) -> None:
        self._is_left = True
        self._close_input()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_SECS):
                await self.ended.wait()
        self._process.end()
        await self.ended.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._incoming.close()
        self._outgoing.close()

    def _close_input(self) -> None:
        if self._input >= 0:
            asyncio.get_running_loop().remove_writer(self._input)
            os.close(self._input)
            self._input = -1

    def get_transport(self) -> Transport:
        return self

    # ---------------------------------------------------------------- what it prints

    def _feed(self, data: bytes) -> None:
        if self._fault:
            return
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._partial.append(part)
            line = b"".join(self._partial)
            self._partial, self._partial_bytes = [], 0
            self._lines.append(line)
            self._waiting_bytes += len(line)
        self._partial.append(rest)
        self._partial_bytes += len(rest)
        if self._partial_bytes > _LARGEST_MESSAGE:
            self._give_up(f"it sent a message of more than {format_size(_LARGEST_MESSAGE)}")
        elif self._waiting_bytes > _MOST_WAITING:
            self._give_up(f"it sent more than {format_size(_MOST_WAITING)} that nobody had read yet")
        self._news.set()

    def _take_errors(self, data: bytes) -> None:
        self._errors += data
        if len(self._errors) > 2 * _ERRORS_KEPT:  # of both ends
            self._errors = self._errors[:_ERRORS_KEPT] + b"\n" + self._errors[-_ERRORS_KEPT:]

    def _give_up(self, fault: str) -> None:
        self._fault = fault
        self._is_refused = True
        self._lines.clear()
        self._partial = []
        self._process.end()

    async def _deliver(self) -> None:
        """Hand on the messages in their order, a large one read beside the loop; after the last one the session
        learns that there is nothing more to come."""
        while not (self._is_over and not self._lines):
            if not await self._wait_for_news():
                await self._hand_on(self._take_rest())
            self._news.clear()
            while self._lines:
                line = self._lines.popleft()
                self._waiting_bytes -= len(line)
                is_large = len(line) > _PARSED_BESIDE
                await self._hand_on(await asyncio.to_thread(self._read, line) if is_large else self._read(line))
        if not self._is_refused:
            await self._hand_on([*self._read(b"".join(self._partial)), *self._build(self._reader.flush())])
        self._incoming.close()
        self.ended.set()

    async def _wait_for_news(self) -> bool:
        """False where what was begun is not continued for a while."""
        is_begun = self._partial_bytes not in (0, self._seen_bytes) or (
            self._reader.has_begun and not self._partial_bytes
        )
        try:
            async with asyncio.timeout(_REST_SECS if is_begun else None):
                await self._news.wait()
        except TimeoutError:
            return False
        return True

    def _take_rest(self) -> list[SessionMessage]:
        """A message whose line has no end yet, or the end of one that is not continued."""
        if not self._partial_bytes:
            return self._build(self._reader.flush())
        rest = b"".join(self._partial)
        self._partial, self._seen_bytes = [rest], len(rest)
        if not (is_begun := self._reader.has_begun) and not is_whole(rest):
            return []  # a line that takes its time
        self._partial, self._partial_bytes = [], 0
        return [*self._read(rest), *(self._build(self._reader.flush()) if is_begun else ())]

    def _read(self, line: bytes) -> list[SessionMessage]:
        return self._build(self._reader.read_line(line))

    def _build(self, pieces: Iterable[Piece]) -> list[SessionMessage]:
        messages = (_build_message(message) for piece in pieces for message in self._answers.read(piece))
        return [message for message in messages if message is not None]

    async def _hand_on(self, messages: Iterable[SessionMessage]) -> None:
        for message in messages:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._incoming.send(message)

    async def _watch(self) -> None:
        ending = await self._process.wait()
        self.is_unread = self._input >= 0 and _count_unread(self._input) >= self._written_bytes
        if not self._fault and not self._is_left:
            how = ending.failure or (
                f"it was ended by signal {-ending.exit_code}"
                if ending.exit_code is not None and ending.exit_code < 0
                else f"it ended with exit code {ending.exit_code}"
            )
            self._fault = how
        self._is_over = True
        self._news.set()

    # ---------------------------------------------------------------- what it reads

    async def _write(self) -> None:
        async for sent in self._outgoing:
            self._answers.note_sent(sent.message)
            text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
            rest = memoryview(text.encode() + b"\n")
            while rest and self._input >= 0:
                try:
                    written = os.write(self._input, rest)
                    self._written_bytes += written
                    rest = rest[written:]
                except BlockingIOError:
                    await self._wait_until_writable()
                except BrokenPipeError:
                    return  # it has ended, or closed its input: `_watch` or a time limit tells

    async def _wait_until_writable(self) -> None:
        loop = asyncio.get_running_loop()
        free = loop.create_future()

        def set_free() -> None:
            if not free.done():
                free.set_result(None)

        loop.add_writer(self._input, set_free)
        try:
            await free
        finally:
            if self._input >= 0:
                loop.remove_writer(self._input)


def _select_words(lines: Sequence[str]) -> Sequence[str]:
    """The lines that tell best why a program ended: the last ones, or those before its usage, which many print
    behind an error."""
    usage = next((place for place, line in enumerate(lines) if place and _USAGE.match(line)), None)
    if usage is not None and not any(map(_ERROR.match, lines[usage:])):
        lines = lines[:usage]
    # indented are the frames and the code of a traceback
    return ([line for line in lines if not line.startswith((" ", "\t", "^"))] or lines)[-_LAST_LINES:]


def _count_unread(pipe: int) -> int:
    """The bytes that were written and not read; none where the system does not say."""
    count = array("i", [0])
    with suppress(OSError):
        fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def _build_message(message: JsonObject) -> SessionMessage | None:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False))
    except ValidationError:
        return None  # a notification or a question in no form of the protocol: nothing waits for it
