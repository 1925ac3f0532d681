"""A model of our own on loopback that asks an agent for calls that are given, one after another."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from msgspec import Struct

from quorum.domain.text.json_value import JsonObject, JsonValue

_MOST_BYTES = 32 << 20
_ANSWER = "All calls were made."


class ScriptedCall(Struct, frozen=True, kw_only=True):
    """A call that the model asks for. `id` is in the agent's next request: so the model knows that it was made.

    It is left out where `tool` is not offered. `is_text`: its input is the text `input`, not an object.
    `marker`: the text in a prompt of the conversation that the call belongs to.
    """

    id: str
    tool: str
    arguments: JsonObject
    marker: str = ""
    is_text: bool = False


class ScriptedModel:
    """What is asked for, and what came back. `answered` has the ids of the calls that the agent answered,
    `is_asked` says whether it asked at all."""

    def __init__(self, calls: Sequence[ScriptedCall]) -> None:
        self._calls = calls
        self._token = secrets.token_urlsafe(12)
        self._lock = threading.Lock()
        self.answered: set[str] = set()
        self.is_asked = False
        self.url = ""

    @contextmanager
    def serve(self) -> Iterator[None]:
        """Listen on a free port of the loopback address for the time of the block."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), self._make_handler())
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_address[1]}/{self._token}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def find_next(self, offered: frozenset[str], conversation: str) -> ScriptedCall | None:
        """The call to ask for in this conversation; None: there is none left."""
        marked = {call.marker for call in self._calls if call.marker and call.marker in conversation}
        is_inner = bool(marked) and not any(
            call.id in conversation for call in self._calls if call.marker not in marked
        )
        with self._lock:
            self.is_asked = True
            done = {call.id for call in self._calls if call.id in conversation}
            self.answered |= done
        for call in self._calls:
            is_meant = call.marker in marked if is_inner else not call.marker
            if call.id in done or not is_meant:
                continue
            if call.tool in offered:
                return call
        return None

    def _make_handler(self) -> type[BaseHTTPRequestHandler]:
        model = self

        class ProbeHandler(BaseHTTPRequestHandler):
            """Answers in the form of the address that is asked."""

            def do_POST(self) -> None:
                size = self.headers.get("Content-Length", "")
                if not (size.isdecimal() and int(size) <= _MOST_BYTES):
                    self.send_error(413)
                    return
                content = self.rfile.read(int(size))
                address = self.path.partition("?")[0]
                form = next((form for end, form in _FORMS.items() if address.endswith(end)), None)
                try:
                    asked = json.loads(content)
                except ValueError:
                    asked = None
                if not address.startswith(f"/{model._token}/") or form is None or not isinstance(asked, dict):
                    self.send_error(404)
                    return
                conversation = next((asked[name] for name in _CONVERSATIONS if name in asked), None)
                found = model.find_next(frozenset(_list_offered(asked)), json.dumps(conversation))
                events = form(found)
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")  # not every agent takes that from HTTP/1.0
                self.end_headers()
                for event in events:
                    name = f"event: {event['type']}\n" if "type" in event else ""
                    self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: the terminal belongs to the table."""

        return ProbeHandler


def _list_tools(given: object, group: str = "") -> Iterator[str]:
    """The names of the tools of a request; those of a group begin with its name and a dot."""
    for tool in given if isinstance(given, list) else []:
        if isinstance(tool, dict):
            name = f"{group}{tool.get('name', tool.get('type'))}"
            inner = tool.get("functionDeclarations", tool.get("tools"))
            yield from (name,) if inner is None else _list_tools(inner, f"{name}." if "name" in tool else "")


def _list_offered(asked: JsonObject) -> Iterator[str]:
    """The names of all tools that a request offers, also of those that stand in its conversation."""
    yield from _list_tools(asked.get("tools"))
    items = asked.get("input")
    for item in items if isinstance(items, list) else []:
        yield from _list_tools(item.get("tools") if isinstance(item, dict) else None)


def _say_anthropic(found: ScriptedCall | None) -> list[JsonObject]:
    """A message of the Messages API, as its stream."""
    block: JsonObject
    delta: JsonObject
    if found is None:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": _ANSWER}
    else:
        block = {"type": "tool_use", "id": found.id, "name": found.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(found.arguments)}
    message: JsonObject = {
        "id": f"msg_{secrets.token_hex(8)}",
        "type": "message",
        "role": "assistant",
        "model": "probe",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    reason = "end_turn" if found is None else "tool_use"
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 1},
        },
        {"type": "message_stop"},
    ]


def _say_responses(found: ScriptedCall | None) -> list[JsonObject]:
    """A response of the Responses API, as its stream."""
    item: JsonObject
    if found is None:
        text: JsonValue = [{"type": "output_text", "text": _ANSWER, "annotations": []}]
        item = {"type": "message", "role": "assistant", "id": "msg_1", "content": text}
    else:
        group, _, name = found.tool.rpartition(".")
        item = {"call_id": found.id, "name": name}
        if group:
            item["namespace"] = group
        if found.is_text:
            item |= {"type": "custom_tool_call", "input": found.arguments["input"]}
        else:
            item |= {"type": "function_call", "arguments": json.dumps(found.arguments)}
    response = f"resp_{secrets.token_hex(8)}"
    usage: JsonObject = {
        "input_tokens": 1,
        "input_tokens_details": None,
        "output_tokens": 1,
        "output_tokens_details": None,
        "total_tokens": 2,
    }
    return [
        {"type": "response.created", "response": {"id": response}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": response, "usage": usage}},
    ]


def _say_gemini(found: ScriptedCall | None) -> list[JsonObject]:
    """An answer of `streamGenerateContent`, as its stream."""
    part: JsonObject = {"text": _ANSWER}
    if found is not None:
        part = {"functionCall": {"id": found.id, "name": found.tool, "args": found.arguments}}
    candidate: JsonObject = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage: JsonObject = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return [{"candidates": [candidate], "usageMetadata": usage}]


_CONVERSATIONS = ("messages", "input", "contents")
_FORMS: dict[str, Callable[[ScriptedCall | None], list[JsonObject]]] = {
    "/v1/messages": _say_anthropic,
    "/v1/responses": _say_responses,
    ":streamGenerateContent": _say_gemini,
}
