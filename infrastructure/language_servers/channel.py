"""JSON-RPC with a language server over its standard input and output: both sides ask, tell and answer."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from quorum.domain.errors import QuorumError
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.execution.commands.process import SupervisedProcess
from quorum.infrastructure.execution.sandbox.confinement import Launch
from quorum.infrastructure.models.shared.error_bodies import fit_to_line
from quorum.infrastructure.models.shared.json_fields import (
    parse_foreign_json,
    read_object_field,
    read_text_field,
    replace_surrogates,
)

_log = logging.getLogger(__name__)
_METHOD_NOT_FOUND, _INTERNAL_ERROR = -32601, -32603
_MOST_ERRORS = 4_000
_MOST_UNSENT = 64 << 20
_LEAVE_SECS = 0.6  # twice: the app waits three seconds for all of a session


class LanguageServerFailed(QuorumError):
    """A language server is not there, or did not do what it was asked; a clause says why."""


class LanguageServerRests(LanguageServerFailed):
    """It failed a moment ago, and is started again later."""


class RefusedByServer(LanguageServerFailed):
    """The server answered with an error."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class UnknownRequest(Exception):
    """What a server asks for is not offered."""


class LanguageServerAnswer(Struct, frozen=True):
    """The result of a request. `is_early`: it was given while the server said that it was busy."""

    result: JsonValue
    is_early: bool


