"""`find` and `xargs` that run only commands that read: what they search, and what they run on which names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from quorum.domain.shell.command_line import SimpleCommand
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
from quorum.domain.text.pattern import compile_once

FOUND = "{}"
"""In the words of the command that is run, it stands for a name that was found."""
# What these begin with, the names that are found begin with: never an option, nor a number of lines.
_PLAIN_START = r"[A-Za-z0-9_./]"
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
    if odd := next((start for start in starts if not compile_once(_PLAIN_START).match(start)), None):
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


# No word makes them do more than print.
_PRINTING = frozenset({"echo", "basename", "dirname"})
_FLAGS = r"-[0rtx]+|--null|--no-run-if-empty|--verbose|--exit"
_COUNT = r"(?:-[nP]|--max-args=|--max-procs=)([0-9]*)"
ONE_WORD = re.compile(r"[!#-&(-\[\]-~]+")
"""What is one word to xargs: no blank, quote or backslash, in whatever language."""

_LISTING = frozenset({"-l", "-L", "--files-with-matches", "--files-without-match"})
_SEARCHING = frozenset({"-r", "-R", "--recursive", "--dereference-recursive"})
_NULL = frozenset({"-Z", "-0", "--null"})
_GREP_OPTIONS = _LISTING | _SEARCHING | {"-Z", "--null", "--include", "--exclude", "--exclude-dir"}
# They select lines or files, and change nothing of what is printed of them.
_SELECTING = frozenset(
    {"-i", "-w", "-x", "-E", "-F", "-P", "-G", "-s", "-I", "-e", "--regexp", "--ignore-case"}
)
_RG_LISTING = (_LISTING - {"-L"}) | {"--files"}
_RG_OPTIONS = _RG_LISTING | {"-0", "--null", "-S", "-g", "--glob", "-t", "--type"}
# The options for which nothing is printed but names, and those that make it so.
_SEARCHES: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "grep": (_SELECTING | _GREP_OPTIONS, _LISTING),
    # Its -I leaves names out.
    "rg": ((_SELECTING - {"-I"}) | _RG_OPTIONS, _RG_LISTING),
}
# They pass on some of the lines that they get, each as it is. How many operands they take.
_FILTERS: Mapping[str, tuple[frozenset[str], int]] = {
    "sort": (frozenset({"-u", "-r", "-n", "-V", "-f"}), 0),
    "uniq": (frozenset({"-u", "-d", "-i"}), 0),
    "head": (frozenset({"-n", "-NUM"}), 0),
    "tail": (frozenset({"-n", "-NUM"}), 0),
    "grep": (_SELECTING | {"-v", "-m"}, 1),
}


class XargsUse(Struct, frozen=True):
    """An `xargs` that only reads. `program` is what it runs; `paths` is all that this reads."""

    program: str
    paths: tuple[PathUse, ...]


class _Command(Struct, frozen=True):
    """`is_null`: the names end with a null byte. `replaces`: each stands for `{}`, else they come last."""

    words: tuple[str, ...]
    is_null: bool
    replaces: bool


def parse_xargs_use(words: Sequence[str], upstream: Sequence[SimpleCommand]) -> XargsUse:
    """What the words after `xargs` mean, behind the commands of its pipe.

    Raises NotReadOnly where they are not known only to read.
    """
    command = _split_command(words)
    if command.words[0] in _PRINTING:
        return XargsUse(command.words[0], ())
    names = _list_names(upstream, is_null=command.is_null)
    return XargsUse(command.words[0], (*names, *_list_other_paths(command)))


def _split_command(words: Sequence[str]) -> _Command:
    rest = list(words)
    is_null = replaces = counts = has_delimiter = False
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--":
            break
        if compile_once(_FLAGS).fullmatch(option):
            is_null = is_null or option == "--null" or (option[1] != "-" and "0" in option)
        elif found := compile_once(_COUNT).fullmatch(option):
            value = found[1] or (rest.pop(0) if rest and not option.endswith("=") else "")
            if not (value.isascii() and value.isdigit()):
                raise NotReadOnly(f"xargs {option} lacks its number")
            counts = counts or option.startswith(("-n", "--max-args"))
        elif option == f"-I{FOUND}" or (option == "-I" and rest[:1] == [FOUND]):
            del rest[: option == "-I"]
            replaces = True
        elif option == "-d" and rest[:1] == [r"\n"]:
            rest.pop(0)
            has_delimiter = True
        else:
            raise NotReadOnly(f"xargs {option} is not known only to read", option)
    # One of both takes effect; which one differs.
    if replaces and counts:
        raise NotReadOnly("xargs -I is known only to read without -n")
    if is_null and has_delimiter:
        raise NotReadOnly("xargs -0 is known only to read without -d")
    return _Command(tuple(rest) or ("echo",), is_null, replaces)


def _list_other_paths(command: _Command) -> list[PathUse]:
    """What a command reads besides the names. Raises NotReadOnly where it may do more than read both."""
    if command.replaces:
        # Some versions leave it as it is in place of a long name, and behind its fifth use.
        return [PathUse(FOUND, Reading.FILE), *list_paths_besides("xargs", command.words)]
    if any(FOUND in word for word in command.words):
        raise NotReadOnly(f"xargs takes {FOUND} as it stands, without -I {FOUND}")
    # Without a name, some versions run it all the same.
    return [
        path
        for number in (0, 1, 2)
        for path in list_paths_besides("xargs", (*command.words, *[FOUND] * number))
    ]


def _list_names(upstream: Sequence[SimpleCommand], *, is_null: bool) -> list[PathUse]:
    """All that may come through a pipe, if it is nothing but names of files."""
    if not upstream:
        raise NotReadOnly("xargs takes words that are not known")
    for command in upstream:
        if any(not redirect.discards_output for redirect in command.redirects) or command.globs:
            raise NotReadOnly("xargs takes words that are not known: those that are redirected, or from * or ?")
    first, *filters = upstream
    for command in filters:
        if is_null or not _only_selects(command):
            raise NotReadOnly(f"xargs takes words that are not known: those that {command.name} prints")
    match first.name:
        case "find":
            starts, only, prints_null = _parse_find(first.words[1:])
        case "grep" | "rg":
            starts, only, prints_null = _parse_search(first.name, first.words[1:])
        case name:
            raise NotReadOnly(f"xargs takes words that are not known: those that {name} prints")
    if prints_null is not is_null:
        raise NotReadOnly(f"xargs takes the names that {first.name} prints apart in another way")
    require_plain_starts("xargs", starts)
    if odd := next((start for start in starts if not (is_null or ONE_WORD.fullmatch(start))), None):
        raise NotReadOnly(f"xargs would take {odd} apart")
    return [PathUse(start, Reading.ALL_LINKED, only, as_words=not is_null) for start in starts]


def _only_selects(command: SimpleCommand) -> bool:
    options, operands = _FILTERS.get(command.name, (frozenset(), 0))
    if command.name not in _FILTERS:
        return False
    use = parse_use(READ_ONLY_COMMANDS[command.name], command.name, command.words[1:])
    if {"-e", "--regexp"} & use.options:
        operands = 0
    return use.options <= options and len(use.operands) == operands and not use.late


def _parse_find(words: Sequence[str]) -> tuple[list[str], tuple[str, ...], bool]:
    prints = [word for word in words if word in ("-print", "-print0", "-printf", "-ls")]
    if prints and (len(prints) > 1 or words[-1] not in ("-print", "-print0")):
        raise NotReadOnly(f"xargs takes words that are not known: those that find {prints[0]} prints")
    use = parse_use(READ_ONLY_COMMANDS["find"], "find", words)
    paths = [path.path for path in use.paths if path.reading is Reading.NAMES]
    starts = [path for path in paths if path not in ("(", ")", "!")]
    return starts, find_endings(words), "-print0" in prints


def _parse_search(name: str, words: Sequence[str]) -> tuple[list[str], tuple[str, ...], bool]:
    use = parse_use(READ_ONLY_COMMANDS[name], name, words)
    known, listing = _SEARCHES[name]
    is_text = not READ_ONLY_COMMANDS[name].no_text & use.options
    starts = list(use.operands[1:] if is_text else use.operands)
    if not (use.options <= known and listing & use.options and not use.late):
        raise NotReadOnly(f"xargs takes words that are not known: those that {name} prints")
    # Without a folder, the names are printed without ./ in front.
    if not starts:
        raise NotReadOnly(f"xargs takes names that may be options: {name} names no folder to search")
    only = next((path.only for path in use.paths if path.path == starts[0]), ())
    return starts, only, bool(_NULL & use.options)
