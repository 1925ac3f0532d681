"""JSON-RPC with a program over its stdin and stdout, a message a line: both sides ask, tell and answer."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import AsyncExitStack, suppress
from typing import Protocol

from quorum.application.cancellation import run_to_end
from quorum.application.program_lookup import (
    explain_local_package,
    find_local_package,
    select_runner_settings,
)
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.text.json_text import make_encoder
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.agents.launch import AgentLaunch
from quorum.infrastructure.execution.program import open_program
from quorum.infrastructure.models.shared.error_bodies import fit_to_line
from quorum.infrastructure.models.shared.json_fields import (
    parse_foreign_json,
    read_object_field,
    read_text_field,
    replace_surrogates,
)

_JSON = make_encoder()
_CHUNK = 1 << 16
_LONGEST_LINE = 64_000_000
_MOST_NOISE = 4_000  # characters of what is no message, kept to be quoted
_METHOD_NOT_FOUND, INTERNAL_ERROR, NOT_FOUND = -32601, -32603, -32002
_AUTH_REQUIRED = -32000
_CLOSING_SECS = 2.0


class UnknownMethod(Exception):
    """What the program asks for is not offered."""


class RefusedRequest(Exception):
    """What the program asks for cannot be had; the text says why."""

    def __init__(self, message: str, code: int = INTERNAL_ERROR) -> None:
        super().__init__(message)
        self.code = code


class ChannelPeer(Protocol):
    """Who answers the program."""

    def take_notification(self, method: str, params: JsonObject) -> None:
        """It tells something, in order with its answers."""
        ...

    async def answer_request(self, method: str, params: JsonObject) -> JsonValue:
        """It asks for something. Raises UnknownMethod and RefusedRequest."""
        ...


class AgentChannel:
    """A running agent. What it writes that is no JSON object is passed over, and quoted if it ends."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        resources: AsyncExitStack,
        launch: AgentLaunch,
        peer: ChannelPeer,
    ) -> None:
        self._process, self._resources, self._launch, self._peer = process, resources, launch, peer
        self._waiting: dict[int, asyncio.Future[JsonObject]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._next_id = 1
        self._noise = self._errors = ""
        self._end: ProviderError | None = None
        self._reading = asyncio.create_task(self._read())
        self._reading_errors = asyncio.create_task(self._read_errors())
        self._heard_at = asyncio.get_running_loop().time()

    @classmethod
    async def open(cls, launch: AgentLaunch, cwd: str, peer: ChannelPeer) -> AgentChannel:
        """Start the program. Raises ProviderError."""
        if local := find_local_package(launch.words, cwd):
            text = explain_local_package(launch.words, local)
            raise ProviderError(text, kind=ProviderErrorKind.CONFIGURATION)
        async with AsyncExitStack() as resources:
            try:
                process = await resources.enter_async_context(
                    open_program(
                        launch.words,
                        environment={**launch.environ, **select_runner_settings(launch.words, cwd)},
                        cwd=cwd,
                        stdin=asyncio.subprocess.PIPE,
                        stderr=asyncio.subprocess.PIPE,
                    )
                )
            except OSError as error:
                text = f"{launch.words[0]} cannot be run: {error.strerror or error}"
                raise ProviderError(text, kind=ProviderErrorKind.CONFIGURATION) from error
            return cls(process, resources.pop_all(), launch, peer)

    async def request(self, method: str, params: JsonObject) -> JsonObject:
        """The result of a request. Raises ProviderError where it fails, or the program is silent too long while
        nothing of it is being answered."""
        number, self._next_id = self._next_id, self._next_id + 1
        answer: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._heard_at = asyncio.get_running_loop().time()
        try:
            await self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await self._wait(answer)
        finally:
            self._waiting.pop(number, None)

    async def notify(self, method: str, params: JsonObject) -> None:
        """Tell it something. Raises ProviderError."""
        await self._write({"jsonrpc": "2.0", "method": method, "params": params})

    async def aclose(self) -> None:
        """Close its input, and kill it with all that it started where that is not enough."""
        for task in self._answering:
            task.cancel()
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_SECS):
                await self._process.wait()
        with suppress(ProcessLookupError, PermissionError):  # what it leaves behind in its group
            os.killpg(self._process.pid, signal.SIGKILL)
        for reading in (self._reading, self._reading_errors):
            reading.cancel()
        await asyncio.gather(self._reading, self._reading_errors, *self._answering, return_exceptions=True)
        await run_to_end(self._resources.aclose())

    async def _wait(self, answer: asyncio.Future[JsonObject]) -> JsonObject:
        loop, patience = asyncio.get_running_loop(), self._launch.timeout_secs
        if self._end is not None:
            raise self._end
        while True:
            if self._answering:
                self._heard_at = loop.time()
            left = self._heard_at + patience - loop.time()
            if left <= 0:
                raise ProviderError(
                    f"the agent {self._launch.name} said nothing for {patience:g} s, and was ended; it may "
                    f"wait for a login: start {self._launch.words[0]} once yourself",
                    kind=ProviderErrorKind.TIMEOUT,
                )
            await asyncio.wait({answer}, timeout=left)
            if answer.done():
                return answer.result()

    async def _write(self, message: JsonObject) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write((replace_surrogates(_JSON.encode(message)) + "\n").encode())
            await self._process.stdin.drain()
        except OSError as error:
            await asyncio.wait({self._reading}, timeout=1)
            raise self._end or self._explain_end() from error

    async def _read(self) -> None:
        """Until the program closes its output."""
        assert self._process.stdout is not None
        unread, searched = bytearray(), 0
        try:
            while chunk := await self._process.stdout.read(_CHUNK):
                self._heard_at = asyncio.get_running_loop().time()
                unread += chunk
                while (end := unread.find(b"\n", searched)) >= 0:
                    line = bytes(unread[:end])
                    del unread[: end + 1]
                    searched = 0
                    self._take_line(line)
                searched = len(unread)
                if searched > _LONGEST_LINE:
                    self._end = self._describe("it wrote a line that is too long to be a message")
                    return
            with suppress(TimeoutError):  # what it started may hold the pipe open
                async with asyncio.timeout(1):
                    await asyncio.shield(self._reading_errors)
        finally:
            self._end = self._end or self._explain_end()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(self._end)

    def _take_line(self, line: bytes) -> None:
        try:
            message = parse_foreign_json(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            self._noise = (self._noise + line.decode("utf-8", "replace") + "\n")[-_MOST_NOISE:]
            return
        method, number = read_text_field(message, "method"), message.get("id")
        params = read_object_field(message, "params")
        if method and "id" in message:
            task = asyncio.create_task(self._answer(number, method, params))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        elif method:
            self._peer.take_notification(method, params)
        elif (
            isinstance(number, int) and (answer := self._waiting.get(number)) is not None and not answer.done()
        ):
            if "error" in message:
                answer.set_exception(self._explain_error(read_object_field(message, "error")))
            else:
                answer.set_result(read_object_field(message, "result"))

    async def _answer(self, number: JsonValue, method: str, params: JsonObject) -> None:
        try:
            outcome: JsonObject = {"result": await self._peer.answer_request(method, params)}
        except UnknownMethod:
            outcome = {"error": {"code": _METHOD_NOT_FOUND, "message": f"quorum does not offer {method}"}}
        except RefusedRequest as refused:
            outcome = {"error": {"code": refused.code, "message": str(refused)}}
        with suppress(ProviderError):  # it is gone: whoever waits for its answer is told
            await self._write({"jsonrpc": "2.0", "id": number, **outcome})

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_CHUNK):
            self._errors = (self._errors + chunk.decode("utf-8", "replace"))[-_MOST_NOISE:]

    def _explain_end(self) -> ProviderError:
        """By the last line that it said for people."""
        lines = (self._errors.strip() or self._noise.strip()).splitlines()
        return self._describe(f"its program ended{': ' + fit_to_line(lines[-1]) if lines else ''}")

    def _describe(self, what: str) -> ProviderError:
        return ProviderError(f"the agent {self._launch.name}: {what}", kind=ProviderErrorKind.CONNECTION)

    def _explain_error(self, error: JsonObject) -> ProviderError:
        details = read_object_field(error, "data")
        told = (
            read_text_field(error, "message"),
            *(read_text_field(details, key) for key in ("details", "message")),
        )
        said = fit_to_line(": ".join(dict.fromkeys(filter(None, told)))) or "it gave no reason"
        kind, remedy = ProviderErrorKind.BAD_REQUEST, ""
        if error.get("code") == _AUTH_REQUIRED:
            kind = ProviderErrorKind.AUTHENTICATION
            remedy = f"; sign in to it first: start {self._launch.words[0]} once yourself"
        return ProviderError(f"the agent {self._launch.name} refused: {said}{remedy}", kind=kind)
