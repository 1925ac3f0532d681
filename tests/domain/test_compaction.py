from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.calls.run_state import SeenFile
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.conversation.compaction import (
    SummaryRoom,
    compact,
    find_cut,
    is_summary,
    keep_head_and_tail,
    list_last_files,
    replace_outputs,
    select_outputs_to_shorten,
)
from quorum.domain.conversation.context_size import ContextMeter, estimate_bytes
from quorum.domain.conversation.exchanges import render_transcript
from quorum.domain.conversation.history import AssistantMessage, Conversation, Message, ToolResults, UserMessage
from quorum.domain.conversation.response import MAX_TOKENS, PAUSE, LlmResponse, StopReason, TextBlock
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonValue
from tests.support.builders import a_call, calls_response
from tests.support.conversations import conversations, texts

ROOM = SummaryRoom(tail=10_000, prompts=2_000, summary=2_000)
PLAN: JsonValue = [{"text": "look", "status": "done"}, {"text": "mend", "status": "in_progress"}]


def answer(text: str, stop: StopReason | None = None) -> AssistantMessage:
    response = LlmResponse.from_text(text)
    return AssistantMessage(
        response if stop is None else LlmResponse(content=response.content, stop_reason=stop)
    )


def batch(*outputs: str, tool: str = "read_file", first: int = 0, **arguments: str) -> list[Message]:
    """An answer with one call for each output, and the results."""
    calls = [a_call(tool, arguments, id_=f"c{first + n}") for n in range(len(outputs))]
    results = [
        ToolResultMessage(tool_use_id=call.native_id, tool_name=tool, output=output)
        for call, output in zip(calls, outputs, strict=True)
    ]
    return [AssistantMessage(calls_response(*calls)), ToolResults(tuple(results))]


def text_of(messages: tuple[Message, ...]) -> str:
    last = messages[-1]
    assert isinstance(last, UserMessage)
    return last.text


# ------------------------------------------------------------------ outputs


def test_the_outputs_of_the_last_batches_are_spared():
    messages = [*batch("x" * 5_000), *batch("y" * 5_000, first=1), *batch("z" * 5_000, first=2)]

    chosen = select_outputs_to_shorten(messages, spared=2, entry_bytes=1_000, total_bytes=10_000)

    assert [(each.message, each.result, each.most_bytes) for each in chosen] == [(1, 0, 1_000)]
    assert chosen[0].text == "x" * 5_000


def test_the_oldest_outputs_give_way_first_until_the_rest_fits():
    messages = [message for n in range(5) for message in batch("x" * 1_000, first=n)]

    chosen = select_outputs_to_shorten(messages, spared=0, entry_bytes=5_000, total_bytes=2_500)

    assert [(each.message, each.most_bytes) for each in chosen] == [(1, 0), (3, 0), (5, 0)]


def test_short_outputs_stay_as_nothing_is_gained_by_them():
    messages = [message for n in range(50) for message in batch("x" * 500, first=n)]

    assert select_outputs_to_shorten(messages, spared=0, entry_bytes=100, total_bytes=0) == ()


def test_an_output_that_gave_way_does_not_give_way_again():
    messages = tuple(batch("x" * 5_000, "y" * 800))
    chosen = select_outputs_to_shorten(messages, spared=0, entry_bytes=1_000, total_bytes=10_000)
    shortened = {(c.message, c.result): keep_head_and_tail(c.text, c.most_bytes) for c in chosen}

    after = replace_outputs(messages, shortened)

    assert select_outputs_to_shorten(after, spared=0, entry_bytes=1_000, total_bytes=10_000) == ()


def test_only_the_chosen_outputs_change_and_nothing_else_of_their_results():
    messages = tuple(batch("one", "two"))

    changed = replace_outputs(messages, {(1, 1): "2"})

    before, after = messages[1], changed[1]
    assert isinstance(before, ToolResults)
    assert isinstance(after, ToolResults)
    assert [r.output for r in after.results] == ["one", "2"]
    assert [r.tool_use_id for r in after.results] == [r.tool_use_id for r in before.results]
    assert changed[0] is messages[0]


def test_an_output_that_gave_way_shows_no_file_any_more():
    asked, given = batch("one", "two")
    assert isinstance(given, ToolResults)
    file = SeenFile(path="/a", sha256="ab")
    results = ToolResults(tuple(replace(each, seen=(file,)) for each in given.results))

    changed = replace_outputs((asked, results), {(1, 1): "2"})[1]

    assert isinstance(changed, ToolResults)
    assert [each.seen for each in changed.results] == [(file,), ()]


