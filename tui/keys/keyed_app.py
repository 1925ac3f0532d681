"""An app whose settings and keys a person may change while it runs, and hints that name its present keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.app import App

if TYPE_CHECKING:
    from quorum.domain.settings import TuiTable
    from quorum.tui.agent.services import OpenLocalServers, OpenSettings, OpenWorktrees


class Restart(NamedTuple):
    """The app that takes the place of this one: in which `mode` it begins, and with which `session`; empty:
    with what the command line names."""

    mode: str
    session: str = ""


class KeyedApp(App[None]):
    """Every key has a name in its binding; `keymap` has those with others than usual, as Textual takes them.

    `open_settings` opens the settings and their files, where there are some.
    """

    keymap: Mapping[str, str] = {}
    open_settings: OpenSettings | None = None

    open_local_servers: OpenLocalServers | None = None
    """Opens what asks servers of models on this machine and writes settings for one; None: nothing does."""

    offers_server_first: bool = False
    """Whether a first prompt waits for the answer where a server of models is found and no model is chosen."""

    open_worktrees: OpenWorktrees | None = None
    """Opens the worktrees of the repository around a folder; None: tabs all work in the same folder."""

    find_layer_obstacle: Callable[[], str] = staticmethod(lambda: "")
    """Why no layer can be over the workspace, a clause; empty where one can. Blocks."""

    restart: Restart | None = None
    """What takes the place of this app, once it has ended."""

    carried: bytes = b""
    """What that app takes over from this one."""

    @cached_property
    def settings(self) -> TuiTable:
        """The table `[tui]` as it was loaded, with what the person has changed since."""
        from quorum.domain.settings import TuiTable  # after the first frame

        return TuiTable()

    def explain_staying(self, mode: str) -> str:
        """Why no other app can take the place of this one as it is, in this mode; empty where one can."""
        return f"quorum cannot begin anew here; start it with --mode {mode}"

    def begin_anew(self, restart: Restart) -> None:
        """End, and have another app take the place of this one, with its tabs and all that stands in them."""
        raise NotImplementedError

    def rebind(self, wishes: Mapping[str, str | Sequence[str]]) -> None:
        """Have these keys, by the names of what they do, all others as usual. What cannot be is left out."""
        if wishes or self.keymap:
            from quorum.tui.keys.keymap import build_keymap

            self.keymap = build_keymap(wishes)
            self.set_keymap(self.keymap)


def does_enter_steer(app: App[Any]) -> bool:
    """Whether Enter steers a running turn with a prompt, instead of queueing it."""
    return isinstance(app, KeyedApp) and app.settings.enter_while_running == "steer"


def offers_server_first(app: App[Any]) -> bool:
    """Whether a server of models that is found is offered before a first prompt that no model would read."""
    return isinstance(app, KeyedApp) and app.offers_server_first


READER = "-reader"
"""The class of the app while it is made for a screen reader."""


def choose_sign(app: App[Any], sign: str, words: str = "") -> str:
    """A sign; for a screen reader, which would read its name out, the words for it."""
    return words if app.has_class(READER) else sign


_ARROWS = {
    "↑ ↓": "up and down",
    "↑↓": "up and down",
    "← →": "left and right",
    "←→": "left and right",
    "↑": "up",
    "↓": "down",
    "←": "left",
    "→": "right",
}

_KEY = re.compile(r"\{(\w+)=([^}]+)\}")


def fill_in_keys(hint: str, app: App[object]) -> str:
    """A hint such as `{palette=ctrl+p} commands`: what does it by its name, and the key it usually has.

    For a screen reader arrows are words.
    """
    keymap = app.keymap if isinstance(app, KeyedApp) else {}
    filled = fill_in_usual_keys(hint)
    if keymap:
        from quorum.tui.keys.keymap import label_key

        filled = _KEY.sub(
            lambda key: label_key(keymap[key[1]].split(",")[0]) if key[1] in keymap else key[2], hint
        )
    for sign, words in _ARROWS.items() if app.has_class(READER) else ():
        filled = filled.replace(sign, words)
    return filled


def fill_in_usual_keys(hint: str) -> str:
    """The same with the keys that everybody has at first."""
    return _KEY.sub(r"\2", hint)
