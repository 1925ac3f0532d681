"""What of the arguments of a tool reads like a shell command, by the names that they have."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from quorum.domain.text.json_value import JsonObject, JsonValue

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_COMMAND_WORDS = frozenset(
    {
        *("command", "commands", "commandline", "cmd", "cmds", "cmdline", "script", "scripts"),
        *("shell", "bash", "sh", "zsh", "powershell", "pwsh", "exec", "execute", "argv"),
        *("program", "executable", "binary", "run", "code", "input", "stdin", "entrypoint", "terminal"),
    }
)
_REST = ("args", "arguments", "argv")


def find_shell_text(arguments: JsonObject) -> str | None:
    """The texts that may be run by a shell, a line each; None where there are none.

    Everything below the name of a command is read, and a text beside a list of arguments as its program. A list
    is read both as the words of one command and as one command each. It is good for tightening only.
    """
    found = list(dict.fromkeys(_list_shell_texts(arguments)))
    return "\n".join(found) or None


def _list_shell_texts(arguments: JsonObject) -> Iterator[str]:
    waiting: list[tuple[JsonValue, bool]] = [(arguments, False)]
    while waiting:
        value, is_command = waiting.pop()
        match value:
            case Mapping() as fields:
                rest = " ".join(filter(None, (_join_words(fields.get(name)) for name in _REST)))
                for name, field in fields.items():
                    is_read = is_command or _is_command_name(name)
                    if is_read or rest:
                        yield from _read_command(field, "" if name in _REST else rest)
                    waiting.append((field, is_read or name in _REST))
            case list() | tuple() as items:
                if is_command:
                    yield from _read_command(items, "")
                waiting += [(item, is_command) for item in items]
            case _:
                continue


def _is_command_name(name: str) -> bool:
    return any(word.lower() in _COMMAND_WORDS for word in _WORD.findall(name))


def _read_command(value: JsonValue, rest: str) -> Iterator[str]:
    match value:
        case str(text) if text.strip():
            yield f"{text} {rest}".rstrip()
        case list() | tuple() if words := _list_words(value):
            yield f"{shlex.join(words)} {rest}".rstrip()
            yield from (word for word in words if " " in word)


def _join_words(value: JsonValue) -> str:
    return value if isinstance(value, str) else shlex.join(_list_words(value))


def _list_words(value: JsonValue) -> Sequence[str]:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list | tuple) else []