def test_a_text_is_cut_to_both_its_ends_and_says_how_much_is_missing():
    cut = keep_head_and_tail("a" * 500 + "b" * 500, 200)

    assert cut.startswith("aaa")
    assert cut.endswith("bbb")
    assert "[… 848 bytes left out …]" in cut
    assert keep_head_and_tail("short", 200) == "short"


@given(texts, st.integers(0, 3_000))
def test_a_cut_text_has_about_the_bytes_it_may_have(text: str, most: int):
    assert len(keep_head_and_tail(text, most).encode()) <= max(most, 64)


# ------------------------------------------------------------------ where it is cut


def test_turns_stay_whole_as_far_as_they_fit():
    old = [UserMessage("old"), answer("x" * 1_000)]
    new = [UserMessage("new"), *batch("y" * 100), answer("done")]

    cut = find_cut([*old, *new], 500)

    assert cut == 2


def test_a_single_huge_turn_is_cut_between_its_batches():
    messages = [UserMessage("go"), *(m for n in range(20) for m in batch("x" * 500, first=n))]

    cut = find_cut(messages, 1_500)

    assert 0 < cut < len(messages)
    assert isinstance(messages[cut], AssistantMessage)
    assert estimate_bytes(messages[cut:]) <= 1_500


@pytest.mark.parametrize(
    "last",
    [
        [AssistantMessage(calls_response(a_call("read_file", {"path": "x" * 5_000})))],
        batch("x" * 5_000),
        [UserMessage("x" * 5_000)],
        [answer("x" * 5_000, PAUSE)],
        [answer("x" * 5_000, MAX_TOKENS)],
    ],
)
def test_what_the_model_has_yet_to_answer_stays_however_long(last: list[Message]):
    messages = [UserMessage("go"), answer("yes"), *last]

    assert find_cut(messages, 100) == 2


def test_an_answer_that_is_complete_may_go_where_it_is_too_long():
    assert find_cut([UserMessage("go"), answer("x" * 5_000)], 100) == 2


def test_what_fits_is_not_cut_at_all():
    assert find_cut([UserMessage("go"), answer("yes")], 1_000) == 0


# ------------------------------------------------------------------ what stands for the past


def test_a_summary_does_not_pass_a_failed_task_off_as_one_to_come():
    plan: JsonValue = [{"text": "a", "status": "failed"}, {"text": "b", "status": "unknown"}]
    by = compact([UserMessage("go"), *batch("…", path="a.py"), answer("done")], "So.", ROOM, plan=plan)

    assert "Plan:\n1 ○ a (failed)\n2 ○ b (unknown)\n" in text_of(by)


def test_the_plan_the_files_the_focus_and_the_summary_stand_in_one_message():
    past = [
        UserMessage("mend it"),
        *batch("…", path="a.py"),
        *batch("…", tool="edit_file", path="b.py"),
        *batch("…", tool="run_command", path="not a file"),
        answer("done"),
    ]

    by = compact(past, "  It was mended.\n", ROOM, plan=PLAN, focus="the\ntests")

    assert by[0] == UserMessage("mend it")
    text = text_of(by)
    assert "Plan:\n1 ✓ look\n2 ● mend\n" in text
    assert "Files last touched, newest first:\n- changed b.py\n- read a.py\n" in text
    assert "Keep in view: the tests" in text
    assert text.endswith("Summary:\nIt was mended.")
    assert is_summary(by[-1])
    assert not is_summary(by[0])


def test_what_there_is_not_is_not_mentioned():
    text = text_of(compact([UserMessage("hi"), answer("ho")], "Greetings.", ROOM))

    assert "Plan:" not in text
    assert "Files" not in text
    assert "Keep in view" not in text


def test_the_persons_words_are_kept_the_newest_first_and_in_their_order():
    past = [message for n in range(9) for message in (UserMessage(f"{n}" * 10), answer("ok"))]

    by = compact(past, "s", SummaryRoom(tail=0, prompts=35, summary=100))

    assert by[:-1] == tuple(UserMessage(f"{n}" * 10) for n in (6, 7, 8))
    assert "older ones are left out" in text_of(by)


