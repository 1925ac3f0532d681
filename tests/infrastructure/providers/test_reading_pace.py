"""How soon and how often the pieces of an answer are read, in a time that passes only where somebody waits."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import pairwise

import pytest

from quorum.domain.conversation.response import LlmResponse
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.shared.answer_reading import read_answer
from quorum.infrastructure.models.shared.failures import Failures
from tests.support.unhurried import run_unhurried

FAILURES = Failures(provider="p", address="http://h", key_env=None, secret="", timeout_secs=1.0)
MOMENT = 1e-6  # more than sums of seconds are off by


class Reading:
    """A body whose pieces arrive at given seconds, and the answer that it is read into."""

    def __init__(self, arrivals: Sequence[float]) -> None:
        self.arrivals = arrivals
        self.taken: list[float] = []
        self.waits = 0
        self.started = self.complete = False

    async def stream_pieces(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        for arrival in self.arrivals:
            if arrival > loop.time():
                self.waits += 1
                await asyncio.sleep(arrival - loop.time())
            yield b"data: {}\n\n"
        yield b"data: [DONE]\n\n"

    def read_event(self, name: str, event: JsonObject) -> None:
        self.started = True
        self.taken.append(asyncio.get_running_loop().time())

    def end(self) -> None:
        self.complete = True

    def map_events(self, body: JsonObject) -> Iterable[JsonObject]:
        return ()

    def build_response(self) -> LlmResponse:
        return LlmResponse.from_text("")

    @property
    def delays(self) -> list[float]:
        """How many seconds after it had arrived each piece was taken in."""
        return [taken - arrived for taken, arrived in zip(self.taken, self.arrivals, strict=True)]


def read(arrivals: Iterable[float]) -> Reading:
    reading = Reading([*arrivals])
    run_unhurried(read_answer(reading.stream_pieces(), "text/event-stream", reading, FAILURES))
    return reading


def test_pieces_of_a_long_answer_are_read_together() -> None:
    reading = read(number / 150 for number in range(1_200))

    assert reading.waits < 1_200 / 2
    assert max(reading.delays) < 0.03 + MOMENT


def test_what_an_answer_begins_with_is_read_as_it_arrives() -> None:
    reading = read(number / 150 for number in range(37))

    assert reading.waits == 36
    assert max(reading.delays) < MOMENT


@pytest.mark.parametrize("per_sec", [5, 20])
def test_pieces_that_come_one_by_one_are_read_as_they_arrive(per_sec: int) -> None:
    reading = read(number / per_sec for number in range(100))

    assert max(reading.delays) < MOMENT


def test_pieces_that_come_fast_are_not_waited_for() -> None:
    reading = read(number / 2_000 for number in range(4_000))

    assert max(reading.delays) < MOMENT


def test_pieces_that_wait_together_are_taken_in_at_one_time() -> None:
    reading = read(number / 150 for number in range(1_200))

    times = [later - earlier for earlier, later in pairwise(reading.taken[200:])]
    assert sum(time < MOMENT for time in times) > len(times) / 2
