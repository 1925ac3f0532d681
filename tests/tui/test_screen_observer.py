"""When the screen learns what happened."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable

import pytest
from textual.message import Message

from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.events.calls import StateMerged
from quorum.domain.events.event import Event
from quorum.domain.events.turn import MessageAdded, ResponseCompleted, TextDelta, ToolCallDelta
from quorum.tui.agent import observer as observing
from quorum.tui.agent.observer import EventsArrived, ScreenObserver

COMPLETED = ResponseCompleted(turn_index=0, response=LlmResponse.from_text("so"))
ADDED = MessageAdded(message=UserMessage("go on"))
MERGED = StateMerged(batch_id="b", changed={})
TEXT, CALL = TextDelta(text="so"), ToolCallDelta(index=0, id="c", name="read_file", arguments_delta="{")


class Rig:
    """An observer on a loop whose time the test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.told: list[tuple[float, list[Event]]] = []
        self._timers: list[Rig.Timer] = []
        self.observer = ScreenObserver(self._post)
        monkeypatch.setattr(observing.asyncio, "get_running_loop", lambda: self)
        monkeypatch.setattr(observing.time, "monotonic", lambda: self.now)

    class Timer:
        def __init__(self, at: float, callback: Callable[[], None]) -> None:
            self.at, self.callback, self.cancelled = at, callback, False

        def cancel(self) -> None:
            self.cancelled = True

    def call_later(self, secs: float, callback: Callable[[], None]) -> Timer:
        self._timers.append(self.Timer(self.now + secs, callback))
        return self._timers[-1]

    def pass_until(self, now: float) -> None:
        for timer in sorted(self._timers, key=lambda timer: timer.at):
            if timer.at <= now and not timer.cancelled:
                self.now = timer.at
                timer.cancelled = True
                timer.callback()
        self.now = now

    def _post(self, message: Message) -> bool:
        assert isinstance(message, EventsArrived)
        self.told.append((round(self.now, 3), self.observer.pop_events()))
        return True


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Rig:
    return Rig(monkeypatch)


def test_short_calls_are_shown_once_the_next_request_had_the_time_to_be_sent(rig: Rig) -> None:
    rig.observer.notify(COMPLETED)
    rig.pass_until(0.01)
    rig.observer.notify(MERGED)
    rig.observer.notify(ADDED)
    rig.pass_until(1)

    assert rig.told == [(0.022, [COMPLETED, MERGED, ADDED])]


def test_calls_that_take_longer_are_shown_while_they_run(rig: Rig) -> None:
    rig.observer.notify(COMPLETED)
    rig.observer.notify(MERGED)
    rig.pass_until(3)

    assert rig.told == [(0.05, [COMPLETED, MERGED])]


def test_whatever_else_happens_is_shown_at_once_with_all_before_it_and_in_order(rig: Rig) -> None:
    rig.observer.notify(COMPLETED)
    rig.observer.notify(TEXT)
    rig.observer.notify(TEXT)
    rig.pass_until(1)

    assert rig.told == [(0.0, [COMPLETED, TEXT]), (0.0, [TEXT])]


def test_turns_without_a_pause_between_them_are_shown_ten_times_a_second(rig: Rig) -> None:
    for number in range(200):
        rig.pass_until(number * 0.005)
        rig.observer.notify((CALL, COMPLETED, ADDED)[number % 3])
    rig.pass_until(2)

    times = [at for at, _ in rig.told]
    assert all(later - earlier <= 0.11 for earlier, later in itertools.pairwise(times))
    assert sum(len(events) for _, events in rig.told) == 200


def test_what_happens_in_a_thread_is_shown_at_once() -> None:
    told: list[Message] = []
    observer = ScreenObserver(lambda message: told.append(message) is None)

    thread = threading.Thread(target=observer.notify, args=(COMPLETED,))
    thread.start()
    thread.join()

    assert len(told) == 1


async def test_what_is_held_back_is_shown_also_where_nothing_follows() -> None:
    told = asyncio.Event()
    observer = ScreenObserver(lambda _message: told.set() is None)

    observer.notify(ADDED)
    assert not told.is_set()
    await asyncio.wait_for(told.wait(), 60)

    assert observer.pop_events() == [ADDED]


def test_events_that_nobody_was_there_to_take_are_told_of_with_the_next() -> None:
    is_there = [False, True]
    told: list[Message] = []

    def post(message: Message) -> bool:
        told.append(message)
        return is_there.pop(0)

    observer = ScreenObserver(post)

    observer.notify(TEXT)
    observer.notify(TEXT)

    assert len(told) == 2
    assert observer.pop_events() == [TEXT, TEXT]
