"""How many models answer: chosen in the app, and what shows it."""

import pytest

from quorum.domain.panel.panel_answer import Consensus, ConsensusLevel
from tests.support.app_stage import on_stage


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_what_was_chosen_stands_behind_the_mode_until_it_is_solo_again(tmp_path, size):
    async with on_stage(tmp_path, size=size) as stage:
        assert "ensemble" not in stage.text()
        await stage.send("/ensemble")
        await stage.shows("ask, ensemble")
        assert stage.agent.consensus.current == Consensus(level=ConsensusLevel.ENSEMBLE)
        await stage.send("/solo")
        await stage.shows("one model answers with its tools")
        assert "ask, ensemble" not in stage.text()


@pytest.mark.long
async def test_a_strategy_is_chosen_for_an_ensemble_and_refused_alone(tmp_path):
    async with on_stage(tmp_path, size=(120, 40)) as stage:
        await stage.send("/strategy debate")
        await stage.shows("do not go together")
        assert stage.agent.consensus.current == Consensus()
        await stage.send("/ensemble")
        await stage.send("/strategy debate")
        await stage.shows("ask, ensemble, debate")


@pytest.mark.long
async def test_the_status_page_says_it_too(tmp_path):
    async with on_stage(tmp_path, size=(100, 40)) as stage:
        await stage.send("/ensemble")
        await stage.send("/status")
        await stage.shows("Consensus")
        assert "ensemble" in stage.text()


async def test_a_session_of_another_kind_says_why_it_cannot_be_chosen(tmp_path):
    async with on_stage(tmp_path, size=(100, 40)) as stage:
        stage.agent.consensus.refusal = "this session is for /ask"
        await stage.send("/ensemble")
        await stage.shows("this session is for /ask")
