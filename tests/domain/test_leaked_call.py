"""Which answers are a call written as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.calls.leaked_call import find_leaked_call
from tests.support.examples import examples

CALL = '{"name": "read_file", "arguments": {"path": "a.py"}}'


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"\n  {CALL}\n",
        f"```json\n{CALL}\n```",
        f"```\n{CALL}```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"```xml\n<tool_call>{CALL}</tool_call>\n```",
        '{"name": "read_file", "parameters": {}}',
        '{"tool": "read_file", "path": "a.py"}',
        '{"tool_name": "read_file", "input": {"path": "a.py"}}',
        '{"function": "read_file", "args": {}}',
        '{"type": "function", "function": {"name": "read_file", "arguments": "{}"}}',
        '{"tool_calls": [{"id": "1", "function": {"name": "read_file", "arguments": "{}"}}]}',
    ],
)
def test_an_answer_that_is_nothing_but_a_call_names_its_tool(text: str) -> None:
    assert find_leaked_call(text, {"read_file", "write_file"}) == "read_file"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        f"I call it now: {CALL}",
        f"{CALL}\nDone.",
        f"```json\n{CALL}\n```\nand\n```json\n{CALL}\n```",
        f"[{CALL}]",
        '{"name": "read_file"}',
        '{"name": "no_such_tool", "arguments": {}}',
        '{"tool": 5, "arguments": {}}',
        '{"tool": "read_file", "arguments": {}',
        '"read_file"',
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        CALL[:-1] + " " * 1_000_000 + "}",
        "```\n" + " " * 999_000 + "x```",
        "```",
    ],
    ids=lambda text: text[:40],
)
def test_any_other_answer_is_none(text: str) -> None:
    assert find_leaked_call(text, {"read_file", "write_file"}) is None


@given(st.text())
@examples(100)
def test_whatever_the_text_is_it_is_read_without_an_error(text: str) -> None:
    assert find_leaked_call("{" + text + "}", {"read_file"}) in (None, "read_file")
