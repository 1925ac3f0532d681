"""Keys that act in the order they were pressed."""

from __future__ import annotations

from textual import events
from textual.widgets import TextArea


class OrderedKeys(TextArea):
    """A text area whose own keys act at once.

    Textual lets letters act when they arrive, but sends the keys of bindings up to the app first: of keys that
    arrive together, as from a paste without brackets or over a slow line, the letters after a Ctrl+U would be
    there before it deletes, and be deleted too.
    """

    async def _on_key(self, event: events.Key) -> None:
        event.prevent_default()
        if await self.takes(event):
            event.stop()
        else:
            await super()._on_key(event)

    async def takes(self, event: events.Key) -> bool:
        """Do what the key is for here; whether it had any use."""
        if event.is_printable:
            return False
        own = (
            self._bindings.copy()
        )  # not those of the focus, which the terminal may have lost since the key was pressed
        own.apply_keymap(self.app._keymap)
        for binding in own.key_to_bindings.get(event.key, ()):
            if not binding.priority and await self.app.run_action(binding.action, self):
                return True
        return False
