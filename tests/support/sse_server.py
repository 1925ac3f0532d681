"""A provider on the loopback interface: real sockets, scripted answers, all dialects."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Dialect = Literal["anthropic", "openai", "openai-chat"]


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call as the model words it: the arguments are text, and need not be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """An answer. `stop` is neutral (end_turn, tool_use, max_tokens, refusal) or a word of its own.

    `ending` tells what comes after the pieces: the end, the end of the connection (drop), its reset, an error
    event, the word that the answer failed, garbage, or silence. `split` cuts the stream inside every character
    that has several bytes, or into single bytes. `pings` signs of life, `ping_secs` apart, come first.
    """

    pieces: Sequence[str] = ()
    calls: Sequence[ScriptedCall] = ()
    stop: str = "end_turn"
    reasoning: str = ""
    ending: Literal["whole", "drop", "reset", "error", "failed", "garbage", "stall"] = "whole"
    split: Literal["event", "utf8", "byte"] = "event"
    pings: int = 0
    ping_secs: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """An HTTP error."""

    status: int
    message: str = "no"
    type: str = "scripted_error"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """An answer with any body."""

    body: bytes
    content_type: str = "text/event-stream"
    status: int = 200


@dataclass(frozen=True, slots=True)
class Hang:
    """No answer at all: silence, the end of the connection, or its reset."""

    how: Literal["silent", "close", "reset"]


Reply = Say | Refuse | Raw | Hang

SIGNATURE = "c2lnbmF0dXJl+/=="
_CHAT_STOPS = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
_GARBAGE = b'data: {"type": "x", "index": \n\n'
_SIGNS_OF_LIFE: Mapping[Dialect, bytes] = {
    "anthropic": b'event: ping\ndata: {"type": "ping"}\n\n',
    "openai": b": keep-alive\n\n",
    "openai-chat": b": keep-alive\n\n",
}
_RESPONSES_STOPS = {"max_tokens": "max_output_tokens", "refusal": "content_filter"}


class SseServer:
    """Answers each request with the next reply of its script, or as `respond` says of its body, and keeps what
    was asked.

    `disconnected` is set when a client hung up.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.script: list[Reply] = []
        self.respond: Callable[[dict[str, Any]], Reply] = lambda _body: self.script.pop(0)
        self.facts: dict[str, object] = {}  # what it says beside its answers, by path
        self.lists_models = False  # from the script, whatever that holds
        self.asked: list[str] = []  # "GET /v1/models?limit=1"
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.connections = 0
        self.disconnected = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> SseServer:
        self.port = 0
        await self.plug()
        return self

    async def plug(self) -> None:
        """Listen, after `unplug` at the same port as before."""
        if self.port and self._server.is_serving():
            return
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, limit=2**24)
        self.port = self._server.sockets[0].getsockname()[1]

    def unplug(self) -> None:
        """Listen no more, and end all connections: nobody can connect."""
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def __aexit__(self, *_exc: object) -> None:
        self.unplug()
        await asyncio.gather(*self._tasks)

    @property
    def base_url(self) -> str:
        """The address to configure."""
        path = "" if self.dialect == "anthropic" else "/v1"
        return f"http://127.0.0.1:{self.port}{path}"

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer_one(reader, writer):
                continue
        except (asyncio.IncompleteReadError, ConnectionError):
            self.disconnected.set()
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        path = head[0].split(" ")[1]
        asks_list = path.partition("?")[0] == "/v1/models"
        if path.startswith(("/props", "/api/")) or (asks_list and not self._has_list()):
            self._tell(writer, self.facts.get(path.partition("?")[0]))
            await writer.drain()
            return True
        self.headers.append(headers)
        self.asked.append(head[0].rpartition(" ")[0])
        self.bodies.append(json.loads(body) if body else {})
        reply = self.respond(self.bodies[-1])
        match reply:
            case Refuse():
                _write_error(writer, self.dialect, reply)
            case Raw():
                _write_head(writer, reply.status, {"content-type": reply.content_type})
                _write_chunk(writer, reply.body)
                writer.write(b"0\r\n\r\n")
            case Say():
                return await self._say(reply, reader, writer)
            case Hang():
                return await self._end(reply.how, reader, writer)
        await writer.drain()
        return True

    def _has_list(self) -> bool:
        following = self.script[0] if self.script else None
        is_list = isinstance(following, Raw) and following.content_type == "application/json"
        return self.lists_models or is_list

    def _tell(self, writer: asyncio.StreamWriter, fact: object) -> None:
        if fact is None or isinstance(fact, Refuse):
            _write_error(writer, self.dialect, fact or Refuse(status=404))
            return
        _write_head(writer, 200, {"content-type": "application/json"})
        _write_chunk(writer, json.dumps(fact).encode())
        writer.write(b"0\r\n\r\n")

    async def _say(self, reply: Say, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        _write_head(writer, 200, {"content-type": "text/event-stream; charset=utf-8"})
        for _ in range(reply.pings):
            _write_chunk(writer, _SIGNS_OF_LIFE[self.dialect])
            await writer.drain()
            await asyncio.sleep(reply.ping_secs)
        for event in scripted_events(self.dialect, reply):
            for piece in split_bytes(event, reply.split):
                _write_chunk(writer, piece)
                await writer.drain()
        match reply.ending:
            case "whole" | "error" | "failed" | "garbage":
                writer.write(b"0\r\n\r\n")
                await writer.drain()
                return True
            case "drop":
                return await self._end("close", reader, writer)
            case "reset":
                return await self._end("reset", reader, writer)
            case "stall":
                return await self._end("silent", reader, writer)

    async def _end(
        self,
        how: Literal["silent", "close", "reset"],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> Literal[False]:
        if how == "silent":
            await reader.read(1)
            self.disconnected.set()
        if how == "reset":
            lingering: socket.socket = writer.get_extra_info("socket")
            lingering.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        return False


def split_bytes(data: bytes, how: Literal["event", "utf8", "byte"]) -> list[bytes]:
    """An event in the pieces in which it is sent."""
    match how:
        case "event":
            return [data]
        case "utf8":  # after the first byte of each character that has several
            return [piece for piece in re.split(rb"(?<=[\xc0-\xff])", data) if piece]
        case "byte":
            return [data[at : at + 1] for at in range(len(data))]


def _write_head(writer: asyncio.StreamWriter, status: int, headers: Mapping[str, str]) -> None:
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{k}: {v}" for k, v in headers.items())]
    writer.write("\r\n".join([*lines, "transfer-encoding: chunked", "", ""]).encode())


def _write_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))


