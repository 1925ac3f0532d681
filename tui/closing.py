"""How screens close: once, and no other than themselves."""

from __future__ import annotations

from typing import Any

from textual.await_complete import AwaitComplete
from textual.screen import Screen


class ClosesItself:
    """A screen that can be told to close at any time, also twice and also while another covers it."""

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Close, if it is on top. Otherwise nothing happens: Textual would close what is on top instead."""
        assert isinstance(self, Screen)
        if self.app.screen is not self:
            return AwaitComplete()
        return Screen.dismiss(self, result)
