"""`find` that runs another command on what it finds: what it searches, and what it runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from quorum.domain.shell.command_spec import (
    CommandSpec,
    NotReadOnly,
    Operands,
    PathUse,
    Reading,
    list_options_with_value,
    parse_use,
)
from quorum.domain.shell.read_only_commands import READ_ONLY_COMMANDS, SHELL_BUILTINS

FOUND = "{}"
"""In the words of the command that is run, it stands for a name that was found."""
# What these begin with, the names that are found begin with: never an option, nor a number of lines.
_PLAIN_START = re.compile(r"[A-Za-z0-9_./]")
# They join tests in other ways than one after the other.
_JOINING = frozenset({"-o", "-or", "-not", "!", "(", ")", ","})


class FindUse(Struct, frozen=True):
    """A `find` that only reads. `programs` are those that it runs; `paths` is all that it and they read."""

    programs: tuple[str, ...]
    paths: tuple[PathUse, ...]


def find_use(spec: CommandSpec, words: Sequence[str]) -> FindUse:
    """What the words after `find` mean. Raises NotReadOnly where they are not known only to read."""
    search, commands = _split_exec(spec, words)
    use = parse_use(spec, "find", search)
    if not commands:
        return FindUse((), use.paths)
    starts = [path.path for path in use.paths if path.reading is Reading.NAMES]
    require_plain_starts("find", starts)
    # As in each directory named `x.py`, a command that searches folders would read all files.
    read = [path for command in commands for path in list_paths_besides("find -exec", command)]
    only = find_endings(words[: words.index("-exec")])
    found = tuple(PathUse(start, Reading.ALL_LINKED, only) for start in starts)
    return FindUse(tuple(command[0] for command in commands), (*use.paths, *found, *read))


def require_plain_starts(runner: str, starts: Sequence[str]) -> None:
    """Raises NotReadOnly where a name that is found below one of these may be taken for an option."""
    if odd := next((start for start in starts if not _PLAIN_START.match(start)), None):
        raise NotReadOnly(f"{runner} would run a program on names that begin with {odd}")


def _split_exec(spec: CommandSpec, words: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The words without `-exec … ;` and `-exec … {} +`, and the commands that stand there."""
    valued = list_options_with_value(spec)
    search: list[str] = []
    commands: list[list[str]] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word != "-exec":
            search.append(word)
            if word in valued and rest:
                search.append(rest.pop(0))
            continue
        command: list[str] = []
        while rest and rest[0] != ";" and not (rest[0] == "+" and command[-1:] == [FOUND]):
            command.append(rest.pop(0))
        if not rest or not command:
            raise NotReadOnly("find -exec lacks its end, or a command")
        rest.pop(0)
        commands.append(command)
    return search, commands


def list_paths_besides(runner: str, command: Sequence[str]) -> list[PathUse]:
    """What a command reads besides what was found. Raises NotReadOnly where it may do more than read that.

    `runner` runs it, with names in the place of `{}`.
    """
    name, words = command[0], command[1:]
    spec = READ_ONLY_COMMANDS.get(name)
    if (
        spec is None
        or name in SHELL_BUILTINS
        or spec.operands not in (Operands.PATHS, Operands.TEXT_THEN_PATHS)
        or spec.most_operands is not None
        # Of two folders it reads whatever is in both.
        or name == "diff"
    ):
        raise NotReadOnly(f"{runner} {name} is not known only to read")
    # Within a word it would be replaced as well.
    if any(FOUND in word for word in words if word != FOUND):
        raise NotReadOnly(f"{runner} {name} is known only with {FOUND} as a word of its own")
    use = parse_use(spec, name, words)
    if use.operands.count(FOUND) != words.count(FOUND):
        raise NotReadOnly(f"{runner} {name} takes a name that it finds otherwise than as a path")
    is_text = spec.operands is Operands.TEXT_THEN_PATHS and not spec.no_text & use.options
    if is_text and use.operands[:1] == (FOUND,):
        raise NotReadOnly(f"{runner} {name} takes a name that it finds for a text")
    if any(path.reading not in (Reading.NAMES, Reading.FILE) for path in use.paths):
        raise NotReadOnly(f"{runner} {name} would read whole folders")
    return [path for path in use.paths if path.path != FOUND]


def find_endings(tests: Sequence[str]) -> tuple[str, ...]:
    """The endings of all names that pass these tests of `find`; none where they are not known."""
    if _JOINING & set(tests):
        return ()
    return next(
        (
            (match[1],)
            for option, value in pairwise(tests)
            if option == "-name" and (match := re.fullmatch(r"\*(\.[A-Za-z0-9]+)", value))
        ),
        (),
    )
