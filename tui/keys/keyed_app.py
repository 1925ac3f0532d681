"""An app whose settings and keys a person may change while it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from textual.app import App

if TYPE_CHECKING:
    from quorum.tui.agent.services import OpenLocalServers, OpenSettings, OpenWorktrees


class KeyedApp(App[None]):
    """Every key has a name in its binding; `keymap` has those with others than usual, as Textual takes them.

    `open_settings` opens the settings and their files, where there are some.
    """

    keymap: Mapping[str, str] = {}
    editing: str = "emacs"
    """How the prompt is edited: by the keys of Emacs, or with the modes of Vim (`vim`)."""

    enter_while_running: str = "queue"
    """What Enter does with a prompt while a turn runs: `queue` it, or `steer` the turn with it."""

    mark_approve_for_edits = False
    """Whether approve is the marked choice in the review of an edit that only the mode asks about."""

    open_settings: OpenSettings | None = None

    open_local_servers: OpenLocalServers | None = None
    """Opens what asks servers of models on this machine and writes settings for one; None: nothing does."""

    open_worktrees: OpenWorktrees | None = None
    """Opens the worktrees of the repository around a folder; None: tabs all work in the same folder."""

    def rebind(self, wishes: Mapping[str, str | Sequence[str]]) -> None:
        """Have these keys, by the names of what they do, all others as usual. What cannot be is left out."""
        if wishes or self.keymap:
            from quorum.tui.keys.keymap import build_keymap

            self.keymap = build_keymap(wishes)
            self.set_keymap(self.keymap)


def does_enter_steer(app: App[Any]) -> bool:
    """Whether Enter steers a running turn with a prompt, instead of queueing it."""
    return isinstance(app, KeyedApp) and app.enter_while_running == "steer"
