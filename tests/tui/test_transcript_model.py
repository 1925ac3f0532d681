import pytest

from quorum.application.view.entries import (
    AnswerEntry,
    Batch,
    Kept,
    Notice,
    NoticeKind,
    Phase,
    PromptEntry,
    Remark,
)
from quorum.application.view.session_view import SessionView
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.hook_points import HookPoint
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import (
    MAX_TOKENS,
    LlmResponse,
    ReasoningBlock,
    StopKind,
    StopReason,
    TextBlock,
    Usage,
)
from quorum.domain.events import event as ev
from quorum.domain.events.report import RunStatus
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import DecisionLabel
from tests.tui.transcript_scenes import (
    DIFF,
    Clock,
    asked,
    completed,
    context,
    finished,
    planned,
    started,
    turn_finished,
)

READ = ("read_file", {"path": "a.py"}, RiskLevel.LOW, ())
EDIT = ("edit_file", {"path": "a.py"}, RiskLevel.HIGH, (0,))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def transcript(clock):
    return SessionView(clock)


def only(transcript, kind):
    found = [entry for entry in transcript.entries if isinstance(entry, kind)]
    assert len(found) == 1
    return found[0]


def apply(transcript, *events):
    for event in events:
        transcript.apply(event)


def test_deltas_grow_one_answer_and_the_whole_answer_does_not_repeat_them(transcript):
    apply(
        transcript,
        ev.TurnStarted(prompt="hi"),
        ev.TextDelta(text="Hel"),
        ev.TextDelta(text="lo"),
        completed("Hello"),
    )

    assert only(transcript, PromptEntry).text == "hi"
    answer = only(transcript, AnswerEntry)
    assert (answer.text, answer.finished, answer.edition) == ("Hello", True, 0)


def test_without_deltas_the_text_is_that_of_the_whole_answer(transcript):
    transcript.apply(completed("Hello"))
    assert only(transcript, AnswerEntry).text == "Hello"


def test_a_whole_answer_that_differs_replaces_what_streamed(transcript):
    apply(transcript, ev.TextDelta(text="the key is abc"), completed("the key is ***"))
    answer = only(transcript, AnswerEntry)
    assert (answer.text, answer.edition) == ("the key is ***", 1)


def test_two_answers_stand_apart(transcript):
    apply(transcript, ev.TextDelta(text="one"), completed("one"), ev.TextDelta(text="two"), completed("two"))
    assert [entry.text for entry in transcript.entries] == ["one", "two"]


def test_reasoning_is_kept_beside_the_text(transcript):
    apply(transcript, ev.ReasoningDelta(text="hm, "), ev.ReasoningDelta(text="so"), ev.TextDelta(text="Yes"))
    answer = only(transcript, AnswerEntry)
    assert ("".join(answer.reasoning), answer.text) == ("hm, so", "Yes")


def test_reasoning_that_did_not_stream_comes_from_the_whole_answer(transcript):
    blocks = (ReasoningBlock(provider="p", payload={}, text="why"), TextBlock("Yes"))
    response = LlmResponse(content=blocks, stop_reason=MAX_TOKENS)
    transcript.apply(ev.ResponseCompleted(turn_index=0, response=response))
    assert only(transcript, AnswerEntry).reasoning == ["why"]


def test_every_change_of_an_entry_changes_its_version(transcript):
    script = [
        planned(READ, EDIT),
        ev.CallQueued(context=context(1), waiting_for=(0,)),
        started("read_file", {"path": "a.py"}),
        ev.CallProgressed(context=context(), text="half"),
        finished("read_file", "text\n"),
        asked("edit_file", {"path": "a.py"}, 1, DIFF),
        ev.VoteCast(
            context=context(1), digest="", reviewer="m", verdict="approve", confidence=0.9, reason="fine"
        ),
        ev.HookRan(
            point=HookPoint.AFTER_TOOL_CALL, hook="audit", answer="continue", reason=None, context=context(1)
        ),
        ev.ReviewDecided(context=context(1), digest="", decision=DecisionLabel.REJECTED, reason="no"),
    ]
    versions = []
    for event in script:
        transcript.apply(event)
        versions.append(only(transcript, Batch).version)
    assert versions == sorted(set(versions))


