"""The terminal before the full-screen app is loaded: whether it is fit, and what is shown there meanwhile.

What the environment says for Textual is taken from it here. Nothing heavy is imported with this module.
"""

from __future__ import annotations

import os
import sys
from codecs import lookup
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from quorum.errors import UsageError

if TYPE_CHECKING:
    from quorum.tui.terminal.early_prompt import EarlyPrompt


@contextmanager
def take_terminal(
    *,
    headless: bool = False,
    is_tour: bool = False,
    overrides: Mapping[str, object] | None = None,
    root: str = "",
    carried: bytes = b"",
) -> Iterator[EarlyPrompt | None]:
    """Show a prompt that takes keys, if the app is to have a terminal, and give that back if the app did not
    come to take it. None where the app is the first to show something. `overrides` are settings by dotted key,
    `root` is the folder of the project where it is not the working directory. Where something is `carried` from
    an app before this one, what that left on the screen stays there meanwhile.

    Raises UsageError where there is no terminal for the app.
    """
    if headless or os.environ.get("TEXTUAL_DRIVER"):
        yield None
        return
    if problem := describe_terminal_problem():
        raise UsageError(problem)
    from quorum.app.handing_over import give_terminal_back, read_terminal

    if is_tour or wants_reader(overrides):
        give_terminal_back(carried)
        yield None
        return
    from quorum.tui.terminal.early_prompt import show_early_prompt

    before = read_terminal(carried) if carried else None
    prompt = show_early_prompt(sys.stdin.fileno(), sys.stderr.fileno(), os.environ, root, before)
    if prompt is None:
        give_terminal_back(carried)  # the app leaves it as it finds it
    try:
        yield prompt
    finally:
        if prompt is not None:
            prompt.close()


def wants_reader(overrides: Mapping[str, object] | None = None) -> bool:
    """Whether that is known before the settings are read: a reader should not read out another screen."""
    in_environment = os.environ.get("QUORUM_TUI__SCREEN_READER") == "true"
    return bool((overrides or {}).get("tui.screen_reader", in_environment))


def tune_textual() -> None:
    """Have Textual read its constants, which it takes from the environment when they are imported.

    A lone escape is one after 25 ms; a letter that is typed right after a frame of an answer is painted 1/250 s
    after that frame, not 1/60. The environment is the person's afterwards: their commands get it.
    """
    wanted = {"ESCDELAY": "25", "TEXTUAL_FPS": "250"}
    ours = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        import_module("textual.constants")
    finally:
        for name in ours:
            del os.environ[name]


def describe_terminal_problem() -> str | None:
    """Why the app cannot be shown in this terminal; None where it can."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty()):
        return "the full-screen app needs a terminal; without one use: quorum run PROMPT"
    if not (sys.stderr and sys.stderr.isatty()):
        return "the full-screen app draws on stderr, which is not a terminal here; do not redirect it"
    if os.environ.get("TERM", "") in {"", "dumb"}:
        return "this terminal is too simple (TERM=dumb); use another, or: quorum run PROMPT"
    if (encoding := lookup(sys.stderr.encoding).name) != "utf-8":
        return f"the screen needs UTF-8, and here is {encoding}; try: LC_ALL=C.UTF-8 quorum"
    return None


def check_driver() -> None:
    """Raises UsageError where TEXTUAL_DRIVER names no driver, or Textual's own for terminals without one."""
    from textual.app import App
    from textual.drivers.linux_driver import LinuxDriver

    try:
        driver = App[None]().get_driver_class()
    except (ImportError, AttributeError, ValueError, RuntimeError) as error:
        raise UsageError(f"TEXTUAL_DRIVER names no driver: {error}") from error
    if issubclass(driver, LinuxDriver) and (problem := describe_terminal_problem()):
        raise UsageError(problem)


def take_environment_of_driver() -> tuple[int, int] | None:
    """Take away what says how this app is drawn: it is not about the apps that its commands start.

    Returns the first size of the screen, columns and lines, if it was among that.
    """
    for name in ("TEXTUAL_DRIVER", "TEXTUAL_COLOR_SYSTEM"):  # Textual has read them
        os.environ.pop(name, None)
    if "ROWS" not in os.environ:
        return None
    columns, lines = os.environ.pop("COLUMNS", ""), os.environ.pop("ROWS")
    return (int(columns), int(lines)) if columns.isdecimal() and lines.isdecimal() else None