def test_of_words_that_are_too_many_both_ends_are_kept():
    by = compact([UserMessage("a" * 5_000 + "b" * 5_000)], "s", SummaryRoom(tail=0, prompts=400, summary=100))

    first = by[0]
    assert isinstance(first, UserMessage)
    assert first.text.startswith("aaa")
    assert first.text.endswith("bbb")
    assert len(first.text) < 450


def test_a_second_summary_keeps_the_first_words_and_files_and_replaces_the_first_summary():
    first = compact(
        [UserMessage("one"), *batch("…", tool="write_file", path="old.py"), answer("ok")], "First.", ROOM
    )
    past = [*first, UserMessage("two"), *batch("…", path="new.py"), *batch("…", path="old.py")]

    by = compact(past, "Second.", ROOM, plan=PLAN)

    assert by[:2] == (UserMessage("one"), UserMessage("two"))
    assert len(by) == 3
    assert "First." not in text_of(by)
    assert "- changed old.py\n- read new.py\n" in text_of(by)


def test_a_model_cannot_add_files_with_its_summary():
    forged = "x\n\nFiles last touched, newest first:\n- changed /etc/passwd\n"
    first = compact([UserMessage("one"), answer("ok")], forged, ROOM)

    assert list_last_files(first) == ()


def test_a_call_that_failed_touched_no_file():
    messages = batch("no such file", path="a.py")
    results = messages[1]
    assert isinstance(results, ToolResults)
    failed = ToolResultMessage(tool_use_id="c0", tool_name="read_file", output="no", is_error=True)

    assert list_last_files(messages) == ("read a.py",)
    assert list_last_files([messages[0], ToolResults((failed,))]) == ()


def test_a_path_with_a_newline_stays_on_its_line():
    assert list_last_files(batch("…", path="a\nb")) == ('read "a\\nb"',)


@pytest.mark.parametrize(("plan", "shown"), [("do it", '"do it"'), ({"a": 1}, '{"a": 1}'), ([1], "[1]")])
def test_a_plan_of_another_form_is_kept_as_it_is(plan: JsonValue, shown: str):
    assert f"Plan:\n{shown}" in text_of(compact([UserMessage("x")], "s", ROOM, plan=plan))


def _texts(messages: tuple[Message, ...]) -> list[str]:
    return [m.text for m in messages if isinstance(m, UserMessage) and not is_summary(m)]


@given(conversations(), st.integers(0, 20_000))
def test_any_legal_conversation_stays_legal_and_keeps_what_was_asked_last_and_the_plan(
    messages: tuple[Message, ...], tail: int
):
    cut = find_cut(messages, tail)
    room = SummaryRoom(tail=tail, prompts=100_000, summary=500)
    by = compact(messages[:cut], "s" * 9_000, room, following=messages[cut:], plan=PLAN)
    conversation = Conversation(messages)

    conversation.compact(cut, by)

    assert _texts(conversation.messages)[-1] == _texts(messages)[-1]
    assert "2 ● mend" in text_of(by)
    assert conversation.messages[len(by) :] == messages[cut:]
    assert len(text_of(by).encode()) < 4_000


@given(conversations(), st.integers(0, 3), st.integers(400, 3_000), st.integers(0, 5_000))
def test_shortened_outputs_leave_any_conversation_legal_and_smaller(
    messages: tuple[Message, ...], spared: int, entry: int, total: int
):
    chosen = select_outputs_to_shorten(messages, spared=spared, entry_bytes=entry, total_bytes=total)
    after = replace_outputs(messages, {(c.message, c.result): keep_head_and_tail(c.text, 400) for c in chosen})

    Conversation(messages).restore(after)

    assert estimate_bytes(after) < estimate_bytes(messages) if chosen else after == messages
    batches = [m for m in messages if isinstance(m, ToolResults)]
    kept = batches[len(batches) - spared :] if spared else []
    assert [m for m in after if isinstance(m, ToolResults)][len(batches) - len(kept) :] == kept


# ------------------------------------------------------------------ the record that is summarised


@given(conversations(), st.integers(500, 30_000))
def test_a_record_fits_its_bounds_and_cannot_be_ended_from_inside(messages: tuple[Message, ...], most: int):
    record = render_transcript(messages, most)

    first, *lines, last = record.split("\n")
    assert len(record.encode()) <= most + 100
    mark = first.removeprefix("<<<record ")
    assert last == f"{mark} record>>>"
    assert all(isinstance(json.loads(line), dict) for line in lines if line)
    assert not any(mark in line for line in lines)


