"""A chat model on the loopback interface for benchmarks: what it answers is written in the prompt.

`reads CALLS TURNS`: so many times an answer with so many calls of `read_file`, then the end. `writes TURNS`: so
many times an answer with one high-risk call, a command and a file in turn, then the end. `text PIECES`: one
answer of Markdown, as fast as the socket takes it. `text PIECES PER_SEC`: the same at a steady pace. What comes
last is `END` with the last number of the prompt but the pace.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

SECTION = (
    "## Heading\n\nSome **bold** text with `code`, and words enough to fill more than one line of a terminal "
    "that is a hundred and twenty columns wide:\n\n- one\n- two\n\n```python\ndef f(x):\n    return x\n```\n\n"
)
PIECE = 6
FILES = 400
END = "END-OF-"
MODEL = "bench/m"


class ChatServer(ThreadingHTTPServer):
    """Answers until the process ends. `times` are those of each request: when its head came, and when its
    answer was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.times: list[tuple[float, float]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def base_url(self) -> str:
        """Where a client of the API finds it."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def came(self) -> None:
        """The head of a request has come."""

    def gaps(self) -> list[float]:
        """Milliseconds from the end of each answer to the next request, and forgets them."""
        times, self.times = self.times, []
        return [1000 * (later[0] - before[1]) for before, later in pairwise(times)]

    def configure(self, home: Path) -> None:
        """Have a quorum with this home use this model, and no other."""
        config = home / ".config" / "quorum"
        config.mkdir(parents=True)
        (config / "quorum.toml").write_text(
            "[agent]\nmax_tool_turns = 2000\n[context_budget]\nwindow_tokens = 10_000_000\n"
            '[review]\nmode = "ask"\n'  # else the first start asks for one
            f'[models]\ndecision = "{MODEL}"\n[providers.bench]\ntype = "openai-chat"\n'
            f'base_url = "{self.base_url}"\napi_key_env = "BENCH_KEY"\n'
        )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ChatServer

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_POST(self) -> None:
        came = time.perf_counter()
        self.server.came()
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        began, waiting = time.monotonic(), b""
        for due_secs, data in _answer(request):
            if due_secs and (pause := began + due_secs - time.monotonic()) > 0:
                self._send(waiting)
                waiting = b""
                time.sleep(pause)
            waiting += data
        self._send(waiting + b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")
        self.server.times.append((came, time.perf_counter()))

    def handle(self) -> None:
        with suppress(ConnectionError):  # the app was killed while it was answered
            super().handle()

    def _send(self, data: bytes) -> None:
        if data:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def log_message(self, format: str, *args: object) -> None:
        pass


def _answer(request: dict[str, Any]) -> Iterator[tuple[float, bytes]]:
    """The events of an answer, each with the second at which it is due."""
    messages = request["messages"]
    asked = max(number for number, each in enumerate(messages) if each["role"] == "user")
    match _parse_prompt(str(messages[asked]["content"])):
        case "reads", (calls, turns) if (turn := _count_answers(messages[asked:])) < turns:
            for index in range(calls):
                yield 0, _chunk({"tool_calls": [_read(turn, index, calls)]})
            yield 0, _chunk({}, "tool_calls")
        case "writes", (turns,) if (turn := _count_answers(messages[asked:])) < turns:
            yield 0, _chunk({"tool_calls": [_change(turn)]})
            yield 0, _chunk({}, "tool_calls")
        case ("reads", (_, turns)) | ("writes", (turns,)):
            yield 0, _chunk({"content": f"{END}{turns}"})
            yield 0, _chunk({}, "stop")
        case "text", (pieces, *pace):
            text = SECTION * (pieces * PIECE // len(SECTION) + 1)
            for number in range(pieces):
                due_secs = number / pace[0] if pace else 0
                yield due_secs, _chunk({"content": text[number * PIECE : (number + 1) * PIECE]})
            yield 0, _chunk({"content": f"\n\n{END}{pieces}"})
            yield 0, _chunk({}, "stop")
        case _:
            yield 0, _chunk({"content": "bench"})
            yield 0, _chunk({}, "stop")


def _parse_prompt(prompt: str) -> tuple[str, tuple[int, ...]]:
    """The word that a prompt begins with, and its numbers; nothing for any other text, such as a request for a
    summary."""
    words = prompt.split()
    if words[:1] not in (["reads"], ["writes"], ["text"]) or not all(word.isdigit() for word in words[1:]):
        return "", ()
    return words[0], tuple(map(int, words[1:]))


def _count_answers(messages: list[dict[str, Any]]) -> int:
    return sum(each["role"] == "assistant" for each in messages)


def _read(turn: int, index: int, calls: int) -> dict[str, Any]:
    return _call(turn, index, "read_file", {"path": f"f{(turn * calls + index) % FILES:03}.txt"})


def _change(turn: int) -> dict[str, Any]:
    if turn % 2:
        return _call(turn, 0, "write_file", {"path": "notes.txt", "content": f"note {turn}\n"})
    return _call(turn, 0, "run_command", {"command": f"echo {turn} > command.txt"})


def _call(turn: int, index: int, name: str, arguments: dict[str, str]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"index": index, "id": f"call_{turn}_{index}", "type": "function", "function": function}


def _chunk(delta: dict[str, Any], stop: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": stop}
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def make_workspace(folder: Path) -> None:
    """Files of sixty lines, so many that no turn reads what another one has read: such a session is ended."""
    folder.mkdir()
    for number in range(FILES):
        lines = (f"line {line} of file {number}: some plain text here\n" for line in range(60))
        (folder / f"f{number:03}.txt").write_text("".join(lines))
