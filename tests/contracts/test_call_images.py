"""Images that a tool has read reach the model with the results of their batch, over each API."""

from __future__ import annotations

from base64 import b64decode

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import StreamRetry
from quorum.domain.replacing import replace
from tests.contracts.test_images import CONTENT, NO_IMAGES, OK, SHOT, WHOLE_REQUESTS, Line, _say, line
from tests.support.copilot_rig import CopilotRig
from tests.support.sse_server import Reply, Say, ScriptedCall

__all__ = ["line"]

LOOK = ScriptedCall("call_a", "read_file", '{"path": "shot.png"}')
READ = ScriptedCall("call_b", "read_file", '{"path": "a.py"}')
NAMED = f"{SHOT.label} of 99 bytes is shown with this result"


def results(line: Line) -> list[ToolResultMessage]:
    """One for each open call: the first names the image."""
    outputs = [NAMED, "x = 1"]
    calls = line.conversation.open_calls
    return [
        ToolResultMessage(tool_use_id=call.native_id, tool_name=call.tool_name, output=output)
        for call, output in zip(calls, outputs, strict=False)
    ]


async def look(line: Line, *replies: Reply | Say, calls: tuple[ScriptedCall, ...] = (LOOK, READ)) -> None:
    """Have the model look at an image, up to where the results are to be sent."""
    if isinstance(line.rig, CopilotRig):
        line.script(Say(calls=calls), *(reply for reply in replies if isinstance(reply, Say)))
    else:
        line.refuse(Say(calls=calls), *replies)
    await _say(line, "look at it")
    given = results(line)
    line.conversation.add_results(given)
    line.conversation.add_user(UserMessage(SHOT.label, (SHOT,), of_call=given[0].tool_use_id))


async def test_an_image_that_a_tool_has_read_comes_with_its_result(line: Line) -> None:
    await look(line, OK)
    await _say(line, None)

    if isinstance(line.rig, CopilotRig):
        first, second = line.rig.calls_of("session.tools.handlePendingToolCall")
        (binary,) = first["result"]["binaryResultsForLlm"]
        assert (binary["type"], binary["mimeType"], b64decode(binary["data"])) == (
            "image",
            "image/png",
            CONTENT,
        )
        assert first["result"]["textResultForLlm"] == NAMED
        assert "binaryResultsForLlm" not in second["result"]
        assert len(line.rig.calls_of("session.create")) == 1
        return
    said = line.last()
    image = ("image", "image/png", CONTENT)
    kinds = [each[0] for each in said]
    if line.rig.server.dialect == "anthropic":
        assert kinds == ["user", "call", "call", "result", "image", "result"]
    else:
        assert kinds == ["user", "call", "call", "result", "result", "image", "user"]
        assert said[-1] == ("user", SHOT.label)
    assert image in said


async def test_the_conversation_goes_on_behind_it(line: Line) -> None:
    await look(line, OK, OK)
    await _say(line, None)
    await _say(line, "and now?")

    assert line.words().endswith("and now?")
    if line.carries_history:
        assert line.images() == [CONTENT]


@WHOLE_REQUESTS
async def test_a_model_that_takes_no_images_reads_why_and_the_turn_goes_on(line: Line) -> None:
    await look(line, NO_IMAGES, OK)
    received = await _say(line, None)

    assert [event.reason for event in received if isinstance(event, StreamRetry)] == [
        "scripted/a-model did not take [image shot.png 40×30]: the request is sent without"
    ]
    assert line.images() == []
    assert "[image shot.png 40×30: left out, as scripted/a-model did not take it]" in str(line.last())


async def test_an_image_above_the_limit_of_the_api_is_named_with_the_limit_and_the_turn_goes_on(
    line: Line,
) -> None:
    await look(line, OK)
    large = replace(SHOT, size_bytes=21_000_000)
    *before, last = line.conversation.messages
    assert isinstance(last, UserMessage)
    line.conversation.restore((*before, replace(last, images=(large,))))
    await _say(line, None)

    is_copilot = isinstance(line.rig, CopilotRig)
    said = line.rig.last_results()[0].text if is_copilot else str(line.last())
    assert "left out, as it has 21.0 MB" in said
    assert is_copilot or line.images() == []


@WHOLE_REQUESTS
async def test_where_the_past_was_cut_behind_the_result_the_image_stands_alone(line: Line) -> None:
    line.script(OK)
    line.conversation.restore((UserMessage(SHOT.label, (SHOT,), of_call="call_a"),))
    await _say(line, "go on")

    assert line.images() == [CONTENT]


@WHOLE_REQUESTS
async def test_behind_a_failed_result_the_image_stands_after_the_results(line: Line) -> None:
    line.refuse(Say(calls=(LOOK,)), OK)
    await _say(line, "look at it")
    (given,) = results(line)
    line.conversation.add_results([replace(given, is_error=True)])
    line.conversation.add_user(UserMessage(SHOT.label, (SHOT,), of_call=given.tool_use_id))
    await _say(line, None)

    assert [each[0] for each in line.last()][-2:] in (["result", "image"], ["image", "user"])
