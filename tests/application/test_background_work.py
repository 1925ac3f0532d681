"""What a session does in the background, from its opening to its end."""

from __future__ import annotations

from quorum.domain.events.event import SessionStarted
from quorum.domain.replacing import replace
from tests.application.test_run_agent import Bench
from tests.support.records import no_record


class Work:
    """Notes what is asked of it, and what was recorded then."""

    def __init__(self) -> None:
        self.bench: Bench | None = None
        self.asked: list[tuple[str, bool]] = []

    def begin(self) -> None:
        self._note("begin")

    async def aclose(self) -> None:
        self._note("aclose")

    def _note(self, asked: str) -> None:
        assert self.bench is not None
        events = self.bench.observer.events
        self.asked.append((asked, any(isinstance(event, SessionStarted) for event in events)))


async def test_background_work_begins_once_the_session_is_announced_and_ends_with_it() -> None:
    first, second = Work(), Work()
    first.bench = second.bench = bench = Bench(background=(first, second))

    await bench.front.open()
    assert first.asked == second.asked == [("begin", True)]
    await bench.front.aclose()
    assert first.asked == second.asked == [("begin", True), ("aclose", True)]


async def test_a_session_that_can_only_be_read_does_nothing_in_the_background() -> None:
    work = Work()
    work.bench = bench = Bench(
        background=(work,), record=replace(no_record(), in_use="another process writes it")
    )

    await bench.front.open()

    assert work.asked == []
