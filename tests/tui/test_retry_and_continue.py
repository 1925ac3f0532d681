"""Waiting for a repetition, going on after a failure, and what it all costs."""

import asyncio
from decimal import Decimal

import pytest

from quorum.application.view.present import Book
from quorum.application.view.session_view import SessionView
from quorum.domain.conversation.cost import Spending
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import ProviderErrorKind
from quorum.domain.events.event import Event, ModeChanged, RetryScheduled, TextDelta, UsageCounted
from quorum.domain.review.mode import Mode
from quorum.domain.text.amounts import format_tokens
from quorum.tui.screens.accounts.spending import format_cost, format_dollars, render_spending
from quorum.tui.session.session import SessionFacts
from tests.support.app_stage import Clock, on_stage
from tests.support.fake_agent import FakeAgent, break_off, hold, reach_limit, say, wait_for_retry


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def facts(*happened: Event) -> SessionFacts:
    view = SessionView()
    reported = SessionFacts(view.status, clock=Clock())
    for event in happened:
        view.apply(event)
        reported.catch_up()
    return reported


# -- waiting


@pytest.mark.long
async def test_a_wait_is_counted_down_and_says_what_can_be_done(tmp_path):
    clock = Clock()
    async with on_stage(tmp_path, wait_for_retry(secs=12.0), size=(80, 24), clock=clock) as stage:
        await stage.send("go")
        await stage.shows("rate limited, again in 12 s (2 of 2) · esc stops · /model switches")
        await stage.shows("fake rate limited the request (429): slow down; attempt 3")
        clock.now += 5
        await stage.shows("again in 7 s")
        clock.now += 8
        await stage.shows("rate limited, trying again (2 of 2)")


async def test_the_wait_is_gone_as_soon_as_an_answer_begins(tmp_path):
    async with on_stage(tmp_path, wait_for_retry()) as stage:
        await stage.send("go")
        await stage.shows("again in 12 s")
        stage.agent.tell(TextDelta(text="begun"))
        await stage.shows("working")


async def test_escape_stops_the_wait(tmp_path):
    async with on_stage(tmp_path, wait_for_retry()) as stage:
        await stage.send("go")
        await stage.shows("again in 12 s")
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.agent.reports)
        await stage.shows("/retry continues")

        assert "again in" not in stage.text().splitlines()[-1]


@pytest.mark.long
async def test_a_prompt_typed_while_it_waits_is_queued_and_a_command_runs_at_once(tmp_path):
    async with on_stage(tmp_path, wait_for_retry(), say("second answer")) as stage:
        await stage.send("first")
        await stage.shows("again in 12 s")
        await stage.send("second")
        await stage.shows("1 waiting")
        await stage.send("/model other/model")
        await stage.shows("second answer")

        assert stage.agent.prompts == ["first", "second"]


@pytest.mark.parametrize(
    ("kind", "attempts", "said"),
    [
        (ProviderErrorKind.OVERLOADED, 2, "overloaded, again in 3 s (1 of 2)"),
        (ProviderErrorKind.SERVER, None, "request failed, again in 3 s (1)"),
        (None, None, "request failed, again in 3 s (1)"),
    ],
)
def test_the_wait_names_its_cause_as_far_as_it_is_known(kind, attempts, said):
    reported = facts(RetryScheduled(attempt=1, delay_secs=2.4, reason="x", attempts=attempts, kind=kind))

    assert reported.retry == said


def test_the_wait_for_a_model_that_is_loaded_says_so():
    overloaded = ProviderErrorKind.OVERLOADED
    waits = RetryScheduled(attempt=1, delay_secs=2.4, reason="x", kind=overloaded, is_loading=True)

    assert facts(waits).retry == "loading the model, again in 3 s (1)"


def test_a_change_of_mode_does_not_end_the_wait():
    reported = facts(RetryScheduled(attempt=1, delay_secs=2.0, reason="x"), ModeChanged(mode=Mode.READ_ONLY))

    assert reported.retry
    assert reported.mode == "read-only"


# -- going on


