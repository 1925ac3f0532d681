"""A model of our own on loopback that asks an agent for calls that are given, one after another."""

from __future__ import annotations

import json
import re
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

    `tools` are the names that programs have for the tool; the first that is offered is called. `is_text`: its
    input is the text `input`, not an object. `marker`: the text in a prompt of the conversation that the call
    belongs to. `found`: a pattern; the number that its group matches last in the conversation stands in the
    arguments for "{found}".
    """

    id: str
    tools: tuple[str, ...]
    arguments: JsonObject
    marker: str = ""
    is_text: bool = False
    found: str = ""

    def fill(self, conversation: str) -> JsonObject:
        """The arguments with the number from this conversation."""
        numbers = re.findall(self.found, conversation) if self.found else []
        if not numbers:
            return self.arguments
        return {
            name: int(numbers[-1]) if value == "{found}" else value for name, value in self.arguments.items()
        }


class _AskedCall(Struct, frozen=True):
    """A call as it is asked for: by the name that the agent has for the tool."""

    id: str
    tool: str
    arguments: JsonObject
    is_text: bool


class ScriptedModel:
    """What is asked for, and what came back. `answered` has the ids of the calls that the agent answered."""

    def __init__(self, calls: Sequence[ScriptedCall]) -> None:
        self._calls = calls
        self._token = secrets.token_urlsafe(12)
        self._lock = threading.Lock()
        self.answered: set[str] = set()
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

    def find_next(self, offered: frozenset[str], conversation: str) -> _AskedCall | None:
        """The call to ask for in this conversation; None: there is none left."""
        marked = {call.marker for call in self._calls if call.marker and call.marker in conversation}
        is_inner = bool(marked) and not any(
            call.id in conversation for call in self._calls if call.marker not in marked
        )
        with self._lock:
            done = {call.id for call in self._calls if call.id in conversation}
            self.answered |= done
        for call in self._calls:
            is_meant = call.marker in marked if is_inner else not call.marker
            if call.id in done or not is_meant:
                continue
            if tool := next((name for name in call.tools if name in offered), None):
                return _AskedCall(call.id, tool, call.fill(conversation), call.is_text)
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
                form = next((form for end, form in _FORMS.items() if address == f"/{model._token}{end}"), None)
                try:
                    asked = json.loads(content)
                except ValueError:
                    asked = None
                if form is None or not isinstance(asked, dict):
                    self.send_error(404)
                    return
                found = model.find_next(
                    _list_tools(asked.get("tools")), json.dumps(asked.get("messages", asked.get("input")))
                )
                events = form(found)
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")  # not every agent takes that from HTTP/1.0
                self.end_headers()
                for event in events:
                    self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: the terminal belongs to the table."""

        return ProbeHandler


def _list_tools(given: object) -> frozenset[str]:
    """The names of the tools of a request."""
    tools = given if isinstance(given, list) else []
    return frozenset(str(tool["name"]) for tool in tools if isinstance(tool, dict) and "name" in tool)


def _say_anthropic(found: _AskedCall | None) -> list[JsonObject]:
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


def _say_responses(found: _AskedCall | None) -> list[JsonObject]:
    """A response of the Responses API, as its stream."""
    item: JsonObject
    if found is None:
        text: JsonValue = [{"type": "output_text", "text": _ANSWER, "annotations": []}]
        item = {"type": "message", "role": "assistant", "id": "msg_1", "content": text}
    else:
        item = {"call_id": found.id, "name": found.tool}
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


_FORMS: dict[str, Callable[[_AskedCall | None], list[JsonObject]]] = {
    "/v1/messages": _say_anthropic,
    "/v1/responses": _say_responses,
}
