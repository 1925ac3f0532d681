from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import AssistantMessage, Conversation, Message, UserMessage
from quorum.domain.conversation.response import (
    Delta,
    LlmResponse,
    StopKind,
    StreamedReasoning,
    StreamEvent,
    StreamRetry,
    Usage,
)
from quorum.domain.errors import ConversationError, ProviderError, ProviderErrorKind
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.copilot import channel
from tests.support.copilot_rig import CopilotRig, copilot_rig
from tests.support.sse_server import Say, ScriptedCall

TOOLS: tuple[JsonObject, ...] = tuple(
    {"name": name, "description": name, "input_schema": {"type": "object", "properties": {}}}
    for name in ("read_file", "bash")
)
READ = ScriptedCall("call_a", "read_file", '{"path": "a"}')
BASH = ScriptedCall("call_b", "bash", '{"command": "ls"}')


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[CopilotRig]:
    async with copilot_rig(tmp_path) as rig:
        yield rig


def _ignore(_event: StreamEvent) -> None:
    return None


def _result(call: ScriptedCall, output: str = "out", **flags: Any) -> ToolResultMessage:
    return ToolResultMessage(tool_use_id=call.id, tool_name=call.name, output=output, **flags)


def _asked(rig: CopilotRig) -> tuple[list[str], list[str]]:
    """The sessions of the CLI and the prompts of all requests, in order."""
    asked = rig.log("asked")
    return [entry["session"] for entry in asked], [entry["prompt"] for entry in asked]


async def test_a_conversation_without_gaps_stays_in_one_session_and_gets_only_what_is_new(
    rig: CopilotRig,
) -> None:
    rig.script(Say(pieces=("one",)), Say(calls=(READ,), stop="tool_use"), Say(pieces=("three",)))
    await rig.session.send_with_tools("first", TOOLS, on_event=_ignore)
    await rig.session.send_with_tools("second", TOOLS, on_event=_ignore)
    await rig.session.send_tool_results([_result(READ)], on_event=_ignore)
    sessions, prompts = _asked(rig)
    assert len(set(sessions)) == 1
    assert prompts == ["first", "second", ""]


@pytest.mark.requirement("E15")
async def test_text_goes_over_a_session_in_which_no_tool_can_be_offered(rig: CopilotRig) -> None:
    rig.script(Say(pieces=("a",)), Say(pieces=("b",)))
    await rig.session.send("text")
    await rig.session.send_with_tools("tools", TOOLS, on_event=_ignore)
    text, tools = rig.calls_of("session.create")
    assert text["sessionId"] != tools["sessionId"]
    assert text["availableTools"] == []
    assert tools["availableTools"] == ["custom:*"]


@pytest.mark.requirement("E05")
async def test_tools_are_declared_so_that_only_we_can_run_them(rig: CopilotRig) -> None:
    rig.script(Say(pieces=("a",)))
    await rig.session.send_with_tools("x", TOOLS, on_event=_ignore)
    (created,) = rig.calls_of("session.create")
    assert [tool["name"] for tool in created["tools"]] == ["read_file", "bash"]
    assert all(tool["overridesBuiltInTool"] and tool["skipPermission"] for tool in created["tools"])
    assert created["tools"][0]["parameters"] == {"type": "object", "properties": {}}
    assert "inputSchema" not in created["tools"][0]


async def test_the_persons_own_use_of_copilot_stays_out(rig: CopilotRig) -> None:
    rig.script(Say(pieces=("a",)))
    await rig.session.send("x")
    (created,) = rig.calls_of("session.create")
    assert created["systemMessage"] == {"mode": "replace", "content": "Be brief."}
    assert created["infiniteSessions"] == {"enabled": False}
    assert created["largeOutput"] == {"enabled": False}
    off = (
        "enableConfigDiscovery",
        "enableFileHooks",
        "enableSkills",
        "enableSessionStore",
        "requestPermission",
    )
    assert not any(created[key] for key in off)
    assert os.listdir(created["configDir"]) == []