async def test_a_dropped_stream_keeps_what_arrived_and_retry_goes_on(tmp_path):
    async with on_stage(tmp_path, break_off("half an "), say("answer")) as stage:
        await stage.send("go")
        await stage.shows("the answer broke off here; what arrived is kept")
        await stage.shows("enter continues · ctrl+j new line")
        await stage.send("/retry")
        await stage.shows("answer")
        shown = stage.text()

        assert stage.agent.prompts == ["go", ""]
        assert "half an" in shown
        assert "continuing" in shown
        assert "enter continues" not in shown.splitlines()[-1]


async def test_at_the_limit_one_key_gives_as_many_turns_again(tmp_path):
    async with on_stage(tmp_path, reach_limit("half way"), say("all of it")) as stage:
        await stage.send("go")
        await stage.shows("enter continues")
        await stage.pilot.press("enter")
        await stage.shows("all of it")
        await stage.pilot.press("enter")

        assert stage.agent.prompts == ["go", ""]
        assert "enter continues" not in stage.text()


async def test_a_request_that_failed_outright_can_be_sent_again(tmp_path):
    async with on_stage(tmp_path, break_off(""), say("answer")) as stage:
        await stage.send("go")
        await stage.shows("/retry sends the request again")
        await stage.send("/retry")
        await stage.until(lambda: len(stage.agent.reports) == 2)

        assert stage.agent.prompts == ["go", ""]


async def test_after_a_failure_enter_with_nothing_typed_sends_the_request_again(tmp_path):
    async with on_stage(tmp_path, break_off(""), say("answer")) as stage:
        await stage.send("go")
        await stage.shows("enter continues")
        await stage.pilot.press("enter")
        await stage.shows("answer")
        await stage.pilot.press("enter")

        assert stage.agent.prompts == ["go", ""]


async def test_enter_with_nothing_typed_does_not_take_up_what_the_person_interrupted(tmp_path):
    async with on_stage(tmp_path, hold(), say("answer")) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.pilot.press("escape")
        await stage.shows("/retry continues")
        await stage.pilot.press("enter")

        assert stage.agent.prompts == ["go"]


async def test_an_interrupted_turn_can_be_taken_up_again(tmp_path):
    async with on_stage(tmp_path, hold(), say("answer")) as stage:
        await stage.send("go")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.pilot.press("escape")
        await stage.until(lambda: stage.agent.reports)
        await stage.send("/retry")
        await stage.until(lambda: len(stage.agent.reports) == 2)

        assert stage.agent.prompts == ["go", ""]


@pytest.mark.long
async def test_where_there_is_nothing_to_go_on_with_it_is_said_why(tmp_path):
    async with on_stage(tmp_path, say("answer"), hold()) as stage:
        await stage.send("/retry")
        await stage.shows("there is no turn to continue yet")
        await stage.send("one")
        await stage.until(lambda: stage.agent.reports and not stage.app.chat.turns.running)
        await stage.send("/retry")
        await stage.shows("the last turn ended normally")
        await stage.send("two")
        await stage.until(lambda: stage.agent.reached.is_set())
        await stage.send("/retry")
        await stage.shows("a turn is running; esc stops it")

        assert stage.agent.prompts == ["one", "two"]


@pytest.mark.long
async def test_retry_pressed_twice_goes_on_once(tmp_path):
    async with on_stage(tmp_path, break_off("x"), hold()) as stage:
        await stage.send("go")
        await stage.shows("enter continues")
        stage.app.chat.sending.action_retry()
        stage.app.chat.sending.action_retry()
        await stage.until(lambda: stage.agent.reached.is_set())

        assert stage.agent.prompts == ["go", ""]
        assert stage.app.chat.turns.waiting == 0


# -- what it costs


def counted(model: str, usage: Usage, cost: str | None = None) -> UsageCounted:
    return UsageCounted(model=model, usage=usage, cost_usd=None if cost is None else Decimal(cost))


def spends(*events: UsageCounted):
    async def scene(agent: FakeAgent) -> None:
        for event in events:
            agent.tell(event)
        await say("done")(agent)

    return scene


