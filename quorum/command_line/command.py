"""What is declared of a command: its options, its help, and what runs it.

Nothing here reads a command line, so that what is declared can be looked at before a parser is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from quorum.command_line.options import StartOptions

if TYPE_CHECKING:
    from quorum.run_signals import RunSignals

Options = TypeVar("Options", bound=StartOptions)


class Argument(NamedTuple):
    """An option or argument, with the settings of `argparse.ArgumentParser.add_argument`.

    Its `dest` is a field of the command's options, or the dotted key of a setting that it overrides. One
    without `help` is hidden.
    """

    names: tuple[str, ...]
    settings: Mapping[str, Any]


class ArgumentGroup(NamedTuple):
    """Arguments under a title, or of which one at most is given (`exclusive`)."""

    arguments: tuple[Argument, ...]
    title: str = ""
    description: str = ""
    is_exclusive: bool = False
    is_required: bool = False


Arguments: TypeAlias = "tuple[Argument | ArgumentGroup, ...]"


class CliCommand(NamedTuple, Generic[Options]):
    """A command. `run` is given its options and the folder to work in, and returns the exit code.

    A command that answers a prompt without a screen has `answer` in place of it, which gets the signals, too.

    `summary` is the first sentence of its help, that of a command stands in the table; `details` are further
    sentences, and `examples` command lines that can be copied, and what they do. `after_dashes` is how the
    usage names what may follow `--`, which is then read as it stands into the field of that name; empty: such
    words are arguments. `is_full_screen`: it draws on the terminal. `is_long_lived`: it may
    run for so long that memory must be collected.
    """

    options: type[Options]
    run: Callable[[Options, Path], int] | None = None
    answer: Callable[[Options, Path, RunSignals], int] | None = None
    summary: str = ""
    arguments: Arguments = ()
    details: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    after_dashes: str = ""
    is_full_screen: bool = False
    is_long_lived: bool = False


class CommandGroup(NamedTuple):
    """A command that needs an action. Without any it is `usual`, if that is one."""

    actions: Mapping[str, CliCommand[Any]]
    example: tuple[str, str]
    summary: str = ""
    usual: str = ""


def argument(*names: str, **settings: Any) -> Argument:
    """An option, or an argument, as `add_argument` takes it."""
    return Argument(names, settings)


def flag(*names: str, help: str, **settings: Any) -> Argument:
    return Argument(names, {"action": "store_true", "help": help, **settings})
