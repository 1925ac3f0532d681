"""PDFs in messages and with results of tools, over every adapter: they arrive, or a line says why not."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest
from pydantic import TypeAdapter

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import StreamRetry
from quorum.domain.errors import ProviderError
from quorum.domain.replacing import replace
from tests.contracts.test_images import OK, WHOLE_REQUESTS, Line, _say, line
from tests.support.copilot_rig import CopilotRig
from tests.support.papers import a_document, pdf
from tests.support.sse_server import Refuse, Reply, Say, ScriptedCall

__all__ = ["line"]

CONTENT = pdf(3)
PAPER = a_document(CONTENT)
ASKED = UserMessage(f"what does {PAPER.label} say?", documents=(PAPER,))
ARRIVED = ("pdf", "report.pdf", CONTENT)
LOOK = ScriptedCall("call_a", "read_file", '{"path": "report.pdf"}')
READ = ScriptedCall("call_b", "read_file", '{"path": "a.py"}')
REMEDY = "run_command with `pdftotext -layout FILE -` prints its text, where poppler-utils is installed]"
REFUSALS = [
    "Unsupported chat content part type: 'file'. Supported types: text",
    "unsupported content[].type",
    "invalid message format",
    "this model does not support PDF input",
]


async def _keep(line: Line) -> None:
    await line.contents.put([CONTENT])


def papers(line: Line) -> list[tuple[Any, ...]]:
    return [said for said in line.last() if said[0] == "pdf"]


async def look(line: Line, *replies: Reply, calls: tuple[ScriptedCall, ...] = (LOOK, READ)) -> None:
    """Have the model look at a PDF, up to where the results are to be sent."""
    await _keep(line)
    if isinstance(line.rig, CopilotRig):
        line.script(Say(calls=calls), *(reply for reply in replies if isinstance(reply, Say)))
    else:
        line.refuse(Say(calls=calls), *replies)
    await _say(line, "look at it")
    outputs = [f"{PAPER.label} of 99 bytes is shown with this result", "x = 1"]
    given = [
        ToolResultMessage(tool_use_id=call.native_id, tool_name=call.tool_name, output=output)
        for call, output in zip(line.conversation.open_calls, outputs, strict=False)
    ]
    line.conversation.add_results(given)
    line.conversation.add_user(UserMessage(PAPER.label, documents=(PAPER,), of_call=given[0].tool_use_id))


@WHOLE_REQUESTS
async def test_a_pdf_arrives_byte_for_byte_before_the_text_that_names_it(line: Line) -> None:
    await _keep(line)
    line.script(OK, OK)
    await _say(line, ASKED)
    assert line.last() == [ARRIVED, ("user", ASKED.text)]

    await _say(line, "and now?")
    assert papers(line) == [ARRIVED]


@WHOLE_REQUESTS
async def test_a_pdf_that_a_tool_has_read_comes_with_its_result(line: Line) -> None:
    await look(line, OK)
    await _say(line, None)

    kinds = [each[0] for each in line.last()]
    if line.rig.server.dialect == "anthropic":  # type: ignore[union-attr]
        assert kinds == ["user", "call", "call", "result", "pdf", "result"]
    else:
        assert kinds == ["user", "call", "call", "result", "result", "pdf", "user"]
    assert ARRIVED in line.last()


@WHOLE_REQUESTS
async def test_a_pdf_that_is_read_again_is_sent_once_as_its_pages_count_each_time(line: Line) -> None:
    await _keep(line)
    line.script(OK, OK)
    await _say(line, ASKED)
    await _say(line, ASKED)

    assert papers(line) == [ARRIVED]
    assert "[PDF report.pdf 3 pages: its pages are shown above; " in line.words()


@WHOLE_REQUESTS
async def test_a_resumed_conversation_shows_it_anew(line: Line) -> None:
    await _keep(line)
    line.script(OK, OK)
    await _say(line, ASKED)
    line.conversation.restore(tuple(replace(message) for message in line.conversation.messages))
    await _say(line, "go on")

    assert papers(line) == [ARRIVED]


@WHOLE_REQUESTS
@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_model_that_takes_no_pdf_reads_how_else_to_and_the_turn_goes_on(
    line: Line, refusal: str
) -> None:
    await look(line, Refuse(status=400, message=refusal), OK)
    received = await _say(line, None)

    assert [event.reason for event in received if isinstance(event, StreamRetry)] == [
        "scripted/a-model did not take [PDF report.pdf 3 pages]: the request is sent without"
    ]
    assert papers(line) == []
    assert f"[PDF report.pdf 3 pages: left out, as scripted/a-model did not take it; {REMEDY}" in str(
        line.last()
    )


@WHOLE_REQUESTS
async def test_a_server_that_fails_at_an_unknown_part_is_not_asked_for_ever(line: Line) -> None:
    """Some answer 500 to a part that they do not know."""
    failure = Refuse(status=500, message="NotImplementedError: Unknown part type: file")
    await look(line, failure, OK)
    await _say(line, None)

    assert papers(line) == []


@WHOLE_REQUESTS
async def test_one_that_the_person_attached_is_refused_aloud_with_the_remedy(line: Line) -> None:
    await _keep(line)
    line.refuse(Refuse(status=400, message=REFUSALS[-1]), OK)
    with pytest.raises(
        ProviderError,
        match=r"may not take \[PDF report.pdf 3 pages\]: later requests to this model go without it",
    ):
        await _say(line, ASKED)
    await _say(line, None)

    assert papers(line) == []
    assert REMEDY in line.words()


async def test_above_the_size_that_the_api_takes_it_is_refused_before_anything_is_sent(line: Line) -> None:
    large = replace(PAPER, size_bytes=51_000_000)
    line.script(OK)
    with pytest.raises(
        ProviderError, match=r"report\.pdf.*(51\.0 MB|no PDF).*later requests to this model go without it"
    ):
        await _say(line, UserMessage("see [PDF report.pdf 3 pages]", documents=(large,)))

    assert line.rig.requests() == 0
    await _say(line, None)
    assert REMEDY in line.words()


@pytest.mark.parametrize("line", ["anthropic"], indirect=True)
async def test_more_pages_than_the_api_takes_are_refused_before_anything_is_sent(line: Line) -> None:
    long = replace(PAPER, pages=101)
    with pytest.raises(ProviderError, match="it has 101 pages, and at most 100 are taken"):
        await _say(line, UserMessage(f"see {long.label}", documents=(long,)))
    assert line.rig.requests() == 0


@pytest.mark.parametrize("line", ["copilot"], indirect=True)
async def test_an_api_that_carries_none_names_it_in_the_result(line: Line) -> None:
    await look(line, OK, calls=(LOOK,))
    await _say(line, None)

    (result,) = line.rig.last_results()
    assert f"[PDF report.pdf 3 pages: left out, as no PDF is taken over this API; {REMEDY}" in result.text
    (sent,) = line.rig.calls_of("session.tools.handlePendingToolCall")  # type: ignore[union-attr]
    assert "binaryResultsForLlm" not in sent["result"]


@WHOLE_REQUESTS
async def test_one_whose_content_is_gone_is_named_and_the_session_goes_on(line: Line) -> None:
    line.script(OK)
    await _say(line, ASKED)

    assert papers(line) == []
    assert "its content is no longer stored" in line.words()


@WHOLE_REQUESTS
async def test_what_is_sent_is_what_the_types_of_the_sdk_allow(line: Line) -> None:
    await look(line, OK, calls=(LOOK,))
    await _say(line, None)
    body = line.rig.last_body

    match line.rig.server.dialect:  # type: ignore[union-attr]
        case "anthropic":
            from anthropic.types import MessageParam

            TypeAdapter(list[MessageParam]).validate_python(body["messages"], strict=False)
            (block,) = [b for b in body["messages"][-1]["content"] if b["type"] == "tool_result"]
            inner = block["content"][1]
            assert (inner["type"], b64decode(inner["source"]["data"])) == ("document", CONTENT)
        case "openai":
            from openai.types.responses import ResponseInputFileParam

            (part,) = [p for item in body["input"] for p in _content(item) if p["type"] == "input_file"]
            TypeAdapter(ResponseInputFileParam).validate_python(part)
        case _:
            from openai.types.chat.chat_completion_content_part_param import File

            (part,) = [p for message in body["messages"] for p in _content(message) if p["type"] == "file"]
            TypeAdapter(File).validate_python(part)


def _content(item: dict[str, Any]) -> list[dict[str, Any]]:
    content = item.get("content")
    return content if isinstance(content, list) else []
