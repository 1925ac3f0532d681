"""Sessions of an editor in a layer: what is unsaved there, and how their process is started and heard."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from acp.exceptions import RequestError
from acp.schema import TextContentBlock

from quorum.acp_agent.client_approver import UnsavedBuffers
from quorum.acp_agent.layer_worker import LayerWorker, build_command
from quorum.acp_agent.layered_session import read_crossing
from quorum.domain.review.mode import Mode
from quorum.infrastructure.execution.program import open_program

_WORKER = """
import json, sys
def say(message): print(json.dumps(message), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "session/new":
        say({"id": asked["id"], "result": {"sessionId": "s"}})
        say({"method": "session/update", "params": {"sessionId": "s", "update": {"of": "a later version"}}})
    elif asked["method"] == "session/prompt":
        say({"id": 7, "method": "session/request_permission", "params": {"sessionId": "s", "more": [1]}})
        answer = json.loads(sys.stdin.readline())
        say({"id": asked["id"], "result": answer})
    else:
        sys.exit("quorum: the reason")
"""


class Client:
    """The side of the connection that passes on what the SDK has no name for."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.heard = asyncio.Event()

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self.told.append((method, params))
        self.heard.set()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.told.append((method, params))
        return {"outcome": {"outcome": "selected", "optionId": "x", "extra": None}}


async def test_a_process_and_the_client_reach_each_other_with_every_field_and_its_end_says_why() -> None:
    client, ends = Client(), list[str]()
    exits = AsyncExitStack()
    process = await exits.enter_async_context(
        open_program(
            (sys.executable, "-I", "-S", "-c", _WORKER),
            environment={},
            stdin=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    )
    worker = LayerWorker(process, exits, client, ends.append)  # type: ignore[arg-type]

    assert await worker.open_session("session/new", {}) == {"sessionId": "s"}
    assert client.told == []
    worker.release()
    await client.heard.wait()
    answer = await worker.request("session/prompt", {})
    with pytest.raises(RequestError, match="ended with code 1; what it changed waits in the layer"):
        await worker.request("session/close", {})

    assert client.told == [
        ("session/update", {"sessionId": "s", "update": {"of": "a later version"}}),
        ("session/request_permission", {"sessionId": "s", "more": [1]}),
    ]
    assert answer["result"] == {"outcome": {"outcome": "selected", "optionId": "x", "extra": None}}
    await worker.end()
    (told,) = ends
    assert "ended with code 1; what it changed waits" in told
    assert not worker.is_running


def test_a_process_starts_as_the_one_that_the_editor_started_but_in_the_layer() -> None:
    command = build_command(["acp", "--mode", "ask", "-m", "a/b"], Path("/w"), "s1")

    assert command[-11:] == (
        *("acp", "--mode", "ask", "-m", "a/b"),
        *("--workdir", "/w", "--mode", "staged", "--layer-of", "s1"),
    )


async def test_in_a_layer_a_buffer_is_unsaved_where_it_differs_from_the_folder(tmp_path: Path) -> None:
    layer, folder = tmp_path / "layer", tmp_path / "folder"
    for place, text in ((layer, "changed in the layer\n"), (folder, "saved\n")):
        place.mkdir()
        (place / "a.txt").write_text(text)
    held = {"text": "saved\n"}

    async def read(_path: str) -> str:
        return held["text"]

    buffers = UnsavedBuffers(read, layer, saved_in=folder)
    assert await buffers.find(layer / "a.txt") is None
    held["text"] = "typed\n"
    assert await buffers.find(layer / "a.txt") == "typed\n"


def test_a_prompt_that_is_a_command_of_layers_alone_chooses_the_mode() -> None:
    def read(*texts: str) -> Mode | None:
        return read_crossing([TextContentBlock(type="text", text=text) for text in texts])

    assert (read("/stage"), read(" /unstage\n")) == (Mode.STAGED, Mode.ASK)
    assert (read("/stage it"), read("/stage", "more"), read()) == (None, None, None)
