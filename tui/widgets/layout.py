"""Layouts: which parts of the chat are there and where they stand, by the room there is.

This module decides; the stylesheet does the rest by the classes it names.
"""

from __future__ import annotations

from typing import NamedTuple

from textual.geometry import Size

ROOMY = 140
"""The least width of a screen, in cells, that has room for the panel beside the transcript."""

WIDE = 160
"""The width, in cells, from which the panel gets more of it."""

_LEAST_STACKED = 20
_LEAST_FOR_HEADER = 30
_LEAST_WIDTH, _LEAST_HEIGHT = 60, 14
_SMALLEST = Size(20, 5)

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


def arrange(wish: str, size: Size, *, plain: bool = False) -> Arrangement:
    """The arrangement for a screen of this size. `plain`: one column from top to bottom and nothing else."""
    too_small = size.width < _SMALLEST.width or size.height < _SMALLEST.height
    name = "minimal" if plain else _choose_fitting(size) if wish == "auto" else wish
    joined = name == "minimal" or size.height < _LEAST_FOR_HEADER
    return Arrangement(name, _explain_no_panel(name, wish, size, plain=plain), too_small, joined)


def _explain_no_panel(name: str, wish: str, size: Size, *, plain: bool) -> str:
    if plain:
        return "a screen reader reads one column: no side panel"
    if name == "minimal":
        at = f", used at {size.width}x{size.height}," if wish == "auto" else ""
        return f"the minimal layout{at} has no side panel"
    if name == "stacked":
        few = f"the side panel needs {_LEAST_STACKED} lines; here are {size.height}"
        return few if size.height < _LEAST_STACKED else ""
    narrow = f"the side panel needs {ROOMY} columns; here are {size.width}"
    return narrow if size.width < ROOMY else ""


def _choose_fitting(size: Size) -> str:
    if size.width < _LEAST_WIDTH or size.height < _LEAST_HEIGHT:
        return "minimal"
    if size.width >= WIDE:
        return "wide"
    return "default"
