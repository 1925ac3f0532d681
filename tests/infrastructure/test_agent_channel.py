"""The channel to an agent's program: each request of it is answered."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path

import pytest

from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.agents.channel import INTERNAL_ERROR, AgentChannel
from quorum.infrastructure.agents.launch import AgentLaunch

_ASK_AND_TELL = """
printf '{"jsonrpc":"2.0","id":7,"method":"ask","params":{}}\\n'
read -r answer
printf '{"jsonrpc":"2.0","method":"told","params":%s}\\n' "$answer"
read -r end
"""


class CrashingPeer:
    def __init__(self) -> None:
        self.told: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()

    def take_notification(self, method: str, params: JsonObject) -> None:
        self.told.set_result(params)

    async def answer_request(self, method: str, params: JsonObject) -> JsonValue:
        raise KeyError("a slip of ours")


async def test_a_request_that_crashes_here_is_answered_with_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    launch = AgentLaunch(
        name="test",
        words=("/bin/sh", "-c", _ASK_AND_TELL),
        environ={"PATH": os.environ["PATH"]},
        timeout_secs=20,
    )
    peer = CrashingPeer()
    channel = AgentChannel(launch, str(tmp_path), peer, None)
    with caplog.at_level(logging.ERROR):
        await channel.open()
        try:
            told = await asyncio.wait_for(peer.told, 20)
        finally:
            await channel.aclose()

    assert told["id"] == 7
    assert told["error"] == {"code": INTERNAL_ERROR, "message": "quorum failed at ask: KeyError"}
    assert "a slip of ours" in caplog.text
