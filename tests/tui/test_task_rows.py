"""How the rows of calls that give tasks to subagents are drawn."""

from __future__ import annotations

from quorum.application.view.entries import Call, Kept
from quorum.domain.text.json_value import JsonValue
from quorum.tui.transcript.draw.rows import shorten_arguments
from quorum.tui.transcript.kinds.plain import summarise

PROMPT = "find out how the errors of the payment service are handled, and report the callers\nand the tests"


def test_a_row_of_a_task_says_what_it_is_about_and_no_size() -> None:
    telling, others = shorten_arguments(Call(index=0, tool="task", arguments={"prompt": PROMPT}))
    assert telling == f"{PROMPT.splitlines()[0]} …"
    assert others == ""


def test_the_prompt_of_another_tool_stays_an_argument_among_others() -> None:
    telling, others = shorten_arguments(Call(index=0, tool="mcp__x__y", arguments={"prompt": "a"}))
    assert (telling, others) == ("", "prompt=a")


def test_a_plan_is_told_by_its_objective_and_the_number_of_its_tasks() -> None:
    arguments: dict[str, JsonValue] = {
        "objective": "a parser",
        "reasoning": "it is asked for",
        "tasks": [{"id": "lexer"}, {"id": "parser"}],
    }
    assert shorten_arguments(Call(index=0, tool="create_plan", arguments=arguments)) == ("a parser", "2 tasks")


def test_the_answer_to_a_mark_on_a_task_is_not_counted() -> None:
    call = Call(index=0, tool="update_task", arguments={"id": "limit", "status": "done"})
    assert summarise(call, Kept.of("limit is done: 1 of 2")) == ""
    assert summarise(call, Kept.of("limit is done\nwhat is left: test")) == "2 lines"


def test_a_list_of_steps_is_told_by_their_number_until_it_is_shown() -> None:
    arguments: dict[str, JsonValue] = {"items": [{"text": "test it"}, {"text": "commit"}]}
    call = Call(index=0, tool="update_plan", arguments=arguments)
    assert shorten_arguments(call) == ("", "2 steps")
    call.output = Kept.of("1 ○ test it\n2 ○ commit")
    assert shorten_arguments(call) == ("", "")


def test_the_lines_that_a_read_asks_for_are_told_until_those_are_told_that_it_got() -> None:
    call = Call(index=0, tool="read_file", arguments={"path": "a.py", "offset": 5, "limit": 2})
    assert shorten_arguments(call) == ("a.py", "from line 5 · 2 lines")
    call.output = Kept.of("5\ta\n6\tb\n[lines 5-6 of 9; offset=7 continues]")
    assert shorten_arguments(call) == ("a.py", "")
