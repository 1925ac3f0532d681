"""The text of a call's arguments: repaired where it has one reading, an error where it has none or several."""

from __future__ import annotations

import pytest

from quorum.domain.conversation.response import LlmResponse, StopKind, StopReason, TextBlock, ToolUseBlock
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.shared.call_arguments import build_call_block, fit_call_names
from quorum.infrastructure.models.shared.error_bodies import may_speak_of_length
from tests.support.session_rigs import server_rig
from tests.support.sse_server import Say, ScriptedCall


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ('"{\\"path\\": \\"a\\"}"', {"path": "a"}),
        ('{"path": "a"}\n</tool_call>', {"path": "a"}),
        ('<tool_call>\n{"path": "a"}', {"path": "a"}),
        ('<|message|>{"path": "a"}<|call|>', {"path": "a"}),
        ("{'path': 'a'}", {"path": "a"}),
        ('{"path": "a",}', {"path": "a"}),
        (r'{"text": "a\nTrue,", "all": False,}', {"text": "a\nTrue,", "all": False}),
        (r'{"pattern": "\w+\("}', {"pattern": r"\w+\("}),
        ('{path: "a", limit : 5}', {"path": "a", "limit": 5}),
        ("{“path”: “a: {b: 1}”}", {"path": "a: {b: 1}"}),
        ('{"path": “a”, "text": "say “a” {b: 1}"}', {"path": "a", "text": "say “a” {b: 1}"}),
        ('{{"path": "a", "text": "{{ x }}"}}', {"path": "a", "text": "{{ x }}"}),
        ('{"path": "a"}}', {"path": "a"}),
        ('[{"path": "a"}]', {"path": "a"}),
        ('\ufeff{"path": "a",}', {"path": "a"}),
        ('{"text": "a\n\tb"}', {"text": "a\n\tb"}),
        ('{"path": "a" "limit": 5}', {"path": "a", "limit": 5}),
        ('{"limit": 5\n "path": "a, {b"}', {"limit": 5, "path": "a, {b"}),
        ('{"edits": [{"old": "a"} {"old": "b"}]}', {"edits": [{"old": "a"}, {"old": "b"}]}),
        ('{"edits": [{"old": "a", "new": "b"]}', {"edits": [{"old": "a", "new": "b"}]}),
        ('{"edits": [{"old": "a"}, "path": "x"}', {"edits": [{"old": "a"}], "path": "x"}),
    ],
)
def test_a_text_with_one_reading_is_read_and_told(raw: str, read: object) -> None:
    block = build_call_block("1", "t", raw)

    assert (block.input, block.parse_error) == (read, None)
    assert block.repairs


@pytest.mark.parametrize(
    "raw",
    [
        '{"path": "a',
        '{"a": 1}{"b": 2}',
        r'{"p": "a\nb\w"}',
        "[1]",
        '[{"a": 1}, {"b": 2}]',
        '{"a": 1}} b',
        '{"path": "a"',  # more may be missing
        '{"edits": [{"old": "a"}',  # there may have been more of them
        '{"a": {"b": "c", "d": "e"}',
        '{"lines": ["say "hi", "b"]}',
        '{"text": "a "" b"}',
        '{"lines": ["a" "b"]}',  # one text with quotes, or two
        '{"path": "a" "path": "b"}',
    ],
)
def test_a_text_without_a_single_reading_is_an_error(raw: str) -> None:
    block = build_call_block("1", "t", raw)

    assert block.parse_error
    assert not block.repairs


@pytest.mark.parametrize(
    "raw",
    [
        '{"path": "a", "path": "b"}',
        '{"path": "a", "path": "b",}',
        "{'path': 'a', 'path': 'b'}",
        '{"edits": [{"a": 1, "a": 2}], "text": "a\nb"}',
        '"{\\"path\\": \\"a\\", \\"path\\": \\"b\\"}"',
    ],
)
def test_an_argument_with_two_values_is_an_error_that_names_it(raw: str) -> None:
    block = build_call_block("1", "t", raw)

    assert block.parse_error
    assert not block.repairs
    assert build_call_block("1", "t", '{"path": "a", "path": "a"}').input == {"path": "a"}


@pytest.mark.parametrize("begun", ['{"path": "a", "content": "', '{{"content": "', '{content: "'])
def test_a_call_that_is_cut_off_within_a_long_text_is_an_error_at_once(begun: str) -> None:
    block = build_call_block("1", "write_file", begun + 'x\\"' * 100_000)

    assert block.parse_error
    assert not block.repairs


def test_a_name_behind_its_name_space_is_read_however_often_that_stands_there() -> None:
    assert build_call_block("1", "functions." * 2_000 + "read_file", "{}").name == "read_file"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("default_api.read_file", "read_file"),
        ("default_api:read_file", "read_file"),
        ("read_file<|channel|>commentary", "read_file"),
        ("functions.read_file:0", "read_file"),
        ("mcp__docs__functions", "mcp__docs__functions"),
        ("toolset", "toolset"),
        ("<|call|>", "<|call|>"),
    ],
)
def test_what_templates_put_around_a_name_is_left_out(written: str, name: str) -> None:
    block = build_call_block("1", written, "{}")

    assert block.name == name
    assert bool(block.repairs) == (written != name)


