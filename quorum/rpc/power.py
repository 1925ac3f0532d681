"""Which actions of the app loosen reviews, and so take approval, and which never come over the socket.

An action that is neither named here nor free by its slash command takes approval: it has to be thought about
first.
"""

from __future__ import annotations

import ast
import re
from typing import Literal, TypeAlias

from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Input, OptionList, TextArea

from quorum.domain.review.mode import Mode
from quorum.tui.keys.slash_commands import COMMANDS
from quorum.tui.session.plan_words import PLAN_WORDS

Power: TypeAlias = Literal["free", "approval", "never"]

SUPPRESSED = frozenset({"suspend_process", "edit_outside", "begin_chord"})
"""They hand the terminal to another program, which the client would neither see nor be able to leave."""

CAREFUL_MODES = frozenset(mode.value for mode in Mode if mode.traits.asks_first)
"""The modes in which nothing risky runs that no person has approved, but for what rules allow."""

_ACTION = re.compile(r"(?:[a-z_]+\.)?(?P<name>\w+)(?P<given>\(.*\))?", re.DOTALL)
_FREE = frozenset(
    (
        *(found["name"] for each in COMMANDS if each.is_free and (found := _ACTION.fullmatch(each.action))),
        # keys of the app and of its chat
        *("turn_tab", "go_to_tab", "copy_or_stop", "scroll_transcript", "redraw", "interrupt", "toggle_panel"),
        *("background_or_panel", "paste_image", "end_of_input", "close", "help_quit"),
        *("open_timeline", "set_theme", "show_subagent"),
        # keys of the prompt; what is sent is looked at as well
        *("submit", "new_line", "older", "newer", "delete_or_leave", "complete", "search_history"),
    )
)
_FREE_WITHOUT_WORDS = frozenset({"export", "show_mcp", "show_language_servers"})
"""A word behind them names a file to write, or a server to start. Without one, an export is a new file with a
name of its own, and the servers are listed."""

_MOVING = frozenset(
    binding.action
    for widget in (Input, TextArea, OptionList, VerticalScroll)
    for binding in Binding.make_bindings(widget.BINDINGS)
)


def find_power(action: str) -> Power:
    """What an action takes, as bindings and commands write it: `name`, `app.name` or `name(arguments)`."""
    found = _ACTION.fullmatch(action)
    if found is None:
        return "approval"
    name = found["name"]
    if name in SUPPRESSED:
        return "never"
    if name in _FREE_WITHOUT_WORDS and found["given"]:
        return "approval"
    if (
        name == "plan"
    ):  # to leave plan mode, as it does without words there, or to withdraw a plan lets more run
        words = str(_get_only_word(found["given"]) or "").strip()
        return "approval" if not words or words in PLAN_WORDS else "free"
    if name == "choose_scope":  # any but this one may leave a plan off, or have no model look at it
        return "free" if _get_only_word(found["given"]) == "plan-only" else "approval"
    if name == "show_config":  # with a value it writes a file that later sessions go by
        return "approval" if " " in str(_get_only_word(found["given"]) or "").strip() else "free"
    if name == "set_mode":
        return "free" if _get_only_word(found["given"]) in CAREFUL_MODES else "approval"
    return "free" if name in _FREE or action in _MOVING else "approval"


def _get_only_word(given: str | None) -> object:
    try:
        return ast.literal_eval(given) if given else None
    except (ValueError, SyntaxError):
        return None
