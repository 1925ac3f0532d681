from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import AssistantMessage, UserMessage
from quorum.domain.conversation.response import (
    Completed,
    CompletedResponse,
    Delta,
    Error,
    StopKind,
    StreamedToolCall,
    StreamEvent,
)
from quorum.domain.errors import ConversationError, ProviderError, ProviderErrorKind
from quorum.domain.text.json_value import JsonObject
from tests.support.copilot_rig import copilot_rig
from tests.support.session_rigs import FakeRig, FragileRig, Rig, SentResult, server_rig
from tests.support.sse_server import Hang, Refuse, Reply, Say, ScriptedCall

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
}
TOOLS: tuple[JsonObject, ...] = (
    {"name": "read_file", "description": "Reads a file.", "input_schema": SCHEMA},
    {"name": "list_files", "description": "Lists a folder.", "input_schema": SCHEMA},
)
READ = ScriptedCall("call_a", "read_file", '{"path": "ä/b.py"}')
LIST = ScriptedCall("call_b", "list_files", '{"path": "."}')


# The Copilot CLI settles itself with its model what no tool could run: such calls never reach us.
TOLD_OF_BROKEN_CALLS = ["anthropic", "openai", "openai-chat", "fake"]


@pytest.fixture(params=[*TOLD_OF_BROKEN_CALLS, "copilot"])
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    if request.param == "fake":
        yield FakeRig()
        return
    if request.param == "copilot":
        async with copilot_rig(tmp_path) as reported:
            yield reported
        return
    async with server_rig(request.param) as rig:
        yield rig


@pytest.fixture(params=["anthropic", "openai", "openai-chat", "fake"])
async def fragile(request: pytest.FixtureRequest) -> AsyncIterator[FragileRig]:
    if request.param == "fake":
        yield FakeRig(times_out=True)
        return
    async with server_rig(request.param, max_retries=0, timeout_secs=1.0) as rig:
        yield rig


def _result(call: ScriptedCall, output: str, **flags: Any) -> ToolResultMessage:
    return ToolResultMessage(tool_use_id=call.id, tool_name=call.name, output=output, **flags)


def _ignore(_event: StreamEvent) -> None:
    return None


@pytest.mark.requirement("E13")
@pytest.mark.requirement("E14")
async def test_text_arrives_in_order_and_the_whole_comes_last(rig: Rig) -> None:
    rig.script(Say(pieces=("Hel", "lo ", "wörld 🌍")))
    events: list[StreamEvent] = []
    response = await rig.session.send_streaming("hi", events.append)
    assert events == [Delta("Hel"), Delta("lo "), Delta("wörld 🌍"), Completed("Hello wörld 🌍")]
    assert response.text_content() == "Hello wörld 🌍"
    assert response.stop_reason.kind is StopKind.END_TURN


@pytest.mark.requirement("E13")
async def test_a_plain_send_answers_with_the_text_and_offers_no_tools(rig: Rig) -> None:
    rig.script(Say(pieces=("yes",)))
    response = await rig.session.send("well?")
    assert response.text_content() == "yes"
    assert rig.offered() == ([], "")


async def test_question_and_answer_are_appended_to_the_conversation(rig: Rig) -> None:
    rig.script(Say(pieces=("yes",)))
    response = await rig.session.send("well?")
    assert rig.conversation.messages == (UserMessage("well?"), AssistantMessage(response))


@pytest.mark.requirement("E11")
@pytest.mark.requirement("E13")
async def test_a_call_keeps_its_native_id_and_arguments(rig: Rig) -> None:
    rig.script(Say(pieces=("Reading.",), calls=(READ,), stop="tool_use"))
    events: list[StreamEvent] = []
    response = await rig.session.send_with_tools("read it", TOOLS, on_event=events.append)
    (call,) = response.tool_calls()
    assert (call.native_id, call.tool_name, call.arguments) == ("call_a", "read_file", {"path": "ä/b.py"})
    assert events[-1] == CompletedResponse(response)
    assert rig.conversation.open_calls == (call,)


async def test_two_calls_of_one_answer_keep_their_order(rig: Rig) -> None:
    rig.script(Say(calls=(LIST, READ), stop="tool_use"))
    response = await rig.session.send_with_tools("look", TOOLS, on_event=_ignore)
    assert [call.native_id for call in response.tool_calls()] == ["call_b", "call_a"]


