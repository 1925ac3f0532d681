"""The window that a model's server tells, and results that do not fit into it."""

from __future__ import annotations

import asyncio

import pytest

from quorum.application.context.context_manager import ContextManager
from quorum.application.view.session_view import SessionView
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import PromptProgressed, RetryScheduled, TextDelta
from tests.application.test_context_manager import MODEL, Rig, _result
from tests.support.builders import a_call, calls_response


def _ask_with(rig: Rig, served: int | None) -> tuple[ContextManager, list[bool]]:
    asked: list[bool] = []

    async def ask(model: str, *, is_known: bool) -> int | None:
        assert model == MODEL
        asked.append(is_known)
        if served is None:
            raise ProviderError("no such model", kind=ProviderErrorKind.CONFIGURATION)
        return served

    care = ContextManager(
        conversation=rig.conversation,
        events=rig.events,
        outputs=rig.outputs,
        summariser=rig.summariser,
        gauge=rig.gauge,
        budget=rig.budget,
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
        conversation=rig.conversation,
        events=rig.events,
        outputs=rig.outputs,
        summariser=rig.summariser,
        gauge=rig.gauge,
        budget=rig.budget,
        values=dict,
        ask_window=ask,
        sleep=wait,
    )

    assert await care.learn_whether_small(MODEL)
    assert len(waits) == 2
    told = [each.reason for each in rig.seen.events if isinstance(each, RetryScheduled)]
    assert told == [f"{MODEL} is being loaded"] * 2


async def test_who_interrupts_the_wait_for_a_model_has_its_server_asked_again() -> None:
    rig, answers = Rig(window=None), [None, 5_000]

    async def ask(_model: str, *, is_known: bool) -> int | None:
        if (window := answers.pop(0)) is None:
            raise ProviderError("it loads", kind=ProviderErrorKind.SERVER, is_loading=True)
        return window

    async def wait(_secs: float) -> None:
        raise asyncio.CancelledError

    care = ContextManager(
        conversation=rig.conversation,
        events=rig.events,
        outputs=rig.outputs,
        summariser=rig.summariser,
        gauge=rig.gauge,
        budget=rig.budget,
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
