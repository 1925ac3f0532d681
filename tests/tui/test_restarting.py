"""An app that takes the place of another one: in a layer over the workspace, or out of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.cli.app import AppOptions
from quorum.cli.app.restarting import render_arguments
from quorum.command_line.reading import parse
from quorum.domain.review.mode import Mode
from quorum.tui.keys.choices import CYCLED_MODES
from quorum.tui.keys.keyed_app import Restart
from tests.support.app_stage import on_stage
from tests.support.fake_agent import FakeAgent
from tests.support.fake_layer import FakeLayer
from tests.tui.test_effects_screen import staged

ROOT = Path("/work")


def read(*words: str) -> AppOptions:
    options = parse(words).options
    assert isinstance(options, AppOptions)
    return options


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--mode", "ask", "do it"),
        ("--continue",),
        ("--resume", "0123abcd", "--fork"),
        ("--resume", "--", "do it"),
        ("-m", "local/a", "-m", "ask=local/b", "--effort", "high", "--max-cost-usd", "0.50"),
        ("--max-tool-turns", "7", "--max-time", "20", "--screen-reader", "--quiet", "--safe", "--debug"),
        ("--config", "/etc/other.toml", "--add-dir", "/library", "--scope", "fast", "--", "-x"),
    ],
)
def test_it_begins_as_the_one_before_but_in_the_other_mode(words: tuple[str, ...]) -> None:
    options = read(*words)

    again = read(*render_arguments(options, ROOT, Restart("staged")))

    assert again.overrides == {**options.overrides, "review.mode": "staged"}
    assert again.workdir == ROOT
    for name in (
        "config_file",
        "add_dirs",
        "models",
        "quiet",
        "safe",
        "debug",
        "continues",
        "resume",
        "fork",
        "prompt",
    ):
        assert getattr(again, name) == getattr(options, name), name


def test_it_continues_the_session_that_the_one_before_had() -> None:
    options = read("--continue", "--fork", "do it")

    again = read(*render_arguments(options, ROOT, Restart("ask", "0123abcd")))

    assert (again.resume, again.continues, again.fork, again.prompt) == ("0123abcd", False, False, None)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("command", ["/stage", "/mode staged"])
async def test_for_the_mode_staged_the_app_ends_and_another_one_takes_its_place(
    tmp_path: Path, command: str
) -> None:
    async with on_stage(tmp_path) as stage:
        stage.app.can_restart = True
        await stage.send(command)
        await stage.until(lambda: stage.app.restart is not None)

        assert stage.app.restart == Restart("staged")


async def test_where_nothing_can_take_its_place_it_stays_and_says_so(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        await stage.send("/stage")
        await stage.shows("quorum cannot begin anew here; start it with --mode staged")

        assert stage.app.restart is None


async def test_outside_of_a_layer_there_is_none_to_leave(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        await stage.send("/unstage")
        await stage.shows("this session works in your folder itself")


async def test_shift_tab_goes_through_the_modes_of_a_layer_and_says_how_to_get_into_one_and_out(
    tmp_path: Path,
) -> None:
    def begin_staged(agent: FakeAgent) -> None:
        agent.mode = Mode.STAGED
        staged(FakeLayer())(agent)

    async with on_stage(tmp_path / "in", prepare=begin_staged) as stage:
        await stage.pilot.press("shift+tab")
        await stage.shows("/unstage goes on in your folder itself")
        assert stage.agent.mode is Mode.READ_ONLY
        await stage.pilot.press("shift+tab")
        await stage.until(lambda: stage.agent.mode is Mode.STAGED)
    async with on_stage(tmp_path / "out") as stage:
        await stage.pilot.press(*["shift+tab"] * (len(CYCLED_MODES) - 1))
        await stage.shows("/stage works in a layer")


@pytest.mark.long
async def test_where_no_layer_can_be_had_the_app_stays_and_says_why(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        stage.app.can_restart = True
        stage.app.find_layer_obstacle = lambda: "the kernel says no"
        await stage.send("/stage")
        await stage.shows("no layer can be had here: the kernel says no")

        assert stage.app.restart is None


@pytest.mark.long
async def test_a_draft_is_kept_for_the_app_that_takes_the_place_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    async with on_stage(tmp_path) as stage:
        stage.app.can_restart = True
        stage.prompt.replace_text("half a draft")
        stage.app.chat.run_worker(stage.app.chat.run_action("stage"))
        await stage.until(lambda: stage.app.restart is not None)

    (kept,) = (tmp_path / "state").rglob("*.json")
    assert json.loads(kept.read_text())["texts"] == ["half a draft"]