def test_a_call_goes_from_waiting_over_running_to_its_result(transcript, clock):
    transcript.apply(planned(READ, EDIT))
    read, edit = only(transcript, Batch).calls
    assert (edit.phase, edit.waiting_for) == (Phase.QUEUED, (0,))

    transcript.apply(started("read_file", {"path": "a.py"}))
    assert (read.phase, transcript.live) == (Phase.RUNNING, [only(transcript, Batch)])

    clock.now += 2
    transcript.apply(finished("read_file", "one\ntwo\n", secs=2.0))
    assert (read.phase, read.outcome, read.duration) == (Phase.FINISHED, Outcome.OK, 2.0)
    assert read.output is not None
    assert read.output.lines == 2
    assert [moment for moment, _ in read.since] == [100.0, 100.0, 102.0]
    assert transcript.live == []


def test_a_reviewed_call_shows_what_is_asked_and_what_was_decided(transcript):
    apply(transcript, planned(READ, EDIT), asked("edit_file", {"path": "b.py"}, 1, DIFF))
    call = only(transcript, Batch).calls[1]
    assert (call.phase, call.waiting_for, call.diff) == (Phase.REVIEWED, "review", DIFF)
    assert call.arguments == {"path": "b.py"}
    assert call.asked_because == ("high risk, and the mode is ask",)

    decided = ev.ReviewDecided(context=context(1), digest="", decision=DecisionLabel.REJECTED, reason="no")
    rejected = finished(
        "edit_file",
        "rejected by the user: no",
        1,
        outcome=Outcome.REJECTED,
        decision=DecisionLabel.REJECTED,
        secs=0.0,
    )
    apply(transcript, decided, rejected)
    assert (call.outcome, call.reason, call.duration) == (Outcome.REJECTED, "no", None)


def test_a_call_that_is_being_written_becomes_the_call_of_the_batch(transcript):
    apply(
        transcript,
        ev.ToolCallDelta(index=0, id="c", name="read_file", arguments_delta='{"pa'),
        ev.ToolCallDelta(index=0, id=None, name=None, arguments_delta='th":"a.py"}'),
    )
    call = only(transcript, Batch).calls[0]
    assert (call.tool, call.phase) == ("read_file", Phase.COMPOSED)

    apply(transcript, completed("", calls=True), planned(READ))
    assert only(transcript, Batch).calls[0].arguments == {"path": "a.py"}


def test_a_call_that_was_cut_off_is_shown_as_not_run(transcript):
    apply(
        transcript,
        ev.ToolCallDelta(index=0, id="c", name="write_file", arguments_delta='{"pa'),
        ev.ResponseCompleted(turn_index=0, response=LlmResponse(content=(), stop_reason=MAX_TOKENS)),
    )
    assert only(transcript, Batch).calls[0].phase is Phase.ABANDONED


def test_a_hook_that_speaks_before_the_plan_and_after_the_end_stays_with_its_call(transcript):
    before = ev.HookRan(point="before_tool_call", hook="a", answer="continue", reason=None, context=context())
    after = ev.HookRan(point="after_tool_call", hook="b", answer="skip", reason="secret", context=context())
    apply(
        transcript,
        before,
        planned(READ),
        started("read_file", {"path": "a.py"}),
        finished("read_file", "x"),
        after,
    )
    assert only(transcript, Batch).calls[0].remarks == (
        Remark(NoticeKind.INFO, "hook a let call 1 pass", quiet=True),
        Remark(NoticeKind.WARNING, "hook b withheld the result of call 1: secret"),
    )


def test_a_hook_of_no_call_is_shown_only_when_it_changed_something(transcript):
    apply(
        transcript,
        ev.HookRan(point="on_turn_end", hook="h", answer="finish", reason=None, context=None),
        ev.HookRan(point="on_message_send", hook="h", answer="abort", reason="quota", context=None),
    )
    assert only(transcript, Notice).text == "hook h ended the run: quota"