async def test_the_tools_and_the_choice_reach_the_model(rig: Rig) -> None:
    rig.script(Say(pieces=("ok",)), Say(calls=(READ,), stop="tool_use"))
    await rig.session.send_with_tools("look", TOOLS, on_event=_ignore)
    first = rig.offered()
    await rig.session.send_with_tools("read", TOOLS, tool_choice=("tool", "read_file"), on_event=_ignore)
    assert first == (["read_file", "list_files"], "auto")
    assert rig.offered() in ((["read_file", "list_files"], "read_file"), (["read_file"], "auto"))


@pytest.mark.requirement("E02")
@pytest.mark.requirement("E11")
@pytest.mark.requirement("E13")
async def test_results_go_back_in_order_with_their_ids_and_whether_they_failed(rig: Rig) -> None:
    rig.script(Say(calls=(READ, LIST), stop="tool_use"), Say(pieces=("done",)))
    await rig.session.send_with_tools("look", TOOLS, on_event=_ignore)
    results = [_result(READ, "no such file", is_error=True), _result(LIST, "a.py")]
    response = await rig.session.send_tool_results(results, on_event=_ignore)
    assert response.text_content() == "done"
    sent = rig.last_results()
    assert [(r.id, r.text) for r in sent] == [("call_a", "no such file"), ("call_b", "a.py")]
    assert [r.is_error for r in sent] in ([True, False], [None, None])


async def test_a_rejected_call_goes_back_as_an_error(rig: Rig) -> None:
    rig.script(Say(calls=(READ,), stop="tool_use"), Say(pieces=("ok",)))
    await rig.session.send_with_tools("look", TOOLS, on_event=_ignore)
    result = _result(READ, "rejected by the user", is_rejected=True)
    await rig.session.send_tool_results([result], on_event=_ignore)
    assert rig.last_results() in (
        [SentResult("call_a", "rejected by the user", True)],
        [SentResult("call_a", "rejected by the user", None)],
    )


async def test_results_are_sent_with_the_same_tools_as_before(rig: Rig) -> None:
    rig.script(Say(calls=(READ,), stop="tool_use"), Say(pieces=("ok",)))
    await rig.session.send_with_tools("look", TOOLS, on_event=_ignore)
    await rig.session.send_tool_results([_result(READ, "x")], tool_choice="none", on_event=_ignore)
    assert rig.offered() in ((["read_file", "list_files"], "none"), ([], ""))


async def test_results_of_other_calls_are_refused_before_anything_is_sent(rig: Rig) -> None:
    rig.script(Say(calls=(READ,), stop="tool_use"))
    await rig.session.send_with_tools("look", TOOLS, on_event=_ignore)
    with pytest.raises(ConversationError):
        await rig.session.send_tool_results([_result(LIST, "x")], on_event=_ignore)
    assert rig.requests() == 1


async def test_nothing_else_is_sent_while_calls_are_open(rig: Rig) -> None:
    rig.script(Say(calls=(READ,), stop="tool_use"))
    await rig.session.send_with_tools("look", TOOLS, on_event=_ignore)
    with pytest.raises(ConversationError):
        await rig.session.send_with_tools(None, TOOLS, on_event=_ignore)
    with pytest.raises(ConversationError):
        await rig.session.send("and now?")
    assert rig.requests() == 1


@pytest.mark.parametrize("rig", TOLD_OF_BROKEN_CALLS, indirect=True)
async def test_a_token_limit_ends_the_answer_and_leaves_no_call(rig: Rig) -> None:
    cut = ScriptedCall("call_a", "read_file", '{"path": "/et')
    rig.script(Say(pieces=("Let me",), calls=(cut,), stop="max_tokens"))
    response = await rig.session.send_with_tools("look", TOOLS, on_event=_ignore)
    assert response.stop_reason.kind is StopKind.MAX_TOKENS
    assert response.tool_calls() == ()
    assert rig.conversation.open_calls == ()


async def test_a_refusal_is_distinguished_from_an_answer(rig: Rig) -> None:
    rig.script(Say(pieces=("No.",), stop="refusal"))
    response = await rig.session.send("something bad")
    assert response.stop_reason.kind is StopKind.REFUSAL


