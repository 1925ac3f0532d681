"""The models of a fleet's sessions and their reviewers, as one server in a thread."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.quorum_rig import DONE, call, calling, vote
from tests.support.sse_server import Reply, SseServer

_PROMPT = re.compile(r"session (\d+): (\d+) lines")
_COMMAND = re.compile(r"echo (\d+)\.(\d+) >>")
_COMMANDS_EVERY = 5
EDITED_FILE = "lines.txt"
COMMANDS_FILE = "more.txt"
LAST_LINE = "end"
"""The last line of each file, before which edits add theirs."""
_REVIEWERS = ("first", "second", "third")


def write_prompt(number: int, lines: int) -> str:
    """What a session is asked: to write that many lines, each by a call of its own."""
    return f"session {number}: {lines} lines"


class FleetModels:
    """Answers every session, however often its process has changed.

    A session asks for one call after the other, each of which adds one line: an edit, or for every fifth
    line and the last one a command, which prints a long text, too. After an edit that did not end well it
    reads the file, as it is told to: another edit of what it has not seen is refused. The reviewers approve,
    but the last command of every `ask_every`-th session they reject, so that it is left to a person.
    """

    def __init__(self, *, ask_every: int) -> None:
        self.requests = 0
        self._ask_every = ask_every
        self._lines: dict[int, int] = {}
        self._loop = asyncio.new_event_loop()
        self._server = SseServer("openai-chat")
        self._server.respond = self._respond
        started = threading.Event()

        async def serve() -> None:
            async with self._server:
                self._stop = asyncio.Event()
                started.set()
                await self._stop.wait()

        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(serve()), daemon=True)
        self._thread.start()
        started.wait()

    @property
    def settings(self) -> str:
        """The tables of the settings that name these models."""
        review = ", ".join(f'"fake/{name}"' for name in _REVIEWERS)
        return (
            f'[models]\ndecision = "fake/worker"\nreview = [{review}]\n'
            f'[providers.fake]\ntype = "openai-chat"\nbase_url = "{self._server.base_url}"\n'
        )

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    def _respond(self, body: dict[str, Any]) -> Reply:
        self.requests += 1
        self._server.bodies.clear()
        self._server.headers.clear()
        self._server.asked.clear()
        messages: list[Mapping[str, Any]] = body["messages"]
        if body["model"] in _REVIEWERS:
            return self._vote(json.dumps(messages))
        results = [message for message in messages if message["role"] == "tool"]
        done = sum(str(result["tool_call_id"]).startswith("c") for result in results)
        asked = _PROMPT.search(json.dumps(messages))
        assert asked is not None
        number, lines = int(asked[1]), int(asked[2])
        self._lines[number] = lines
        if done >= lines:
            return DONE
        if done < lines - 1 and not _is_command(done):
            if _has_to_read(results):
                return calling(call(f"r{len(results)}", "read_file", path=EDITED_FILE))
            line = f"{number}.{done}\n{LAST_LINE}"
            edit = call(f"c{done}", "edit_file", path=EDITED_FILE, old_text=LAST_LINE, new_text=line)
            return calling(edit)
        command = f"seq 5000; echo {number}.{done} >> {COMMANDS_FILE}"
        return calling(call(f"c{done}", "run_command", command=command))

    def _vote(self, question: str) -> Reply:
        for asked in _COMMAND.finditer(question):
            number, line = int(asked[1]), int(asked[2])
            if number % self._ask_every == 0 and line == self._lines[number] - 1:
                return vote("reject", "a person is to see this")
        return vote("approve")


def _is_command(line: int) -> bool:
    return line % _COMMANDS_EVERY == 0


def _has_to_read(results: Sequence[Mapping[str, Any]]) -> bool:
    """Whether an edit did not end well, and the file was not read since."""
    for result in reversed(results):
        text = str(result["content"])
        is_reading = str(result["tool_call_id"]).startswith("r")
        if (is_reading and re.search(rf"\b{LAST_LINE}\b", text)) or f"edited {EDITED_FILE}" in text:
            return False
        if is_reading or not _is_command(int(str(result["tool_call_id"])[1:])):
            return True
    return False
