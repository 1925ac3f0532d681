from __future__ import annotations

from pathlib import Path

import pytest

from quorum.command_line.reading import parse
from quorum.domain.panel.panel_answer import ConsensusLevel, Strategy
from quorum.domain.plan.plan import PhaseScope
from quorum.domain.review.mode import Mode
from quorum.tui.keys.choices import (
    CONSENSUS_LEVELS,
    CYCLED_MODES,
    MODE_MEANINGS,
    MODES,
    SCOPES,
    STRATEGIES,
    WARNINGS,
    describe_reviews,
    find_warning,
)

DOCS = Path(__file__).parents[2] / "docs"


def test_the_front_end_knows_every_mode() -> None:
    assert set(MODES) == set(Mode)
    assert len(MODES) == len(set(MODES))


def test_what_a_mode_means_fits_beside_its_name_in_a_terminal_of_80_columns() -> None:
    assert [meaning for meaning in MODE_MEANINGS if len(meaning) > 62] == []


def test_shift_tab_goes_through_the_modes_that_are_meant_for_it() -> None:
    assert set(CYCLED_MODES) == {mode for mode in Mode if mode.traits.in_cycle}


def test_the_header_warns_of_the_modes_that_have_a_warning() -> None:
    assert {mode.value: mode.traits.warning for mode in Mode if mode.traits.warning} == WARNINGS


def test_a_mode_is_as_loud_where_several_models_answer() -> None:
    assert find_warning("auto, ensemble") == find_warning("auto") != ""


def test_the_start_screen_has_a_sentence_of_its_own_for_every_mode() -> None:
    assert (
        len({describe_reviews(mode, "sandbox on") for mode in Mode} | {describe_reviews("", "")})
        == len(Mode) + 1
    )


@pytest.mark.parametrize("mode", Mode)
def test_the_command_line_takes_every_mode(mode: Mode) -> None:
    assert parse(["--mode", mode]).options.overrides == {"review.mode": mode}


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("page", ["review.md", "getting-started.md", "headless.md", "configuration.md"])
def test_the_pages_about_modes_name_every_mode(page: str, mode: Mode) -> None:
    assert mode in (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", Mode)
def test_a_mode_is_as_strict_as_itself_and_as_no_mode_of_its_rank(mode: Mode) -> None:
    assert mode.is_as_strict_as(mode)
    equals = [other for other in Mode if other is not mode and other.traits.rank == mode.traits.rank]
    assert not any(mode.is_as_strict_as(other) for other in equals)


def test_the_modes_are_listed_with_the_strictest_first() -> None:
    assert sorted(Mode, key=lambda mode: mode.traits.rank) == list(Mode)


def test_the_front_end_knows_every_level_of_consensus() -> None:
    assert tuple(ConsensusLevel) == CONSENSUS_LEVELS


def test_the_front_end_knows_every_scope() -> None:
    assert set(PhaseScope) == set(SCOPES)


def test_the_front_end_knows_every_strategy() -> None:
    assert tuple(Strategy) == STRATEGIES


@pytest.mark.parametrize("strategy", Strategy)
def test_the_command_line_takes_every_strategy(strategy: Strategy) -> None:
    assert parse(["--strategy", strategy]).options.overrides == {"agent.strategy": strategy}


@pytest.mark.parametrize("level", ConsensusLevel)
def test_the_command_line_takes_every_level_of_consensus(level: ConsensusLevel) -> None:
    assert parse(["--consensus", level]).options.overrides == {"agent.consensus_level": level}
    assert parse(["run", "--consensus", level, "x"]).options.overrides == {"agent.consensus_level": level}
