"""Tells of the app outside of its screen: the terminal's title, the bell, and notifications of the desktop.

A notification names the tool and the folder, never anything a model has said.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from textual.app import App

from quorum.domain.text.printable import make_printable

Mark: TypeAlias = Literal["", "●", "!"]
"""`●`: a turn runs; `!`: an answer is needed."""

_LONGEST = 60


class TerminalTitle:
    """Names the folder in the title, with a mark in front, from `begin` to `end`."""

    def __init__(self, app: App[None], cwd: Path) -> None:
        self._app = app
        self._name = clean_title(cwd.name or str(cwd))
        self._mark: Mark = ""
        self._is_ours = False

    def begin(self) -> None:
        """Have the terminal remember its present title, and set ours; once, until `end`."""
        if not self._is_ours:
            self._is_ours = True
            write_to_terminal(self._app, "\x1b[22;2t")
            write_to_terminal(self._app, self._build_sequence())

    def show(self, mark: Mark) -> None:
        """Put this mark in front of the folder's name."""
        if mark != self._mark:
            self._mark = mark
            if self._is_ours:
                write_to_terminal(self._app, self._build_sequence())

    def end(self) -> None:
        """Bring back the title from before."""
        if self._is_ours:
            self._is_ours = False
            write_to_terminal(self._app, "\x1b[23;2t")

    def _build_sequence(self) -> str:
        return f"\x1b]2;{self._mark}{' ' if self._mark else ''}{self._name} · quorum\x07"


def write_to_terminal(app: App[None], sequence: str) -> None:
    """Write what Textual has no call of its own for."""
    driver = app._driver
    if driver is not None and not app.is_headless:
        driver.write(sequence)


def clean_title(text: str) -> str:
    """A name as it may stand in a title or a notification: printable, on one line, and not long."""
    safe = make_printable(text, newlines=False)
    return safe if len(safe) <= _LONGEST else safe[: _LONGEST - 1] + "…"


NotifyBy: TypeAlias = Literal["auto", "bell", "desktop"]
"""`auto`: of the desktop where the terminal is known to show them and to report its focus, else the bell."""

_Form: TypeAlias = Literal["9", "777", "99", ""]

# What terminals put into the environment of what runs in them, and which sequence each understands.
_BY_PROGRAM: Mapping[str, _Form] = {"iTerm.app": "9", "ghostty": "777", "WezTerm": "777", "rio": "777"}
_BY_TERM: Mapping[str, _Form] = {
    "xterm-kitty": "99",
    "foot": "777",
    "foot-extra": "777",
    "xterm-ghostty": "777",
}
_BY_VARIABLE: Mapping[str, _Form] = {
    "KITTY_WINDOW_ID": "99",
    "GHOSTTY_RESOURCES_DIR": "777",
    "WEZTERM_PANE": "777",
    "ITERM_SESSION_ID": "9",
    "VTE_VERSION": "777",
}


class Notifier:
    """Calls for attention unless the person is known to look at the terminal.

    `wanted` and `by` are settings. Which terminal it is, is read from `environ`.
    """

    def __init__(self, app: App[None], cwd: Path, environ: Mapping[str, str] | None = None) -> None:
        self.wanted = True
        self.by: NotifyBy = "auto"
        self._app = app
        self._folder = clean_title(cwd.name or str(cwd))
        self._environ = os.environ if environ is None else environ
        self._focus_is_known = False

    def note_focus(self) -> None:
        """The terminal tells when it gains and loses the focus: from now on what it said last is believed."""
        self._focus_is_known = True

    def notify_question(self, tool: str) -> None:
        """A question waits for the person; `tool` is the name of the one it is about, or empty."""
        from quorum.domain.calls.server_tools import format_tool_name  # not before the first paint

        name = clean_title(format_tool_name(tool))
        self._call(f"{name} needs your answer" if tool else "your answer is needed")

    def notify_turn_end(self) -> None:
        """A long turn is over."""
        self._call("the turn has ended")

    def _call(self, what: str) -> None:
        if not self.wanted or (self._focus_is_known and self._app.app_focus):
            return
        text = f"{what} · {self._folder}"
        sequence = "" if self.by == "bell" else encode_notification(text, self._environ)
        # Where nobody knows whether the person looks, a message over what they do would be too much by itself.
        if sequence and (self._focus_is_known or self.by == "desktop"):
            write_to_terminal(self._app, sequence)
            if "TMUX" not in self._environ:  # its own mark at the window comes from the bell
                return
        self._app.bell()


def encode_notification(text: str, environ: Mapping[str, str]) -> str:
    """The sequence that has this terminal show a notification; empty where none is known to do so."""
    safe = text.replace(";", ",")
    match _choose_form(environ):
        case "9":
            sequence = f"\x1b]9;{safe}\x07"
        case "777":
            sequence = f"\x1b]777;notify;quorum;{safe}\x07"
        case "99":  # the terminal itself leaves it out while it has the focus
            sequence = f"\x1b]99;i=quorum:o=unfocused;quorum: {safe}\x1b\\"
        case _:
            return ""
    if "TMUX" in environ:  # it passes on what is wrapped like this, if its option allow-passthrough is on
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    return sequence


def _choose_form(environ: Mapping[str, str]) -> _Form:
    if "STY" in environ:  # GNU screen shows what it does not know as text
        return ""
    for known, name in ((_BY_PROGRAM, "TERM_PROGRAM"), (_BY_PROGRAM, "LC_TERMINAL"), (_BY_TERM, "TERM")):
        if form := known.get(environ.get(name, "")):
            return form
    if environ.get("LC_TERMINAL") == "iTerm2":
        return "9"
    return next((form for name, form in _BY_VARIABLE.items() if environ.get(name)), "")
