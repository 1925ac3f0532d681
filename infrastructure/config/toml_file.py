"""Reading one TOML file, and finding the line on which a key stands."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from domain.errors import ConfigError
from infrastructure.config.toml_text import KeyPath, Position, printable, shortened

_LARGEST_BYTES = 1_000_000
_LONGEST_STATEMENT_LINES = 200
_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)")


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A file that was read and is TOML; whether it holds settings is not known yet."""

    path: Path
    text: str
    data: Mapping[str, object]

    @classmethod
    def read(cls, path: Path) -> TomlFile:
        """Read and parse a file. Raises ConfigError that names it and, where it is no TOML, the line."""
        text = _decoded(path, _content(path))
        try:
            return cls(path, text, tomllib.loads(text))
        except RecursionError:
            raise ConfigError(f"{shown(path)} is nested too deeply to be settings; flatten it") from None
        except ValueError as error:
            raise ConfigError(_syntax_problem(path, text, error)) from error

    def place(self, key: KeyPath) -> str:
        """Where a key stands, as "file:line", or the file alone where the line cannot be told."""
        around: KeyPath = ()
        found: int | None = None
        for line, statement in _statements(self.text):
            if statement[: len(key)] == key:
                found = line
                break
            # what stands inside a value, such as a list of inline tables, is where that value is
            if len(statement) > len(around) and statement == key[: len(statement)]:
                around, found = statement, line
        return shown(self.path) if found is None else f"{shown(self.path)}:{found}"


def shown(path: Path) -> str:
    """A path as it may be shown on a terminal."""
    return printable(str(path))


def _content(path: Path) -> bytes:
    try:
        content, size = _read(path)
    except FileNotFoundError:
        raise ConfigError(
            f"the configuration file {shown(path)} does not exist; `quorum config init` writes a commented one "
            "for you, and `quorum config path` shows which files are read"
        ) from None
    except OSError as error:
        raise ConfigError(f"{shown(path)} cannot be read: {error.strerror}") from error
    if len(content) > _LARGEST_BYTES:
        raise ConfigError(
            f"{shown(path)} is {size:,} bytes long, which is too large for settings (at most "
            f"{_LARGEST_BYTES:,}); is it the right file?"
        )
    return content


def _read(path: Path) -> tuple[bytes, int]:
    """The content, cut a little above the largest allowed, and the size."""
    # A named pipe in a strange folder must not hang the start, hence no blocking.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise ConfigError(f"{shown(path)} is a folder; name the file in it")
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{shown(path)} is no regular file; put the settings into one")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(_LARGEST_BYTES + 1), status.st_size
    finally:
        os.close(descriptor)


def _decoded(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{shown(path)}:{line}: the file is not UTF-8; save it as UTF-8") from error


def _syntax_problem(path: Path, text: str, error: ValueError) -> str:
    if not isinstance(error, tomllib.TOMLDecodeError):
        return f"{shown(path)} holds a number or date that is out of range; correct it"
    position = _POSITION.search(str(error))
    line = position[1] if position and position[1] else str(text.rstrip().count("\n") + 1)
    reason = printable(shortened(_POSITION.sub("", str(error)), 200))
    hint = "; a text needs quotes" if reason == "Invalid value" else ""
    return f"{shown(path)}:{line}: this is not TOML: {reason}{hint}"


def _statements(text: str) -> Iterator[tuple[int, KeyPath]]:
    """The first line and the full key of everything a valid document sets.

    A statement may span lines. It ends with the first line up to which the parser takes it alone.
    """
    header: KeyPath = ()
    arrays: dict[KeyPath, int] = {}
    lines = [f"{line}\n" for line in text.split("\n")]
    start = 0
    while start < len(lines):
        parsed, end = _statement(lines, start)
        line = lines[start].lstrip()
        if line.startswith("["):
            header = _positioned(_innermost(parsed), arrays, opens=line.startswith("[["))
            yield start + 1, header
        else:
            yield from ((start + 1, header + key) for key in _leaves(parsed))
        start = end


def _positioned(header: KeyPath, arrays: dict[KeyPath, int], *, opens: bool) -> KeyPath:
    """A header's path with the positions of the arrays of tables in it; `opens`: it begins a table of one."""
    path: KeyPath = ()
    for place, name in enumerate(header, start=1):
        path = (*path, name)
        if opens and place == len(header):
            arrays[path] = arrays.get(path, -1) + 1
        if path in arrays:
            path = (*path, Position(arrays[path]))
    return path


def _statement(lines: list[str], start: int) -> tuple[Mapping[str, object], int]:
    for end in range(start + 1, min(start + _LONGEST_STATEMENT_LINES, len(lines)) + 1):
        try:
            return tomllib.loads("".join(lines[start:end])), end
        except ValueError:
            continue
        except RecursionError:  # the document was parsed with less on the stack than this part of it
            break
    return {}, len(lines)


def _innermost(table: object) -> KeyPath:
    if isinstance(table, list):
        return _innermost(table[0])
    if isinstance(table, dict) and table:
        name, inner = next(iter(table.items()))
        return (name, *_innermost(inner))
    return ()


def _leaves(table: Mapping[str, object]) -> Iterator[KeyPath]:
    for name, value in table.items():
        if isinstance(value, dict) and value:
            yield from ((name, *rest) for rest in _leaves(value))
        else:
            yield (name,)
