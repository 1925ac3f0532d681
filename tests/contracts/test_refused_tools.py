"""A tool that a model's API refuses is left out and named, whichever API that is."""

from __future__ import annotations

from typing import Any

import pytest

from quorum.domain.calls.execution import Outcome
from quorum.domain.conversation.response import StreamEvent, StreamRetry
from quorum.domain.errors import ProviderError
from quorum.domain.events.event import NoticeGiven
from quorum.domain.events.report import RunStatus
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.shared.exchange import ApiExchange
from tests.application.test_run_agent import OFFERED, Bench
from tests.support.session_rigs import ServerRig, server_rig
from tests.support.sse_server import Dialect, Refuse, Say, ScriptedCall

TOOLS: tuple[JsonObject, ...] = tuple(
    {"name": name, "description": "Does it.", "input_schema": {"type": "object"}}
    for name in ("one", "two", "three")
)
REFUSALS: list[tuple[Dialect, str]] = [
    ("anthropic", "tools.1.custom.input_schema: input_schema does not support oneOf at the top level"),
    ("openai", "Invalid schema for function 'two': schema must have type 'object', got type 'None'."),
    ("openai", "Invalid schema for function 'two': In context=('tags',), 'uniqueItems' is not permitted."),
    ("openai-chat", "Invalid 'tools[1].function.name': string too long"),
    ("openai-chat", "* GenerateContentRequest.tools[0].function_declarations[1].parameters: missing field"),
    ("openai-chat", "[{'type': 'missing', 'loc': ('body', 'tools', 1, 'function', 'parameters')}]"),
    ("openai-chat", "body -> tools -> 1 -> function: field required"),
    ("openai-chat", "/tools/1/function/parameters: must be an object"),
    ("openai-chat", "Tool 1 function has an invalid 'parameters' schema"),
    ("openai-chat", "Unable to submit, because `two` functionDeclaration `parameters.one` has other fields"),
    ("openai-chat", 'The tool "two" has an unsupported parameter schema'),
    ("anthropic", "Value at 'toolConfig.tools.2.member.toolSpec.name' failed to satisfy the constraint"),
]
OF_NO_TOOL = [
    "messages.1.content: text is required",
    "tools.1.cache_control: Extra inputs are not permitted",
    "tools.1.strict: Extra inputs are not permitted",
    "tools[7].function: no such type",
    "you sent 3 tools, 1 is allowed",
    "a schema of this model has two keys",
    "tool names must be unique: 'two'",
    "messages.3: the arguments do not fit the schema of 'two'",
]


@pytest.mark.parametrize(("dialect", "message"), REFUSALS)
async def test_the_request_is_sent_again_without_the_tool_and_later_ones_go_without_it(
    dialect: Dialect, message: str
) -> None:
    events = list[StreamEvent]()
    async with server_rig(dialect) as rig:
        rig.script(Refuse(status=400, message=message), Say(pieces=("ok",)), Say(pieces=("ok",)))
        await rig.session.send_with_tools("hi", TOOLS, on_event=events.append)
        await rig.session.send_with_tools("again", TOOLS, on_event=events.append)

        assert [names(body) for body in rig.server.bodies] == [["one", "two", "three"], *[["one", "three"]] * 2]
        (retry,) = [event for event in events if isinstance(event, StreamRetry)]
        assert retry.without_tool == "two"
        assert retry.reason.startswith("scripted/a-model does not take the tool two, and is asked without it: ")


async def test_places_are_those_in_the_request_that_was_refused() -> None:
    async with server_rig("anthropic") as rig:
        refusal = Refuse(status=400, message="tools.1.custom.input_schema: not a schema")
        rig.script(refusal, refusal, Say(pieces=("ok",)))
        await rig.session.send_with_tools("hi", TOOLS, on_event=lambda _event: None)

        assert names(rig.last_body) == ["one"]


@pytest.mark.parametrize("message", OF_NO_TOOL)
async def test_what_is_refused_for_no_single_tool_fails(message: str) -> None:
    async with server_rig("anthropic") as rig:
        rig.script(Refuse(status=400, message=message))
        with pytest.raises(ProviderError):
            await rig.session.send_with_tools("hi", TOOLS, on_event=lambda _event: None)

        assert rig.requests() == 1


async def test_a_tool_that_must_be_called_is_not_left_out() -> None:
    async with server_rig("anthropic") as rig:
        rig.script(Refuse(status=400, message="tools.1.custom.input_schema: not a schema"))
        with pytest.raises(ProviderError, match="not a schema"):
            await rig.session.send_with_tools(
                "hi", TOOLS, tool_choice=("tool", "two"), on_event=lambda _event: None
            )


async def test_the_person_reads_which_tool_is_left_out_and_no_call_of_it_runs() -> None:
    async with server_rig("anthropic") as rig:
        rig.script(
            Refuse(status=400, message="tools.1.custom.input_schema: not a schema"),
            Say(calls=(ScriptedCall("w", "write", '{"cell": "a", "text": "x"}'),), stop="tool_use"),
            Say(pieces=("done",)),
        )
        bench = _open_bench(rig)
        report = await bench.agent.execute("go")

        assert report.status is RunStatus.COMPLETED
        assert [record.outcome for record in report.calls] == [Outcome.ERROR]
        assert (bench.world.log, bench.person.requests) == ([], [])
        assert [names(body) for body in rig.server.bodies] == [["read", "write"], ["read"], ["read"]]
        (notice,) = bench.observer.of(NoticeGiven)
        assert "does not take the tool write" in str(notice)


def _open_bench(rig: ServerRig) -> Bench:
    exchange = ApiExchange(rig.client, model="a-model")
    return Bench(opens=exchange, offered=OFFERED)


def names(body: dict[str, Any]) -> list[str]:
    """The names of the tools in a request."""
    return [tool.get("name") or tool["function"]["name"] for tool in body["tools"]]
