from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import pytest
from textual.screen import Screen

import quorum.tui
from quorum.rpc.panes import SCREEN_NAMES, name_of_screen
from quorum.tui.app.app import PaletteScreen
from quorum.tui.screens.help import HelpScreen


def screens_of_the_app() -> set[str]:
    for module in pkgutil.walk_packages(quorum.tui.__path__, "quorum.tui."):
        import_module(module.name)
    return {kind.__name__ for kind in below(Screen) if kind.__module__.startswith("quorum.tui.")}


def below(kind: type[Any]) -> set[type[Any]]:
    return {kind, *(each for inner in kind.__subclasses__() for each in below(inner))}


def test_every_screen_that_can_be_open_has_a_name_of_its_own() -> None:
    bases = {
        "AccountSheet",
        "DrawnOnce",
        "EditsCall",
        "FilePlanScreen",
        "KeepsPlace",
        "QuestionCard",
        "_ScrollsCall",
        "SeeThroughScreen",
    }

    assert screens_of_the_app() - bases == set(SCREEN_NAMES)
    assert len(set(SCREEN_NAMES.values())) == len(SCREEN_NAMES)


@pytest.mark.parametrize(("kind", "name"), [(HelpScreen, "help"), (PaletteScreen, "palette")])
def test_a_class_made_of_a_screen_has_its_name(kind: type[Screen[Any]], name: str) -> None:
    class Other(kind):  # type: ignore[misc, valid-type]
        """As an app that embeds the screen may have it."""

    assert name_of_screen(Other.__new__(Other)) == name


def test_an_unknown_screen_is_another() -> None:
    assert name_of_screen(Screen.__new__(Screen)) == "other"
