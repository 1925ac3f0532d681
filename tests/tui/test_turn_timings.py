"""The timings of turns: when everything of a session happened, live and replayed from a record."""

from __future__ import annotations

import pytest

from quorum.application.view.entries import AnswerEntry, Batch, Call, Phase, PromptEntry
from quorum.application.view.session_view import SessionView
from quorum.application.view.turn_timings import (
    RequestTiming,
    TurnTiming,
    measure_covered,
    measure_waited,
    sum_totals,
)
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.events import event as ev
from quorum.domain.events.report import RunStatus
from quorum.tui.screens.timeline.chart import list_rows
from tests.tui.transcript_scenes import Clock, asked, completed, finished, planned, started, turn_finished

READ = ("read_file", {"path": "a.py"}, RiskLevel.LOW, ())
RUN = ("run_command", {"command": "make"}, RiskLevel.HIGH, (0,))
ASK = ev.MessageAdded(message=UserMessage("go"))
BACK = ev.MessageAdded(message=ToolResults(()))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def transcript(clock):
    return SessionView(clock)


def play(transcript, clock, *script):
    for step in script:
        if isinstance(step, float):
            clock.now += step
        else:
            transcript.apply(step)


TURN = (
    ev.TurnStarted(prompt="go"),
    ASK,
    1.0,
    ev.TextDelta(text="I look"),
    1.0,
    completed("I look", calls=True),
    planned(READ, READ, RUN),
    started(*READ[:2], 0),
    started(*READ[:2], 1),
    2.0,
    finished("read_file", "x", 0),
    finished("read_file", "x", 1),
    asked(*RUN[:2], 2),
    10.0,
    started(*RUN[:2], 2),
    3.0,
    finished("run_command", "built", 2),
    BACK,
    4.0,
    completed("done"),
    turn_finished(RunStatus.COMPLETED),
)


def test_a_turn_holds_its_answers_and_batches_in_order(transcript, clock):
    play(transcript, clock, *TURN)
    (turn,) = transcript.timings.turns
    first, batch, second = turn.events

    assert isinstance(first, RequestTiming)
    assert (first.begin, first.first, first.end) == (100.0, 101.0, 102.0)
    assert isinstance(batch, Batch)
    assert batch is transcript.entries[2]
    assert isinstance(second, RequestTiming)
    assert (second.begin, second.end) == (117.0, 121.0)
    assert turn.compute_span(clock()) == (100.0, 121.0)
    assert not transcript.timings.is_live


def test_the_totals_tell_model_tools_and_person_apart(transcript, clock):
    play(transcript, clock, *TURN)
    totals = sum_totals(transcript.timings.turns[0], clock())

    assert totals.model == 6.0
    assert totals.calls == 7.0
    assert totals.ran == 5.0  # two reads ran side by side
    assert totals.waited == 10.0


def test_attempts_that_failed_are_pauses_of_their_request(transcript, clock):
    retry = ev.RetryScheduled(attempt=1, delay_secs=3.0, reason="overloaded")
    play(transcript, clock, ev.TurnStarted(prompt="go"), ASK, 1.0, retry, 3.0, 1.0, completed("done"))
    (request,) = transcript.timings.turns[0].requests
    totals = sum_totals(transcript.timings.turns[0], clock())

    assert request.retries == [(101.0, 104.0)]
    assert (totals.paused, totals.attempts) == (3.0, 1)
    assert request.end == 105.0


def test_what_is_under_way_lasts_until_now(transcript, clock):
    play(transcript, clock, ev.TurnStarted(prompt="go"), ASK, 5.0)

    assert transcript.timings.is_live
    assert transcript.timings.turns[0].compute_span(clock()) == (100.0, 105.0)
    assert sum_totals(transcript.timings.turns[0], clock()).model == 5.0


def test_a_turn_that_breaks_off_ends_with_its_report(transcript, clock):
    play(transcript, clock, ev.TurnStarted(prompt="go"), ASK, 5.0, turn_finished(RunStatus.INTERRUPTED), 9.0)
    (turn,) = transcript.timings.turns

    assert (turn.end, turn.ending) == (105.0, "interrupted")
    assert turn.requests[0].end == 105.0


def test_turns_that_were_taken_back_are_marked_and_stay(transcript, clock):
    play(transcript, clock, *TURN, *TURN, ev.SessionRewound(turn=1, conversation=True, files=False))

    assert [turn.undone for turn in transcript.timings.turns] == [False, True]


def test_a_cleared_screen_keeps_the_timings(transcript, clock):
    play(transcript, clock, *TURN)
    cleared = transcript.create_successor()
    play(cleared, clock, *TURN)

    assert cleared.timings is transcript.timings
    assert [turn.number for turn in cleared.timings.turns] == [1, 2]


def test_a_record_tells_when_and_without_times_nothing_is_made_up(clock):
    for timed in (True, False):
        transcript = SessionView(clock)
        transcript.begin_past()
        now = -50.0
        for step in TURN:
            if isinstance(step, float):
                now += step
            else:
                transcript.apply(step, now if timed else None)
        transcript.end_past("cut")
        (turn,) = transcript.timings.turns
        assert turn.timed is timed
        if timed:
            assert turn.compute_span(clock()) == (-50.0, -29.0)


def test_each_row_knows_what_the_transcript_has_for_it(transcript, clock):
    play(transcript, clock, *TURN)
    rows = list_rows(transcript.timings)

    assert [type(row.entry) for row in rows] == [
        PromptEntry,
        AnswerEntry,
        Batch,
        Batch,
        Batch,
        Batch,
        AnswerEntry,
    ]
    assert [row.call.index for row in rows if row.call is not None] == [0, 1, 2]
    assert all(row.entry in transcript.entries for row in rows)


def test_an_answer_without_words_leads_to_its_calls(transcript, clock):
    play(transcript, clock, ev.TurnStarted(prompt=""), ASK, completed("", calls=True), planned(READ))
    turn, request, _ = list_rows(transcript.timings)

    assert isinstance(request.entry, Batch)
    assert turn.entry is request.entry


def test_time_that_several_share_counts_once():
    assert measure_covered([(0.0, 2.0), (1.0, 3.0), (5.0, 6.0)]) == 4.0
    assert measure_covered([]) == 0.0


def test_what_the_person_was_waited_for_is_the_same_however_often_it_is_asked():
    turn = TurnTiming(number=1, prompt=None, begin=0.0)
    asked, batch, later = Call(index=0, tool="t"), Batch(None), Call(index=0, tool="t")
    turn.events += [RequestTiming(0.0), batch]
    assert measure_waited(turn, 0.0) == 0.0  # its calls are still being written

    batch.calls.append(asked)
    for moment, phase in ((0.0, Phase.QUEUED), (1.0, Phase.REVIEWED)):
        asked.enter(phase, moment)
    assert measure_waited(turn, 3.0) == 2.0
    asked.enter(Phase.RUNNING, 4.0)
    asked.enter(Phase.FINISHED, 5.0)
    assert measure_waited(turn, 9.0) == 3.0

    turn.events += [RequestTiming(5.0), Batch("b", [later])]
    later.enter(Phase.REVIEWED, 6.0)
    later.enter(Phase.ABANDONED, 7.0)
    assert measure_waited(turn, 9.0) == 4.0
    later.enter(Phase.REVIEWED, 10.0)  # taken up again when the session was resumed
    later.enter(Phase.FINISHED, 12.0)
    assert measure_waited(turn, 20.0) == measure_waited(turn, 30.0) == 6.0
