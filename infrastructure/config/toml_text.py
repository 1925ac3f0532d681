"""Settings as text: values as TOML, keys in dotted form, and nothing that could steer a terminal."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import TypeAlias

KeyPath: TypeAlias = tuple[str, ...]


class Position(str):
    """The place of a table in an array of tables, counted from 0, as a step of a key's path."""

    __slots__ = ()


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_CREDENTIALS = re.compile(r"(//)[^/@]*@")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def format_literal(value: object) -> str:
    """A value as it would stand in a TOML file on one line; control and bidi characters are escaped."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{"".join(map(_escape_char, value))}"'
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{_format_key(str(name))} = {format_literal(entry)}" for name, entry in value.items()
        )
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(format_literal, value))}]"
    return escape_unprintable(str(value))


def parse_value(text: str) -> object:
    """The TOML value that a text is, or the text itself where it is none."""
    try:
        data = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return data["value"] if len(data) == 1 else text


def parse_key_path(text: str) -> KeyPath:
    """The steps of a key in dotted form, as a TOML file would have it. Raises ValueError for what is none."""
    data: object = tomllib.loads(f"{text} = 0")
    path: KeyPath = ()
    while isinstance(data, Mapping):
        if len(data) != 1:
            raise ValueError("more than one key")
        ((name, data),) = data.items()
        path = (*path, name)
    return path


def format_key(path: KeyPath) -> str:
    """A key as it would stand in a TOML file: `tools.run_command.timeout_secs`; `hooks[0].command`."""
    steps = (f"[{name}]" if isinstance(name, Position) else f".{_format_key(name)}" for name in path)
    return "".join(steps).removeprefix(".")


def escape_unprintable(text: str) -> str:
    """Text of unknown origin, with everything escaped that is no visible character."""
    return "".join(char if char.isprintable() else _escape_unicode(char) for char in text)


def hide_credentials(text: str) -> str:
    """An address whose user name and password are hidden; any other text as it is."""
    return _CREDENTIALS.sub(r"\1…@", text)


def shorten_text(text: str, limit: int = 60) -> str:
    """At most `limit` characters of a text, the cut marked."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _format_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else format_literal(name)


def _escape_char(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return char if char.isprintable() else _escape_unicode(char)


def _escape_unicode(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
