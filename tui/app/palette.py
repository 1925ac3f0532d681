"""The palette: every command, key and skill, to be found by typing a part of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import SystemCommand
from textual.command import CommandPalette
from textual.markup import escape
from textual.screen import Screen
from textual.worker import Worker

from quorum.domain.text.printable import make_printable
from quorum.tui.keys.commands import Command, list_actions
from quorum.tui.keys.keyed_app import KeyedApp
from quorum.tui.keys.keymap import list_own_bindings
from quorum.tui.keys.names import label_key
from quorum.tui.widgets.closing import ClosesItself

if TYPE_CHECKING:
    from quorum.domain.instructions.skill import Skill

_LEFT_OUT = ("open_palette", "quit", "show_help", "toggle_fold")


class PaletteScreen(ClosesItself, CommandPalette):
    """Textual's palette, but for what it makes of keys that come at once."""

    def _action_command_list(self, action: str) -> None:
        try:
            super()._action_command_list(action)
        except KeyError:  # Textual's list knows the places of its lines only once it has been drawn
            self.app.bell()

    def run_worker(self, *args: Any, **options: Any) -> Worker[Any]:
        """A search that outlives the palette finds its list no more, which is no reason to end the app."""
        return super().run_worker(*args, **{**options, "exit_on_error": False})


def list_commands(app: KeyedApp, chat: Screen[None]) -> Iterable[SystemCommand]:
    for title, does, action in list_actions():
        yield SystemCommand(title, does, partial(chat.run_action, action))
    for node in (chat, app):
        keys: dict[tuple[str, str], list[str]] = {}
        for binding in list_own_bindings(type(node)):
            if binding.action not in _LEFT_OUT:
                present = app.keymap.get(binding.id or "", binding.key)
                keys.setdefault((binding.description, binding.action), []).extend(present.split(","))
        for (does, action), bound in keys.items():
            shown = ", ".join(map(label_key, dict.fromkeys(bound)))
            yield SystemCommand(does, shown, partial(node.run_action, action))


def list_custom_entries(
    commands: Iterable[Command], skills: Iterable[Skill], begin: Callable[[str], None]
) -> Iterable[SystemCommand]:
    """The custom slash commands and the trusted skills. Chosen, one begins the prompt: nothing is sent before
    the person has seen it there."""
    for command in commands:
        yield SystemCommand(f"/{command.name}", escape(command.does), partial(begin, f"/{command.name} "))
    for skill in skills:
        does = escape(make_printable(skill.description, newlines=False))
        yield SystemCommand(
            f"Use the skill {skill.name}", does, partial(begin, f"Use the skill {skill.name}: ")
        )
