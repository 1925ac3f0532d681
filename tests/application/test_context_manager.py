from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from quorum.application.calls.hook_chain import HookChain, HookRegistration
from quorum.application.calls.outputs import Outputs
from quorum.application.context_manager import ContextGauge, ContextManager, Summariser
from quorum.application.event_bus import EventBus
from quorum.application.ports.models import MessageShaper
from quorum.domain.calls.tool import ToolCall, ToolResultMessage
from quorum.domain.conversation.compaction import is_summary
from quorum.domain.conversation.cost import Price, PriceTable
from quorum.domain.conversation.history import (
    AssistantMessage,
    Conversation,
    Message,
    ToolResults,
    UserMessage,
    find_unpaired_call,
)
from quorum.domain.conversation.response import REFUSAL, LlmResponse, Usage
from quorum.domain.errors import (
    BlobError,
    ConversationError,
    HookAborted,
    ProviderError,
    ProviderErrorKind,
    RequestSkipped,
)
from quorum.domain.events.event import ConversationCompacted, Event, NoticeGiven, RetryScheduled, UsageCounted
from quorum.domain.replacing import replace
from quorum.domain.settings import ContextTable
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.output import Content, OutputLimits, Text
from tests.support.builders import a_call, calls_response
from tests.support.fake_blob_store import FakeBlobStore
from tests.support.fake_gateway import FakeGateway
from tests.support.fake_ports import RecordingObserver
from tests.support.fake_session import FakeSession, Step

MODEL = "fake/model"
PLAN: JsonValue = [{"text": "look", "status": "done"}, {"text": "mend", "status": "in_progress"}]
BUSY = ProviderError("the provider is overloaded", kind=ProviderErrorKind.OVERLOADED)
TOO_LONG = ProviderError("refused as too long", kind=ProviderErrorKind.TOO_LONG)
Answer = LlmResponse | ProviderError | Step


class SlowStore(FakeBlobStore):
    async def store(self, content: Content) -> str:
        await asyncio.sleep(0)
        return await super().store(content)


class FullStore(FakeBlobStore):
    async def store(self, content: Content) -> str:
        raise BlobError("the disk is full")


class Ledger:
    """Takes its time to write, and writes what it was given whatever happens."""

    session_id = "s"

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def append(self, event: Event, *, urgent: bool = False, may_wait: bool = False) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.events.append(event)


@dataclass
class Rig:
    """A conversation in a window of `window` tokens, and summaries as the script has them."""

    summaries: Sequence[Answer] = ()
    window: int | None = 4_000
    budget: ContextTable = field(default_factory=ContextTable)
    store: FakeBlobStore | None = field(default_factory=FakeBlobStore)
    shape: MessageShaper | None = None
    ledger: Ledger | None = None
    prices: PriceTable | None = None
    values: Mapping[str, JsonValue] = field(default_factory=lambda: {"plan": PLAN})
    hooks: Sequence[HookRegistration] = ()

    def __post_init__(self) -> None:
        self.conversation = Conversation()
        self.seen = RecordingObserver()
        self.events = EventBus([self.seen], ledger=self.ledger)
        self.gateway = FakeGateway({MODEL: list(self.summaries)})
        self.outputs = Outputs(self.store, OutputLimits())
        self.gauge = ContextGauge(self.conversation, window=lambda _model: self.window, budget=self.budget)
        self.summariser = Summariser(
            gateway=self.gateway, events=self.events, prices=self.prices, shape=self.shape
        )
        self.care = ContextManager(
            events=self.events,
            outputs=self.outputs,
            summariser=self.summariser,
            gauge=self.gauge,
            values=lambda: self.values,
            hooks=HookChain(self.hooks, self.events),
        )

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.conversation.messages

    @property
    def asked(self) -> list[str]:
        """What the models were asked to summarise."""
        sent = [
            message for session in self.gateway.sessions for each in session.sent for message in each.messages
        ]
        return [message.text for message in sent if isinstance(message, UserMessage)]

    def compactions(self) -> list[ConversationCompacted]:
        return [event for event in self.seen.events if isinstance(event, ConversationCompacted)]

    def troubles(self) -> list[str]:
        return [event.message for event in self.seen.events if isinstance(event, NoticeGiven)]

    def talk(self, turns: int, size: int = 1_000) -> None:
        """Turns without tools."""
        for _ in range(turns):
            number = len(self.messages)
            self.conversation.add_user(f"prompt {number}")
            self.conversation.add_response(LlmResponse.from_text(f"answer {number} " + "x" * size))

    def work(self, batches: int, size: int = 1_000, *, path: str = "a.py") -> None:
        """One turn with so many batches of one call, whose outputs have `size` bytes."""
        self.conversation.add_user(f"prompt {len(self.messages)}")
        for _ in range(batches):
            call = a_call("read_file", {"path": path}, id_=f"call_{len(self.messages)}")
            self.conversation.add_response(calls_response(call))
            self.conversation.add_results([_result(call, "x" * size)])
        self.conversation.add_response(LlmResponse.from_text("done"))

    def summary(self) -> str:
        (found,) = [message for message in self.messages if is_summary(message)]
        assert isinstance(found, UserMessage)
        return found.text


