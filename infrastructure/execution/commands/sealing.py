"""Which program a command runs and which workspace files it names, as far as can be seen before it runs.

This is no shell parser. A word of a shell's line counts only where it needs no expansion; what is hidden in
substitutions, variables or scripts stays unsealed, and the seal says so.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from quorum.application.program_lookup import (
    explain_local_package,
    explain_missing,
    filter_environment,
    find_as_shell_does,
    find_local_package,
    find_program,
    pin_runner,
)
from quorum.domain.calls.execution import Seal, SealedFile
from quorum.domain.errors import ConfigError, StaleSeal, ToolError
from quorum.infrastructure.execution.commands.environment import compute_environment_delta
from quorum.infrastructure.files.opened_path import refuse_held


def expand_declared_command(
    command: Sequence[str], where: str, environment: Mapping[str, str]
) -> tuple[str, ...]:
    """The words with a leading ~/ of the program expanded. `where` names the table, as `hooks[0]`.

    Raises ConfigError for a program that would be looked for in the opened folder, and for a NUL character.
    """
    program, *words = command
    if program.startswith("~/") and "HOME" in environment:
        program = environment["HOME"] + program[1:]
    if not program or ("/" in program and not program.startswith("/")):
        raise ConfigError(
            f'{where}.command starts with "{program}", which would be looked for in whatever folder is open; '
            "name the program by its absolute path, by ~/…, or by a name on PATH"
        )
    if any("\0" in word for word in command):
        raise ConfigError(f"{where}.command holds a NUL character, which no program can be given; leave it out")
    return (program, *words)


def find_declared_program(
    name: str, words: Sequence[str], environment: Mapping[str, str], *, cwd: Path, is_confined: bool
) -> tuple[tuple[str, ...], dict[str, str]]:
    """What to start: the absolute path of a program with its words, and its environment. Looks at files.

    `is_confined`: it runs in the sandbox, where one that a command may write does no harm. A path begins at
    `cwd`. Raises ToolError that says why there is none.
    """
    path = environment.get("PATH")
    named = str(cwd / name) if "/" in name else name
    found = find_as_shell_does(named, path) if is_confined else find_program(named, path)
    if found is None:
        raise ToolError(explain_missing(named, path))
    if is_confined:
        return (found, *words), dict(environment)
    if local := find_local_package((name, *words), str(cwd)):
        raise ToolError(explain_local_package((name, *words), local))
    argv, settings = pin_runner((name, *words), found, str(cwd))
    return argv, filter_environment(environment) | settings


_UNSEALED = "further effects of the command are not known beforehand"
_OUTSIDE = ", and no sandbox holds it: it can do all that you can"
_MAX_FILES = 20
_MAX_FILE_BYTES = 1 << 20
_SEPARATORS = "();<>|&\n"
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_DEEPEST_TEXT = 3  # texts that a shell is given in a text
_LONGEST_TEXT = 4_000
_ENTERING = frozenset({"cd", "pushd", "-C", "--chdir", "--directory"})
_MOST_FOLDERS = 8
_EXPANDED = re.compile(r"[$`*?\[{]")
_BUILTIN_WORDS = """
. : [ [[ alias bg bind break builtin caller case cd command compgen complete continue coproc declare
dirs disown do done echo elif else enable esac eval exec exit export false fc fg fi for function getopts
hash help history if in jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly
return select set shift shopt source suspend test then time times trap true type typeset ulimit umask
unalias unset until wait while ! { }"""
_BUILTINS = frozenset(_BUILTIN_WORDS.split())


def seal_command(
    command: str,
    *,
    cwd: Path,
    root: Path,
    inherited: Mapping[str, str],
    environment: Mapping[str, str],
    projected: Mapping[str, bytes],
    sandbox: str | None = None,
    leaves_sandbox: bool = False,
) -> Seal:
    """Measure what the command would touch now. Reads files; call it off the event loop.

    `environment` is what the command will be given, and `sandbox` tells what it will be held to;
    `leaves_sandbox`: there is one, and it does not hold this command.
    """
    words = _split_words(command)
    every = list(_list_words(words))
    names = [word for word in every if not _is_operator(word) and not _EXPANDED.search(word)]
    named = (folder / name for folder in _list_folders(every, cwd) for name in names)
    return Seal(
        cwd=str(cwd),
        files=tuple(_seal_files(named, root, projected)),
        executables=tuple(dict.fromkeys(_find_executables(words, cwd, environment["PATH"]))),
        environment=compute_environment_delta(inherited, environment),
        unsealed=f"{_UNSEALED}{_OUTSIDE if leaves_sandbox else ''}",
        sandbox=sandbox,
    )


def seal_arguments(
    argv: Sequence[str],
    *,
    named: Sequence[str],
    root: Path,
    inherited: Mapping[str, str],
    environment: Mapping[str, str],
    projected: Mapping[str, bytes],
    sandbox: str | None = None,
) -> Seal:
    """Measure what a program, run in the root with exactly these words and no shell, would touch now.

    The first word is the path it is run by; `named` are paths that may be part of other words. What is said to
    be unsealed repeats the whole line, quoted where it must be. Reads files; call it off the event loop.
    """
    return Seal(
        cwd=str(root),
        files=tuple(_seal_files((root / name for name in (*argv, *named)), root, projected)),
        executables=(os.path.realpath(argv[0]),),
        environment=compute_environment_delta(inherited, environment),
        unsealed=f"{_UNSEALED}; run without a shell: {shlex.join(argv)}",
        sandbox=sandbox,
    )


def require_unchanged(approved: Seal, now: Seal) -> None:
    """Raises StaleSeal where what would run is no longer what was approved."""
    if approved != now:
        parts = ("cwd", "files", "executables", "environment", "sandbox")
        changed = [part for part in parts if getattr(approved, part) != getattr(now, part)]
        raise StaleSeal(f"{' and '.join(changed) or 'the seal'} changed since the approval; nothing was run")


def _split_words(command: str) -> list[str]:
    """Words and operators; none where quotes do not match."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=_SEPARATORS)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return []


def _list_words(words: Iterable[str], depth: int = 0) -> Iterator[str]:
    """These words, and those of texts among them that a shell may be given."""
    for word in words:
        yield word
        if depth < _DEEPEST_TEXT and len(word) <= _LONGEST_TEXT and any(map(str.isspace, word)):
            yield from _list_words(_split_words(word), depth + 1)


def _list_folders(words: Iterable[str], cwd: Path) -> Sequence[Path]:
    """The folders from which a line may name its files: it may enter each from any of those before."""
    folders = [cwd]
    for before, word in pairwise(words):
        if before in _ENTERING and not _EXPANDED.search(word):
            folders += [folder / word for folder in folders if len(folders) < _MOST_FOLDERS]
    return folders[:_MOST_FOLDERS]


def _find_executables(words: list[str], cwd: Path, path: str) -> Iterator[str]:
    is_command_next = True
    for word in words:
        if _is_operator(word):
            is_command_next = not set(word) & set("<>")
        elif is_command_next and not _ASSIGNMENT.match(word):
            is_command_next = False
            is_plain = word not in _BUILTINS and not _EXPANDED.search(word)
            if is_plain and (found := find_as_shell_does(str(cwd / word) if "/" in word else word, path)):
                yield os.path.realpath(found)


def _seal_files(named: Iterable[Path], root: Path, projected: Mapping[str, bytes]) -> Iterator[SealedFile]:
    paths = dict.fromkeys(filter(None, (_resolve_inside(path, root) for path in named)))
    found = 0
    for path in paths:
        digest = _compute_digest(path, projected)
        if digest is not None and found < _MAX_FILES:
            found += 1
            yield SealedFile(path=str(path), sha256=digest)


def _is_operator(word: str) -> bool:
    return bool(word) and set(word) <= set(_SEPARATORS)


def _resolve_inside(path: Path, root: Path) -> Path | None:
    try:
        resolved = path.resolve()
    except (OSError, RuntimeError, ValueError):  # too long, a loop of links: no name of a file
        return None
    return resolved if resolved.is_relative_to(root) else None


def _compute_digest(path: Path, projected: Mapping[str, bytes]) -> str | None:
    """SHA-256 of a regular file of bounded size, or of what it will hold; None for anything else."""
    content = projected.get(str(path))
    if content is None:
        try:
            if not path.is_file() or path.stat().st_size > _MAX_FILE_BYTES:
                return None
            refuse_held(path)
            with path.open("rb") as file:
                content = file.read(_MAX_FILE_BYTES + 1)
        except OSError:  # unreadable for us; for the command too
            return None
    return None if len(content) > _MAX_FILE_BYTES else hashlib.sha256(content).hexdigest()
