"""Messages of the protocol on the standard streams of the process, one JSON object a line and nothing else.

Updates of a session go out in order, and no more of them than the client reads. Messages that the SDK has no
route for are worded as ones that it has.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any, TypeAlias

from acp.exceptions import RequestError
from acp.meta import CLIENT_METHODS
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    SessionInfoUpdate,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
    UserMessageChunk,
)

SessionUpdate: TypeAlias = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | AgentPlanUpdate
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
)

_LONGEST_WAIT_SECS = 1.0


class Outbox:
    """Sends updates one after the other with `send`, which waits while the client does not read.

    What waits is merged: pieces of one message, and reports about one call. A client that is gone gets nothing,
    and holds up nobody. Nothing is sent before `open`.
    """

    def __init__(self, send: Callable[[SessionUpdate], Awaitable[None]]) -> None:
        self._send = send
        self._waiting: deque[SessionUpdate] = deque()
        self._calls: dict[str, ToolCallProgress] = {}
        self._begun: dict[str, asyncio.Event] = {}
        self._pump: asyncio.Task[None] | None = None
        self._is_open = False

    def open(self) -> None:
        """Send from now on, and first what was put before."""
        self._is_open = True
        self._begin()

    def put(self, update: SessionUpdate) -> None:
        """Have an update sent after those before it."""
        if not self._merge(update):
            self._waiting.append(update)
            if isinstance(update, ToolCallStart):
                self._find_beginning(update.tool_call_id).set()
            if isinstance(update, ToolCallProgress):
                self._calls[update.tool_call_id] = update
        self._begin()

    async def wait_for_call(self, call_id: str) -> None:
        """Wait until the call was put that an update is about, for a second at most: those of subagents come
        with what happened before them."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._find_beginning(call_id).wait(), _LONGEST_WAIT_SECS)

    def _find_beginning(self, call_id: str) -> asyncio.Event:
        return self._begun.setdefault(call_id, asyncio.Event())

    async def flush(self) -> None:
        """Wait until all that was put is sent, or can be sent to nobody."""
        while self._pump is not None:
            await asyncio.wait({self._pump})

    def _begin(self) -> None:
        if self._is_open and self._pump is None and self._waiting:
            self._pump = asyncio.get_running_loop().create_task(self._send_all(), name="acp-updates")

    async def _send_all(self) -> None:
        try:
            while self._waiting:
                update = self._waiting.popleft()
                if isinstance(update, ToolCallProgress):
                    self._calls.pop(update.tool_call_id, None)
                await self._send(update)
        except ConnectionError:
            self._is_open = False
            self._waiting.clear()
        finally:
            self._pump = None

    def _merge(self, update: SessionUpdate) -> bool:
        """Whether the update went into one that still waits."""
        if isinstance(update, ToolCallProgress):
            if (waiting := self._calls.get(update.tool_call_id)) is None:
                return False
            for name in update.model_fields_set - {"tool_call_id", "session_update"}:
                if (value := getattr(update, name)) is not None:
                    setattr(waiting, name, value)
            return True
        if not self._waiting or not isinstance(update, AgentMessageChunk | AgentThoughtChunk):
            return False
        last = self._waiting[-1]
        if type(last) is not type(update) or not isinstance(last, AgentMessageChunk | AgentThoughtChunk):
            return False
        if last.message_id != update.message_id:
            return False
        if not isinstance(last.content, TextContentBlock) or not isinstance(update.content, TextContentBlock):
            return False
        last.content.text += update.content.text
        return True


CANCEL_REQUEST = "$/cancel_request"
REQUEST_SENT: ContextVar[object] = ContextVar("REQUEST_SENT", default=None)
"""The id of the request that a task has sent last."""
SERVERS_OFFERED: ContextVar[object] = ContextVar("SERVERS_OFFERED", default=None)
"""The MCP servers in the request that a task answers, as the client wrote them: the SDK drops those that it
cannot read."""

_EXTENSIONS = frozenset({"session/delete"})
_TAKE_SERVERS = frozenset({"session/new", "session/load"})
_WORDED_AS_EXTENSIONS = {f"_{method}": method for method in (CANCEL_REQUEST, *CLIENT_METHODS.values())}
"""What the SDK is to send as it stands: what another process says, and what the SDK has no name for."""
_log = logging.getLogger(__name__)


