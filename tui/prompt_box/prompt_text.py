"""Prompts for the model and commands: a text that was sent as a prompt stays one wherever it comes back."""

from __future__ import annotations

from tui.agent.user_commands import MARK
from tui.keys.commands import is_built_in, is_command

REFUSAL = f"a prompt begins with neither {MARK} nor the name of a command"
"""Why a text is not taken where only a prompt can be."""


def is_prompt(text: str) -> bool:
    """Whether a text, without the spaces around it, would be sent to the model."""
    return not is_command(text.strip()) and not text.strip().startswith(MARK)


def as_prompt(text: str) -> str:
    """The text as Enter sends it again: with a space before it if a command of the app would be taken for it.

    A custom command stays one: it was sent as such.
    """
    return f" {text}" if is_built_in(text) or text.startswith(MARK) else text