def _result(call: ToolCall, output: str) -> ToolResultMessage:
    return ToolResultMessage(tool_use_id=call.native_id, tool_name=call.tool_name, output=output)


def says(text: str, **usage: int) -> LlmResponse:
    return replace(LlmResponse.from_text(text), usage=Usage(**usage))


def outputs_in(messages: Sequence[Message]) -> list[str]:
    return [result.output for each in messages if isinstance(each, ToolResults) for result in each.results]


# ------------------------------------------------------------------ when room is made


async def test_as_long_as_there_is_room_nothing_happens():
    rig = Rig()
    rig.talk(3)
    before = rig.messages

    await rig.care.compact_if_full(MODEL, UserMessage("next"))

    assert rig.messages is not before
    assert rig.messages == before
    assert rig.seen.events == []


async def test_the_message_that_is_to_be_sent_counts_too():
    rig = Rig([says("What was said.")])
    rig.talk(9)

    await rig.care.compact_if_full(MODEL, UserMessage("x" * 8_000))

    assert [event.what for event in rig.compactions()] == ["summary"]


async def test_old_outputs_give_way_first_and_can_be_opened_again():
    rig = Rig(window=8_000)
    rig.work(16, size=2_000)

    await rig.care.compact_if_full(MODEL, UserMessage("next"))

    (event,) = rig.compactions()
    assert event.what == "outputs"
    assert event.tokens_after < 0.8 * 8_000 < event.tokens_before
    kept = outputs_in(rig.messages)
    assert kept[-3:] == ["x" * 2_000] * 3
    assert kept[0].startswith("[blob:")
    blob_id = kept[0][len("[blob:") : kept[0].index("]")]
    assert rig.outputs.refers_to(blob_id)
    assert rig.events.state.blobs == frozenset(event.blobs) == set(rig.store.contents if rig.store else ())
    assert rig.store is not None
    assert await rig.store.load(blob_id) == Text("x" * 2_000)
    assert rig.asked == []


async def test_without_a_store_old_outputs_keep_both_their_ends():
    rig = Rig(store=None, window=8_000)
    rig.work(16, size=2_000)

    await rig.care.compact_if_full(MODEL, None)

    first = outputs_in(rig.messages)[0]
    assert "bytes left out" in first
    assert len(first) < 500


async def test_so_they_do_where_the_store_is_full():
    rig = Rig(store=FullStore(), window=8_000)
    rig.work(16, size=2_000)

    await rig.care.compact_if_full(MODEL, None)

    assert "bytes left out" in outputs_in(rig.messages)[0]


async def test_a_page_of_a_stored_output_gives_way_to_its_first_line():
    rig = Rig(window=8_000)
    rig.work(16, size=2_000)
    await rig.care.compact_if_full(MODEL, None)
    header = outputs_in(rig.messages)[0].split("\n")[0]
    assert rig.store is not None
    stored = len(rig.store.contents)

    shown = await rig.outputs.set_aside(f"{header} | 1000 bytes\n" + "x" * 900, 400)

    assert shown is not None
    assert shown.text == f"{header} | 1000 bytes | left out here to make room; inspect shows it again"
    assert len(rig.store.contents) == stored


