"""The window that a model's server tells, and results that do not fit into it."""

from __future__ import annotations

import asyncio

import pytest

from quorum.application.context_manager import ContextManager
from quorum.application.turn.dialogue import Dialogue
from quorum.application.turn.run_tally import RunTally
from quorum.application.turn.switchable_session import SwitchableSession
from quorum.application.turn.tool_prefix import ToolPrefix
from quorum.application.view.session_view import SessionView
from quorum.domain.conversation.cost import PriceTable
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.conversation.response import (
    END_TURN,
    MAX_TOKENS,
    REFUSAL,
    LlmResponse,
    StopReason,
    TextBlock,
    Usage,
)
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import PromptProgressed, RetryScheduled, TextDelta
from quorum.domain.replacing import replace
from quorum.domain.settings import ContextTable
from tests.application.test_context_manager import MODEL, Rig, _result
from tests.support.builders import a_call, calls_response
from tests.support.fake_providers import FakeProviders
from tests.support.fake_session import FakeSession


def _ask_with(rig: Rig, served: int | None) -> tuple[ContextManager, list[bool]]:
    asked: list[bool] = []

    async def ask(model: str, *, is_known: bool) -> int | None:
        assert model == MODEL
        asked.append(is_known)
        if served is None:
            raise ProviderError("no such model", kind=ProviderErrorKind.CONFIGURATION)
        return served

    care = ContextManager(
        events=rig.events,
        outputs=rig.outputs,
        summariser=rig.summariser,
        gauge=rig.gauge,
        values=dict,
        ask_window=ask,
    )
    return care, asked


async def test_the_smaller_of_the_served_and_the_known_window_counts() -> None:
    for known, served, counts in ((4_000, 3_000, 3_000), (4_000, 9_000, 4_000), (None, 5_000, 5_000)):
        rig = Rig(window=known)
        care, asked = _ask_with(rig, served)

        await care.compact_if_full(MODEL, UserMessage("go"))
        await care.compact_if_full(MODEL, UserMessage("go on"))

        assert rig.gauge.find_window(MODEL) == counts
        assert asked == [known is not None]


async def test_a_server_that_cannot_be_asked_changes_nothing() -> None:
    rig = Rig()
    care, _ = _ask_with(rig, None)

    await care.compact_if_full(MODEL, UserMessage("go"))

    assert rig.gauge.find_window(MODEL) == 4_000


async def test_a_server_that_loads_the_model_is_waited_for_before_the_first_request() -> None:
    rig = Rig(window=None)
    waits: list[float] = []

    async def ask(_model: str, *, is_known: bool) -> int | None:
        if len(waits) < 2:
            raise ProviderError("it loads", kind=ProviderErrorKind.SERVER, is_loading=True)
        return 5_000

    async def wait(secs: float) -> None:
        waits.append(secs)

    care = ContextManager(
        events=rig.events,
        outputs=rig.outputs,
        summariser=rig.summariser,
        gauge=rig.gauge,
        values=dict,
        ask_window=ask,
        sleep=wait,
    )

    assert await care.learn_whether_small(MODEL)
    assert len(waits) == 2
    told = [(each.reason, each.is_loading) for each in rig.seen.events if isinstance(each, RetryScheduled)]
    assert told == [(f"{MODEL} is being loaded", True)] * 2


async def test_who_interrupts_the_wait_for_a_model_has_its_server_asked_again() -> None:
    rig, answers = Rig(window=None), [None, 5_000]

    async def ask(_model: str, *, is_known: bool) -> int | None:
        if (window := answers.pop(0)) is None:
            raise ProviderError("it loads", kind=ProviderErrorKind.SERVER, is_loading=True)
        return window

    async def wait(_secs: float) -> None:
        raise asyncio.CancelledError

    care = ContextManager(
        events=rig.events,
        outputs=rig.outputs,
        summariser=rig.summariser,
        gauge=rig.gauge,
        values=dict,
        ask_window=ask,
        sleep=wait,
    )

    with pytest.raises(asyncio.CancelledError):
        await care.learn_whether_small(MODEL)

    assert await care.learn_whether_small(MODEL)
    assert rig.gauge.find_window(MODEL) == 5_000