class RequestRouting:
    """Knows the prompts that are not answered yet, by the id of their request.

    The SDK hands a method that begins with an underscore to the agent. To cancel the request of a prompt is to
    cancel the prompt of its session; any other request is answered soon, and is not cancelled.
    """

    def __init__(self) -> None:
        self._prompted: dict[tuple[type, Any] | None, Any] = {}

    def route(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """The message as the SDK routes it; None where it asks for nothing that can be done."""
        method, params = message.get("method"), message.get("params")
        if method == CANCEL_REQUEST and "id" not in message:
            key = _identify(params.get("requestId")) if isinstance(params, dict) else None
            if key not in self._prompted:
                return None
            return {**message, "method": "session/cancel", "params": {"sessionId": self._prompted[key]}}
        if isinstance(method, str) and "id" not in message and not _is_understood(method, params):
            _log.info("the notification %.80s of the client asks for nothing that can be done", method)
            return None
        if method in _TAKE_SERVERS and isinstance(params, dict) and params.get("mcpServers") is None:
            params["mcpServers"] = []  # a client without any may leave them out
        SERVERS_OFFERED.set(params.get("mcpServers") if isinstance(params, dict) else None)
        if method in _EXTENSIONS:
            return {**message, "method": f"_{method}"}
        key = _identify(message.get("id"))
        if method == "session/prompt" and isinstance(params, dict) and key is not None:
            self._prompted[key] = params.get("sessionId")
        return message

    def send(self, message: dict[str, Any]) -> dict[str, Any]:
        """The message as the client is to get it: an answer, which ends its request, or a message of ours."""
        method = message.get("method")
        if method is None:
            self._prompted.pop(_identify(message.get("id")), None)
        elif "id" in message:
            REQUEST_SENT.set(message["id"])
        return message if method is None else {**message, "method": _WORDED_AS_EXTENSIONS.get(method, method)}


def _is_understood(method: str, params: object) -> bool:
    """Whether the SDK can hand on a notification: it writes a traceback for any other."""
    if method == "session/cancel":
        return isinstance(params, dict) and isinstance(params.get("sessionId"), str)
    return method.startswith("_")


def _identify(request_id: object) -> tuple[type, Any] | None:
    """A valid id of a request, with its type: Python takes `true` and `1.0` for `1`."""
    return (type(request_id), request_id) if type(request_id) in (str, int) else None


_PARSE_ERROR, _INVALID_REQUEST, _INTERNAL_ERROR = -32700, -32600, -32603
_MOST_PLACES = 3
_ANSWERED_TWICE = {"error": {"code": _INVALID_REQUEST, "message": "this answer has a key twice"}}


def read_message(line: bytes) -> dict[str, Any]:
    """The message of a line, as the SDK can take it. Raises RequestError for what is none.

    The SDK ends with an answer whose id cannot be hashed or whose error is no object, and follows the result
    that stands beside an error; of a key that an answer has twice one reader takes the first value and another
    the last, so that it is none. `_meta` is dropped: quorum gives it no meaning, and the SDK would let its keys
    take the place of parameters.
    """
    repeats = False

    def read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeats
        value = dict(pairs)
        repeats = repeats or len(value) != len(pairs)
        return value

    try:
        message = json.loads(line, parse_constant=_refuse_constant, object_pairs_hook=read_object)
    except (ValueError, RecursionError) as error:
        raise RequestError(_PARSE_ERROR, f"a line is not JSON: {error}") from error
    if (
        not isinstance(message, dict)
        or not isinstance(message.get("method", ""), str)
        or not message.keys() & {"id", "method"}
    ):
        raise RequestError(_INVALID_REQUEST, "a line is no request, notification or response of JSON-RPC")
    if message.get("id") is not None and _identify(message["id"]) is None:
        raise RequestError(_INVALID_REQUEST, "the id of a message must be text or a whole number")
    if "method" in message:
        if message.get("params") is None:
            message["params"] = {}
        if isinstance(message["params"], dict):
            message["params"].pop("_meta", None)
    elif repeats:
        return {**_ANSWERED_TWICE, "id": message.get("id")}
    elif (said := message.get("error")) is not None:
        message.pop("result", None)
        if not isinstance(said, dict):
            message["error"] = {"code": _INTERNAL_ERROR, "message": "the error of this answer is no object"}
    return message


def _refuse_constant(name: str) -> None:
    raise ValueError(f"there is no {name}")


def name_places(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with what is wrong with parameters in its message, which many clients show alone, and
    without the values that were sent."""
    error = answer.get("error")
    data = error.get("data") if isinstance(error, dict) else None
    if not isinstance(error, dict) or not isinstance(data, dict) or not isinstance(data.get("errors"), list):
        return answer
    faults = [{key: fault[key] for key in ("loc", "msg")} for fault in data["errors"]]
    said = [f"{'.'.join(map(str, fault['loc'])) or 'params'}: {fault['msg']}" for fault in faults]
    message = f"{error['message']}: {'; '.join(said[:_MOST_PLACES])}"
    return {**answer, "error": {**error, "message": message, "data": {"errors": faults}}}


LONGEST_LINE_BYTES = 64 * 1024 * 1024
"""A longer line is refused: the largest prompt holds images and PDFs of some 50 MB."""

_CHUNK_BYTES = 1 << 18
_MOST_UNSENT_BYTES = 4 * 1024 * 1024
_MOST_UNREAD = 256
_CLOSING_SECS = 2.0
_SETTLING_SECS = 15.0


class StandardIoTransport:
    """Implements the `Transport` of the SDK over two descriptors, whatever they are: pipes, files, a terminal.

    A thread reads and a thread writes, so that descriptors which other programs share stay blocking. A line
    that is no message is answered with an error, and the next one is read.
    """

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._received: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._unread = threading.Semaphore(_MOST_UNREAD)
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._unsent_bytes = 0
        self._counting = threading.Lock()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_lost = False
        self._routing = RequestRouting()
        self._unanswered = 0
        self._all_answered = asyncio.Event()
        self._all_answered.set()
        self._reader = threading.Thread(target=self._read, name="acp-reader", daemon=True)
        self._writer = threading.Thread(target=self._write, name="acp-writer", daemon=True)
        self._reader.start()
        self._writer.start()

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message after those before it; waits while much is unread. Raises ConnectionError where the
        client is gone."""
        if self._is_lost:
            raise ConnectionError("the client is gone")
        self._put(self._routing.send(name_places(message)))
        if "method" not in message:
            self._count_request(-1)
        if not self._has_room.is_set():
            await self._has_room.wait()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None where the input has ended, or `stop` was called."""
        while (message := await self._received.get()) is not None:
            self._unread.release()
            if (routed := self._routing.route(message)) is not None:
                if "method" in message and "id" in message:
                    self._count_request(1)
                return routed
        return None

    def stop(self) -> None:
        """End the input, as if the client had closed it. Called on the loop."""
        self._received.put_nowait(None)

    async def settle(self) -> None:
        """Wait until all requests are answered that were received, for a moment, and not where nobody reads."""
        if not self._is_lost:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._all_answered.wait(), _SETTLING_SECS)

    def _count_request(self, change: int) -> None:
        self._unanswered += change
        if self._unanswered > 0:
            self._all_answered.clear()
        else:
            self._all_answered.set()

    def _lose(self) -> None:
        """Nothing can be written any more."""
        self._is_lost = True
        self._has_room.set()
        self._all_answered.set()
        self.stop()

    async def close(self) -> None:
        """Write what is left, for a moment: a client that does not read holds up nobody."""
        self._lines.put(None)
        await asyncio.to_thread(self._writer.join, _CLOSING_SECS)

    # ---------------------------------------------------------------- the threads

    def _put(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n"
        with self._counting:
            self._unsent_bytes += len(line)
            if self._unsent_bytes > _MOST_UNSENT_BYTES:
                self._has_room.clear()
        self._lines.put(line)

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(self._sink, rest) :]
            except OSError:
                self._call(self._lose)
                return
            with self._counting:
                self._unsent_bytes -= len(line)
                has_room = self._unsent_bytes <= _MOST_UNSENT_BYTES
            if has_room and not self._has_room.is_set():
                self._call(self._make_room)

    def _make_room(self) -> None:
        with self._counting:
            if self._unsent_bytes <= _MOST_UNSENT_BYTES:
                self._has_room.set()

    def _read(self) -> None:
        held, is_skipping = bytearray(), False
        while chunk := self._read_chunk():
            *ended, rest = chunk.split(b"\n")
            for piece in ended:
                if not is_skipping:
                    self._handle(bytes(held + piece))
                held.clear()
                is_skipping = False
            held += rest
            if len(held) > LONGEST_LINE_BYTES:
                if not is_skipping:
                    self._refuse(_PARSE_ERROR, f"a line is longer than {LONGEST_LINE_BYTES:,} bytes")
                held.clear()
                is_skipping = True
        if held and not is_skipping:
            self._handle(bytes(held))
        self._call(self.stop)

    def _read_chunk(self) -> bytes:
        try:
            return os.read(self._source, _CHUNK_BYTES)
        except OSError:
            return b""

    def _handle(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = read_message(line)
        except RequestError as error:
            self._refuse(error.code, str(error))
            return
        self._unread.acquire()
        self._call(self._received.put_nowait, message)

    def _refuse(self, code: int, text: str) -> None:
        """Answer what cannot be understood, as JSON-RPC has it: with no id, for none is known."""
        self._put({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}})

    def _call(self, function: Any, *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(function, *arguments)
