"""What stands in the place of a question where the window is too small to read it in."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen
from textual.widgets import Static

from quorum.tui.keys.keyboard_guard import CRAMPED_CLASS

_LEAST_WIDTH, _LEAST_HEIGHT = 36, 9


class Cramped(Static):
    """Says what to do. It is seen in place of everything else as long as its screen is too small."""

    SCOPED_CSS = False  # it is about its neighbours
    DEFAULT_CSS = """
    Cramped { display: none; width: 100%; background: $surface; color: $text-warning; }
    ModalScreen.-cramped > * { display: none; }
    ModalScreen.-cramped > Cramped { display: block; }
    """

    def __init__(self) -> None:
        super().__init__("! too small a window for this question: enlarge it, or esc", markup=False)


def is_cramped(screen: Screen[Any]) -> bool:
    """Whether the question cannot be read, and no answer but to leave it may be given."""
    return screen.has_class(CRAMPED_CLASS)


def fit_to_screen(screen: Screen[Any]) -> bool:
    """Go by the size there is now; whether the question has come into sight by that."""
    width, height = screen.app.size
    was, now = is_cramped(screen), width < _LEAST_WIDTH or height < _LEAST_HEIGHT
    screen.set_class(now, CRAMPED_CLASS)
    return was and not now
