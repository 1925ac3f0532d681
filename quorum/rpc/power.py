"""What a client of the remote control may do: everything but approving, and with the token that too.

Actions of the app that loosen reviews take approval, and some never come over the socket. An action that is
neither named here nor free by its slash command takes approval: it has to be thought about first.
"""

from __future__ import annotations

import ast
import hmac
import json
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Input, OptionList, TextArea

from quorum.domain.review.mode import Mode
from quorum.rpc.json_rpc import JsonParams, build_invalid_params, make_refusal
from quorum.tui.agent.turns import parse_memory
from quorum.tui.keys.slash_commands import COMMANDS, PLAN_WORDS, NotACommand, find_action, is_command

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


_OWN_COMMAND = "!"


def find_risk(text: str, *, typed: bool = False) -> str:
    """What of a text takes approval, as the subject of a sentence; empty where nothing does.

    `typed`: it was typed key by key, and a menu may make another command of it than it says.
    """
    if parse_memory(text) is not None:
        return "a line for an instruction file, after a #,"
    text = text.strip()
    if text.startswith(_OWN_COMMAND):
        return "a command of your own, after a !,"
    if not is_command(text):
        return ""
    if typed:
        return "a command that is typed key by key"
    try:
        power = find_power(find_action(text))
    except NotACommand:
        return ""  # none of the app's: it is refused, or a custom command, which is a prompt
    if power == "never":
        raise make_refusal("it would hand the terminal to another program", "suppressed")
    return text.partition(" ")[0] if power == "approval" else ""


TOKEN = "token"
"""The parameter that carries the token."""


@dataclass(frozen=True, slots=True)
class Hand:
    """Who asks. `may_approve`: they have shown the token; `lacks` says, where not, what it would take."""

    may_approve: bool
    lacks: str = ""

    def demand(self, what: str) -> None:
        """Refuse, unless they may approve. `what` is what was asked for, as the subject of a sentence."""
        if not self.may_approve:
            raise make_refusal(f"{what} takes approval: {self.lacks}", "needs_approval")


class RemoteApproval:
    """Tells a hand that may approve from one that may not. Without a token none may."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    @property
    def is_on(self) -> bool:
        """Whether anybody may approve over the socket."""
        return self._token is not None

    def hand(self, params: JsonParams) -> Hand:
        """Who made a request with these parameters. Raises RpcError for a token that is wrong or misplaced."""
        given = params.get(TOKEN)
        if self._token is None:
            return Hand(False, "quorum was started without --listen-approve; do it at the keyboard")
        others = {name: value for name, value in params.items() if name != TOKEN}
        if self._token in json.dumps(others, ensure_ascii=False):
            raise build_invalid_params(
                f"the token stands in another parameter than {TOKEN!r}; nothing was done with it"
            )
        if given is None:
            return Hand(False, f"say the {TOKEN!r} that was handed over at the start")
        if not isinstance(given, str) or not hmac.compare_digest(given.encode(), self._token.encode()):
            raise make_refusal("this is not the token that was handed over at the start", "wrong_token")
        return Hand(True)