def _write_error(writer: asyncio.StreamWriter, dialect: Dialect, reply: Refuse) -> None:
    error = {"type": reply.type, "message": reply.message}
    body = {"type": "error", "error": error} if dialect == "anthropic" else {"error": error}
    _write_head(writer, reply.status, {"content-type": "application/json", **reply.headers})
    _write_chunk(writer, json.dumps(body).encode())
    writer.write(b"0\r\n\r\n")


def scripted_events(dialect: Dialect, reply: Say) -> list[bytes]:
    """The answer as the events of a stream."""
    garbage = [_GARBAGE] if reply.ending == "garbage" else []
    match dialect:
        case "anthropic":
            return anthropic_events(reply) + garbage
        case "openai":
            return responses_events(reply) + garbage
        case "openai-chat":
            return chat_events(reply) + garbage


def _named_event(event: Mapping[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def anthropic_events(reply: Say) -> list[bytes]:
    """The answer as events of the Messages API."""
    usage = {
        "input_tokens": 7,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 3,
        "output_tokens": 1,
    }
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"model": "scripted", "content": [], "usage": usage}},
        {"type": "ping"},
    ]
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if reply.reasoning:
        pieces = [{"type": "thinking_delta", "thinking": part} for part in _halves(reply.reasoning)]
        signed = {"type": "signature_delta", "signature": SIGNATURE}
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [*pieces, signed]))
    if reply.pieces:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": p} for p in reply.pieces]))
    for call in reply.calls:
        start = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        parts = [{"type": "input_json_delta", "partial_json": part} for part in _halves(call.arguments)]
        blocks.append((start, parts))
    for index, (start, deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        if reply.ending == "whole" or index < len(blocks) - 1:
            events.append({"type": "content_block_stop", "index": index})
    if reply.ending == "whole":
        events.append(
            {"type": "message_delta", "delta": {"stop_reason": reply.stop}, "usage": {"output_tokens": 11}}
        )
        events.append({"type": "message_stop"})
    if reply.ending == "error":
        events.append({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    if reply.ending == "failed":
        events.append({"type": "error", "error": {"type": "api_error", "message": "It failed"}})
    return [_named_event(event) for event in events]


def chat_events(reply: Say) -> list[bytes]:
    """The answer as chunks of Chat Completions."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": part} for part in _halves(reply.reasoning) if part]
    deltas += [{"content": piece} for piece in reply.pieces]
    for index, call in enumerate(reply.calls):
        first, second = _halves(call.arguments)
        function = {"name": call.name, "arguments": first}
        deltas.append(
            {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}
        )
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": second}}]})
    chunks: list[dict[str, Any]] = [
        {"model": "scripted", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    if reply.ending == "whole":
        word = _CHAT_STOPS.get(reply.stop, reply.stop)
        chunks.append({"model": "scripted", "choices": [{"index": 0, "delta": {}, "finish_reason": word}]})
        usage = {
            "prompt_tokens": 12,
            "completion_tokens": 11,
            "prompt_tokens_details": {"cached_tokens": 5},
            "completion_tokens_details": {"reasoning_tokens": 2},
        }
        chunks.append({"model": "scripted", "choices": [], "usage": usage})
    if reply.ending == "error":
        chunks.append({"error": {"code": 529, "message": "Overloaded"}})
    if reply.ending == "failed":
        chunks.append({"error": {"type": "server_error", "message": "It failed"}})
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode() for chunk in chunks]
    return [*lines, b"data: [DONE]\n\n"] if reply.ending == "whole" else lines


def responses_events(reply: Say) -> list[bytes]:
    """The answer as events of the Responses API."""
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"status": "in_progress"}}]
    items: list[dict[str, Any]] = []
    for first, deltas, whole in _response_items(reply):
        place = {"output_index": len(items), "item_id": first["id"]}
        events.append({"type": "response.output_item.added", "output_index": len(items), "item": first})
        events += [{"type": kind, **place, "delta": delta} for kind, delta in deltas]
        items.append(whole)
        if reply.ending == "whole" and reply.stop != "max_tokens":
            events.append({"type": "response.output_item.done", **place, "item": whole})
    if reply.ending == "whole":
        events.append(_response_end(reply, items))
    if reply.ending == "error":
        error = {"type": "error", "code": "overloaded_error", "message": "Overloaded", "param": None}
        events.append(error)
    if reply.ending == "failed":
        failure = {"code": "server_error", "message": "It failed"}
        events.append({"type": "response.failed", "response": {"status": "failed", "error": failure}})
    return [_named_event({**event, "sequence_number": number}) for number, event in enumerate(events)]


def _response_items(
    reply: Say,
) -> Iterator[tuple[dict[str, Any], list[tuple[str, str]], dict[str, Any]]]:
    if reply.reasoning:
        thought: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
        deltas = [("response.reasoning_summary_text.delta", part) for part in _halves(reply.reasoning)]
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        yield thought, deltas, {**thought, "summary": summary, "encrypted_content": SIGNATURE}
    if reply.pieces:
        message: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
        deltas = [("response.output_text.delta", piece) for piece in reply.pieces]
        content = [{"type": "output_text", "text": "".join(reply.pieces)}]
        yield message, deltas, {**message, "status": "completed", "content": content}
    for number, call in enumerate(reply.calls):
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": call.id, "name": call.name}
        deltas = [("response.function_call_arguments.delta", part) for part in _halves(call.arguments)]
        yield {**item, "arguments": ""}, deltas, {**item, "status": "completed", "arguments": call.arguments}


def _response_end(reply: Say, items: list[dict[str, Any]]) -> dict[str, Any]:
    is_complete = reply.stop in ("end_turn", "tool_use")
    status = "completed" if is_complete else "incomplete"
    usage = {
        "input_tokens": 15,
        "input_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 3},
        "output_tokens": 11,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 26,
    }
    response: dict[str, Any] = {
        "id": "resp_1",
        "status": status,
        "model": "scripted",
        "output": items,
        "usage": usage,
    }
    if not is_complete:
        response["incomplete_details"] = {"reason": _RESPONSES_STOPS.get(reply.stop, reply.stop)}
    return {"type": f"response.{status}", "response": response}


def _halves(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    return text[:middle], text[middle:]
