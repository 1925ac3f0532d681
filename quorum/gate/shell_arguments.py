"""What of the arguments of a tool reads like a shell command, by the names that they have."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from domain.text.json_value import JsonObject, JsonValue

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_COMMAND_WORDS = frozenset(
    {
        *("command", "commands", "commandline", "cmd", "cmds", "cmdline", "script", "scripts"),
        *("shell", "bash", "sh", "zsh", "powershell", "pwsh", "exec", "execute", "argv"),
    }
)
_REST = ("args", "arguments", "argv")


def find_shell_text(arguments: JsonObject) -> str | None:
    """The texts that may be run by a shell, a line each; None where there are none.

    A list is read both as the words of one command and as one command each. It is good for tightening only.
    """
    found = list(dict.fromkeys(_list_shell_texts(arguments)))
    return "\n".join(found) or None


def _list_shell_texts(arguments: JsonObject) -> Iterator[str]:
    waiting: list[JsonValue] = [arguments]
    while waiting:
        match waiting.pop():
            case Mapping() as fields:
                for name, value in fields.items():
                    if _is_command_name(name):
                        yield from _read_command(value, fields)
                waiting += fields.values()
            case list() | tuple() as items:
                waiting += items
            case _:
                continue


def _is_command_name(name: str) -> bool:
    return any(word.lower() in _COMMAND_WORDS for word in _WORD.findall(name))


def _read_command(value: JsonValue, fields: Mapping[str, JsonValue]) -> Iterator[str]:
    rest = [word for name in _REST for word in _list_words(fields.get(name))]
    match value:
        case str(text) if text.strip():
            yield f"{text} {shlex.join(rest)}" if rest and rest != [text] else text
        case list() | tuple():
            words = _list_words(value)
            yield shlex.join([*words, *(rest if rest != words else ())])
            yield from (word for word in words if " " in word)


def _list_words(value: JsonValue) -> Sequence[str]:
    if isinstance(value, str):
        return [value]
    return [word for word in value if isinstance(word, str)] if isinstance(value, list | tuple) else []
