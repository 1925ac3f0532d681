"""Images in messages, over every adapter that carries them: they arrive, and each history stays legal."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quorum.application.ports.models import LlmSession
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.attachment import Image
from quorum.domain.conversation.compaction import replace_attachments, select_attachments_to_hide
from quorum.domain.conversation.history import AssistantMessage, Conversation, Message, UserMessage
from quorum.domain.conversation.response import LlmResponse, StreamEvent, StreamRetry
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonObject
from tests.support.copilot_rig import CopilotRig, copilot_rig
from tests.support.fake_contents import FakeContents
from tests.support.pictures import an_image, png
from tests.support.request_rules import Said, read_chat, read_messages, read_responses
from tests.support.session_rigs import ServerRig, server_rig
from tests.support.sse_server import Refuse, Reply, Say, ScriptedCall

CONTENT = png(40, 30)
SHOT = an_image(CONTENT)
ASKED = UserMessage(f"what is wrong in {SHOT.label}?", (SHOT,))
OK = Say(pieces=("ok",))
TOOLS: tuple[JsonObject, ...] = (
    {"name": "read_file", "description": "Reads.", "input_schema": {"type": "object"}},
)
READ = ScriptedCall("call_a", "read_file", "{}")
RESULT = ToolResultMessage(tool_use_id="call_a", tool_name="read_file", output="x = 1")
NO_IMAGES = Refuse(status=400, message="this model does not support image input")


class Line:
    """A session whose requests are read at the other end, by the rules of its provider."""

    def __init__(self, rig: ServerRig | CopilotRig, contents: FakeContents) -> None:
        self.rig, self.contents = rig, contents

    @property
    def session(self) -> LlmSession:
        return self.rig.session

    @property
    def conversation(self) -> Conversation:
        return self.rig.conversation

    @property
    def carries_history(self) -> bool:
        """Whether each request carries the whole conversation."""
        return isinstance(self.rig, ServerRig)

    def script(self, *replies: Say) -> None:
        self.rig.script(*replies)

    def refuse(self, *replies: Reply) -> None:
        assert isinstance(self.rig, ServerRig)
        self.rig.script(*replies)

    def last(self) -> list[Said]:
        """What the last request said."""
        if isinstance(self.rig, CopilotRig):
            sent = self.rig.calls_of("session.send")[-1]
            images = [("image", a["mimeType"], b64decode(a["data"])) for a in sent.get("attachments", ())]
            return [*images, ("user", sent["prompt"])]
        read = {"anthropic": read_messages, "openai": read_responses, "openai-chat": read_chat}
        return read[self.rig.server.dialect](self.rig.last_body)

    def images(self) -> list[bytes]:
        """The images of the last request."""
        return [said[2] for said in self.last() if said[0] == "image"]

    def words(self) -> str:
        """All that the last request said in the person's name."""
        return "\n".join(said[1] for said in self.last() if said[0] == "user")


@pytest.fixture(params=["anthropic", "openai", "openai-chat", "copilot"])
async def line(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Line]:
    contents = FakeContents()
    await contents.put([CONTENT])
    if request.param == "copilot":
        async with copilot_rig(tmp_path, contents=contents) as reported:
            yield Line(reported, contents)
        return
    async with server_rig(request.param, contents=contents, max_retries=0) as rig:
        yield Line(rig, contents)


WHOLE_REQUESTS = pytest.mark.parametrize("line", ["anthropic", "openai", "openai-chat"], indirect=True)


async def _say(line: Line, said: str | UserMessage | None) -> list[StreamEvent]:
    received: list[StreamEvent] = []
    await line.session.send_with_tools(said, TOOLS, on_event=received.append)
    return received


async def _say_in(line: Line, messages: tuple[Message, ...], said: str) -> None:
    """Say something where the conversation was replaced, as compaction, rewinding and resuming do."""
    line.conversation.restore(messages)
    await _say(line, said)


async def test_an_image_arrives_byte_for_byte_before_the_text_that_names_it(line: Line) -> None:
    line.script(OK)
    await _say(line, ASKED)
    assert line.last() == [("image", "image/png", CONTENT), ("user", ASKED.text)]


async def test_a_prompt_without_an_image_stays_a_plain_text(line: Line) -> None:
    line.script(OK)
    await _say(line, "hello")
    assert line.last() == [("user", "hello")]


async def test_images_of_one_prompt_arrive_in_their_order(line: Line) -> None:
    other = png(8, 8, shade=9)
    await line.contents.put([other])
    line.script(OK)
    await _say(line, UserMessage("compare", (an_image(other, "b.png"), SHOT)))
    assert line.images() == [other, CONTENT]


@WHOLE_REQUESTS
async def test_later_requests_carry_it_again_also_behind_results_of_tools(line: Line) -> None:
    line.script(Say(calls=(READ,), stop="tool_use"), OK, OK)
    await _say(line, "look")
    line.conversation.add_results([RESULT])
    await _say(line, ASKED)
    await _say(line, "and now?")
    assert line.images() == [CONTENT]