@pytest.mark.parametrize("pieces", [(), (" \n",)])
async def test_an_answer_without_words_lacks_them_and_another_request_is_legal(
    rig: Rig, pieces: tuple[str, ...]
) -> None:
    rig.script(Say(pieces=pieces, reasoning="hm"), Say(pieces=["here"]))
    response = await rig.session.send_with_tools("hi", [], on_event=_ignore)
    assert response.lack is not None
    assert (await rig.session.send_with_tools("and?", [], on_event=_ignore)).text_content() == "here"


@pytest.mark.requirement("E10")
async def test_an_unknown_reason_to_stop_is_kept_as_it_was_said(rig: Rig) -> None:
    rig.script(Say(pieces=("Hm.",), stop="solar_flare"))
    response = await rig.session.send("hi")
    assert response.stop_reason.kind is StopKind.OTHER
    assert str(response.stop_reason) == "solar_flare"


@pytest.mark.long(after=4)
@pytest.mark.parametrize("rig", TOLD_OF_BROKEN_CALLS, indirect=True)
@pytest.mark.parametrize("arguments", ['{"path": }', '["a"]', '{"path": NaN}', "{}]"])
async def test_arguments_that_are_no_object_become_a_call_with_a_parse_error(rig: Rig, arguments: str) -> None:
    rig.script(Say(calls=(ScriptedCall("call_a", "read_file", arguments),), stop="tool_use"))
    response = await rig.session.send_with_tools("look", TOOLS, on_event=_ignore)
    (call,) = response.tool_calls()
    assert call.arguments == {}
    assert call.parse_error is not None
    assert "arguments" in call.parse_error


async def test_a_call_without_arguments_has_an_empty_object(rig: Rig) -> None:
    rig.script(Say(calls=(ScriptedCall("call_a", "read_file", ""),), stop="tool_use"))
    response = await rig.session.send_with_tools("look", TOOLS, on_event=_ignore)
    (call,) = response.tool_calls()
    assert (call.arguments, call.parse_error) == ({}, None)


@pytest.mark.long(after=2)
@pytest.mark.parametrize("ending", ["drop", "reset", "error", "failed", "garbage"])
async def test_an_answer_that_breaks_off_keeps_its_text_and_loses_its_calls(rig: Rig, ending: Any) -> None:
    rig.script(Say(pieces=("I will ", "read"), calls=(READ,), ending=ending), Say(pieces=("back",)))
    events: list[StreamEvent] = []
    with pytest.raises(ProviderError) as caught:
        await rig.session.send_with_tools("look", TOOLS, on_event=events.append)
    assert events[-1] == Error(caught.value)
    assert caught.value.partial
    kept = rig.conversation.messages[-1]
    assert isinstance(kept, AssistantMessage)
    assert kept.response.text_content() == "I will read"
    assert kept.response.stop_reason.kind is StopKind.OTHER
    assert rig.conversation.open_calls == ()
    assert rig.requests() == 1
    again = await rig.session.send_with_tools("go on", TOOLS, on_event=_ignore)
    assert again.text_content() == "back"


async def test_a_cancelled_answer_keeps_its_text_and_the_next_one_is_legal(rig: Rig) -> None:
    rig.script(Say(pieces=("It is",), ending="stall"), Say(pieces=("42",)))
    received = asyncio.Event()
    sending = asyncio.create_task(rig.session.send_streaming("what is it?", lambda _event: received.set()))
    async with asyncio.timeout(60):
        await received.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    kept = rig.conversation.messages[-1]
    assert isinstance(kept, AssistantMessage)
    assert kept.response.text_content() == "It is"
    response = await rig.session.send("once more")
    assert response.text_content() == "42"


@pytest.mark.requirement("E14")
async def test_the_first_piece_of_a_call_names_it_and_the_others_do_not(rig: Rig) -> None:
    rig.script(Say(calls=(READ,), stop="tool_use"))
    events: list[StreamEvent] = []
    await rig.session.send_with_tools("look", TOOLS, on_event=events.append)
    first, *others = [event for event in events if isinstance(event, StreamedToolCall)]
    assert (first.index, first.id, first.name) == (0, "call_a", "read_file")
    assert all(event.id is None and event.name is None for event in others)


