from __future__ import annotations

import pytest

from quorum.application.turn.switchable_session import ReasoningEfforts, list_effort_roles
from quorum.domain.conversation.effort import Effort, find_effort, format_model
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import ProviderError
from quorum.domain.events.event import ModelChanged, SessionStarted
from tests.application.test_run_agent import Bench
from tests.support.fake_session import FakeSession

TAKEN = (Effort.DEFAULT, Effort.LOW, Effort.HIGH)


def bench_with_efforts(*script: LlmResponse) -> Bench:
    bench = Bench(*script)
    bench.providers.efforts = {"fake/model": TAKEN}
    return bench


def efforts_with(chosen: dict[str, Effort] | None = None, **configured: Effort) -> ReasoningEfforts:
    return ReasoningEfforts(
        {name.replace("__", "/"): effort for name, effort in configured.items()},
        roles=("ask", "decision"),
        list_efforts=lambda model: () if model == "dumb/model" else TAKEN,
        chosen=chosen or {},
    )


def test_what_is_chosen_counts_before_the_model_and_that_before_its_roles() -> None:
    assert efforts_with().get_effort("a/m") is Effort.DEFAULT
    assert efforts_with(decision=Effort.LOW).get_effort("a/m") is Effort.LOW
    assert efforts_with(decision=Effort.LOW, ask=Effort.HIGH).get_effort("a/m") is Effort.HIGH
    assert efforts_with(ask=Effort.LOW, a__m=Effort.HIGH).get_effort("a/m") is Effort.HIGH
    assert efforts_with({"a/m": Effort.DEFAULT}, a__m=Effort.HIGH).get_effort("a/m") is Effort.DEFAULT


def test_an_effort_that_an_api_does_not_take_is_left_out_and_reported() -> None:
    efforts = efforts_with(decision=Effort.MAX)

    assert efforts.get_effort("a/m") is Effort.DEFAULT
    assert efforts.describe_ignored("a/m") == (
        "a/m takes no effort max, only default, low, high; it is asked without (models.effort)",
    )
    assert efforts.describe_ignored("dumb/model") == (
        "dumb/model takes no reasoning effort; it is asked without (models.effort)",
    )
    assert efforts_with().describe_ignored("dumb/model") == ()


def test_a_session_that_only_asks_goes_by_its_own_role_first() -> None:
    assert list_effort_roles(SessionKind.ASK) == ("ask", "decision")
    assert list_effort_roles(SessionKind.AGENT) == ("decision",)
    assert find_effort({"decision": Effort.HIGH}, "a/m", "review") is Effort.DEFAULT


def test_a_model_is_shown_with_the_effort_that_is_set() -> None:
    assert format_model("a/m", Effort.HIGH) == "a/m (high)"
    assert format_model("a/m", Effort.DEFAULT) == format_model("a/m", None) == "a/m"


async def test_an_effort_chosen_for_the_model_holds_from_the_next_request_and_is_recorded() -> None:
    bench = bench_with_efforts(LlmResponse.from_text("one"))

    await bench.front.models.choose("fake/model", Effort.HIGH)

    assert bench.front.models.effort is Effort.HIGH
    assert bench.observer.of(ModelChanged) == [ModelChanged(model="fake/model", effort=Effort.HIGH)]


async def test_the_effort_in_force_chosen_again_is_no_change() -> None:
    bench = bench_with_efforts()

    await bench.front.models.choose("fake/model", Effort.DEFAULT)

    assert bench.observer.of(ModelChanged) == []


async def test_an_effort_that_the_model_does_not_take_is_refused_in_a_sentence() -> None:
    bench = bench_with_efforts()
    bench.providers.listed = {"fake": ("fake/model",)}

    with pytest.raises(ProviderError, match="fake/model takes no effort max, only default, low, high"):
        await bench.front.models.choose("fake/model", Effort.MAX)

    assert (bench.front.models.effort, bench.observer.of(ModelChanged)) == (Effort.DEFAULT, [])


async def test_a_model_that_cannot_be_had_leaves_its_effort_as_it_was() -> None:
    bench = bench_with_efforts()
    bench.providers.efforts = {"other/model": TAKEN}

    with pytest.raises(ProviderError, match="there is no other/model"):
        await bench.front.models.choose("other/model", Effort.HIGH)

    assert bench.front.models.get_effort("other/model") is Effort.DEFAULT


async def test_each_model_keeps_its_own_effort() -> None:
    bench = bench_with_efforts()
    bench.providers.efforts = {"fake/model": TAKEN, "other/model": TAKEN}
    bench.providers.sessions["other/model"] = FakeSession(
        [], conversation=bench.conversation, model="other/model"
    )
    models = bench.front.models

    await models.choose("fake/model", Effort.HIGH)
    await models.choose("other/model")
    other = models.effort
    await models.choose("fake/model")

    assert (other, models.effort) == (Effort.DEFAULT, Effort.HIGH)


async def test_a_session_says_at_its_start_which_effort_its_model_is_asked_for() -> None:
    bench = bench_with_efforts()

    await bench.front.open()

    (started,) = bench.observer.of(SessionStarted)
    assert started.effort is Effort.DEFAULT
