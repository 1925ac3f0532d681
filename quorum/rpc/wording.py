"""What a text would do if it were sent: a prompt is free, a command may take approval."""

from __future__ import annotations

from quorum.rpc.json_rpc import make_refusal
from quorum.rpc.power import find_power
from quorum.tui.agent.memory import parse_memory
from quorum.tui.keys.slash_commands import NotACommand, find_action, is_command

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
