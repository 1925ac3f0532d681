"""What leaves the event stream, and in which order."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.application.event_bus import EventBus
from quorum.domain.errors import OUT_OF_MEMORY, EventRefused, LedgerError
from quorum.domain.events.event import CallStarted, ErrorOccurred, Event, TextDelta, TurnStarted, VoteCast
from quorum.domain.events.masking import SecretMask
from quorum.domain.text.large import is_large
from tests.support.builders import a_context
from tests.support.examples import examples
from tests.support.fake_ledger import FakeLedger
from tests.support.fake_ports import RecordingObserver


def stream() -> tuple[EventBus, FakeLedger, RecordingObserver]:
    mask = SecretMask()
    mask.learn("PASSWORD", "correct-horse-battery")
    ledger, observer = FakeLedger(), RecordingObserver()
    return EventBus([observer], ledger=ledger, mask=mask), ledger, observer


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


async def test_what_is_noted_is_not_waited_for_and_nothing_overtakes_it() -> None:
    events, ledger, observer = stream()

    events.note(TurnStarted(prompt="one"))
    events.show(ErrorOccurred(message="beside it"))
    assert (ledger.events, observer.events) == ([], [])
    assert events.state.turns[-1].prompt == "one"

    await events.announce(TurnStarted(prompt="two"))
    assert ledger.events == [TurnStarted(prompt="one"), TurnStarted(prompt="two")]
    assert observer.events == [
        TurnStarted(prompt="one"),
        ErrorOccurred(message="beside it"),
        TurnStarted(prompt="two"),
    ]


async def test_after_settling_all_that_was_noted_is_recorded_and_shown() -> None:
    events, ledger, observer = stream()
    await events.settle()

    events.note(TurnStarted(prompt="one"))
    events.note(TurnStarted(prompt="two"))
    await events.settle()
    assert ledger.events == observer.events == [TurnStarted(prompt="one"), TurnStarted(prompt="two")]

    ledger.trouble = "the disk is full"
    events.note(TurnStarted(prompt="three"))
    await events.settle()
    assert observer.events[-1] == ErrorOccurred(message="the disk is full")


async def test_what_could_not_be_noted_is_reported_once_and_stops_what_is_announced_next() -> None:
    events, ledger, observer = stream()
    ledger.trouble = "the disk is full"

    events.note(TurnStarted(prompt="one"))
    events.note(TurnStarted(prompt="two"))
    with pytest.raises(LedgerError, match="the disk is full"):
        await events.announce(TurnStarted(prompt="three"))

    assert [event for event in observer.events if isinstance(event, ErrorOccurred)] == [
        ErrorOccurred(message="the disk is full")
    ]
    ledger.trouble = None
    await events.announce(TurnStarted(prompt="four"))
    assert [event.prompt for event in ledger.events if isinstance(event, TurnStarted)] == [
        "one",
        "two",
        "three",
        "four",
    ]


class _Refusing(FakeLedger):
    """A ledger that has no place for votes."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    async def append(self, event: Event, *, urgent: bool = False, may_wait: bool = False) -> None:
        if isinstance(event, VoteCast):
            raise self._error
        await super().append(event, urgent=urgent, may_wait=may_wait)


class _ForgetfulMask(SecretMask):
    """A mask that gets no memory for what is large."""

    def mask_event(self, event: Event) -> Event:
        if is_large(event):
            raise MemoryError
        return super().mask_event(event)


@pytest.mark.parametrize(
    ("error", "said"),
    [(EventRefused("it has no JSON form"), "it has no JSON form"), (MemoryError(), OUT_OF_MEMORY)],
)
async def test_a_call_does_not_start_where_one_of_its_votes_never_will_be_on_record(
    error: Exception, said: str
) -> None:
    observer, ledger = RecordingObserver(), _Refusing(error)
    events = EventBus([observer], ledger=ledger)
    await _start_after_a_lost_vote(events, "no")
    (told,) = observer.of(ErrorOccurred)
    assert isinstance(told, ErrorOccurred)
    assert said in told.message


async def test_a_call_does_not_start_where_one_of_its_votes_could_not_be_masked() -> None:
    observer, ledger = RecordingObserver(), FakeLedger()
    events = EventBus([observer], ledger=ledger, mask=_ForgetfulMask())
    await _start_after_a_lost_vote(events, "no " * 100_000)
    (told,) = observer.of(ErrorOccurred)
    assert isinstance(told, ErrorOccurred)
    assert OUT_OF_MEMORY in told.message
    assert not any(isinstance(event, VoteCast) for event in (*ledger.events, *observer.events))


async def _start_after_a_lost_vote(events: EventBus, reason: str) -> None:
    """The call that it is about cannot start, however often that is tried, and another can."""
    about, other = a_context(0, call_id="about"), a_context(1, call_id="other")
    events.note(
        VoteCast(context=about, digest="d", reviewer="p/m", verdict="approve", confidence=None, reason=reason)
    )
    await events.announce(CallStarted(context=other, tool="write", arguments={}))
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"vote_cast cannot be recorded|it has no JSON form"):
            await events.announce(CallStarted(context=about, tool="write", arguments={}))


