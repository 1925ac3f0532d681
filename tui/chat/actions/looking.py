"""What commands show of the settings, the rules and the model's window."""

from __future__ import annotations

from tui.chat.actions.base import ChatActions
from tui.keys.keyed_app import KeyedApp


class LookingActions(ChatActions):
    """The part of the chat that opens rooms to look around in."""

    def action_show_config(self, query: str = "") -> None:
        """Show all settings, those first that fit the query."""
        from domain.errors import QuorumError
        from tui.settings.screen import SettingsScreen

        open_settings = self.app.open_settings if isinstance(self.app, KeyedApp) else None
        if open_settings is None:
            self.say("there are no settings here")
            return
        try:
            self.app.push_screen(SettingsScreen(open_settings(), self.session, query))
        except QuorumError as error:
            self.tell(str(error))

    def action_show_permissions(self) -> None:
        """Show the rules about calls."""
        if (session := self._begun("look at the rules")) is not None:
            self.app.push_screen(session.permissions())

    def action_show_context(self) -> None:
        """Show what fills the model's window."""
        if (session := self._begun("look at the context")) is not None:
            self.app.push_screen(session.context_screen())
