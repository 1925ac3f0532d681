"""A whole shell text as guards see it: every command that could run, wherever in the text it stands.

Plain commands (`quorum.domain.shell.command_line`) serve to prove that a text only reads, so they give up at
the first construct that is not plain. Guards object and prove nothing, so here every construct is walked
through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.shell.command_line import Redirect
from quorum.domain.shell.star_tables import RUNNERS
from quorum.domain.text.pattern import compile_once


class ScriptCommand(Struct, frozen=True):
    """One command of a script, its words without quotes; expansions stand in them as written.

    `assignments` are `NAME=value` in the same form. `text` is what a here-document or here-string puts in.
    `reads` are the numbers of the streams that come in by a pipe or stand in its words as `$(…)`, `writes` is
    the number of the stream that it is part of. `in_loop` says that it may run many times,
    `is_endless` that the condition of its loop always holds. `function` is the function that it stands in, if
    any.
    """

    words: tuple[str, ...]
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[str, ...] = ()
    text: str | None = None
    reads: tuple[int, ...] = ()
    writes: int | None = None
    in_loop: bool = False
    function: str = ""
    is_endless: bool = False


class Script(Struct, frozen=True):
    """The commands of a text; a command stands behind those that write what it reads.

    `problem` says why the text could not be read as a whole; the commands are then a guess.
    """

    commands: tuple[ScriptCommand, ...]
    problem: str | None = None


_MOST_CALLED = 300  # commands of functions, with the words of a call
_DEEPEST = 8  # functions that call functions


def call_functions(script: Script) -> Script:
    """The script, and behind each call of a function the commands that this runs of the words it is given."""
    own: dict[str, list[ScriptCommand]] = {}
    for command in script.commands:
        if command.function and (_runs_parameters(command.words) or command.words[:1] == ("shift",)):
            own.setdefault(command.function, []).append(command)
    if not own and not any(each.words[:2] == ("set", "--") for each in script.commands):
        return script
    commands: list[ScriptCommand] = []
    given = tuple[str, ...]()
    room = _MOST_CALLED
    for command in script.commands:
        if not command.function and command.words[:2] == ("set", "--"):
            given = command.words[2:]
        elif given and not command.function and _runs_parameters(command.words[:1]):
            command = replace(command, words=_fill_parameters(command.words, given))
        commands.append(command)
        called = [*islice(_call(command, own, _DEEPEST), room)]
        room -= len(called)
        commands += called
    problem = script.problem if room else "it calls functions too often to be followed"
    return replace(script, commands=tuple(commands), problem=problem)


def _call(
    call: ScriptCommand, own: Mapping[str, Sequence[ScriptCommand]], depth: int
) -> Iterator[ScriptCommand]:
    parameters = call.words[1:]
    for inner in own.get(call.words[0], ()) if call.words and depth else ():
        if inner.words[0] == "shift":
            parameters = parameters[1:]
        elif words := _fill_parameters(inner.words, parameters):
            reads, writes = inner.reads or call.reads, inner.writes or call.writes
            run = replace(inner, words=words, function=call.function, reads=reads, writes=writes)
            yield run
            yield from _call(run, own, depth - 1)


def _runs_parameters(words: tuple[str, ...]) -> bool:
    return bool(words) and (
        compile_once(_PARAMETER).match(words[0]) is not None
        or any(compile_once(_ALL_PARAMETERS).fullmatch(word) for word in words)
    )


def _fill_parameters(words: tuple[str, ...], parameters: tuple[str, ...]) -> tuple[str, ...]:
    filled: list[str] = []
    for word in words:
        if found := compile_once(_ALL_PARAMETERS).fullmatch(word):
            filled += parameters[int(found[1] or 1) - 1 :]
        else:
            filled.append(
                compile_once(_PARAMETER).sub(
                    lambda each: "".join(parameters[int(each[1] or each[2]) - 1 :][:1]), word
                )
            )
    return tuple(word for word in filled if word)


_PARAMETER = r"\$(?:([1-9])|\{([1-9])\})"
_ALL_PARAMETERS = r"\$(?:[@*]|\{[@*](?::([1-9]))?\})"

ReadScript: TypeAlias = Callable[[str], Script]

_SEPARATORS = r"(\$\(|\|\||>>|[\n;|&()`{}<>])"


_QUOTES = str.maketrans("", "", "'\"\\")
# What stands in front of a program where no grammar tells words of the shell from others.
_IN_FRONT = frozenset(
    {
        "sh",
        "bash",
        "zsh",
        "dash",
        "ksh",
        "eval",
        "-c",
        "do",
        "then",
        "else",
        "elif",
        "if",
        "while",
        "until",
        "!",
    }
)


def split_coarsely(text: str) -> Script:
    """Reads a text without a grammar: pieces between operators, in quotes as well, so too many."""
    commands: list[ScriptCommand] = []
    pieces = compile_once(_SEPARATORS).split(text)
    for place in range(0, len(pieces), 2):
        before = pieces[place - 1] if place else ""
        behind = pieces[place + 1] if place + 1 < len(pieces) else ""
        words = [word.translate(_QUOTES) for word in pieces[place].split()]
        if before in (">", ">>") and words:
            commands.append(ScriptCommand((), (Redirect(before, words.pop(0)),)))
        while len(words) > 1 and words[0].rpartition("/")[2] in _IN_FRONT:
            del words[0]
        if words:
            reads = (place,) if before == "|" else ()
            writes = place + 2 if behind == "|" else None
            commands.append(ScriptCommand(tuple(words), reads=reads, writes=writes))
    return Script(tuple(commands), "there is no grammar to read it by")


_MOST_READ = 2_000
_PREPARING = frozenset(
    {"cd", "pushd", "popd", "export", "unset", "set", "source", ".", "umask", "ulimit", "true", "for", "case"}
)
_WRAPPERS = frozenset({"env", "command", "exec", "nohup", "time", "nice", "sudo", "stdbuf", "timeout"})
_NOT_PROGRAM = r"\A(?:[A-Za-z_]\w*=.*|-.*|\d+[smhd]?)\Z"
_QUOTED_VALUE = r"(?<=\w)=(?:'[^']*'|\"[^\"]*\")"
_VERSION = r"\A(python|node|ruby|php|perl)[0-9.]+\Z"


def name_main_program(text: str) -> str:
    """The program that a person has in mind who waits for a shell text, `pytest` of `cd a && uv run pytest -q`:
    the first one that does more than prepare for others; empty where there is none. For screens alone."""
    for command in split_coarsely(compile_once(_QUOTED_VALUE).sub("=", text[:_MOST_READ])).commands:
        words = list(command.words)
        while words and (
            compile_once(_NOT_PROGRAM).match(words[0]) or words[0].rpartition("/")[2] in _WRAPPERS
        ):
            del words[0]
        if words and words[0] not in _PREPARING and not words[0].startswith("#"):
            return _name_program(words)
    return ""


def _name_program(words: list[str]) -> str:
    name = compile_once(_VERSION).sub(r"\1", words[0].rpartition("/")[2])
    for runner in RUNNERS:
        behind = words[len(runner) :]
        if (name, *words[1 : len(runner)]) == runner and behind and not behind[0].startswith("-"):
            return _name_program(behind)
    return name