async def test_what_is_too_long_in_words_gives_way_to_a_summary():
    rig = Rig([says("What was said.")])
    rig.work(1, size=100, path="src/a.py")
    rig.talk(14)

    await rig.care.compact_if_full(MODEL, UserMessage("next"))

    (event,) = rig.compactions()
    assert (event.what, event.focus) == ("summary", None)
    assert event.tokens_after < 0.5 * event.tokens_before
    assert "Summary:\nWhat was said." in rig.summary()
    assert "2 ● mend" in rig.summary()
    assert "- read src/a.py" in rig.summary()
    assert UserMessage("prompt 0") in rig.messages
    assert rig.messages[-1] == AssistantMessage(LlmResponse.from_text("answer 30 " + "x" * 1_000))
    assert "answer 4 xxx" in rig.asked[0]


async def test_the_event_is_reported_before_the_conversation_changes():
    rig = Rig([says("What was said.")])
    rig.talk(14)
    lengths: list[int] = []

    class Watcher:
        def notify(self, event: Event) -> None:
            if isinstance(event, ConversationCompacted):
                lengths.append(len(rig.messages))

    rig.events._observers = (Watcher(),)
    before = len(rig.messages)

    await rig.care.compact_if_full(MODEL, None)

    assert lengths == [before]
    assert len(rig.messages) < before


async def test_applying_what_was_reported_to_the_former_messages_gives_the_present_ones():
    rig = Rig([says("What was said.")])
    rig.work(12)
    rig.talk(12)
    past = Conversation(rig.messages)

    await rig.care.compact_if_full(MODEL, None)

    assert [event.what for event in rig.compactions()] == ["outputs", "summary"]
    for event in rig.compactions():
        past.compact(event.replaced, event.by)
    assert past.messages == rig.messages


async def test_open_calls_stay_open_for_their_results():
    rig = Rig([says("What was said.")])
    rig.talk(14)
    call = a_call("read_file", {"path": "b.py"}, id_="open")
    rig.conversation.add_user("look")
    rig.conversation.add_response(calls_response(call))

    await rig.care.compact_if_full(MODEL, ToolResults((_result(call, "x" * 3_000),)))

    assert rig.compactions()
    assert [each.native_id for each in rig.conversation.open_calls] == ["open"]
    rig.conversation.add_results([_result(call, "…")])


async def test_one_huge_turn_is_cut_between_its_batches():
    rig = Rig([says("What was done.")], budget=ContextTable(recent_full_count=100))
    rig.work(20)

    await rig.care.compact_if_full(MODEL, UserMessage("next"))

    assert [event.what for event in rig.compactions()] == ["summary"]
    assert rig.messages[0] == UserMessage("prompt 0")
    assert len(outputs_in(rig.messages)) > 1
    assert find_unpaired_call(rig.messages) is None


async def test_by_zero_it_never_happens_by_itself():
    rig = Rig([says("What was said.")], budget=ContextTable(compact_at=0))
    rig.talk(30)

    await rig.care.compact_if_full(MODEL, None)

    assert rig.compactions() == []
    assert not await rig.care.make_room(MODEL, TOO_LONG)
    assert (await rig.care.compact(MODEL)).what == "summary"


async def test_a_window_that_is_not_known_is_taken_for_the_assumed_one():
    rig = Rig([says("What was said.")], window=None, budget=ContextTable(window_tokens=4_000))
    rig.talk(14)

    assert rig.gauge.measure(MODEL).window is None
    await rig.care.compact_if_full(MODEL, None)

    assert rig.compactions()


async def test_a_model_without_a_window_is_left_alone():
    rig = Rig(window=0)
    rig.talk(30)

    await rig.care.compact_if_full(MODEL, None)

    with pytest.raises(ConversationError, match="nothing to gain"):
        await rig.care.compact(MODEL)
    assert rig.seen.events == []