def test_a_retry_counts_down_until_the_answer_begins(transcript, clock):
    transcript.apply(ev.RetryScheduled(attempt=1, delay_secs=4.0, reason="the model is overloaded"))
    notice = only(transcript, Notice)
    assert (notice.until, transcript.live) == (104.0, [notice])

    transcript.apply(ev.TextDelta(text="Hi"))
    assert (notice.until, transcript.live) == (None, [])


def test_a_second_retry_speaks_in_the_place_of_the_first(transcript):
    apply(
        transcript,
        ev.RetryScheduled(attempt=1, delay_secs=1.0, reason="overloaded"),
        ev.RetryScheduled(attempt=2, delay_secs=2.0, reason="overloaded"),
    )
    assert only(transcript, Notice).text == "overloaded; attempt 3"


@pytest.mark.parametrize(
    ("status", "stop_reason", "kind", "text"),
    [
        (RunStatus.INTERRUPTED, None, NoticeKind.WARNING, "interrupted"),
        (RunStatus.LIMIT, "tool_use", NoticeKind.WARNING, "stopped at the turn limit, after 10 turns"),
        (RunStatus.LIMIT, "max_tokens", NoticeKind.WARNING, "stopped at the token limit of one answer"),
        (
            RunStatus.NEEDS_APPROVAL,
            None,
            NoticeKind.WARNING,
            "stopped: a call needed approval and nobody was there",
        ),
        (RunStatus.NEEDS_APPROVAL, "effects_wait", NoticeKind.WARNING, "its changes wait for your review"),
        (RunStatus.REFUSED, "refusal", NoticeKind.ERROR, "the model refused"),
        (
            RunStatus.COMPLETED,
            "guardrail_7",
            NoticeKind.WARNING,
            "the model stopped for a reason that quorum does not know: guardrail_7",
        ),
        (RunStatus.FAILED, None, NoticeKind.ERROR, "failed"),
    ],
)
def test_an_ending_other_than_an_answer_is_said(transcript, status, stop_reason, kind, text):
    transcript.apply(turn_finished(status, stop_reason=stop_reason))
    notice = only(transcript, Notice)
    assert (notice.kind, notice.text) == (kind, text)


def test_an_answered_turn_needs_no_word(transcript):
    apply(transcript, ev.TurnStarted(prompt="hi"), completed("Hello"), turn_finished(RunStatus.COMPLETED))
    assert len(transcript.entries) == 2


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (ev.NoticeGiven(message="one model plans", is_note=True), NoticeKind.INFO),
        (ev.NoticeGiven(message="one model plans"), NoticeKind.WARNING),
        (ev.ErrorOccurred(message="one model plans"), NoticeKind.ERROR),
    ],
)
def test_a_notice_is_as_loud_as_what_it_is_about(transcript, event, kind):
    transcript.apply(event)
    notice = only(transcript, Notice)
    assert (notice.kind, notice.text) == (kind, "one model plans")


def test_an_error_is_not_shown_twice(transcript):
    apply(transcript, ev.ErrorOccurred(message="no route"), turn_finished(RunStatus.FAILED, error="no route"))
    assert only(transcript, Notice).text == "no route"


def test_calls_that_got_no_result_end_with_the_turn(transcript):
    apply(transcript, planned(READ), started("read_file", {"path": "a"}), turn_finished(RunStatus.INTERRUPTED))
    assert only(transcript, Batch).calls[0].phase is Phase.ABANDONED
    assert transcript.live == []


def test_a_change_of_mode_is_noted_and_accounting_is_not(transcript):
    apply(
        transcript,
        ev.SessionStarted(session_id="s", model="m", mode=Mode.ASK, cwd="/"),
        ev.ModeChanged(mode=Mode.READ_ONLY),
        ev.StateMerged(batch_id="b1", changed={"plan": []}),
        ev.UsageCounted(model="m", usage=Usage()),
        ev.SessionFinished(report=turn_finished(RunStatus.COMPLETED).report),
    )
    assert only(transcript, Notice).text == "mode: read-only · only calls that change nothing run"