NOT_CONNECTED = None
NO_ANSWER: list[tuple[Reply | None, ProviderErrorKind, bool]] = [
    (NOT_CONNECTED, ProviderErrorKind.CONNECTION, True),
    (Hang("silent"), ProviderErrorKind.TIMEOUT, True),
    (Hang("close"), ProviderErrorKind.CONNECTION, True),
    (Hang("reset"), ProviderErrorKind.CONNECTION, True),
    (Refuse(status=400), ProviderErrorKind.BAD_REQUEST, False),
    (Refuse(status=401), ProviderErrorKind.AUTHENTICATION, False),
    (Refuse(status=403), ProviderErrorKind.PERMISSION, False),
    (Refuse(status=404), ProviderErrorKind.NOT_FOUND, False),
    (Refuse(status=422), ProviderErrorKind.BAD_REQUEST, False),
    (Refuse(status=429), ProviderErrorKind.RATE_LIMIT, True),
    (Refuse(status=500), ProviderErrorKind.SERVER, True),
    (Refuse(status=529), ProviderErrorKind.OVERLOADED, True),
]


@pytest.mark.long(after=5)
@pytest.mark.parametrize(("failure", "kind", "retryable"), NO_ANSWER)
async def test_a_request_that_gets_no_answer_is_one_error_and_can_be_sent_again(
    fragile: FragileRig, failure: Reply | None, kind: ProviderErrorKind, retryable: bool
) -> None:
    if failure is NOT_CONNECTED:
        fragile.unplug()
    else:
        fragile.script(failure)
    events: list[StreamEvent] = []
    with pytest.raises(ProviderError) as caught:
        await fragile.session.send_with_tools("look", TOOLS, on_event=events.append)
    assert (caught.value.kind, caught.value.retryable, caught.value.partial) == (kind, retryable, False)
    assert events == [Error(caught.value)]
    assert fragile.conversation.messages == (UserMessage("look"),)
    await fragile.plug()
    fragile.script(Say(pieces=("back",)))
    again = await fragile.session.send_with_tools(None, TOOLS, on_event=_ignore)
    assert again.text_content() == "back"


@pytest.mark.long(after=3)
@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        ("drop", ProviderErrorKind.DAMAGED_STREAM),
        ("reset", ProviderErrorKind.DAMAGED_STREAM),
        ("garbage", ProviderErrorKind.DAMAGED_STREAM),
        ("stall", ProviderErrorKind.TIMEOUT),
        ("error", ProviderErrorKind.OVERLOADED),
        ("failed", ProviderErrorKind.SERVER),
    ],
)
async def test_an_answer_that_fails_midway_says_how_and_is_never_asked_for_again(
    fragile: FragileRig, ending: Any, kind: ProviderErrorKind
) -> None:
    fragile.script(Say(pieces=("I will",), calls=(READ,), ending=ending), Say(pieces=("back",)))
    with pytest.raises(ProviderError) as caught:
        await fragile.session.send_with_tools("look", TOOLS, on_event=_ignore)
    assert (caught.value.kind, caught.value.retryable, caught.value.partial) == (kind, False, True)
    assert fragile.requests() == 1
    assert fragile.conversation.open_calls == ()


@pytest.mark.long(after=5)
@pytest.mark.parametrize("split", ["event", "utf8", "byte"])
async def test_where_a_stream_is_cut_into_pieces_does_not_matter(rig: Rig, split: Any) -> None:
    call = ScriptedCall("call_a", "read_file", '{"path": "ä/日本 🐟.py"}')
    rig.script(Say(pieces=("Grüße, ", "世界 🌍"), calls=(call,), stop="tool_use", split=split))
    events: list[StreamEvent] = []
    response = await rig.session.send_with_tools("look", TOOLS, on_event=events.append)
    assert "".join(e.text for e in events if isinstance(e, Delta)) == "Grüße, 世界 🌍"
    assert response.text_content() == "Grüße, 世界 🌍"
    assert [(c.native_id, c.arguments) for c in response.tool_calls()] == [("call_a", {"path": "ä/日本 🐟.py"})]