async def test_results_that_do_not_fit_keep_their_ends_and_say_what_is_missing() -> None:
    rig = Rig()
    long, short = a_call("read_file", {"path": "a.py"}, id_="1"), a_call("read_file", {"path": "b.py"}, id_="2")
    rig.conversation.add_user("read them")
    rig.conversation.add_response(calls_response(long, short))
    results = ToolResults((_result(long, "begin " + "x" * 60_000 + " end"), _result(short, "short")))

    fitted = rig.care.fit_results(MODEL, results)

    assert rig.gauge.estimate_request_tokens(fitted) <= 4_000
    output = fitted.results[0].output
    assert output.startswith("begin ")
    assert output.endswith(" end")
    assert "characters left out: they do not fit the window" in output
    assert fitted.results[1] == results.results[1]
    assert rig.care.fit_results(MODEL, fitted) == fitted


async def test_a_small_window_has_short_tools_from_its_first_request_on() -> None:
    for window, small in ((8_000, True), (40_000, False)):
        rig = Rig(window=window)

        assert rig.care.has_small_window(MODEL) is small


def test_how_far_the_prompt_is_read_is_shown_until_something_else_arrives() -> None:
    view = SessionView()
    view.apply(PromptProgressed(read=68, total=200))
    assert view.status.reading_share == "reading the prompt 34 %"

    view.apply(TextDelta(text="It"))
    assert view.status.reading_share == ""


def _talk_to(rig: Rig, *answers: LlmResponse) -> tuple[Dialogue, FakeSession]:
    session = FakeSession(list(answers), conversation=rig.conversation)
    way = SwitchableSession(session, open_exchange=FakeProviders().open_exchange)
    dialogue = Dialogue(
        session=way,
        conversation=rig.conversation,
        tools=ToolPrefix(way, schemas=tuple, events=rig.events),
        events=rig.events,
        prices=PriceTable({}),
        context_keeper=rig.care,
    )
    return dialogue, session


@pytest.mark.parametrize("stop", [END_TURN, MAX_TOKENS, REFUSAL])
async def test_an_answer_that_ends_near_the_window_ended_as_its_server_says(stop: StopReason) -> None:
    usage = Usage(cache_read=3_890, output=100)
    answer = LlmResponse(content=(TextBlock("and so"),), stop_reason=stop, usage=usage)
    dialogue, session = _talk_to(Rig(window=4_000), answer)

    assert (await dialogue.say("go", RunTally("s"))).stop_reason == stop
    assert [sent.window for sent in session.sent] == [4_000]


@pytest.mark.parametrize(
    ("compact_at", "used", "has_room"), [(0.0, 3_995, False), (0.0, 2_000, True), (0.8, 3_995, True)]
)
async def test_a_continuation_is_asked_for_only_where_it_fits_once_room_was_made(
    compact_at: float, used: int, has_room: bool
) -> None:
    rig = Rig([LlmResponse.from_text("what was said")], budget=ContextTable(compact_at=compact_at))
    rig.talk(8)
    usage = Usage(input=used - 90, output=90)
    cut = LlmResponse(content=(TextBlock("and"),), stop_reason=MAX_TOKENS, usage=usage)
    dialogue, _ = _talk_to(rig, cut)
    await dialogue.say("go", RunTally("s"))

    assert await dialogue.has_room_for("Continue.") is has_room


async def test_a_call_that_is_cut_at_the_window_is_asked_for_again_after_room_was_made() -> None:
    rig = Rig([LlmResponse.from_text("what was said")])
    rig.talk(8)
    cut = replace(calls_response(a_call("write")), usage=Usage(input=3_900, output=90)).mark_cut()
    whole = calls_response(a_call("write", {"cell": "a"}))
    dialogue, session = _talk_to(rig, cut, whole)

    response = await dialogue.say("go", RunTally("s"))

    assert response.tool_calls()[0].arguments == {"cell": "a"}
    assert len(rig.compactions()) == 1
    assert len(session.sent) == 2