@pytest.mark.parametrize(
    ("secs", "said"), [(59.0, []), (61.0, ["took 1 min 01 s"]), (130.0, ["took 2 min 10 s"])]
)
def test_a_turn_that_took_long_says_so_at_its_end(transcript, clock, secs, said):
    apply(transcript, ev.TurnStarted(prompt="hi"), completed("done"))
    clock.now += secs
    apply(transcript, turn_finished(RunStatus.COMPLETED))
    assert [entry.text for entry in transcript.entries if isinstance(entry, Notice)] == said


def test_of_a_long_turn_the_time_for_the_person_is_told_apart(transcript, clock):
    edit = {"path": "a", "old_text": "x", "new_text": "y"}
    apply(transcript, ev.TurnStarted(prompt="hi"), planned(("edit_file", edit, RiskLevel.HIGH, ())))
    apply(transcript, asked("edit_file", edit))
    clock.now += 40
    apply(transcript, started("edit_file", edit))
    clock.now += 30
    apply(transcript, finished("edit_file", "done", secs=30.0), turn_finished(RunStatus.COMPLETED))
    assert only(transcript, Notice).text == "took 1 min 10 s, 40 s of it waiting for you"


def test_long_output_is_kept_as_head_and_tail_with_a_count_of_the_rest():
    kept = Kept.of("".join(f"line {number}\n" for number in range(100_000)))
    assert kept.head.startswith("line 0\n")
    assert kept.tail.endswith("line 99999\n")
    assert len(kept.head) + len(kept.tail) == 200_000
    assert kept.lines == 100_000
    shown = kept.head.count("\n") + kept.tail.count("\n")
    assert abs(shown + kept.left_out_lines - 100_000) <= 1


def test_each_report_takes_the_place_of_the_one_before(transcript):
    apply(transcript, planned(READ), started("read_file", {"path": "a"}))
    for text in ("10 of 90 files", "one\ntwo\n", "one\ntwo\nthree\n"):
        transcript.apply(ev.CallProgressed(context=context(), text=text))
    progress = only(transcript, Batch).calls[0].progress
    assert progress.list_lines() == ["one", "two", "three"]
    assert progress.updates == 3


def test_of_a_long_report_the_last_lines_are_kept(transcript):
    apply(transcript, planned(READ), started("read_file", {"path": "a"}))
    transcript.apply(ev.CallProgressed(context=context(), text="\n".join(map(str, range(90_000)))))
    assert only(transcript, Batch).calls[0].progress.list_lines()[-2:] == ["89998", "89999"]
    assert len(only(transcript, Batch).calls[0].progress.list_lines()) == 20


def test_a_cleared_screen_goes_on_with_the_batch_that_is_under_way(transcript):
    apply(transcript, planned(READ, READ), finished("read_file", "a", 0))
    apply(transcript, started("read_file", {"path": "b"}, 1))
    cleared = transcript.create_successor()
    cleared.apply(finished("read_file", "b", 1))
    calls = only(cleared, Batch).calls
    assert [call.phase for call in calls] == [Phase.FINISHED, Phase.FINISHED]
    assert calls is only(transcript, Batch).calls


def test_a_change_of_model_is_noted_and_ends_the_wait_for_the_other(transcript):
    apply(
        transcript,
        ev.RetryScheduled(attempt=1, delay_secs=9.0, reason="overloaded"),
        ev.ModelChanged(model="other/model"),
    )
    assert [entry.text for entry in transcript.entries] == ["overloaded; attempt 2", "model: other/model"]
    assert transcript.live == []


def test_a_turn_without_a_prompt_is_said_to_go_on(transcript):
    transcript.apply(ev.TurnStarted(prompt=""))
    assert not transcript.entries  # there is nothing to continue yet
    transcript.apply(ev.TurnStarted(prompt=""))
    assert only(transcript, Notice).text == "continuing"


CUT = ev.ResponseCompleted(
    turn_index=0,
    response=LlmResponse(content=(TextBlock("half an"),), stop_reason=StopReason(StopKind.OTHER, "stream cut")),
)