@pytest.mark.requirement("E15")
async def test_a_result_answers_the_request_that_its_call_came_under(rig: CopilotRig) -> None:
    rig.script(Say(calls=(READ, BASH), stop="tool_use"), Say(pieces=("done",)))
    await rig.session.send_with_tools("x", TOOLS, on_event=_ignore)
    results = [_result(READ, "no", is_rejected=True), _result(BASH, "boom", is_error=True)]
    await rig.session.send_tool_results(results, on_event=_ignore)
    answered = rig.calls_of("session.tools.handlePendingToolCall")
    assert [entry["result"] for entry in answered] == [
        {"textResultForLlm": "no", "resultType": "denied"},
        {"textResultForLlm": "boom", "resultType": "failure"},
    ]
    assert len({entry["requestId"] for entry in answered}) == 2


@pytest.mark.requirement("E15")
async def test_results_without_a_call_are_an_error_and_reach_no_one(rig: CopilotRig) -> None:
    with pytest.raises(ConversationError):
        await rig.session.send_tool_results([_result(READ)], on_event=_ignore)
    assert rig.requests() == 0


async def test_calls_the_cli_refuses_itself_never_reach_us(rig: CopilotRig) -> None:
    unknown = ScriptedCall("call_c", "ghost", "{}")
    broken = ScriptedCall("call_d", "bash", "{}]")
    rig.script(Say(calls=(unknown, READ, broken), stop="tool_use"))
    response = await rig.session.send_with_tools("x", TOOLS, on_event=_ignore)
    assert [call.native_id for call in response.tool_calls()] == ["call_a"]


async def test_the_answer_after_calls_that_were_all_refused_is_one_with_what_was_said_before(
    rig: CopilotRig,
) -> None:
    broken = ScriptedCall("call_d", "bash", "{}]")
    rig.script(Say(pieces=("Hm.",), calls=(broken,), stop="tool_use"), Say(pieces=("Done.",)))
    events: list[StreamEvent] = []
    response = await rig.session.send_with_tools("x", TOOLS, on_event=events.append)
    assert response.text_content() == "Hm.\n\nDone."
    assert "".join(e.text for e in events if isinstance(e, Delta)) == "Hm.\n\nDone."


async def test_an_id_that_a_later_call_uses_again_is_no_answer_to_it(rig: CopilotRig) -> None:
    rig.script(*[Say(calls=(READ,), stop="tool_use")] * 2, Say(pieces=("done",)))
    await rig.session.send_with_tools("x", TOOLS, on_event=_ignore)
    second = await rig.session.send_tool_results([_result(READ, "1")], on_event=_ignore)
    assert [call.native_id for call in second.tool_calls()] == ["call_a"]
    last = await rig.session.send_tool_results([_result(READ, "2")], on_event=_ignore)
    assert last.text_content() == "done"


async def test_two_calls_of_one_id_are_damage(rig: CopilotRig) -> None:
    rig.script(Say(calls=(READ, READ), stop="tool_use"), Say(pieces=("fine",)))
    with pytest.raises(ProviderError) as caught:
        await rig.session.send_with_tools("x", TOOLS, on_event=_ignore)
    assert caught.value.kind is ProviderErrorKind.DAMAGED_STREAM
    assert (await rig.session.send("still there?")).text_content() == "fine"


async def test_a_call_under_a_token_limit_is_not_executed_and_not_left_open(rig: CopilotRig) -> None:
    rig.script(Say(pieces=("I",), calls=(READ,), stop="max_tokens"), Say(pieces=("next",)))
    response = await rig.session.send_with_tools("x", TOOLS, on_event=_ignore)
    assert (response.stop_reason.kind, response.tool_calls()) == (StopKind.MAX_TOKENS, ())
    assert len(rig.calls_of("session.abort")) == 1
    assert (await rig.session.send_with_tools("y", TOOLS, on_event=_ignore)).text_content() == "next"


async def test_what_the_cli_has_the_model_continue_becomes_one_text(rig: CopilotRig) -> None:
    rig.script(Say(pieces=("half",), stop="max_tokens"), Say(pieces=(" rest",)))
    response = await rig.session.send("x")
    assert (response.text_content(), response.stop_reason.kind) == ("half rest", StopKind.END_TURN)


