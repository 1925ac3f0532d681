"""The command line of an app that takes the place of this one, in a layer or out of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from quorum.cli.app import COMMAND, AppOptions
from quorum.command_line.command import Argument, ArgumentGroup, Arguments
from quorum.domain.replacing import replace
from quorum.tui.keys.keyed_app import Restart

_MODE = "review.mode"


def render_arguments(options: AppOptions, root: Path, restart: Restart) -> tuple[str, ...]:
    """As this app was started, but in that mode and, if that is named, with that session."""
    if restart.session:
        options = replace(options, resume=restart.session, continues=False, fork=False, prompt=None)
    return tuple(_render(options, root, restart.mode))


def _render(options: AppOptions, root: Path, mode: str) -> Iterator[str]:
    yield from ("--workdir", str(root))
    if options.config_file is not None:
        yield from ("--config", str(options.config_file.absolute()))
    for folder in options.add_dirs:
        yield from ("--add-dir", str(folder.absolute()))
    for model in options.models:
        yield from ("--model", model)
    flags = {
        str(each.settings["dest"]): each for each in _flatten(COMMAND.arguments) if "dest" in each.settings
    }
    for key, value in {**options.overrides, _MODE: mode}.items():
        name = flags[key].names[-1]
        yield from (name,) if flags[key].settings.get("action") == "store_const" else (name, str(value))
    given = {
        "--quiet": options.quiet,
        "--verbose": options.verbose,
        "--safe": options.safe,
        "--debug": options.debug,
    }
    given |= {"--continue": options.continues, "--fork": options.fork}
    yield from (name for name, is_given in given.items() if is_given)
    if options.resume is not None:
        yield from ("--resume", *((options.resume,) if options.resume else ()))
    if options.prompt is not None:
        yield from ("--", options.prompt)


def _flatten(arguments: Arguments) -> Iterator[Argument]:
    for each in arguments:
        if isinstance(each, ArgumentGroup):
            yield from each.arguments
        else:
            yield each