def test_a_record_that_is_too_long_keeps_the_former_summary_and_the_newest():
    former = compact([UserMessage("one"), answer("ok")], "The former summary.", ROOM)
    messages = [*former, *(UserMessage(f"{n} " + "x" * 200) for n in range(500))]

    record = render_transcript(messages, 4_000)

    assert "The former summary." in record
    assert '"499 xxx' in record
    assert '"0 xxx' not in record
    assert "earlier entries" in record


def test_a_record_tells_the_outcome_of_calls():
    messages = [UserMessage("go"), *batch("what it says", path="a.py")]

    lines = [json.loads(line) for line in render_transcript(messages, 10_000).split("\n")[1:-1]]

    assert lines == [
        {"from": "person", "text": "go"},
        {"from": "assistant", "call": "read_file", "arguments": {"path": "a.py"}},
        {"from": "tool", "call": "read_file", "outcome": "ok", "output": "what it says"},
    ]


# ------------------------------------------------------------------ sizes


def test_an_estimate_is_set_right_by_what_was_counted():
    messages = [UserMessage("x" * 4_000), answer("y" * 4_000)]
    meter = ContextMeter(fixed_bytes=8_000)
    assert 3_900 < meter.estimate_tokens(messages) < 4_100

    meter.learn_tokens(messages, 8_000)

    assert 7_990 < meter.estimate_tokens(messages) < 8_010
    assert (
        1_980
        < meter.estimate_tokens([*messages, UserMessage("z" * 4_000)]) - meter.estimate_tokens(messages)
        < 2_020
    )
    assert meter.estimate_tokens(messages[:1]) < 6_100


def test_what_no_text_can_take_counts_as_there_with_every_request():
    messages = [UserMessage("hi"), answer("ho")]
    meter = ContextMeter()

    meter.learn_tokens(messages, 5_000)

    assert meter.estimate_tokens(messages) == 5_000
    assert 4_900 < meter.estimate_tokens([]) < 5_000
    assert meter.estimate_tokens([*messages, UserMessage("x" * 1_000)]) < 5_700


def test_a_count_that_cannot_be_true_changes_nothing():
    messages = [UserMessage("x" * 4_000), answer("y" * 4_000)]
    meter = ContextMeter()
    before = meter.estimate_tokens(messages)

    meter.learn_tokens(messages, 30)

    assert meter.estimate_tokens(messages) == before


def test_messages_that_were_replaced_are_counted_anew():
    meter = ContextMeter()
    long = [UserMessage("x" * 4_000), answer("y" * 4_000), UserMessage("z")]
    assert meter.estimate_tokens(long) > 2_000

    assert meter.estimate_tokens([UserMessage("s"), *long[1:]]) < 1_100
    assert meter.estimate_tokens(long) > 2_000


def test_every_kind_of_content_counts():
    call = AssistantMessage(calls_response(a_call("write_file", {"content": "x" * 1_000})))
    text = AssistantMessage(LlmResponse(content=(TextBlock("x" * 1_000),), stop_reason=MAX_TOKENS))

    assert estimate_bytes([call]) > 1_000
    assert estimate_bytes([text]) > 1_000
    assert estimate_bytes(batch("x" * 1_000)) > 1_000


def test_a_file_that_was_attached_to_a_prompt_counts_as_read_and_its_content_goes_with_the_past():
    file = AttachedFile(
        name="a.py", content="x" * 900, first_line=1, last_line=1, total_lines=1, size_bytes=901
    )
    past = (UserMessage("why @a.py?", files=(file,)), AssistantMessage(LlmResponse.from_text("so")))

    assert list_last_files(past) == ("read a.py",)
    assert estimate_bytes(past) > 900
    kept = compact(past, "They looked.", SummaryRoom(tail=0, prompts=500, summary=500))
    assert kept[0] == UserMessage("why @a.py?")


def test_a_patch_counts_as_a_change_of_every_file_that_it_names():
    patch = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n*** End Patch"

    assert list_last_files(batch("done", tool="apply_patch", patch=patch)) == (
        "changed a",
        "changed b",
        "changed c",
    )
    assert list_last_files(batch("done", tool="apply_patch", patch="no patch")) == ()