async def test_a_limit_that_nothing_followed_is_reported(rig: CopilotRig) -> None:
    rig.script(Say(pieces=("half",), stop="max_tokens"))
    response = await rig.session.send("x")
    assert (response.text_content(), response.stop_reason.kind) == ("half", StopKind.MAX_TOKENS)


async def test_reasoning_and_usage_are_reported(rig: CopilotRig) -> None:
    rig.script(Say(reasoning="Hmm", pieces=("yes",)))
    events: list[StreamEvent] = []
    response = await rig.session.send_streaming("x", events.append)
    assert StreamedReasoning("Hmm") in events
    assert response.usage == Usage(input=4, output=11, cache_read=5, cache_write=3, reasoning=2)


async def test_each_repetition_by_the_cli_is_reported(rig: CopilotRig) -> None:
    rig.step(Say(pieces=("ok",)), retries=("rate_limit", "api_error"))
    events: list[StreamEvent] = []
    await rig.session.send_streaming("x", events.append)
    reported = [(e.attempt, e.kind) for e in events if isinstance(e, StreamRetry)]
    assert reported == [(1, ProviderErrorKind.RATE_LIMIT), (2, ProviderErrorKind.SERVER)]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"errorType": "authentication", "message": "no\nsecond line"}, ProviderErrorKind.AUTHENTICATION),
        ({"errorType": "query", "message": "x", "statusCode": 404}, ProviderErrorKind.NOT_FOUND),
        ({"errorType": "query", "message": "x", "statusCode": 429}, ProviderErrorKind.RATE_LIMIT),
        ({"errorType": "rate_limit", "message": "x"}, ProviderErrorKind.RATE_LIMIT),
        ({"errorType": "quota", "message": "x"}, ProviderErrorKind.PERMISSION),
        ({"errorType": "query", "message": "x", "statusCode": 500}, ProviderErrorKind.SERVER),
        ({"errorType": "query", "message": "No GitHub OAuth token"}, ProviderErrorKind.AUTHENTICATION),
        ({"errorType": "never seen", "message": ""}, ProviderErrorKind.SERVER),
    ],
)
async def test_an_error_of_the_cli_keeps_its_kind(
    rig: CopilotRig, error: dict[str, Any], kind: ProviderErrorKind
) -> None:
    rig.step(Say(ending="error"), error=error)
    with pytest.raises(ProviderError) as caught:
        await rig.session.send("x")
    assert (caught.value.kind, caught.value.partial) == (kind, False)
    assert "second line" not in str(caught.value)


async def test_after_a_failure_the_same_session_goes_on(rig: CopilotRig) -> None:
    rig.script(Say(ending="error"), Say(pieces=("ok",)))
    with pytest.raises(ProviderError):
        await rig.session.send("first")
    await rig.session.send("second")
    sessions, prompts = _asked(rig)
    assert len(set(sessions)) == 1
    assert prompts == ["first", "second"]


async def test_a_resumed_conversation_is_sent_to_a_new_session(rig: CopilotRig) -> None:
    past = Conversation([UserMessage("then"), AssistantMessage(LlmResponse.from_text("so"))])
    rig.script(Say(pieces=("ok",)), Say(pieces=("ok",)))
    session = rig.another_session(past)
    await session.send("now")
    await session.send("later")
    sessions, (first, second) = _asked(rig)
    assert len(set(sessions)) == 1
    assert '{"from":"person","text":"then"}\n{"from":"you","text":"so"}' in first
    assert first.endswith("now")
    assert second == "later"


async def test_going_on_after_a_failure_asks_the_same_again_in_a_new_session(rig: CopilotRig) -> None:
    rig.script(Say(ending="error"), Say(pieces=("ok",)))
    with pytest.raises(ProviderError):
        await rig.session.send_with_tools("do it", TOOLS, on_event=_ignore)
    await rig.session.send_with_tools(None, TOOLS, on_event=_ignore)
    sessions, prompts = _asked(rig)
    assert sessions[0] != sessions[1]
    assert prompts == ["do it", "do it"]
    assert [entry["sessionId"] for entry in rig.calls_of("session.delete")] == [sessions[0]]


