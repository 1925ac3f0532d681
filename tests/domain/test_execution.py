from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.execution import Outcome, ToolExecution, ToolStatus
from quorum.domain.errors import IllegalTransition
from tests.support.builders import a_call, a_context


def an_execution() -> ToolExecution:
    return ToolExecution(context=a_context(), call=a_call("t"))


def test_a_call_goes_from_queued_to_yielded() -> None:
    execution = an_execution()

    execution.start()
    execution.complete(Outcome.OK, "done")
    message = execution.hand_over()

    assert execution.status is ToolStatus.YIELDED
    assert (message.tool_use_id, message.output, message.is_error, message.is_rejected) == (
        "call-0",
        "done",
        False,
        False,
    )


def test_a_call_that_never_ran_cannot_be_ok() -> None:
    with pytest.raises(IllegalTransition):
        an_execution().complete(Outcome.OK, "")


@pytest.mark.parametrize(
    ("outcome", "is_error", "is_rejected"),
    [
        (Outcome.OK, False, False),
        (Outcome.ERROR, True, False),
        (Outcome.UNKNOWN, True, False),
        (Outcome.CANCELLED, True, False),
        (Outcome.NOT_RUN, True, False),
        (Outcome.REJECTED, False, True),
        (Outcome.SKIPPED, False, True),
    ],
)
def test_the_outcome_says_what_goes_back(outcome: Outcome, *, is_error: bool, is_rejected: bool) -> None:
    execution = an_execution()
    execution.start()
    execution.complete(outcome, "text")

    message = execution.hand_over()

    assert (message.is_error, message.is_rejected) == (is_error, is_rejected)


MOVES = st.lists(
    st.one_of(
        st.just("start"),
        st.just("hand_over"),
        st.sampled_from(Outcome),
    ),
    max_size=6,
)
LEGAL = {
    (ToolStatus.QUEUED, ToolStatus.EXECUTING),
    (ToolStatus.QUEUED, ToolStatus.COMPLETED),
    (ToolStatus.EXECUTING, ToolStatus.COMPLETED),
    (ToolStatus.COMPLETED, ToolStatus.YIELDED),
}


@given(MOVES)
def test_only_legal_transitions_happen_and_a_refused_one_changes_nothing(moves: list[str]) -> None:
    execution = an_execution()
    for move in moves:
        before = execution.status
        try:
            match move:
                case "start":
                    execution.start()
                case "hand_over":
                    execution.hand_over()
                case _:
                    execution.complete(Outcome(move), "")
        except IllegalTransition:
            assert execution.status is before
        else:
            assert (before, execution.status) in LEGAL
