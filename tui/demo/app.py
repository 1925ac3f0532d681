"""The app with a guide in its first tab."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from tui.app.app import QuorumApp
from tui.demo.guide import Guide


class DemoApp(QuorumApp):
    """The real app, led through the tour."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *QuorumApp.BINDINGS,
        Binding("f2", "next_step", "Next step of the tour", priority=True, id="next_step"),
    ]

    def on_mount(self) -> None:
        """The guide is there with the first frame. Textual calls this beside that of the class above."""
        chat = self.chat
        self._guide = Guide(chat.prompt.put)
        self.call_after_refresh(chat.be_guided, self._guide, self._guide.apply)

    def action_next_step(self) -> None:
        """Leave out what the step asks for."""
        self._guide.advance()