class LanguageServerChannel:
    """A running server. What it prints that is no message is passed over, and quoted if it ends.

    `notice` gets what it tells, in order with its answers; `answer` what it asks, and raises UnknownRequest.
    `is_busy` tells whether it says that it is.
    Whatever becomes of quorum, the process and all it started are ended.
    """

    def __init__(
        self,
        notice: Callable[[str, JsonObject], None],
        answer: Callable[[str, JsonObject], JsonValue],
        on_end: Callable[[], None],
        is_busy: Callable[[], bool],
    ) -> None:
        self._notice, self._answer, self._on_end, self._is_busy = notice, answer, on_end, is_busy
        self._reader = MessageReader()
        self._waiting: dict[int, asyncio.Future[LanguageServerAnswer]] = {}
        self._next_id = 1
        self._errors = b""
        self._fault = ""
        self._input: asyncio.WriteTransport | None = None
        self._watching: asyncio.Task[None] | None = None

    async def start(self, launch: Launch, environment: Mapping[str, str], cwd: Path) -> None:
        """Start the program. Raises LanguageServerFailed."""
        theirs, ours = os.pipe()
        pipe = os.fdopen(ours, "wb", buffering=0)
        try:
            self._process = SupervisedProcess(
                launch.argv,
                cwd=cwd,
                environment=environment,
                timeout_secs=None,
                on_output=self._feed,
                on_errors=self._take_errors,
                stdin=theirs,
                guards=launch.guards,
                keys=launch.keys,
            )
        except OSError as error:
            pipe.close()
            raise LanguageServerFailed(f"it cannot be started: {error.strerror or error}") from error
        finally:
            os.close(theirs)
        self._watching = asyncio.create_task(self._watch())
        try:
            self._input, _ = await asyncio.get_running_loop().connect_write_pipe(asyncio.Protocol, pipe)
        except BaseException:
            pipe.close()
            self._process.end()
            raise

    @property
    def fault(self) -> str:
        """Why it is not there any more, a clause; empty while it is."""
        return self._fault

    async def request(
        self, method: str, params: JsonObject | None, timeout_secs: float
    ) -> LanguageServerAnswer:
        """The answer to a request. Raises LanguageServerFailed where there is none in time."""
        number, self._next_id = self._next_id, self._next_id + 1
        answer: asyncio.Future[LanguageServerAnswer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        given: JsonObject = {} if params is None else {"params": params}
        try:
            self._write({"jsonrpc": "2.0", "id": number, "method": method, **given})
            async with asyncio.timeout(timeout_secs):
                return await answer
        except TimeoutError as error:
            self._cancel(number)
            raise LanguageServerFailed(f"it did not answer {method} within {timeout_secs:g} s") from error
        except asyncio.CancelledError:
            self._cancel(number)
            raise
        finally:
            self._waiting.pop(number, None)

    def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Tell it something. Raises LanguageServerFailed."""
        given: JsonObject = {} if params is None else {"params": params}
        self._write({"jsonrpc": "2.0", "method": method, **given})

    async def aclose(self) -> None:
        """Ask it to leave, and end it with all that it started where that is not enough."""
        if self._watching is None:
            return
        with suppress(LanguageServerFailed):  # it is ended all the same
            await self.request("shutdown", None, _LEAVE_SECS)
            self.notify("exit")
        if self._input is not None:
            self._input.close()
        await asyncio.wait({self._watching}, timeout=_LEAVE_SECS)
        self._process.end()
        await asyncio.wait({self._watching})

    def _cancel(self, number: int) -> None:
        with suppress(LanguageServerFailed):  # then it answers nothing any more
            self.notify("$/cancelRequest", {"id": number})

    def _write(self, message: JsonObject) -> None:
        if self._fault or self._input is None:
            raise LanguageServerFailed(self._fault or "it is not started")
        self._input.write(encode_message(message))
        if self._input.get_write_buffer_size() > _MOST_UNSENT:
            self._give_up("it does not read what it is told")
            raise LanguageServerFailed(self._fault)

    def _feed(self, data: bytes) -> None:
        if self._fault:
            return
        try:
            for message in self._reader.feed(data):
                self._take(message)
        except OversizedMessage as error:
            self._give_up(str(error))

    def _take(self, message: JsonObject) -> None:
        method, number = read_text_field(message, "method"), message.get("id")
        params = read_object_field(message, "params")
        if method and "id" in message:
            self._respond(number, method, params)
        elif method:
            self._notice(method, params)
        elif isinstance(number, int) and (answer := self._waiting.get(number)) and not answer.done():
            if "error" in message:
                error = read_object_field(message, "error")
                said = fit_to_line(make_printable(read_text_field(error, "message"), newlines=False))
                code = error.get("code")
                answer.set_exception(
                    RefusedByServer(
                        f"it refused: {said or 'it gave no reason'}", code if isinstance(code, int) else 0
                    )
                )
            else:
                answer.set_result(LanguageServerAnswer(message.get("result"), self._is_busy()))

    def _respond(self, number: JsonValue, method: str, params: JsonObject) -> None:
        outcome: JsonObject
        try:
            outcome = {"result": self._answer(method, params)}
        except UnknownRequest:
            outcome = {"error": {"code": _METHOD_NOT_FOUND, "message": f"quorum does not offer {method}"}}
        except Exception as error:  # noqa: BLE001 - whatever fails here, the server waits for an answer
            _log.error("the request %s of a language server failed", method, exc_info=error)
            outcome = {"error": {"code": _INTERNAL_ERROR, "message": f"quorum failed at {method}"}}
        with suppress(LanguageServerFailed):  # whoever waits for the server is told
            self._write({"jsonrpc": "2.0", "id": number, **outcome})

    def _take_errors(self, data: bytes) -> None:
        self._errors = (self._errors + data)[-_MOST_ERRORS:]

    async def _watch(self) -> None:
        """Until nothing of the program is alive."""
        ending = await self._process.wait()
        how = ending.failure or (
            f"it was ended by signal {-ending.exit_code}"
            if ending.exit_code is not None and ending.exit_code < 0
            else f"it ended with exit code {ending.exit_code}"
        )
        words = self._errors.decode("utf-8", "replace").strip() or self._reader.noise.strip()
        last = [line for line in make_printable(words, strip_ansi=True).splitlines() if line.strip()][-1:]
        self._set_fault(f"{how}: {fit_to_line(last[0])}" if last else how)
        if self._input is not None:
            self._input.close()

    def _give_up(self, fault: str) -> None:
        self._set_fault(fault)
        self._process.end()

    def _set_fault(self, fault: str) -> None:
        if self._fault:
            return
        self._fault = fault
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(LanguageServerFailed(fault))
        self._on_end()


_LARGEST_MESSAGE = 32 << 20
_MOST_NOISE = 4_000
_LENGTH = re.compile(rb"content-length: *(\d{1,12}) *\r?\n", re.IGNORECASE)
# Some headers may stand around the one that counts; nothing else may.
_OTHERS = re.compile(rb"(?:[A-Za-z-]{1,40}:[^\r\n]{0,200}\r?\n){0,20}")
_END = re.compile(rb"\r?\n")
_BEGUN = re.compile(rb"(?:[A-Za-z-]{0,40}(?::[^\r\n]{0,200})?\r?)?\Z")
_LONGEST_BEGUN = 64  # bytes of a header that has begun


class OversizedMessage(Exception):
    """A server announces a message that is too large to be read."""


def encode_message(message: JsonObject) -> bytes:
    """The message with its header. What settings hold beside JSON, such as dates, is written as text."""
    body = replace_surrogates(json.dumps(message, ensure_ascii=False, allow_nan=False, default=str)).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class MessageReader:
    """Cuts what a server prints into messages. What stands between them is passed over, and its end kept."""

    def __init__(self) -> None:
        self._unread = bytearray()
        self._searched = 0
        self._length: int | None = None
        self._noise = b""

    @property
    def noise(self) -> str:
        """The last of what was printed beside messages."""
        return self._noise.decode("utf-8", "replace")

    def feed(self, data: bytes) -> list[JsonObject]:
        """The messages that end with these bytes. Raises OversizedMessage."""
        self._unread += data
        found: list[JsonObject] = []
        while self._length is not None or self._find_length():
            assert self._length is not None
            if len(self._unread) < self._length:
                break
            body = bytes(self._unread[: self._length])
            del self._unread[: self._length]
            self._length, self._searched = None, 0
            if (message := self._read(body)) is not None:
                found.append(message)
        return found

    def _find_length(self) -> bool:
        """Whether the next body begins the unread bytes; its length is known then."""
        while (header := _LENGTH.search(self._unread, self._searched)) is not None:
            others = _OTHERS.match(self._unread, header.end())
            assert others is not None
            if (end := _END.match(self._unread, others.end())) is not None:
                self._length = int(header[1])
                self._drop(header.start(), end.end() - header.start())
                if self._length > _LARGEST_MESSAGE:
                    raise OversizedMessage(f"it announced a message of {self._length:,} bytes")
                return True
            if _BEGUN.match(self._unread, others.end()):
                self._drop(header.start())
                return False
            self._searched = others.end()  # a text that only looks like headers
        self._drop(max(len(self._unread) - _LONGEST_BEGUN, 0))
        return False

    def _drop(self, noise: int, headers: int = 0) -> None:
        """Take so many bytes of what is no message from the unread ones, and of headers behind them."""
        self._pass_over(bytes(self._unread[:noise]))
        del self._unread[: noise + headers]
        self._searched = 0

    def _pass_over(self, data: bytes) -> None:
        if data.strip():
            self._noise = (self._noise + data)[-_MOST_NOISE:]

    def _read(self, body: bytes) -> JsonObject | None:
        try:
            message = parse_foreign_json(body)
        except ValueError:
            # A wrong length, as of a server that counts characters: another message may begin within.
            if (header := _LENGTH.search(body)) is not None:
                self._pass_over(body[: header.start()])
                self._unread[:0] = body[header.start() :]
            else:
                self._pass_over(body)
            return None
        return message if isinstance(message, dict) else None