@pytest.mark.parametrize(
    ("before", "expected", "kind"),
    [
        ([CUT], "the answer broke off here", NoticeKind.WARNING),
        ([], "/retry sends the request again", NoticeKind.INFO),
    ],
    ids=["in the middle", "before it began"],
)
def test_what_can_be_done_after_a_failed_provider_is_shown(transcript, before, expected, kind):
    failed = turn_finished(RunStatus.FAILED, error="no route").report
    apply(
        transcript,
        ev.TurnStarted(prompt="hi"),
        *before,
        ev.ErrorOccurred(message="no route"),
        ev.TurnFinished(report=replace(failed, provider_failed=True)),
    )
    assert transcript.entries[-1].text.startswith(expected)
    assert transcript.entries[-1].kind is kind


@pytest.mark.parametrize(
    ("error", "expected"),
    [("no route", ["no route; 3 attempts"]), ("the key is wrong", ["no route; attempt 3", "the key is wrong"])],
)
def test_an_error_stands_once_where_the_attempts_before_it_failed_alike(transcript, error, expected):
    apply(
        transcript,
        ev.TurnStarted(prompt="hi"),
        *(ev.RetryScheduled(attempt=n, delay_secs=1.0, reason="no route.") for n in (1, 2)),
        ev.ErrorOccurred(message=error),
    )
    said = [entry for entry in transcript.entries if isinstance(entry, Notice)]
    assert [entry.text for entry in said] == expected
    assert said[-1].kind is NoticeKind.ERROR


def test_nothing_can_be_done_about_a_failure_of_a_session_that_is_only_followed(transcript):
    transcript.is_followed = True
    failed = turn_finished(RunStatus.FAILED, error="no route").report
    apply(
        transcript,
        ev.TurnStarted(prompt="hi"),
        ev.ErrorOccurred(message="no route"),
        ev.TurnFinished(report=replace(failed, provider_failed=True)),
    )
    assert not any("/retry" in entry.text for entry in transcript.entries if isinstance(entry, Notice))
    assert only(transcript, Notice).text == "no route"


ATTACHED = AttachedFile(name="a.py", content="x", first_line=1, last_line=1, total_lines=1, size_bytes=2)


def test_the_files_attached_to_a_prompt_stand_with_it_and_those_said_meanwhile_with_theirs(transcript):
    steered = UserMessage("also @b.py", files=(replace(ATTACHED, name="b.py"),))
    apply(
        transcript,
        ev.TurnStarted(prompt="look at @a.py"),
        ev.MessageAdded(message=UserMessage("what a command printed")),
        ev.MessageAdded(message=UserMessage("look at @a.py", files=(ATTACHED,))),
        ev.MessageAdded(message=steered, steers=True),
    )

    prompts = [entry for entry in transcript.entries if isinstance(entry, PromptEntry)]
    assert [(prompt.text, [file.name for file in prompt.files]) for prompt in prompts] == [
        ("look at @a.py", ["a.py"]),
        ("also @b.py", ["b.py"]),
    ]
    assert prompts[0].version == 1


def test_diagnostics_are_one_line_with_the_first_of_what_is_new() -> None:
    transcript = SessionView()

    for report in (
        ev.DiagnosticsReported(
            name="ruff", files=("a.py",), lines=("a.py:1: bad", "a.py:2: bad"), new=7, old=1
        ),
        ev.DiagnosticsReported(name="ruff", files=("a.py", "b.py")),
        ev.DiagnosticsReported(name="ruff", files=("a.py",), failure="ruff took longer than 30 s"),
    ):
        transcript.apply(report)

    assert [(e.kind, e.text) for e in transcript.entries if isinstance(e, Notice)] == [
        (
            NoticeKind.WARNING,
            "diagnostics ruff: 7 new lines about 1 edited file, 1 line as before: a.py:1: bad",
        ),
        (NoticeKind.INFO, "diagnostics ruff: nothing new about 2 edited files"),
        (NoticeKind.ERROR, "diagnostics ruff: ruff took longer than 30 s"),
    ]