async def test_what_the_provider_counts_corrects_the_estimate():
    rig = Rig()
    rig.talk(2)
    rig.conversation.add_user("more")
    rig.conversation.add_response(says("yes", input=3_000, output=100))

    assert rig.gauge.measure(MODEL).tokens == 3_100


async def test_what_was_counted_before_room_was_made_does_not_hold_after_it():
    rig = Rig([says("What was said.")])
    rig.talk(13)
    rig.conversation.add_user("more")
    rig.conversation.add_response(says("yes", input=3_900))

    await rig.care.compact_if_full(MODEL, UserMessage("next"))

    (event,) = rig.compactions()
    assert event.tokens_before > 3_900
    assert rig.gauge.measure(MODEL).tokens < 2_000


async def test_of_a_compacted_conversation_taken_up_again_old_counts_are_not_believed():
    rig = Rig([says("What was said.")])
    rig.talk(13)
    rig.conversation.add_user("more")
    rig.conversation.add_response(says("yes", input=3_900))
    await rig.care.compact_if_full(MODEL, UserMessage("next"))
    again = Rig()

    again.conversation.restore(rig.messages)

    assert again.gauge.measure(MODEL).tokens < 2_000


# ------------------------------------------------------------------ when it fails


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (BUSY, "the provider is overloaded"),
        (TOO_LONG, "refused as too long"),
        (says(""), "gave no summary"),
        (says("  \n"), "gave no summary"),
        (replace(says("I cannot help with that"), stop_reason=REFUSAL), "gave no summary"),
    ],
)
async def test_a_summary_that_cannot_be_had_is_reported_and_outputs_give_way_harder(answer: Answer, why: str):
    rig = Rig([answer] * 2)
    rig.talk(8)
    rig.work(6)

    await rig.care.compact_if_full(MODEL, UserMessage("next"))

    assert [trouble for trouble in rig.troubles() if why in trouble]
    assert {event.what for event in rig.compactions()} == {"outputs"}
    assert all(output.startswith("[blob:") for output in outputs_in(rig.messages)[:-1])
    rig.conversation.add_user("next")


async def test_a_failure_is_reported_once_and_not_repeated_with_each_request():
    rig = Rig([BUSY] * 50)
    rig.talk(14)

    for _ in range(10):
        await rig.care.compact_if_full(MODEL, UserMessage("next"))

    assert len(rig.asked) == 1
    assert len(rig.troubles()) == 1


async def test_it_is_tried_again_when_the_conversation_has_grown():
    rig = Rig([BUSY, says("At last.")])
    rig.talk(14)
    await rig.care.compact_if_full(MODEL, None)
    rig.talk(2)

    await rig.care.compact_if_full(MODEL, None)

    assert len(rig.asked) == 2
    assert "At last." in rig.summary()


async def test_a_summary_no_shorter_than_the_past_is_not_taken():
    rig = Rig([says("s" * 5_000)], values={})
    rig.talk(1, size=1_800)
    rig.conversation.add_user("x" * 12_000)
    before = rig.messages

    await rig.care.compact_if_full(MODEL, None)

    assert "no shorter" in rig.troubles()[0]
    assert rig.messages == before
    assert rig.compactions() == []


async def test_a_window_filled_by_one_prompt_is_reported_once_and_the_prompt_stays():
    rig = Rig()
    rig.conversation.add_user("x" * 20_000)

    for _ in range(5):
        await rig.care.compact_if_full(MODEL, None)

    assert len(rig.troubles()) == 1
    assert "still takes about 5,0" in rig.troubles()[0]
    assert rig.messages == (UserMessage("x" * 20_000),)


async def test_a_hook_that_withholds_the_request_leaves_all_as_it_was():
    async def withhold(_messages: tuple[Message, ...]) -> tuple[Message, ...]:
        raise RequestSkipped("the hook said no")

    rig = Rig([says("never")], shape=withhold)
    rig.talk(14)
    before = rig.messages

    with pytest.raises(ProviderError, match="the hook said no"):
        await rig.care.compact(MODEL)
    await rig.care.compact_if_full(MODEL, None)

    assert rig.messages == before
    assert "the hook said no" in rig.troubles()[0]


