"""The choices of every question, in the columns of a narrow terminal."""

from __future__ import annotations

import importlib
import pkgutil
from typing import get_args

import pytest
from textual.app import App, ComposeResult

from quorum.tui import screens
from quorum.tui.screens.question_card import QuestionCard
from quorum.tui.screens.review.choice_bar import ChoiceBar, ReviewOffer, Stage, list_choices

_COLUMNS = 36
"""What is left of forty within border and padding."""

for _module in pkgutil.iter_modules(screens.__path__, f"{screens.__name__}."):
    importlib.import_module(_module.name)
CARDS = {card.__name__: card for card in QuestionCard.__subclasses__()}


class _Bar(App[None]):
    def __init__(self, offers: list[ReviewOffer]) -> None:
        super().__init__()
        self._offers = offers

    def compose(self) -> ComposeResult:
        yield ChoiceBar()

    def on_mount(self) -> None:
        self.query_one(ChoiceBar).show(self._offers, marked=0)


async def draw(offers: list[ReviewOffer]) -> str:
    app = _Bar(offers)
    async with app.run_test(size=(_COLUMNS, 3)):
        return app.query_one(ChoiceBar).render().plain.rstrip()


def test_the_cards_are_found() -> None:
    assert len(CARDS) > 8


@pytest.mark.long(after=1)
@pytest.mark.parametrize("name", CARDS)
async def test_both_choices_of_a_card_fit_in_forty_columns(name: str) -> None:
    drawn = await draw(CARDS[name].list_choices())

    assert len(drawn) <= _COLUMNS
    assert all(words in drawn for _, words in (CARDS[name].REFUSE, CARDS[name].ACCEPT))


@pytest.mark.long(after=1)
@pytest.mark.parametrize("stage", get_args(Stage))
async def test_the_choices_of_a_review_fit_in_forty_columns(stage: Stage) -> None:
    offers = list_choices(
        stage, following=2, can_rule=True, can_accept_edits=True, can_add_folder=True, can_drop=True
    )

    assert len(await draw(offers)) <= _COLUMNS