USED = Usage(input=1_200, output=1_150, cache_read=11_000, cache_write=100, reasoning=640)


@pytest.mark.long
async def test_the_status_bar_shows_tokens_and_cost(tmp_path):
    async with on_stage(tmp_path, spends(counted("a/b", USED, "0.0412"))) as stage:
        await stage.send("go")
        await stage.shows("12.3k in · 1.1k out · $0.04")


@pytest.mark.long
async def test_cost_lists_turns_and_models_and_says_which_has_no_price(tmp_path):
    second = spends(counted("b/[free]", USED), counted("a/priced", USED, "1"))
    scenes = spends(counted("a/priced", USED, "0.25")), second
    async with on_stage(tmp_path, *scenes, size=(80, 24)) as stage:
        await stage.send("one")
        await stage.until(lambda: len(stage.agent.reports) == 1)
        await stage.send("two")
        await stage.until(lambda: len(stage.agent.reports) == 2)
        await stage.send("/cost")
        await stage.shows("No price is known for b/[free]")
        lines = [line.split("│")[1].split() for line in stage.text().splitlines() if line.count("│") >= 2]

        assert ["a/priced", "2.4k", "2.3k", "22.0k", "200", "1.3k", "$1.25"] in lines
        assert ["all", "3.6k", "3.5k", "33.0k", "300", "1.9k", "≥", "$1.25"] in lines
        assert ["1", "a/priced", "1.2k", "1.1k", "11.0k", "100", "640", "$0.25"] in lines
        assert ["2", "b/[free]", "1.2k", "1.1k", "11.0k", "100", "640", "no", "price"] in lines
        await stage.pilot.press("escape")
        await stage.unasked()


@pytest.mark.long
async def test_a_narrow_window_has_fewer_columns_of_costs_and_no_broken_lines(tmp_path):
    async with on_stage(tmp_path, spends(counted("a/priced", USED, "0.25")), size=(60, 20)) as stage:
        await stage.send("one")
        await stage.until(lambda: stage.agent.reports)
        await stage.send("/cost")
        await stage.shows("Tokens and cost")
        await stage.shows("1 a/priced")
        lines = [line.split("│")[1].split() for line in stage.text().splitlines() if line.count("│") >= 2]

        assert ["in", "out", "cost"] in lines
        assert ["1", "a/priced", "1.2k", "1.1k", "$0.25"] in lines


@pytest.mark.long
async def test_cost_opens_while_a_turn_runs_and_before_anything_was_used(tmp_path):
    async with on_stage(tmp_path, hold()) as stage:
        await stage.send("go")
        await stage.send("/cost")
        await stage.shows("Nothing was used yet.")
        await stage.pilot.press("q")
        await stage.unasked()


async def test_before_there_is_an_agent_commands_about_the_session_say_so(tmp_path):
    async def compose(person, observer, choice, folder):
        await asyncio.Event().wait()

    async with on_stage(tmp_path, compose=compose, ready=False) as stage:
        for command in ("/cost", "/retry"):
            await stage.send(command)
            await stage.shows("still starting")


@pytest.mark.parametrize(
    ("amount", "shown"),
    [("0", "$0.00"), ("0.0412", "$0.04"), ("12", "$12.00"), ("1234.5", "$1,234.50"), ("0.00123", "$0.0012")],
)
def test_amounts_are_shown_to_the_cent_and_small_ones_to_what_counts(amount, shown):
    assert format_dollars(Decimal(amount)) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(999, "999"), (12_345, "12.3k"), (99_960, "100k"), (999_600, "1.00M"), (2_500_000, "2.50M")],
)
def test_tokens_are_shown_in_the_unit_that_suits_them(count, shown):
    assert format_tokens(count) == shown


def test_where_only_part_has_a_price_the_cost_is_a_lower_bound():
    book = Book()
    book.add(counted("a/b", USED, "0.5"))
    book.add(counted("c/d", USED))

    assert format_cost(book.total) == "≥ $0.50"
    assert format_cost(Spending()) == ""
    assert render_spending(Spending()) == ""
