"""Which answers call a tool in their text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.textual_calls.leaked_call import LeakedCall, find_leaked_call
from tests.support.examples import examples

CALL = '{"name": "read_file", "arguments": {"path": "a.py"}}'
TAGGED = f"<tool_call>\n{CALL}\n</tool_call>"
TOOLS = {"read_file": {}, "write_file": {}}


def find(text: str) -> str | None:
    leaked = find_leaked_call(text, TOOLS)
    return None if leaked is None else leaked.tool


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"\n  {CALL}\n",
        f"```json\n{CALL}\n```",
        f"```\n{CALL}```",
        f"[{CALL}]",
        TAGGED,
        f"{TAGGED}\n{TAGGED}",
        f"```xml\n{TAGGED}\n```",
        f"Let me look.\n\n```json\n{CALL}\n```",
        f"I call it now: {CALL}",
        '{"name": "read_file", "arguments": {"path": "a.py',
        '```json\n{"name": "read_file", "arguments": {"path": "a" b"}}\n```',
        f"<think>\nI call read_file.\n</think>\n\n{TAGGED}",
        f"I think.\n</think>\n{TAGGED}",
        '<tool_call>{"name": "read_file", "arguments": {"path": "a\\(b"c"}}</tool_call>',
        '{"name": "read_file", "parameters": {}}',
        '{"tool": "read_file", "path": "a.py"}',
        '{"tool_name": "read_file", "input": {"path": "a.py"}}',
        '{"function": "read_file", "args": {}}',
        '{"type": "function", "function": {"name": "read_file", "arguments": "{}"}}',
        '{"tool_calls": [{"id": "1", "function": {"name": "read_file", "arguments": "{}"}}]}',
    ],
)
def test_an_answer_that_calls_a_tool_in_its_text_names_the_tool(text: str) -> None:
    assert find(text) == "read_file"


@pytest.mark.parametrize(
    ("text", "parser"),
    [
        (TAGGED, "hermes"),
        (f"```json\n{CALL}\n```", "json"),
        (f"Now: {CALL}", ""),
        (
            "<tool_call>\n<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>\n</tool_call>",
            "qwen-coder",
        ),
        ("<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n</tool_call>", "glm"),
        (f"[TOOL_CALLS][{CALL}]", "mistral"),
        ('<|channel|>commentary to=functions.read_file <|message|>{"path": "a.py"}', "gpt-oss"),
        ('[read_file(path="a.py")]', "llama"),
    ],
)
def test_the_family_whose_reader_takes_the_call_is_named(text: str, parser: str) -> None:
    assert find_leaked_call(text, TOOLS) == LeakedCall("read_file", parser)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        '<function_calls>\nread_file(path="a.py")\n</function_calls>',
        '<|tools_prefix|>[{"read_file": {"path": "a.py"}}]<|tools_suffix|>',
        '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><m:invoke name="read_file">'
        '<m:parameter name="path">a.py</m:parameter></m:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
        "I look.\n\n<read_file>\n<path>a.py</path>\n</read_file>",
        'Thought: It helps.\nAction: read_file\nAction Input: {"path": "a.py"}',
        "<|tool_calls|><|tool_call:begin|>x1<|tool_call:name|>read_file<|tool_call:args|>"
        '{"path": "a.py"}<|tool_call:end|>',
    ],
)
def test_a_call_in_a_form_that_no_reader_knows_is_seen_at_the_end_of_an_answer(text: str) -> None:
    assert find_leaked_call(text, TOOLS) == LeakedCall("read_file")


def test_a_call_of_a_tool_that_there_is_not_is_one_where_it_is_nothing_else() -> None:
    assert find('{"name": "git status", "arguments": {"path": "."}}') == "git status"
    assert find('<tool_call>{"name": "git status", "arguments": {}}</tool_call>') == "git status"
    assert find('{"name": "Ada", "arguments": {}, "born": 1815}') is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "It is done.",
        f"{CALL}\nDone.",
        f"```json\n{CALL}\n```\nThat would read it.",
        '{"name": "read_file"}',
        '{"tool": 5, "arguments": {}}',
        '{"tool": "read_file", "arguments": {}',
        '"read_file"',
        f"The form is `{TAGGED}`.",
        f"> {CALL}",
        f"One never writes {TAGGED} in a sentence.",
        f"e.g. {CALL}",
        "The tags <tool_call> and </tool_call> frame calls such as those of read_file.",
        "Use <function=read_file> to begin and </function> to end.",
        "<tool_call_example>\nread_file\n</tool_call_example>",
        "<function_calls> is what read_file stands in.",
        "Action: read_file\n\nThat was an hour ago.",
        "```xml\n<read_file>\n<path>a.py</path>\n</read_file>\n```\nis the form.",
        "<read_file>\n<path>a.py</path>\n</read_file>\nis the form.",
        "<item>\n<path>a.py</path>\n</item>",
        f"<think>\n{TAGGED}\n</think>\nThere is nothing to do.",
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        CALL[:-1] + " " * 1_000_000 + "}",
        "```\n" + " " * 99_000 + "x```",
        "```",
    ],
    ids=lambda text: text[:40],
)
def test_any_other_answer_is_none(text: str) -> None:
    assert find(text) is None


@pytest.mark.parametrize(
    "begun", ["", "<tool_call>", "<tool_call>```", '{"name":', '{"name": "read_file",', "```json\n"]
)
@pytest.mark.parametrize("unit", [" ", "\n", "`", "<", "{", '"\\"', "a"])
def test_a_long_text_that_only_begins_as_a_call_is_read_to_its_end(begun: str, unit: str) -> None:
    assert find(f"{begun}{unit * 2_000}x") is None


def test_an_answer_behind_many_blanks_is_read() -> None:
    assert find(f"{' ' * 20_000}{CALL}{chr(10) * 20_000}") == "read_file"
    assert find(f"<tool_call>{chr(10) * 20_000}{CALL}{chr(10) * 20_000}</tool_call>") == "read_file"


@given(st.text())
@examples(100)
def test_whatever_the_text_is_it_is_read_without_an_error(text: str) -> None:
    assert find("{" + text + "}") in (None, "read_file")
