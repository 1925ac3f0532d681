"""What leaves the event stream, and in which order."""

from __future__ import annotations

from application.event_stream import EventStream
from domain.events import TextDelta, TurnStarted
from domain.masking import SecretMask
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import RecordingObserver


def stream() -> tuple[EventStream, FakeLedger, RecordingObserver]:
    mask = SecretMask()
    mask.learn("PASSWORD", "correct-horse-battery")
    ledger, observer = FakeLedger(), RecordingObserver()
    return EventStream([observer], ledger=ledger, mask=mask), ledger, observer


async def test_what_is_recorded_and_what_is_shown_of_it_is_one_and_the_same_without_its_secrets() -> None:
    events, ledger, observer = stream()

    await events.record(TurnStarted(prompt="it is correct-horse-battery"))

    assert ledger.events == [TurnStarted(prompt="it is [secret:PASSWORD]")]
    assert observer.events[0] is ledger.events[0]


async def test_what_was_held_back_of_an_answer_is_shown_before_what_is_recorded_next() -> None:
    events, _, observer = stream()

    events.show(TextDelta(text="take the correct-ho"))
    held_back = observer.events != [TextDelta(text="take the correct-ho")]
    await events.record(TurnStarted(prompt="and now?"))

    *pieces, last = observer.events
    assert held_back
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == "take the correct-ho"
    assert last == TurnStarted(prompt="and now?")
