"""An app that takes the place of another one: in a layer over the workspace, or out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.cli.app import AppOptions
from quorum.cli.app.restarting import render_arguments
from quorum.command_line.reading import parse
from quorum.tui.keys.keyed_app import Restart
from tests.support.app_stage import on_stage

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