async def test_a_hook_that_ends_the_run_ends_it():
    async def end(_messages: tuple[Message, ...]) -> tuple[Message, ...]:
        raise HookAborted("enough")

    rig = Rig([says("never")], shape=end)
    rig.talk(14)
    before = rig.messages

    with pytest.raises(HookAborted):
        await rig.care.compact_if_full(MODEL, None)

    assert rig.messages == before


async def test_a_conversation_that_changed_meanwhile_is_left_as_it_is():
    gate = asyncio.Event()
    rig = Rig([Step(answer=says("What was said."), gate=gate)])
    rig.talk(14)
    asking = asyncio.create_task(rig.care.compact(MODEL))
    await rig.gateway.all_wait(1)
    rig.conversation.restore([UserMessage("another past"), *rig.messages[1:]])
    before = rig.messages
    gate.set()

    with pytest.raises(ConversationError, match="changed"):
        await asking

    assert rig.messages == before


@pytest.mark.parametrize("asked", [False, True])
async def test_a_cancellation_at_any_moment_leaves_what_is_on_record(asked: bool):
    async def slowly(messages: tuple[Message, ...]) -> tuple[Message, ...]:
        await asyncio.sleep(0)
        return messages

    outcomes: set[tuple[str, ...]] = set()
    for moment in range(200):
        ledger = Ledger()
        rig = Rig([says("What was said.", input=5)], store=SlowStore(), shape=slowly, ledger=ledger)
        rig.work(8)
        rig.talk(12)
        past = Conversation(rig.messages)
        work = rig.care.compact(MODEL) if asked else rig.care.compact_if_full(MODEL, None)
        task = asyncio.ensure_future(work)
        for _ in range(moment):
            await asyncio.sleep(0)
        was_done = task.done()
        task.cancel()
        result = (await asyncio.gather(task, return_exceptions=True))[0]

        kept = [event for event in ledger.events if isinstance(event, ConversationCompacted)]
        for event in kept:
            past.compact(event.replaced, event.by)
        assert rig.messages == past.messages
        assert find_unpaired_call(rig.messages) is None
        assert was_done or isinstance(result, asyncio.CancelledError)
        outcomes.add(tuple(event.what for event in kept))
        if was_done:
            break

    assert was_done
    assert outcomes == ({(), ("summary",)} if asked else {(), ("outputs",), ("outputs", "summary")})


# ------------------------------------------------------------------ when the person asks


async def test_the_person_can_ask_for_it_with_a_focus():
    rig = Rig([says("What was said.")], window=100_000)
    rig.talk(2, size=20_000)

    event = await rig.care.compact(MODEL, "the tests")

    assert event.focus == "the tests"
    assert event.tokens_after < event.tokens_before
    assert "Keep in view: the tests" in rig.summary()
    assert "kept in view: the tests" in rig.asked[0]


async def test_what_fails_when_asked_is_raised_and_changes_nothing():
    rig = Rig([BUSY])
    rig.work(8)
    rig.talk(8)
    before = rig.messages

    with pytest.raises(ProviderError, match="overloaded"):
        await rig.care.compact(MODEL)

    assert rig.messages == before
    assert rig.compactions() == []
    assert rig.troubles() == []


@pytest.mark.parametrize("said", [[], ["x" * 9_000], ["hi", "ho"]])
async def test_where_little_was_answered_there_is_nothing_to_summarise(said: list[str]):
    rig = Rig()
    for place, text in enumerate(said):
        if place % 2:
            rig.conversation.add_response(LlmResponse.from_text(text))
        else:
            rig.conversation.add_user(text)

    with pytest.raises(ConversationError, match="nothing to summarise"):
        await rig.care.compact(MODEL)


async def test_what_a_summary_costs_is_counted():
    price = Price(**dict.fromkeys(("input", "output", "cache_read", "cache_write"), 1_000_000))  # type: ignore[arg-type]
    rig = Rig([says("What was said.", input=3, output=4)], prices=PriceTable({MODEL: price}))
    rig.talk(14)

    await rig.care.compact_if_full(MODEL, None)

    (counted,) = rig.seen.of(UsageCounted)
    assert counted == UsageCounted(model=MODEL, usage=Usage(input=3, output=4), cost_usd=7)  # type: ignore[arg-type]
    assert rig.care.take_spent() == [(Usage(input=3, output=4), 7)]
    assert rig.care.take_spent() == []


