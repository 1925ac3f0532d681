"""A process that was asked to end does end."""

import signal
import threading

import pytest

from quorum.tui.terminal.shutdown import Shutdown


class Process:
    """What a shutdown does to a process, put down instead of done. Its clock stands until it is moved."""

    def __init__(self, limit_secs=60.0):
        self.now = 0.0
        self.acts = []
        self.is_cut_off = threading.Event()
        self.shutdown = Shutdown(
            restore_terminal=lambda: self.acts.append("restore"),
            hurry=lambda: self.acts.append("hurry"),
            limit_secs=limit_secs,
            cut_off=self._cut_off,
            clock=lambda: self.now,
        )

    def _cut_off(self, return_code):
        self.acts.append(return_code)
        self.is_cut_off.set()


@pytest.fixture(autouse=True)
def _former_signals():
    former = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    yield
    for each, handler in former.items():
        signal.signal(each, handler)


def test_a_process_that_does_not_end_in_time_is_cut_off_with_its_terminal_restored():
    process = Process(limit_secs=0.01)

    process.shutdown.begin(3)
    process.shutdown.begin(4)

    assert process.is_cut_off.wait(60)
    assert process.acts == ["restore", 3]


async def test_a_signal_asks_the_app_to_leave_and_waits_for_no_terminal():
    process, left = Process(), []
    process.shutdown.take_signals({signal.SIGTERM: 143}, left.append)

    signal.raise_signal(signal.SIGTERM)
    await _callbacks_of_the_loop()

    assert (left, process.acts) == ([143], ["hurry"])


async def test_a_process_that_was_asked_to_end_knows_that_no_other_app_may_take_its_place():
    process = Process()
    process.shutdown.take_signals({signal.SIGTERM: 143, signal.SIGINT: 130}, lambda _code: None)
    signal.raise_signal(signal.SIGINT)
    assert not process.shutdown.is_terminated

    signal.raise_signal(signal.SIGTERM)

    assert process.shutdown.is_terminated


@pytest.mark.parametrize(("later", "is_cut_off"), [(0.1, False), (0.5, True)])
async def test_a_second_sigterm_cuts_off_unless_it_is_the_same_request(later, is_cut_off):
    process = Process()
    process.shutdown.take_signals({signal.SIGTERM: 143}, lambda _code: None)

    signal.raise_signal(signal.SIGTERM)
    process.now += later
    signal.raise_signal(signal.SIGTERM)

    assert process.is_cut_off.is_set() is is_cut_off


async def test_another_signal_before_sigterm_makes_it_no_second_one():
    process = Process()
    process.shutdown.take_signals({signal.SIGTERM: 143, signal.SIGHUP: 129}, lambda _code: None)

    signal.raise_signal(signal.SIGHUP)
    process.now += 1
    signal.raise_signal(signal.SIGTERM)

    assert not process.is_cut_off.is_set()


async def test_once_all_is_done_a_late_key_that_interrupts_changes_nothing():
    process = Process()
    process.shutdown.take_signals({signal.SIGINT: 130, signal.SIGHUP: 129}, lambda _code: None)
    process.shutdown.conclude()

    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGHUP)

    assert process.acts == []


async def _callbacks_of_the_loop():
    import asyncio

    await asyncio.sleep(0)
    await asyncio.sleep(0)
