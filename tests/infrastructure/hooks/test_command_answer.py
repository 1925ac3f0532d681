import pytest

from quorum.domain.calls.hook_points import Abort, Ask, Continue, ContinueWithMessages, Finish, HookPoint, Skip
from quorum.domain.errors import HookFailure
from quorum.infrastructure.hooks.command_hook import read_answer

_FLOW = [HookPoint.ON_MESSAGE_SEND, HookPoint.BEFORE_TOOL_CALL, HookPoint.AFTER_TOOL_CALL]
_SEND, _BEFORE, _AFTER, _END, *_ = HookPoint


def test_a_call_alone_may_be_asked_about() -> None:
    asks = b'{"decision": "ask", "reason": "it is late"}'
    assert read_answer(asks, HookPoint.BEFORE_TOOL_CALL).answer() == Ask("it is late")
    with pytest.raises(HookFailure):
        read_answer(asks, HookPoint.AFTER_TOOL_CALL)


@pytest.mark.parametrize("point", _FLOW)
@pytest.mark.requirement("C02")
def test_the_first_three_points_know_continue_skip_and_abort(point: HookPoint):
    assert read_answer(b"", point).answer() == Continue()
    assert read_answer(b"{}", point).answer() == Continue()
    assert read_answer(b' \n{"decision": "continue"}\n', point).answer() == Continue()
    assert read_answer(b'{"decision": "skip"}', point).answer() == Skip()
    assert read_answer(b'{"decision": "abort", "reason": "r"}', point).answer() == Abort("r")


@pytest.mark.requirement("C02")
def test_the_end_of_a_turn_knows_finish_continue_with_and_abort():
    assert read_answer(b"\n", _END).answer() == Finish()
    assert read_answer(b'{"decision": "finish"}', _END).answer() == Finish()
    assert read_answer(b'{"decision": "abort", "reason": "r"}', _END).answer() == Abort("r")
    assert read_answer(b'{"messages": ["m"]}', _END).answer() == ContinueWithMessages(("m",))


@pytest.mark.parametrize(
    ("point", "decision"),
    [
        *((point, decision) for point in _FLOW for decision in ("finish", "continue_with", "allow", "")),
        *((_END, decision) for decision in ("continue", "skip", "Finish")),
    ],
)
@pytest.mark.requirement("C02")
def test_a_decision_of_another_point_is_an_error_that_lists_its_own(point: HookPoint, decision: str):
    with pytest.raises(HookFailure) as caught:
        read_answer(f'{{"decision": "{decision}"}}'.encode(), point)

    of_calls = "continue, ask, skip, abort" if point is HookPoint.BEFORE_TOOL_CALL else "continue, skip, abort"
    own = "finish, continue_with, abort" if point is _END else of_calls
    assert str(caught.value) == f'the decision "{decision}" is none of those at {point}: {own}'


@pytest.mark.parametrize(
    ("point", "printed", "sentence"),
    [
        (_BEFORE, b"ok", "what it printed is not JSON"),
        (_BEFORE, b"\xff\xfe", "what it printed is not JSON"),
        (_BEFORE, b'{"decision": "skip"} trailing', "what it printed is not JSON"),
        (_BEFORE, b"[" * 100_000, "nested too deeply"),
        (_BEFORE, b"[]", "it must print a JSON object"),
        (_BEFORE, b'"skip"', "it must print a JSON object"),
        (_BEFORE, b'{"arguments": {"x": NaN}}', "NaN is not a JSON number"),
        (_BEFORE, b'{"arguments": {"x": "\\ud800"}}', "what it printed is not JSON"),
        (_BEFORE, b'{"decision": ["skip"]}', "is none of those"),
        (_BEFORE, b'{"desicion": "skip"}', '"desicion" means nothing at before_tool_call'),
        (_BEFORE, b'{"result": "x"}', '"result" means nothing at before_tool_call'),
        (_AFTER, b'{"arguments": {}}', '"arguments" means nothing at after_tool_call'),
        (_BEFORE, b'{"arguments": []}', "arguments must be an object"),
        (_AFTER, b'{"result": {}}', "result must be a text"),
        (_SEND, b'{"messages": {}}', "messages must be a list of messages"),
        (_BEFORE, b'{"decision": "skip", "arguments": {}}', 'goes with the decision "continue" only'),
        (_BEFORE, b'{"decision": "skip", "reason": 1}', "reason must be a text"),
        (_BEFORE, b'{"decision": "abort"}', "abort needs a reason"),
    ],
)
@pytest.mark.requirement("C11")
def test_an_answer_that_cannot_be_meant_is_an_error(point: HookPoint, printed: bytes, sentence: str):
    with pytest.raises(HookFailure) as caught:
        read_answer(printed, point)

    assert sentence in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("messages", ["", ', "messages": []', ', "messages": [""]', ', "messages": ["a", 1]'])
@pytest.mark.requirement("C11")
def test_going_on_takes_texts(messages: str):
    answer = read_answer(f'{{"decision": "continue_with"{messages}}}'.encode(), _END)

    with pytest.raises(HookFailure, match='continue_with needs "messages"'):
        answer.answer()