NAMES = ("read_file", "run_command", "mcp__docs__get-page", "mcp__a__x_y", "mcp__a__xy")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("ReadFile", "read_file"),
        ("read-file", "read_file"),
        ("RUN_COMMAND", "run_command"),
        ("mcp__docs__get_page", "mcp__docs__get-page"),
        ("mcp.docs.getPage", "mcp__docs__get-page"),
        ("mcp_docs_get_page", "mcp__docs__get-page"),
        ("mcp__Docs__GetPage", "mcp__docs__get-page"),
        ("readfiles", "readfiles"),
        ("get-page", "get-page"),
        ("mcp__a__x-y", "mcp__a__x-y"),  # one of two
        ("mcp__a__xy", "mcp__a__xy"),
        ("___", "___"),
    ],
)
def test_a_name_in_another_spelling_is_read_as_the_one_tool_that_it_can_be(written: str, name: str) -> None:
    answer = LlmResponse(
        content=(TextBlock("I look."), build_call_block("1", written, '{"path": "a",}')),
        stop_reason=StopReason(StopKind.TOOL_USE),
    )
    text, block = fit_call_names(answer, [{"name": each} for each in NAMES]).content

    assert isinstance(block, ToolUseBlock)
    assert (text, block.name, block.input) == (TextBlock("I look."), name, {"path": "a"})
    said = f"the name {written!r} was read as {name!r}"
    assert [each for each in block.repairs if each.startswith("the name")] == [said] * (written != name)


@pytest.mark.parametrize(
    ("written", "offered"),
    [
        ("mcp__a_b__c", "mcp__a__b_c"),  # the tool of another server
        ("mcp.a_b.c", "mcp__a__b_c"),
        ("mcp__db__drop_1_2", "mcp__db__drop_12"),
        ("mcp__db__v1.1", "mcp__db__v11"),
        ("mcp__s__читать", "mcp__s________"),  # whose letters no name may have
        ("mcp__s", "mcp__s______"),
        ("mcp__s__delete", "mcp__s__delete____"),
        ("mcp__s__a_b", "mcp__s__a____b"),
        ("read_file_é", "read_file"),
        ("réad_file", "read_file"),
        ("read_file_", "read_file"),
        ("write", "write_file"),
        ("exec", "run_command"),
    ],
)
def test_a_name_that_may_be_of_another_tool_is_left_as_it_is(written: str, offered: str) -> None:
    answer = LlmResponse(
        content=(build_call_block("1", written, "{}"),), stop_reason=StopReason(StopKind.TOOL_USE)
    )

    assert fit_call_names(answer, [{"name": offered}]) == answer


@pytest.mark.parametrize(
    ("written", "withheld"),
    [
        ("mcp__db__drop_table", "mcp__db__drop_table"),
        ("mcp__db__drop_table", "mcp__db__DropTable"),
        ("mcp.db.drop_table", "mcp__db__drop_table"),
    ],
)
def test_a_call_of_a_tool_that_was_left_out_is_not_made_one_of_its_near_twin(
    written: str, withheld: str
) -> None:
    answer = LlmResponse(
        content=(build_call_block("1", written, "{}"),), stop_reason=StopReason(StopKind.TOOL_USE)
    )

    assert fit_call_names(answer, [{"name": "mcp__db__dropTable"}], {withheld}) == answer
    assert fit_call_names(answer, [{"name": "mcp__db__dropTable"}]) != answer


async def test_so_is_that_of_a_call_which_a_server_sends() -> None:
    async with server_rig("openai-chat") as rig:
        rig.script(Say(calls=(ScriptedCall("1", "ReadFile", '{"path": "a"}'),), stop="tool_use"))
        tool: JsonObject = {"name": "read_file", "description": "d", "input_schema": {"type": "object"}}
        answer = await rig.session.send_with_tools("hi", [tool], on_event=lambda _event: None)

    (call,) = answer.tool_calls()
    assert call.tool_name == "read_file"
    assert call.repairs


def test_an_object_beside_many_equal_ones_is_never_left_out() -> None:
    assert build_call_block("1", "t", '{"a": 1}' * 20 + '{"b": 2}').parse_error


@pytest.mark.parametrize(
    ("status", "message", "is_of_length"),
    [
        (400, "The input (9 tokens) is longer than the model's capacity", True),
        (500, "Range of input length should be [1, 9]", True),
        (400, "max_tokens: 99999 is above the limit of output tokens", False),
        (400, "8000 tokens per minute are allowed", False),
        (429, "too many tokens", False),
        (400, "prompt length (5000) is above max_seq_len", True),
        (400, "thinking.budget_tokens: Input should be greater than or equal to 1024", False),
        (400, "context_management: Extra inputs are not permitted", False),
        (500, 'unexpected tokens remaining in message header: Some("to=functions.x")', False),
        (500, 'Failed to parse input at pos 3: {"path": "context.py"}', False),
        (400, "JSON schema is too large", False),
        (400, "'metadata.user_id' length 300 exceeds 256", False),
        (400, "unknown parameter: colour", False),
        (400, "n_ctx (4096) is too small", True),
        (500, "no slot is left in the KV cache", True),
        (400, "the max input characters is 4800", True),
        (400, "Total tokens of image and text exceed the limit", True),
        (400, "请求的token数超过模型限制", True),
        (400, "Le contexte dépasse la taille maximale", True),
        (500, "context deadline exceeded", False),
        (400, "a tool call id has a length of 9", False),
        (400, "user_id is too long (max 256)", False),
    ],
)
def test_words_that_may_be_about_the_length_of_a_request_are_told_from_others(
    status: int, message: str, is_of_length: bool
) -> None:
    assert may_speak_of_length({"message": message}, status, "") is is_of_length