async def test_waiting_for_the_provider_is_shown_but_not_the_summary():
    rig = Rig([Step(answer=says("What was said."), first=["What "])])
    rig.talk(14)

    await rig.care.compact_if_full(MODEL, None)

    assert not [event for event in rig.seen.events if type(event).__name__.endswith("Delta")]
    assert rig.seen.of(RetryScheduled) == []


# ------------------------------------------------------------------ when a request was too long


async def test_a_request_that_was_too_long_is_worth_another_try_once_room_was_made():
    rig = Rig([says("What was said.")], window=1_000_000)
    rig.talk(14)
    rig.conversation.add_user("next")

    assert await rig.care.make_room(MODEL, TOO_LONG)

    assert rig.messages[-1] == UserMessage("next")
    assert rig.gauge.measure(MODEL).window == pytest.approx(3_600, rel=0.1)


async def test_it_is_not_where_nothing_could_be_gained():
    rig = Rig(window=1_000_000)
    rig.conversation.add_user("x" * 20_000)

    assert not await rig.care.make_room(MODEL, TOO_LONG)


async def test_even_the_newest_outputs_give_way_then():
    rig = Rig([BUSY], window=1_000_000)
    call = a_call("read_file", {"path": "a.py"}, id_="c")
    rig.conversation.add_user("look")
    rig.conversation.add_response(calls_response(call))
    rig.conversation.add_results([_result(call, "x" * 50_000)])

    assert await rig.care.make_room(MODEL, TOO_LONG)

    assert outputs_in(rig.messages)[0].startswith("[blob:")


@pytest.mark.parametrize(
    "error",
    [BUSY, ProviderError("cut", kind=ProviderErrorKind.TOO_LONG, partial=True)],
)
async def test_other_failures_are_none_of_its_business(error: ProviderError):
    rig = Rig()
    rig.talk(14)

    assert not await rig.care.make_room(MODEL, error)

    assert rig.seen.events == []


async def test_a_summary_request_that_is_too_long_itself_is_tried_with_less():
    rig = Rig([TOO_LONG, says("What was said.")])
    rig.talk(14)

    await rig.care.compact_if_full(MODEL, None)

    assert len(rig.asked[1]) < len(rig.asked[0])
    assert "What was said." in rig.summary()


# ------------------------------------------------------------------ three hundred turns


@pytest.mark.long
async def test_three_hundred_turns_fit_into_a_small_window_with_plan_files_and_pairing():
    window = 4_000
    rig = Rig([says(f"Summary number {n}. " + "s" * 3_000) for n in range(300)], window=window)
    session = FakeSession([], conversation=rig.conversation)
    newest = ""

    def check() -> None:
        sent = session.sent[-1].messages
        assert find_unpaired_call(sent) is None
        assert rig.gauge.estimate_request_tokens(None) <= window
        everything = repr(sent)
        assert newest in everything
        if len(session.sent) > 40:
            assert "Plan:" in everything
            assert "2 ● mend" in everything

    for turn in range(300):
        newest = f"src/f{turn}.py"
        call = a_call("read_file", {"path": newest}, id_=f"c{turn}")
        done = LlmResponse.from_text(f"turn {turn} is done " + "y" * 300)
        session.script += [calls_response(call), done]
        prompt = f"please do number {turn}"
        await rig.care.compact_if_full(MODEL, UserMessage(prompt))
        await session.send_with_tools(prompt, (), on_event=lambda _event: None)
        results = [_result(call, "z" * (200 + 37 * turn % 3_000))]
        await rig.care.compact_if_full(MODEL, ToolResults(tuple(results)))
        await session.send_tool_results(results, on_event=lambda _event: None)
        check()

    assert rig.troubles() == []
    assert 5 < len(rig.compactions()) < 200
    assert f"src/f{299}.py" in repr(rig.messages)
    assert "please do number 299" in repr(rig.messages)