async def test_messages_given_another_shape_are_sent_anew_and_only_for_that_request(rig: CopilotRig) -> None:
    hide = True

    async def shape(messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return (UserMessage("[hidden]"), *messages[1:]) if hide else messages

    rig.script(*[Say(pieces=("ok",))] * 3)
    conversation = Conversation()
    session = rig.another_session(conversation, shape)
    await session.send("secret")
    await session.send("second")
    hide = False
    await session.send("third")
    sessions, (first, second, third) = _asked(rig)
    assert first == "[hidden]"
    assert second == "second"
    assert sessions[1] == sessions[0] != sessions[2]
    assert '"text":"secret"' in third
    assert conversation.messages[0] == UserMessage("secret")


async def test_what_a_shape_raises_goes_through(rig: CopilotRig) -> None:
    async def shape(_messages: tuple[Message, ...]) -> tuple[Message, ...]:
        raise LookupError("withheld")

    with pytest.raises(LookupError):
        await rig.another_session(shape=shape).send("x")


async def test_a_forbidden_choice_offers_nothing_and_a_named_one_only_that(rig: CopilotRig) -> None:
    rig.script(*[Say(pieces=("ok",))] * 3)
    for choice in ("none", ("tool", "bash"), "auto"):
        await rig.session.send_with_tools("x", TOOLS, tool_choice=choice, on_event=_ignore)
    assert [entry["tools"] for entry in rig.log("asked")] == [[], ["bash"], ["read_file", "bash"]]
    assert len(set(_asked(rig)[0])) == 1


async def test_an_interrupted_answer_without_text_leaves_the_session_usable(rig: CopilotRig) -> None:
    rig.script(Say(reasoning="Hm", ending="stall"), Say(pieces=("ok",)))
    received = asyncio.Event()
    sending = asyncio.create_task(rig.session.send_streaming("x", lambda _event: received.set()))
    async with asyncio.timeout(60):
        await received.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    await rig.session.send("y")
    sessions, prompts = _asked(rig)
    assert len(set(sessions)) == 1
    assert prompts == ["x", "y"]


async def test_a_session_that_does_not_stop_when_asked_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "_DRAIN_SECS", 0.05)
    async with copilot_rig(tmp_path, config={"deaf": True}) as rig:
        rig.script(Say(reasoning="Hm", ending="stall"), Say(pieces=("ok",)))
        received = asyncio.Event()
        sending = asyncio.create_task(rig.session.send_streaming("x", lambda _event: received.set()))
        async with asyncio.timeout(60):
            await received.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await rig.session.send("y")
        sessions, _prompts = _asked(rig)
        assert sessions[0] != sessions[1]


async def test_silence_ends_the_request(tmp_path: Path) -> None:
    async with copilot_rig(tmp_path, timeout_secs=2) as rig:
        rig.script(Say(pieces=("It is",), ending="stall"), Say(pieces=("ok",)))
        with pytest.raises(ProviderError, match=r"sent nothing for 2 s") as caught:
            await rig.session.send("x")
        assert (caught.value.kind, caught.value.partial) == (ProviderErrorKind.TIMEOUT, True)
        assert (await rig.session.send("y")).text_content() == "ok"


async def test_sessions_at_the_same_time_share_one_cli_and_do_not_mix(rig: CopilotRig) -> None:
    rig.script(*[Say(pieces=(str(number),)) for number in range(4)])
    answers = await asyncio.gather(*(rig.another_session().send("x") for _ in range(4)))
    assert sorted(answer.text_content() for answer in answers) == ["0", "1", "2", "3"]
    assert len(rig.log("launched")) == 1


async def test_what_a_forgotten_session_left_in_the_cli_is_deleted_when_the_next_one_opens(
    rig: CopilotRig,
) -> None:
    rig.script(Say(pieces=("a",)), Say(pieces=("b",)))
    await rig.another_session().send("x")
    await rig.another_session().send("y")
    first, _second = _asked(rig)[0]
    assert [entry["sessionId"] for entry in rig.calls_of("session.delete")] == [first]
