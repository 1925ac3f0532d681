"""How screens close: once, and no other than themselves."""

from __future__ import annotations

from typing import Any

from textual.await_complete import AwaitComplete
from textual.screen import Screen


class ClosesItself:
    """A screen that can be closed at any time, also twice and also while another covers it."""

    _closes_in_sight: tuple[Any] | None = None

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Close, if it is on top: Textual would close what is on top instead.

        In a tab behind it closes when it is on top there again; covered in the one in front it stays.
        """
        assert isinstance(self, Screen)
        if self.app.screen is self:
            return Screen.dismiss(self, result)
        behind = (stack for stack in self.app._screen_stacks.values() if self.app.screen not in stack)
        if any(self in stack for stack in behind):
            self._closes_in_sight = (result,)
        return AwaitComplete()

    def on_screen_resume(self) -> None:
        """Come into sight: close, if that was to be."""
        if self._closes_in_sight is not None:
            (result,), self._closes_in_sight = self._closes_in_sight, None
            self.dismiss(result)
