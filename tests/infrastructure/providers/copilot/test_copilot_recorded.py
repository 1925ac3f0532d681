from __future__ import annotations

import os
from pathlib import Path

import pytest

from quorum.application.conversation_session import ConversationSession
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import Delta, StopKind, StreamedToolCall, StreamEvent, Usage
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.copilot.provider import CopilotProvider
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from tests.support.copilot_rig import fake_program

_BESIDE = Path(__file__).parents[5] / "shared" / "copilot" / "copilot-wire.jsonl"
RECORDING = Path(os.environ.get("QUORUM_COPILOT_WIRE") or _BESIDE)

pytestmark = pytest.mark.skipif(
    not RECORDING.is_file(),
    reason=f"no recorded conversation at {RECORDING}; set QUORUM_COPILOT_WIRE to the file that holds it",
)


async def test_the_recorded_conversation_is_led_to_its_end(tmp_path: Path) -> None:
    program = str(fake_program(tmp_path, of=RECORDING))
    settings = ProviderSettings(type="copilot", program=program, base_url="http://127.0.0.1:8000/v1")
    backend = CopilotProvider("copilot", settings, {"PATH": os.environ["PATH"]})
    session = ConversationSession(
        backend.open_exchange("fake-model"), Conversation(), system="You are a test agent."
    )
    tools: list[JsonObject] = [
        {"name": n, "description": n, "input_schema": {}} for n in ("quorum_read", "quorum_grep")
    ]
    events: list[StreamEvent] = []
    try:
        asked = await session.send_with_tools("please look", tools, on_event=events.append)
        results = [
            ToolResultMessage(tool_use_id=call.native_id, tool_name=call.tool_name, output="x")
            for call in asked.tool_calls()
        ]
        answer = await session.send_tool_results(results, on_event=events.append)
    finally:
        await backend.aclose()
    assert asked.text_content() == "Looking."
    assert [(call.tool_name, call.arguments) for call in asked.tool_calls()] == [
        ("quorum_read", {"path": "a.txt"}),
        ("quorum_grep", {"pattern": "x", "path": "."}),
    ]
    assert asked.usage == Usage(input=11, output=7)
    assert answer.text_content() == "Final answer: both tools ran."
    assert answer.stop_reason.kind is StopKind.END_TURN
    assert "".join(event.text for event in events if isinstance(event, Delta)) == (
        "Looking.Final answer: both tools ran."
    )
    named = [event.name for event in events if isinstance(event, StreamedToolCall) and event.name]
    assert named == ["quorum_read", "quorum_grep"]
