"""Lanes: when calls of a batch waited, for whom, and when they ran."""

from __future__ import annotations

from quorum.application.view.entries import Batch, Call, Phase
from quorum.domain.calls.execution import Outcome
from quorum.tui.transcript.cells.palette import TERMINAL
from quorum.tui.transcript.draw.rows import describe_course, draw_lane, find_last_awaited, find_span

Q, ASKED, RUN, END = Phase.QUEUED, Phase.REVIEWED, Phase.RUNNING, Phase.FINISHED


def call(index, *since, follows=(), outcome=Outcome.OK, duration=None):
    phase = since[-1][1]
    ended = outcome if phase is END else None
    return Call(
        index=index, tool="t", since=list(since), follows=follows, phase=phase, outcome=ended, duration=duration
    )


def cells(one, *others, now=10.0, width=10):
    batch = Batch("b", [one, *others])
    runs = draw_lane(one, find_span(batch, now), now, width, TERMINAL, others=batch.calls)
    return "".join(text for text, _ in runs)


def test_a_call_that_runs_from_beginning_to_end_fills_its_lane():
    assert cells(call(0, (0.0, Q), (0.0, RUN), (10.0, END))) == "▆" * 10


def test_waiting_for_another_ends_with_its_number():
    first = call(0, (0.0, Q), (0.0, RUN), (5.0, END))
    second = call(1, (0.0, Q), (5.0, RUN), (10.0, END), follows=(0,))
    assert cells(second, first) == "····1▆▆▆▆▆"


def test_of_several_it_is_the_one_that_kept_it_waiting_longest():
    early = call(0, (0.0, Q), (0.0, RUN), (2.0, END))
    late = call(12, (0.0, Q), (0.0, RUN), (6.0, END))
    third = call(3, (0.0, Q), (6.0, RUN), (10.0, END), follows=(0, 12))
    assert find_last_awaited(third, [early, late], 10.0) is late
    assert cells(third, early, late) == "····13▆▆▆▆"


def test_a_call_that_waited_for_nobody_names_nobody():
    assert cells(call(0, (0.0, Q), (5.0, RUN), (10.0, END))) == "·····▆▆▆▆▆"


def test_where_there_is_no_room_for_the_number_there_is_none():
    first = call(0, (0.0, Q), (0.0, RUN), (1.0, END))
    second = call(1, (0.0, Q), (1.0, RUN), (10.0, END), follows=(0,))
    assert cells(second, first) == "·▆▆▆▆▆▆▆▆▆"


def test_waiting_for_the_person_looks_unlike_waiting_for_a_call():
    first = call(0, (0.0, Q), (0.0, RUN), (4.0, END))
    second = call(1, (0.0, Q), (4.0, ASKED), (8.0, RUN), follows=(0,))
    assert cells(second, first) == "···1░░░░▆▆"


def test_the_cause_stands_where_the_lane_begins_later_too():
    first = call(0, (2.0, Q), (2.0, RUN), (6.0, END))
    second = call(1, (2.0, Q), (6.0, RUN), (10.0, END), follows=(0,))
    runs = draw_lane(second, (0.0, 10.0), 10.0, 10, TERMINAL, others=[first, second])
    assert "".join(text for text, _ in runs) == "  ···1▆▆▆▆"


def test_a_window_shows_only_its_part():
    one = call(0, (0.0, Q), (4.0, RUN), (10.0, END))
    runs = draw_lane(one, (3.0, 5.0), 10.0, 10, TERMINAL)
    assert "".join(text for text, _ in runs) == "·····▆▆▆▆▆"


def test_how_a_call_spent_its_time_is_shown_in_words():
    one = call(2, (0.0, Q), (1.5, ASKED), (4.0, RUN), (5.0, END), follows=(0, 1), duration=0.9)
    assert describe_course(one, 9.0) == "waited 1.5 s for 1, 2 · waited for you 2.5 s · ran 900 ms"


def test_a_call_that_only_ran_has_nothing_to_tell_of_its_course():
    assert describe_course(call(0, (0.0, Q), (0.0, RUN), (5.0, END), duration=5.0), 9.0) == ""
