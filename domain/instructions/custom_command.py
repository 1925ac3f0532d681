"""Custom slash commands: prompts with places for arguments, which a project or a person keeps in files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from msgspec import Struct

from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.text.pattern import compile_once

INIT_COMMAND = "init"
"""The name of /init, which is a prompt of the program's own, without the slash."""

INIT_SOURCE = "quorum"
"""Where its text is from, in place of a file."""


_NAME = r"[^\W_][\w.-]{0,63}(?::[^\W_][\w.-]{0,63}){0,4}"
_TYPED = r"(?s)/(?P<name>\S+)(?:\s+(?P<arguments>.*))?"
_PLACE = r"(?P<kept>\\)?\$(?:(?P<all>ARGUMENTS\b)|(?P<number>[1-9]\d?)(?!\d)|(?P<name>[A-Za-z_]\w*))"
_NAMED_WORD = r"(?s)(?P<name>[A-Za-z_]\w*)=(?P<value>.*)"
_SHELL_LINE = r"(?<![\w`\\])!`[^`\n]+`"

_SCOPES = frozenset(scope.value for scope in InstructionScope)

_SHELL_NOTE = """

[quorum: the text above names shell commands as !`COMMAND`. Nothing has run yet: where you need what one of them
prints, run it with run_command first, all of them at once.]"""


class CustomCommand(Struct, frozen=True, kw_only=True):
    """A command as its file says it.

    `file` is an absolute path and `label` its short form; `digest` is the SHA-256 of the file's bytes, in
    hexadecimal. `parameters` names arguments by their place. `model` is empty where the session's answers.
    `allowed_tools` are entries such as `Bash(git log:*)`; None: the file does not say. `problem` says why the
    command cannot be used, with file, line and remedy; `notices` what of its file is not followed.
    """

    name: str
    scope: InstructionScope
    file: str
    label: str
    digest: str
    description: str = ""
    argument_hint: str = ""
    parameters: tuple[str, ...] = ()
    model: str = ""
    allowed_tools: tuple[str, ...] | None = None
    body: str = ""
    problem: str = ""
    notices: tuple[str, ...] = ()

    @property
    def qualified_name(self) -> str:
        """A name that no command of another scope has."""
        return f"{self.scope}:{self.name}"


class CommandInvocation(Struct, frozen=True):
    """A command as it was typed: its name without the slash, and all that stands after it."""

    name: str
    arguments: str


class ExpandedCommand(Struct, frozen=True, kw_only=True):
    """A command that was sent: the model reads `text` in its place; `sha256` is over the file's bytes.

    `model` and `allowed_tools` are as in `CustomCommand`; they hold until the next prompt.
    """

    name: str
    file: str
    sha256: str
    text: str
    model: str = ""
    allowed_tools: tuple[str, ...] | None = None


def parse_command(prompt: str) -> CommandInvocation | None:
    """The command that a prompt may be meant as; None where it can be none."""
    found = compile_once(_TYPED).fullmatch(prompt.rstrip())
    if found is None or not is_command_name(found["name"]):
        return None
    return CommandInvocation(found["name"], (found["arguments"] or "").strip())


def is_command_name(name: str) -> bool:
    """Whether a name can be typed: words of letters, digits, `_`, `.` and `-`, separated by colons."""
    return compile_once(_NAME).fullmatch(name) is not None


def index_commands(commands: Sequence[CustomCommand], reserved: frozenset[str]) -> Mapping[str, CustomCommand]:
    """The commands by the names under which they can be typed.

    Each has its qualified name. The plain name belongs to the person's own command before a project's, among
    those of a project to the nearest, which stands last, and never to a custom command where it is reserved.
    """
    by_name: dict[str, CustomCommand] = {}
    for command in commands:
        by_name[command.qualified_name] = command
    for command in by_name.copy().values():
        taken = by_name.get(command.name)
        is_free = command.name not in reserved and command.name.partition(":")[0] not in _SCOPES
        if is_free and (taken is None or taken.scope is InstructionScope.PROJECT):
            by_name[command.name] = command
    return by_name


def choose_names(commands: Mapping[str, CustomCommand]) -> tuple[tuple[str, CustomCommand], ...]:
    """Each command once, under the shortest name it has, in the order of names."""
    shortest: dict[str, str] = {}
    for name, command in commands.items():
        known = shortest.get(command.file)
        if known is None or len(name) < len(known):
            shortest[command.file] = name
    return tuple((name, commands[name]) for name in sorted(shortest.values()))


def fill_placeholders(command: CustomCommand, arguments: str) -> str:
    """The command's text with the arguments in their places; what stands in an argument is no place again.

    `$ARGUMENTS` is all of them, `$1` the first word, `$NAME` the value of a named one: by its place in
    `parameters`, or typed as NAME=VALUE. A backslash before the `$` keeps it. Where the text has no place for
    arguments, they stand below it.
    """
    words = _split_words(arguments)
    named_words = dict(pair for word in words if (pair := _match_named_word(word)) is not None)
    plain = [
        word for word in words if (pair := _match_named_word(word)) is None or pair[0] not in command.parameters
    ]
    by_place = dict(zip(command.parameters, plain, strict=False))
    values = {**dict.fromkeys(command.parameters, ""), **by_place, **named_words}
    found_any = False

    def insert_value(place: re.Match[str]) -> str:
        nonlocal found_any
        if place["kept"]:
            return place[0][1:]
        if place["all"]:
            found_any = True
            return arguments
        if place["number"]:
            found_any = True
            number = int(place["number"])
            return words[number - 1] if number <= len(words) else ""
        if (value := values.get(place["name"])) is None:
            return place[0]
        found_any = True
        return value

    text = compile_once(_PLACE).sub(insert_value, command.body).strip()
    if arguments and not found_any:
        text = f"{text}\n\nArguments: {arguments}".strip()
    return text + _SHELL_NOTE if compile_once(_SHELL_LINE).search(command.body) else text


def _split_words(arguments: str) -> list[str]:
    """The arguments one by one, as a shell separates them; a lone quote is a character like any other."""
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


def _match_named_word(word: str) -> tuple[str, str] | None:
    found = compile_once(_NAMED_WORD).fullmatch(word)
    return (found["name"], found["value"]) if found is not None else None
