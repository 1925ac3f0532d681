"""Where a model's API refuses schemas and names no tool, the tools are sent with plain ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from quorum.application.ports.models import LlmRequest
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import StreamEvent, StreamRetry
from quorum.domain.errors import ProviderError
from quorum.domain.events.event import SchemasMadePlain, event_from_json
from quorum.domain.events.report import RunStatus
from quorum.domain.sessions.replay import replay_state
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.models.shared.exchange import ApiExchange
from quorum.infrastructure.models.shared.plain_schemas import make_tool_plain
from quorum.infrastructure.tools.argument_repair import repair_arguments
from tests.application.test_run_agent import OFFERED, Bench
from tests.support.session_rigs import server_rig
from tests.support.sse_server import Dialect, Refuse, Say

ODD: JsonObject = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "pattern": "[a-z]+", "description": "A path."},
        "kind": {"anyOf": [{"type": "null"}, {"type": "string", "enum": ["a", "b"]}], "default": "a"},
        "count": {"type": ["integer", "null"], "minimum": 1, "exclusiveMaximum": 9},
        "level": {"enum": [1, 2]},
        "mode": {"type": "string", "enum": ["", "x"]},
        "tags": {"type": "array", "uniqueItems": True, "minItems": 1},
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
        "any": {},
        "all": True,
        "where": {
            "oneOf": [
                {"type": "object", "properties": {"line": {"type": "integer"}}, "required": ["line"]},
                {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            ]
        },
        "both": {"allOf": [{"properties": {"x": {"type": "number"}}}, {"required": ["x"]}]},
    },
    "required": ["path", "gone"],
    "additionalProperties": False,
    "$schema": "https://json-schema.org/draft/2020-12/schema",
}
PLAIN: JsonObject = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": 'A path. (pattern "[a-z]+")'},
        "kind": {"type": "string", "enum": ["a", "b"], "description": '(default "a")'},
        "count": {"type": "integer", "description": "(minimum 1, exclusiveMaximum 9)"},
        "level": {"type": "integer", "description": "One of 1, 2."},
        "mode": {"type": "string", "description": 'One of "", "x".'},
        "tags": {"type": "array", "items": {"type": "string"}, "description": "(minItems 1)"},
        "headers": {"type": "string", "description": "A JSON object, as text."},
        "any": {"type": "string"},
        "all": {"type": "string"},
        "where": {
            "type": "object",
            "properties": {"line": {"type": "integer"}, "name": {"type": "string"}},
            "required": [],
        },
        "both": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
    },
    "required": ["path"],
}
TOOLS: tuple[JsonObject, ...] = (
    {"name": "first", "description": "Does it.", "input_schema": {"type": "object", "properties": {}}},
    {"name": "second", "description": "Does it.", "input_schema": ODD},
)
WORDINGS = [
    "Invalid request: tools.function.parameters is not a valid moonshot flavored json schema, details: "
    "<At path 'properties.source': type is not defined>",
    'tools.function.parameters.type is required and must be "object"',
    "JSON schema conversion failed:\nPattern must start with '^' and end with '$'",
    "Failed to initialize samplers: failed to parse grammar",
    "Unable to generate parser for this template. Automatic parser generation failed: JSON schema conversion "
    "failed:\nUnrecognized schema: true",
    "json: cannot unmarshal array into Go struct field .tools.function.parameters.properties.type of type "
    "string",
    "json: cannot unmarshal object into Go struct field ToolProperty.required of type []string",
    "The provided JSON schema contains features not supported by xgrammar.",
    'Grammar error: Unimplemented keys: ["propertyNames"]',
    "Failed to compile structural_tag grammar: json_schema_converter.cc:2999: items must be an object",
    "Unsupported JSON schema fields: {'minItems', 'items'}",
    "JSON Schema not supported: could not understand the instance `{'default': None, 'title': 'Page Size'}`.",
    "Invalid tool schema: {'type': 'object'} is not valid under any of the given schemas",
    "The specified schema produces a constraint that has too many states for serving.",
    "A FunctionDeclaration in the request exceeds the maximum allowed nesting depth",
    """Unknown name "default" at 'tools[0].function_declarations[0].parameters': Cannot find field.
    Unknown name "default" at 'tools[0].function_declarations[1].parameters': Cannot find field.""",
    "Request contains an invalid argument.",
    "Invalid function format: 'type'",
    "schema keyword `oneOf` cannot be compiled",
    "tools 参数非法。请检查文档。",
    "all elements in tools must have a valid parameter schema",
    "one or more function parameters didn't specify the schema type field",
    '[{"code":"invalid_type","path":[3,"function","parameters","properties"],"message":"Required"}]',
    "Failed to apply guided decoding: unknown keyword",
    "tools.function.parameters: property 'x' is listed as required and not defined",
    "invalid json schema of a tool: <At path 'properties.image_url': type is not defined>",
    "invalid json schema of a tool: <At path 'properties.response_format': type is not defined>",
    "invalid json schema of a tool: <At path 'properties.budget': type is not defined>",
]
OF_ELSE = [
    "messages.1.content: text is required",
    "messages.3: the arguments do not fit the JSON schema",
    "tool_choice: invalid schema",
    "Failed to parse tool call arguments as JSON schema",
    "tools are not supported by this model",
    "temperature must be at most 1",
    'Unknown name "reasoning": Cannot find field.',
    "this is a bad day",
    "Invalid 'response_format': json_schema is not supported by this model",
    "Invalid schema for response_format 'answer': 'additionalProperties' is required to be false.",
    "Unable to process input image: request contains an invalid argument",
    "Invalid input at input[2].content: does not match schema",
    "contents[3].parts: schema field 'data' is not defined",
    "unsupported parameter: 'parallel_tool_calls' with this schema",
    "function calling is not supported for this model: tools parameter not supported",
    '"tools" parameter is not supported',
    "tools parameter requires --enable-auto-tool-choice and --tool-call-parser to be set",
    "request body does not match schema: property 'stream_options' is unsupported",
    "Invalid API key: the tool definitions were not read",
    "The response was filtered: the grammar is against the content management policy",
    "json_schema response format is not supported",
    "Invalid value at 'generation_config.response_schema': the schema is invalid",
    "output_config.format: the JSON schema is not supported",
    "Tool schema invalid: the budget of this key is spent",
]


@pytest.mark.parametrize("message", WORDINGS)
async def test_the_request_is_sent_again_with_plain_schemas_and_so_are_later_ones(message: str) -> None:
    events = list[StreamEvent]()
    async with server_rig("openai-chat") as rig:
        rig.script(Refuse(status=400, message=message), Say(pieces=("ok",)), Say(pieces=("ok",)))
        await rig.session.send_with_tools("hi", TOOLS, on_event=events.append)
        await rig.session.send_with_tools("again", TOOLS, on_event=events.append)

        assert [schemas(body)[1] for body in rig.server.bodies] == [ODD, PLAIN, PLAIN]
        (retry,) = [event for event in events if isinstance(event, StreamRetry)]
        assert (retry.is_lasting, retry.without_tool) == (True, "")
        assert retry.reason.startswith(
            "scripted/a-model does not take the schemas of all tools, and is sent plain"
        )


@pytest.mark.parametrize("dialect", ["anthropic", "openai", "openai-chat"])
async def test_each_api_can_be_sent_plain_schemas(dialect: Dialect) -> None:
    async with server_rig(dialect) as rig:
        rig.script(Refuse(status=500, message="JSON schema conversion failed"), Say(pieces=("ok",)))
        await rig.session.send_with_tools("hi", TOOLS, on_event=lambda _event: None)

        assert [schemas(body)[1] for body in rig.server.bodies] == [ODD, PLAIN]


@pytest.mark.parametrize("message", OF_ELSE)
async def test_what_is_refused_for_no_schema_fails_at_once(message: str) -> None:
    async with server_rig("openai-chat") as rig:
        rig.script(Refuse(status=400, message=message))
        with pytest.raises(ProviderError):
            await rig.session.send_with_tools("hi", TOOLS, on_event=lambda _event: None)

        assert rig.requests() == 1


async def test_where_plain_schemas_are_refused_too_the_error_says_what_to_do_and_later_all_is_tried_anew() -> (
    None
):
    refusal = Refuse(status=400, message="JSON schema conversion failed")
    async with server_rig("openai-chat") as rig:
        rig.script(refusal, refusal, Say(pieces=("ok",)))
        with pytest.raises(
            ProviderError, match=r"plainest form: turn off the MCP servers .* or choose another model"
        ):
            await rig.session.send_with_tools("hi", TOOLS, on_event=lambda _event: None)
        await rig.session.send_with_tools("again", TOOLS, on_event=lambda _event: None)

        assert [schemas(body)[1] for body in rig.server.bodies] == [ODD, PLAIN, ODD]


async def test_a_tool_that_is_named_then_is_left_out() -> None:
    async with server_rig("openai-chat") as rig:
        rig.script(
            Refuse(status=400, message="JSON schema conversion failed"),
            Refuse(status=400, message="Invalid schema for function 'second': it is too large"),
            Say(pieces=("ok",)),
        )
        await rig.session.send_with_tools("hi", TOOLS, on_event=lambda _event: None)

        assert [len(schemas(body)) for body in rig.server.bodies] == [2, 2, 1]


async def test_the_person_reads_it_once_and_it_is_on_record() -> None:
    async with server_rig("openai-chat") as rig:
        rig.script(Refuse(status=400, message="failed to parse grammar"), Say(pieces=("done",)))
        exchange = ApiExchange(rig.client, model="a-model")
        bench = Bench(opens=exchange, offered=OFFERED)
        report = await bench.agent.execute("go")

        assert report.status is RunStatus.COMPLETED
        (notice,) = bench.observer.of(SchemasMadePlain)
        assert "is sent plain ones" in notice.sentence
        assert notice.is_warning

        state = replay_state([LedgerRecord(seq=0, at_ms=0, event=event_from_json(notice.to_json()))])
        assert state.plain_schemas == bench.conversation.plain_schemas == {exchange.model}


async def test_a_model_that_is_known_for_it_is_sent_plain_ones_at_once_until_they_are_refused_too() -> None:
    async with server_rig("openai-chat") as rig:
        refusal = Refuse(status=400, message="failed to parse grammar")
        rig.script(Say(pieces=("ok",)), refusal, Say(pieces=("ok",)))
        exchange = ApiExchange(rig.client, model="a-model")
        known = {exchange.model, "another/model"}
        request = LlmRequest(messages=(UserMessage("hi"),), tools=TOOLS, plain_schemas=known)

        await exchange.exchange(request, lambda _event: None)
        with pytest.raises(ProviderError, match="plainest form"):
            await exchange.exchange(request, lambda _event: None)
        await exchange.exchange(request, lambda _event: None)

        assert [schemas(body)[1] for body in rig.server.bodies] == [PLAIN, PLAIN, ODD]
        assert known == {"another/model"}


async def test_a_refusal_without_a_reason_is_tried_once_more_and_never_again() -> None:
    async with server_rig("openai-chat") as rig:
        rig.script(*[Refuse(status=400, message="Request contains an invalid argument.")] * 5)
        with pytest.raises(ProviderError, match="plainest form"):
            await rig.session.send_with_tools("hi", TOOLS, on_event=lambda _event: None)

        assert rig.requests() == 2


def test_plain_schemas_stay_as_they_are() -> None:
    plain = make_tool_plain(TOOLS[1])

    assert plain["input_schema"] == PLAIN
    assert make_tool_plain(plain) == plain


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("headers", '{"a": "b"}', {"a": "b"}),
        ("level", 1, 1),
        ("where", {"name": "x"}, {"name": "x"}),
        ("any", "x", "x"),
        ("count", 3, 3),
    ],
)
def test_arguments_in_their_form_are_those_of_the_tool(name: str, given: JsonValue, meant: JsonValue) -> None:
    repaired, _ = repair_arguments(ODD, {"path": "a", name: given}, "second")

    assert repaired[name] == meant


def test_what_is_too_deep_is_a_text() -> None:
    schema: JsonObject = {"type": "string"}
    for _ in range(30):
        schema = {"type": "object", "properties": {"a": {"type": "array", "items": schema}}}
    plain = make_tool_plain({"name": "deep", "description": "", "input_schema": schema})

    assert json.dumps(plain).count('"items"') == 2


def schemas(body: dict[str, Any]) -> list[JsonObject]:
    """The schemas of the tools in a request."""
    return [
        tool.get("input_schema") or tool.get("parameters") or tool["function"]["parameters"]
        for tool in body["tools"]
    ]
