"""Layouts: which parts of the chat are there and where they stand, by the room there is.

This module decides; the stylesheet does the rest by the classes it names.
"""

from __future__ import annotations

from typing import NamedTuple

ROOMY = 140
"""The least width of a screen, in cells, that has room for the panel beside the transcript."""

WIDE = 160
"""The width, in cells, from which the panel gets more of it."""

_LEAST_STACKED = 20
_LEAST_FOR_HEADER = 30
_LEAST_WIDTH, _LEAST_HEIGHT = 60, 14
_SMALLEST_WIDTH, _SMALLEST_HEIGHT = 20, 5

CLASSES = ("-default", "-wide", "-stacked", "-minimal")
JOINED = "-joined"
"""The class of a screen on which header and status bar are one line."""


class Arrangement(NamedTuple):
    """What fits. `name` is one of the layouts but `auto`; `no_panel` says why there is no side panel, if there
    is none; `too_small`: not even the prompt has the room it needs; `joined`: lines are so few that the status
    bar says what the header says elsewhere.
    """

    name: str
    no_panel: str = ""
    too_small: bool = False
    joined: bool = False

    @property
    def screen_class(self) -> str:
        """The class by which the stylesheet knows it."""
        return f"-{self.name}"


def arrange(wish: str, size: tuple[int, int], *, plain: bool = False) -> Arrangement:
    """The arrangement for a screen of these columns and lines. `plain`: one column from top to bottom and
    nothing else."""
    width, height = size
    too_small = width < _SMALLEST_WIDTH or height < _SMALLEST_HEIGHT
    name = "minimal" if plain else _choose_fitting(size) if wish == "auto" else wish
    joined = name == "minimal" or height < _LEAST_FOR_HEADER
    return Arrangement(name, _explain_no_panel(name, wish, size, plain=plain), too_small, joined)


def _explain_no_panel(name: str, wish: str, size: tuple[int, int], *, plain: bool) -> str:
    width, height = size
    if plain:
        return "a screen reader reads one column: no side panel"
    if name == "minimal":
        at = f", used at {width}x{height}," if wish == "auto" else ""
        return f"the minimal layout{at} has no side panel"
    if name == "stacked":
        few = f"the side panel needs {_LEAST_STACKED} lines; here are {height}"
        return few if height < _LEAST_STACKED else ""
    narrow = f"the side panel needs {ROOMY} columns; here are {width}"
    return narrow if width < ROOMY else ""


def _choose_fitting(size: tuple[int, int]) -> str:
    width, height = size
    if width < _LEAST_WIDTH or height < _LEAST_HEIGHT:
        return "minimal"
    if width >= WIDE:
        return "wide"
    return "default"


SIGN = " ›"
PLACEHOLDER = "Ask for something, / for commands, @ for files"
STARTING = "starting…"
