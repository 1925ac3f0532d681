"""What can be typed after a slash. Each command is an action, so that keys and palette share it."""

from __future__ import annotations

from typing import NamedTuple

CYCLED_MODES = ("ask", "accept-edits", "quorum", "read-only")
"""The review modes that Shift+Tab goes through."""

MODES = (*CYCLED_MODES, "auto")
"""All review modes. In `auto` nothing is asked, so that it takes a command."""


class Command(NamedTuple):
    """One command. `takes` names its argument and the words it may be; `counts`: it may take a number;
    `names`: it may take whatever is called so.
    """

    name: str
    does: str
    action: str
    takes: tuple[str, tuple[str, ...]] | None = None
    counts: bool = False
    names: str = ""

    @property
    def usage(self) -> str:
        """How it is typed."""
        argument = self.takes[0] if self.takes else "[N]" if self.counts else self.names and f"[{self.names}]"
        return f"/{self.name} {argument}".strip()


COMMANDS = (
    Command("help", "Show keys and commands", "app.show_help"),
    Command("mode", "ask, accept-edits, quorum, read-only or auto", "set_mode", ("MODE", MODES)),
    Command("model", "Choose the model, or name it", "choose_model", names="PROVIDER/MODEL"),
    Command("retry", "Go on where a failed or interrupted turn stopped", "go_on"),
    Command("cost", "Tokens and cost of this session", "show_cost"),
    Command("clear", "Clear the screen; the conversation goes on", "clear_transcript"),
    Command("fold", "Open or close all details", "app.toggle_fold"),
    Command("output", "Read the latest stored output, or the Nth latest", "open_output", counts=True),
    Command("theme", "Choose the colours", "app.change_theme"),
    Command("quit", "Leave", "app.quit"),
)


class NotACommand(ValueError):
    """What was typed is no command; the text says so and names the nearest one."""


def all_actions() -> list[tuple[str, str, str]]:
    """Title, meaning and action of every command, once for each word it takes."""
    return [
        (f"/{c.name} {word}".strip(), c.does, f"{c.action}({word!r})" if word else c.action)
        for c in COMMANDS
        for word in (c.takes[1] if c.takes else ("",))
    ]


def is_command(text: str) -> bool:
    """Whether a prompt is meant as a command: one line, and its first word no path."""
    word = text.strip().partition(" ")[0]
    return word.startswith("/") and "/" not in word[1:] and "\n" not in text.strip()


def action_for(text: str) -> str:
    """The action that a typed command stands for. Raises NotACommand."""
    word, _, argument = text.strip()[1:].partition(" ")
    argument = argument.strip()
    command = next((c for c in COMMANDS if c.name == word), None)
    if command is None:
        raise NotACommand(f"there is no command /{word}; {_nearest(word, [c.name for c in COMMANDS], '/')}")
    if command.counts and argument:
        if not argument.isdecimal() or int(argument) < 1:
            raise NotACommand(f"/{word} takes a number from 1 on, 1 being the latest")
        return f"{command.action}({int(argument)})"
    if command.names and argument:
        return f"{command.action}({argument!r})"
    if command.takes is None:
        if argument:
            raise NotACommand(f"/{word} takes nothing after it")
        return command.action
    if argument not in command.takes[1]:
        raise NotACommand(f"/{word} needs one of {', '.join(command.takes[1])}")
    return f"{command.action}({argument!r})"


def _nearest(word: str, known: list[str], prefix: str) -> str:
    from difflib import get_close_matches

    if near := get_close_matches(word, known, n=1, cutoff=0.5):
        return f"the nearest is {prefix}{near[0]}"
    return "there are " + ", ".join(prefix + name for name in known)
