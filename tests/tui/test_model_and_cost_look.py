"""How choosing a model, waiting for one and paying for one look, as pictures that are reviewed like code."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.conversation.response import Usage
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.tui.app.app import QuorumApp
from quorum.tui.screens.model_picker import ModelPicker
from tests.support.app_stage import Clock, Stage
from tests.support.fake_agent import FakeAgent, composing
from tests.support.no_folder import NO_FOLDER, NO_HOME
from tests.tui.test_retry_and_continue import counted, spends

LISTED = {
    "anthropic": ("anthropic/claude-opus-5", "anthropic/claude-sonnet-5-5", "anthropic/claude-haiku-5"),
    "openai": ProviderError(
        "provider openai has no key: set the environment variable OPENAI_API_KEY or name another one",
        kind=ProviderErrorKind.CONFIGURATION,
    ),
    "ollama": ("ollama/qwen3:8b", "ollama/llama4:scout", "ollama/gpt-oss:20b"),
    "offline": ("offline/offline",),
}
SPENT = Usage(input=1_200, output=1_150, cache_read=11_000, cache_write=100, reasoning=640)


def an_app(box: list[FakeAgent], *scenes) -> QuorumApp:
    compose = composing(box, *scenes, model="anthropic/claude-sonnet-5-5")
    return QuorumApp(compose, cwd=Path(NO_FOLDER), clock=Clock())


def test_the_picker_looks_like_its_picture(snap_compare, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", NO_HOME)
    box: list[FakeAgent] = []
    app = an_app(box)

    async def pick(pilot) -> None:
        stage = Stage(app, pilot, box)
        await stage.shows("claude-sonnet-5-5")
        box[-1].listed = LISTED
        await stage.send("/model")
        await stage.until(lambda: isinstance(app.screen, ModelPicker) and app.screen.is_mounted)
        await stage.shows("gpt-oss")
        await pilot.press("down")

    assert snap_compare(app, terminal_size=(80, 24), run_before=pick)


@pytest.mark.long
def test_the_costs_look_like_their_picture(snap_compare, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", NO_HOME)
    box: list[FakeAgent] = []
    dear, cheap = "anthropic/claude-sonnet-5-5", "ollama/qwen3:8b-instruct-q4_K_M"
    first, second = (
        spends(counted(dear, SPENT, "0.25")),
        spends(counted(dear, SPENT, "1"), counted(cheap, SPENT)),
    )
    app = an_app(box, first, second)

    async def pay(pilot) -> None:
        stage = Stage(app, pilot, box)
        await stage.shows("claude-sonnet-5-5")
        for turn in (1, 2):
            await stage.send("go on")
            await stage.until(lambda turn=turn: len(box[-1].reports) == turn)
        await stage.shows("$1.25")
        await stage.send("/cost")
        await stage.shows("No price is known")

    assert snap_compare(app, terminal_size=(80, 24), run_before=pay)
