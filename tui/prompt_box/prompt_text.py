"""Prompts for the model and commands: a text that was sent as a prompt stays one wherever it comes back."""

from __future__ import annotations

from quorum.tui.agent.memory import parse_memory
from quorum.tui.agent.user_commands import MARK
from quorum.tui.keys.commands import is_built_in, is_command

REFUSAL = f"a prompt begins with neither {MARK}, nor # and a space, nor the name of a command"
"""Why a text is not taken where only a prompt can be."""

_LEAVING_WORDS = frozenset({"exit", "quit", ":q"})


def is_leaving(text: str) -> bool:
    """Whether a whole prompt is a word that leaves shells or editors: a model could do nothing with it."""
    return text.rstrip() in _LEAVING_WORDS


def is_prompt(text: str) -> bool:
    """Whether a text, without the spaces around it, would be sent to the model."""
    text = text.strip()
    return not is_command(text) and not text.startswith(MARK) and parse_memory(text) is None


def escape_command(text: str) -> str:
    """The text as Enter sends it again: with a space before it where it would otherwise be a command of the app
    or the person's, or a line for an instruction file.

    A custom command stays one: it was sent as such.
    """
    means_more = (
        is_leaving(text) or is_built_in(text) or text.startswith(MARK) or parse_memory(text) is not None
    )
    return f" {text}" if means_more else text