@pytest.mark.long
@examples(50)
@given(
    sizes=st.lists(
        st.tuples(st.sampled_from(["note", "record", "show"]), st.sampled_from([1, 800])), max_size=8
    )
)
async def test_what_is_masked_in_a_thread_for_its_size_is_overtaken_by_nothing(
    sizes: list[tuple[str, int]],
) -> None:
    for has_ledger in (True, False):
        mask, observer, ledger = SecretMask(), RecordingObserver(), FakeLedger()
        mask.learn("PASSWORD", "correct-horse-battery")
        events = EventBus([observer], ledger=ledger if has_ledger else None, mask=mask)
        expected: list[Event] = []
        for number, (step, size) in enumerate(sizes):
            text = f"{number} correct-horse-battery " * size
            shown = f"{number} [secret:PASSWORD] " * size
            match step:
                case "note":
                    events.note(TurnStarted(prompt=text))
                    expected.append(TurnStarted(prompt=shown))
                case "record":
                    await events.record(TurnStarted(prompt=text))
                    expected.append(TurnStarted(prompt=shown))
                    assert observer.events == expected
                case _:
                    events.show(ErrorOccurred(message=f"{number}"))
                    expected.append(ErrorOccurred(message=f"{number}"))
        await events.record(TurnStarted(prompt="last"))

        assert observer.events == [*expected, TurnStarted(prompt="last")]
        durable = [event for event in observer.events if isinstance(event, TurnStarted)]
        assert ledger.events == (durable if has_ledger else [])


@pytest.mark.long
@examples(60)
@given(steps=st.lists(st.tuples(st.sampled_from(["note", "show", "record"]), st.sampled_from([1, 800]))))
async def test_a_large_piece_of_an_answer_is_masked_in_a_thread_and_overtaken_by_nothing(
    steps: list[tuple[str, int]],
) -> None:
    mask, observer, ledger = SecretMask(), RecordingObserver(), FakeLedger()
    mask.learn("PASSWORD", "correct-horse-battery")
    events = EventBus([observer], ledger=ledger, mask=mask)
    expected: list[str] = [""]
    for number, (step, size) in enumerate(steps):
        begun, rest = f"{number} correct-horse-battery " * size + "correct-ho", "rse-battery"
        match step:
            case "show":
                events.show(TextDelta(text=begun))
                events.show(TextDelta(text=rest))
                expected[-1] += begun + rest
            case "note":
                events.note(TurnStarted(prompt=begun))
                expected += [begun, ""]
            case _:
                await events.record(TurnStarted(prompt=begun))
                expected += [begun, ""]
                assert _texts(observer.events) == [mask.mask_text(text) for text in expected]
    await events.record(TurnStarted(prompt="last"))

    assert _texts(observer.events) == [mask.mask_text(text) for text in (*expected, "last", "")]
    assert ledger.events == [event for event in observer.events if isinstance(event, TurnStarted)]


async def test_the_loop_goes_on_while_a_large_piece_of_an_answer_is_masked() -> None:
    events, _, observer = stream()

    events.show(TextDelta(text="correct-horse-battery " * 2_000))
    assert observer.events == []
    events.show(TextDelta(text="and more"))
    await events.record(TurnStarted(prompt="next"))

    assert _texts(observer.events) == ["[secret:PASSWORD] " * 2_000 + "and more", "next", ""]


def _texts(events: list[Event]) -> list[str]:
    """The text of each answer, empty where there was none, and of each prompt between two of them."""
    texts = [""]
    for event in events:
        match event:
            case TextDelta(text=text):
                texts[-1] += text
            case TurnStarted(prompt=prompt):
                texts += [prompt, ""]
            case _:
                raise AssertionError(event)
    return texts


STEPS = st.lists(st.sampled_from(["note", "record", "announce", "show", "trouble", "well"]), max_size=20)


@examples(200)
@given(steps=STEPS)
async def test_observers_hear_of_everything_once_and_in_order_and_only_of_what_was_tried(
    steps: list[str],
) -> None:
    events, ledger, observer = stream()
    expected: list[Event] = []
    for number, step in enumerate(steps):
        event: Event = TurnStarted(prompt=f"{number}")
        match step:
            case "note":
                events.note(event)
            case "record":
                await events.record(event)
                assert event in observer.events
            case "announce":
                with suppress(LedgerError):
                    await events.announce(event)
                assert event in observer.events
            case "show":
                event = ErrorOccurred(message=f"{number}")
                events.show(event)
            case _:
                ledger.trouble = "full" if step == "trouble" else None
                continue
        expected.append(event)
    ledger.trouble = None
    await events.record(TurnStarted(prompt="last"))

    message = [event for event in observer.events if event != ErrorOccurred(message="full")]
    assert message == [*expected, TurnStarted(prompt="last")]
    assert ledger.events == [event for event in message if not isinstance(event, ErrorOccurred)]