async def test_a_conversation_that_was_resumed_shows_it_anew(line: Line) -> None:
    line.script(OK, OK)
    await _say(line, ASKED)
    await _say_in(line, tuple(replace(m) for m in line.conversation.messages), "go on")
    if line.carries_history:
        assert line.images() == [CONTENT]


async def test_where_the_past_is_sent_to_another_session_its_images_go_with_it(line: Line) -> None:
    line.script(OK, OK)
    await _say(line, ASKED)
    await _say_in(line, (*line.conversation.messages[:1], UserMessage("in between")), "go on")
    assert line.images() == [CONTENT]


async def test_after_a_rewind_to_before_it_no_request_carries_it(line: Line) -> None:
    line.script(OK, OK, OK)
    await _say(line, "hello")
    before = line.conversation.messages
    await _say(line, ASKED)
    await _say_in(line, before, "something else")
    assert line.images() == []


async def test_an_image_that_gave_way_is_named_in_a_line_and_the_history_stays_legal(line: Line) -> None:
    line.script(OK, OK)
    await _say(line, ASKED)
    messages = line.conversation.messages
    places = select_attachments_to_hide(messages, spared=0)
    await _say_in(line, replace_attachments(messages, places), "go on")
    assert line.images() == []
    assert "[image shot.png 40×30: no longer shown, to make room]" in line.words()


async def test_an_image_whose_content_is_gone_is_named_and_the_session_goes_on(line: Line) -> None:
    line.contents.contents.clear()
    line.script(OK)
    await _say(line, ASKED)
    assert line.last() == [
        ("user", "what is wrong in [image shot.png 40×30: its content is no longer stored]?")
    ]


@WHOLE_REQUESTS
async def test_an_image_whose_store_is_away_is_not_called_gone_and_is_sent_once_it_is_back(line: Line) -> None:
    line.contents.away = True
    line.script(OK, OK)
    await _say(line, ASKED)
    assert line.images() == []
    assert "[image shot.png 40×30: its content cannot be read now: the server does not answer]" in line.words()

    line.contents.away = False
    await _say(line, "and now?")
    assert line.images() == [CONTENT]


async def test_an_image_that_is_too_large_is_refused_with_its_limit_before_anything_is_sent(line: Line) -> None:
    large = replace(SHOT, size_bytes=21_000_000)
    line.script(OK)
    with pytest.raises(
        ProviderError,
        match=r"shot\.png.*21\.0 MB.*at most \d+\.\d MB.*later requests to this model go without it",
    ) as caught:
        await _say(line, UserMessage("see [image shot.png 40×30]", (large,)))
    assert caught.value.kind is ProviderErrorKind.BAD_REQUEST
    assert line.rig.requests() == 0
    await _say(line, None)
    assert line.images() == []
    assert "left out, as it has 21.0 MB" in line.words()


@WHOLE_REQUESTS
async def test_a_model_that_takes_no_images_says_so_once_and_the_session_goes_on_without(line: Line) -> None:
    line.refuse(NO_IMAGES, OK, OK)
    with pytest.raises(ProviderError) as caught:
        await _say(line, ASKED)
    message = str(caught.value)
    assert "does not support image input" in message
    assert (
        "scripted/a-model may not take [image shot.png 40×30]: later requests to this model go without it"
        in message
    )
    await _say(line, None)
    assert line.images() == []
    assert "left out, as scripted/a-model did not take it" in line.words()
    await _say(line, "next")
    assert line.images() == []


@WHOLE_REQUESTS
async def test_images_of_an_earlier_model_are_left_out_where_another_refuses_them(line: Line) -> None:
    line.conversation.restore((ASKED, AssistantMessage(LlmResponse.from_text("a typo"))))
    line.refuse(NO_IMAGES, OK)
    received = await _say(line, "go on")
    retried = [event for event in received if isinstance(event, StreamRetry)]
    assert [event.reason for event in retried] == [
        "scripted/a-model did not take [image shot.png 40×30]: the request is sent without"
    ]
    assert line.images() == []


@WHOLE_REQUESTS
async def test_what_a_model_took_before_is_not_suspected_of_a_later_refusal(line: Line) -> None:
    line.refuse(OK, Refuse(status=400, message="bad image of the moon"), OK)
    await _say(line, ASKED)
    with pytest.raises(ProviderError, match="of the moon") as caught:
        await _say(line, "hm")
    assert "may not take" not in str(caught.value)
    await _say(line, None)
    assert line.images() == [CONTENT]


@WHOLE_REQUESTS
async def test_of_too_many_images_the_newest_are_sent(line: Line) -> None:
    shown: dict[str, Image] = {}
    for number in range(102):
        content = png(1, 1 + number)
        shown[content.hex()] = an_image(content, f"{number}.png")
        await line.contents.put([content])
    limits = line.rig.client.image_limits  # type: ignore[union-attr]
    line.script(OK)
    await _say(line, UserMessage("all of them", tuple(shown.values())))
    sent = min(limits.images, 102)
    assert line.images() == [bytes.fromhex(content) for content in list(shown)[-sent:]]
