"""The paths that a command names to read, by its words alone."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from quorum.domain.shell.command_line import CommandLine, SimpleCommand
from quorum.domain.shell.command_spec import parse_use
from quorum.domain.shell.git_commands import parse_git_use
from quorum.domain.shell.read_only_commands import READ_ONLY_COMMANDS


def list_named_reads(line: CommandLine, folder: str) -> tuple[str, ...]:
    """The absolute paths that a command which starts in `folder` names to read, `cd` taken into account.

    Nothing is looked at: a link is what it is called. The command must be one that by its words only reads.
    Raises NotReadOnly for any other.
    """
    found: list[str] = []
    for command in line.commands:
        targets = [redirect.target for redirect in command.redirects if redirect.only_reads]
        found += (_join(folder, path) for path in (*targets, *_list_paths(command)))
        if command.name == "cd":
            folder = _join(folder, command.words[1] if len(command.words) > 1 else "~")
            found.append(folder)
    return tuple(dict.fromkeys(found))


def _list_paths(command: SimpleCommand) -> Iterator[str]:
    name, rest = command.name, command.words[1:]
    if name == "git":
        use = parse_git_use(rest)
        yield from use.folders
        yield from (path.path for path in use.use.paths)
    elif name in READ_ONLY_COMMANDS:
        yield from (path.path for path in parse_use(READ_ONLY_COMMANDS[name], name, rest).paths)


def _join(folder: str, path: str) -> str:
    # Nobody knows here where the home is; it is outside of every workspace that matters.
    return f"/{path}" if path.startswith("~") else posixpath.normpath(posixpath.join(folder, path))
