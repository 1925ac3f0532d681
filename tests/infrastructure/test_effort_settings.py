from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.conversation.effort import Effort
from quorum.domain.errors import ConfigError
from quorum.domain.events.event import Event, ModelChanged, SessionResumed, SessionStarted
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.config.model_choice import find_former_efforts
from tests.infrastructure.test_container import a_container
from tests.support.settings_machine import Machine

MODEL = "openai/m"


def records(*events: Event) -> tuple[LedgerRecord, ...]:
    return tuple(LedgerRecord(seq=place, at_ms=place, event=event) for place, event in enumerate(events))


def started(effort: Effort | None) -> SessionStarted:
    return SessionStarted(session_id="s", model=MODEL, mode=Mode.ASK, cwd="/", effort=effort)


def resumed(effort: Effort | None) -> SessionResumed:
    return SessionResumed(session_id="s", model=MODEL, mode=Mode.ASK, cwd="/", effort=effort)


def test_roles_and_models_can_be_given_an_effort(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.user('models.effort = { decision = "high", "openai/gpt-5.4" = "low" }')

    assert machine.load().settings.models.effort == {"decision": Effort.HIGH, "openai/gpt-5.4": Effort.LOW}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('models.effort.decision = "strong"', "one of default, none, minimal, low, medium, high, xhigh, max"),
        ('models.effort.everything = "high"', "decision, ask, review, participants, moderator, or a model"),
        ('models.effort = "high"', "models.effort"),
    ],
)
def test_what_is_no_effort_or_no_role_is_an_error_that_names_those_there_are(
    tmp_path: Path, line: str, says: str
) -> None:
    machine = Machine(tmp_path)
    machine.user(line)

    with pytest.raises(ConfigError, match=r"models\.effort") as caught:
        machine.load()

    assert says in str(caught.value)


def test_a_model_whose_api_takes_no_effort_is_asked_without_and_the_session_says_so(tmp_path: Path) -> None:
    container = a_container(tmp_path, models__effort__decision="high")

    assert container.agent().models.effort is Effort.DEFAULT
    assert (
        "offline/offline takes no reasoning effort; it is asked without (models.effort)"
        in container.record().notices
    )


def test_reviewers_go_by_their_own_role(tmp_path: Path) -> None:
    policy = a_container(tmp_path, models__effort__review="low").parts().reviews.voting.policy

    assert policy.efforts == {"review": Effort.LOW}


def test_a_resumed_session_keeps_the_effort_it_had_last(tmp_path: Path) -> None:
    loaded = load_settings(cwd=tmp_path, environ={"HOME": str(tmp_path)})
    chosen = ModelChanged(model=MODEL, effort=Effort.HIGH)
    lowered = ModelChanged(model=MODEL, effort=Effort.DEFAULT)

    def kept(*events: Event) -> dict[str, Effort]:
        return dict(find_former_efforts(loaded, records(*events), (MODEL,)))

    assert kept(started(None)) == kept(started(Effort.DEFAULT)) == {}
    assert kept(started(Effort.LOW)) == {MODEL: Effort.LOW}
    assert kept(started(Effort.LOW), chosen, resumed(Effort.HIGH)) == {MODEL: Effort.HIGH}
    assert kept(started(Effort.LOW), lowered, resumed(Effort.DEFAULT)) == {MODEL: Effort.DEFAULT}


def test_an_effort_asked_for_by_flag_counts_before_all_others(tmp_path: Path) -> None:
    loaded = load_settings(
        cwd=tmp_path, environ={"HOME": str(tmp_path)}, overrides={"models.effort.decision": "none"}
    )

    past = records(started(Effort.LOW), ModelChanged(model=MODEL, effort=Effort.HIGH))
    assert dict(find_former_efforts(loaded, past, (MODEL, "a/b"))) == {MODEL: Effort.NONE, "a/b": Effort.NONE}
