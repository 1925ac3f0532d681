"""The same call with the same result: a note the second time, an end the third time."""

from __future__ import annotations

from application.turn.repeated_calls import RepeatedCalls
from domain.calls.tool import RiskLevel, ToolResultMessage
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


def test_other_results_and_what_a_risky_call_changed_are_no_repetition() -> None:
    counter = a_counter()

    assert [repeat(counter, str(number)) for number in range(4)] == [(str(n), "") for n in range(4)]
    for number in range(4):
        assert repeat(counter, "same") == ("same", "")
        assert repeat(counter, f"written {number}", "write")[1] == ""


def test_a_file_that_is_read_again_between_new_results_does_not_end_the_turn() -> None:
    counter = a_counter()

    for number in range(4):
        assert repeat(counter, "the guide")[1] == ""
        assert repeat(counter, f"file {number}")[1] == ""
    assert repeat(counter, "the guide")[1] == ""
    assert repeat(counter, "the guide")[1] == "read"


def test_calls_that_repeat_in_turn_end_it() -> None:
    counter = a_counter()

    ends = [repeat(counter, ("one", "other")[number % 2])[1] for number in range(5)]

    assert ends == ["", "", "", "", "read"]
