"""The same call with the same result: a note the second time, an end where nothing new comes in a row."""

from __future__ import annotations

import pytest

from quorum.application.turn.turn_loop import RepeatedCalls
from quorum.domain.calls.tool import RiskLevel, ToolResultMessage
from quorum.domain.text.json_value import JsonObject
from tests.support.builders import a_call


def a_counter() -> RepeatedCalls:
    return RepeatedCalls(
        lambda _tool: '{"path": "…"}', lambda tool: RiskLevel.HIGH if tool == "write" else RiskLevel.LOW
    )


def repeat(counter: RepeatedCalls, output: str, tool: str = "read") -> tuple[str, str]:
    result = ToolResultMessage(tool_use_id="call-0", tool_name=tool, output=output)
    (told,), often = counter.note([a_call(tool, {"path": "a"})], [result])
    return told.output, often


def test_the_model_is_told_with_an_example_and_then_the_turn_ends() -> None:
    counter = a_counter()

    assert repeat(counter, "x") == ("x", "")
    told, often = repeat(counter, "x")
    assert '{"path": "…"}' in told
    assert often == ""
    assert repeat(counter, "x")[1] == "read"


@pytest.mark.parametrize(
    "again", [{"path": "./a"}, {"path": "a/"}, {"path": "b/../a", "all": False}, {"path": "a", "of": None}]
)
def test_a_path_in_another_spelling_and_an_empty_argument_more_are_the_same_call(again: JsonObject) -> None:
    counter = a_counter()
    repeat(counter, "x")
    result = ToolResultMessage(tool_use_id="call-0", tool_name="read", output="x")

    (told,), _ = counter.note([a_call("read", again)], [result])

    assert told.output != "x"


def test_other_results_and_what_a_risky_call_changed_are_no_repetition() -> None:
    counter = a_counter()

    assert [repeat(counter, str(number)) for number in range(4)] == [(str(n), "") for n in range(4)]
    for number in range(4):
        assert repeat(counter, "same") == ("same", "")
        assert repeat(counter, f"written {number}", "write")[1] == ""


def test_the_same_read_between_other_work_is_no_loop() -> None:
    counter = a_counter()

    for number in range(6):
        assert repeat(counter, "same")[1] == ""
        assert repeat(counter, f"new {number}")[1] == ""


def test_calls_that_take_turns_without_anything_new_end_the_turn() -> None:
    counter = a_counter()

    ends = [repeat(counter, "same", tool)[1] for tool in ("read", "list", "read", "list", "read")]

    assert ends == ["", "", "", "", "read"]


@pytest.mark.parametrize("tool", ["jobs", "run_command", "mcp__ci__status"])
def test_a_call_that_can_wait_for_something_is_made_more_often(tool: str) -> None:
    counter = a_counter()

    ends = [repeat(counter, "still running", tool)[1] for _ in range(20)]

    assert ends == [""] * 19 + [tool]


def test_a_failing_call_waits_for_nothing() -> None:
    counter = a_counter()
    failed = ToolResultMessage(tool_use_id="call-0", tool_name="jobs", output="no such job", is_error=True)

    assert [counter.note([a_call("jobs", {})], [failed])[1] for _ in range(3)] == ["", "", "jobs"]


def test_while_a_job_runs_waiting_for_it_ends_no_turn_and_counting_begins_anew_at_its_end() -> None:
    is_running = True
    counter = RepeatedCalls(lambda _tool: "{}", lambda _tool: RiskLevel.LOW, lambda: is_running)

    assert {repeat(counter, "step 1 of 9", "run_command")[1] for _ in range(60)} == {""}
    assert "jobs once with action = read" in repeat(counter, "step 1 of 9", "run_command")[0]
    assert [repeat(counter, "log", "read_file")[1] for _ in range(4)] == [""] * 4
    is_running = False
    assert [repeat(counter, "log", "read_file")[1] for _ in range(3)] == ["", "", "read_file"]


def test_while_a_job_runs_reading_the_same_without_end_and_failing_calls_end_the_turn() -> None:
    counter = RepeatedCalls(lambda _tool: "{}", lambda _tool: RiskLevel.LOW, lambda: True)
    failed = ToolResultMessage(tool_use_id="call-0", tool_name="jobs", output="no such job", is_error=True)

    assert [repeat(counter, "log", "read_file")[1] for _ in range(20)] == [""] * 19 + ["read_file"]
    assert [counter.note([a_call("jobs", {})], [failed])[1] for _ in range(3)] == ["", "", "jobs"]
