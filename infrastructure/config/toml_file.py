"""Reads a TOML file, and tells on which lines each of its statements and keys stands."""

from __future__ import annotations

import hashlib
import os
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from quorum.domain.errors import ConfigError
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.config.toml_text import KeyPath, Position, escape_unprintable, shorten_text

_LONGEST_LINES = 200
_MOST_EFFORT = 20_000_000  # characters that are parsed to find out where statements end


class Statement(Struct, frozen=True, kw_only=True):
    """A header, or the setting of keys, or a line that says nothing to the parser.

    `first` and `end` are the lines it stands on, from 0, the end excluded. `header` is the path of the table it
    stands in, or opens with `is_header`; `leaves` are the full paths of what it sets.
    """

    first: int
    end: int
    header: KeyPath
    is_header: bool = False
    leaves: tuple[KeyPath, ...] = ()


def parse_statements(text: str) -> Iterator[Statement]:
    """All statements of a valid document, in order.

    A statement may span lines. It ends with the first line up to which the parser takes it alone. Of a file
    that was made to keep us busy the end is not looked at.
    """
    effort = 0
    header: KeyPath = ()
    arrays: dict[KeyPath, int] = {}
    lines = [f"{line}\n" for line in text.split("\n")]
    start = 0
    while start < len(lines):
        parsed, end = _read_statement(lines, start)
        effort += (end - start) * sum(map(len, lines[start:end]))
        if effort > _MOST_EFFORT:
            return
        line = lines[start].lstrip()
        if line.startswith("["):
            header = _insert_positions(find_innermost(parsed), arrays, opens=line.startswith("[["))
            yield Statement(first=start, end=end, header=header, is_header=True)
        else:
            leaves = tuple(header + key for key in _list_leaves(parsed))
            yield Statement(first=start, end=end, header=header, leaves=leaves)
        start = end


def find_innermost(table: object) -> KeyPath:
    """The path to the first thing in nested tables that is no table, or an empty one."""
    if isinstance(table, list):
        return find_innermost(table[0])
    if isinstance(table, dict) and table:
        name, inner = next(iter(table.items()))
        return (name, *find_innermost(inner))
    return ()


def _insert_positions(header: KeyPath, arrays: dict[KeyPath, int], *, opens: bool) -> KeyPath:
    """A header's path with the positions of the arrays of tables in it; `opens`: it begins a table of one."""
    path: KeyPath = ()
    for place, name in enumerate(header, start=1):
        path = (*path, name)
        if opens and place == len(header):
            arrays[path] = arrays.get(path, -1) + 1
        if path in arrays:
            path = (*path, Position(arrays[path]))
    return path


def _read_statement(lines: Sequence[str], start: int) -> tuple[Mapping[str, object], int]:
    for end in range(start + 1, min(start + _LONGEST_LINES, len(lines)) + 1):
        try:
            return tomllib.loads("".join(lines[start:end])), end
        except ValueError:
            continue
        except RecursionError:  # the document was parsed with less on the stack than this part of it
            break
    return {}, len(lines)


def _list_leaves(table: Mapping[str, object]) -> Iterator[KeyPath]:
    for name, value in table.items():
        if isinstance(value, dict) and value:
            yield from ((name, *rest) for rest in _list_leaves(value))
        else:
            yield (name,)


_LARGEST_BYTES = 1_000_000
_MOST_DOTS = 32
_MOST_LEVELS = 64  # tables and lists in each other; what draws a value calls itself for each
# The parser's time and memory grow with the square of a dotted key's length.
_DOTTED = rf"""(?<![\w"'.-])(?:(?:"[^"\n]*+"|'[^'\n]*+'|[\w-]++)[ \t]*+\.[ \t]*+){{{_MOST_DOTS}}}"""
_POSITION = r" \(at (?:line (\d+), column \d+|end of document)\)"


class TomlFile(Struct, frozen=True):
    """A file that was read and is TOML; whether it holds settings is not known yet.

    `digest` is the SHA-256 of the bytes that were parsed, in hexadecimal.
    """

    path: Path
    text: str
    data: Mapping[str, object]
    digest: str

    @classmethod
    def read(cls, path: Path) -> TomlFile:
        """Read and parse a file. Raises ConfigError that names it and, where it is no TOML, the line."""
        return cls.parse(path, _read_content(path))

    @classmethod
    def parse(
        cls, path: Path, content: bytes, loads: Callable[[str], Mapping[str, object]] = tomllib.loads
    ) -> TomlFile:
        """The file of that name as if this were in it. Raises ConfigError as `read` does.

        `loads` is a parser that says where a text is no TOML as that of the standard library does.
        """
        text = _decode(path, content)
        too_deep = ConfigError(f"{escape_path(path)} is nested too deeply to be settings; flatten it")
        if compile_once(_DOTTED).search(text):
            raise too_deep
        try:
            data = loads(text)
            if _is_deeper(data, _MOST_LEVELS):
                raise too_deep
            return cls(path, text, data, hashlib.sha256(content).hexdigest())
        except RecursionError:
            raise too_deep from None
        except ValueError as error:
            raise ConfigError(_explain_syntax_problem(path, text, error)) from error

    def locate(self, key: KeyPath) -> str:
        """Where a key stands, as "file:line", or the file alone where the line is not known."""
        opened, set_on = _index(self.text)
        line = opened.get(key)
        # what stands inside a value, such as a list of inline tables, is where that value is
        for length in range(len(key) - 1, 0, -1) if line is None else ():
            line = line or set_on.get(key[:length])
        return escape_path(self.path) if line is None else f"{escape_path(self.path)}:{line}"


def escape_path(path: Path) -> str:
    """A path as it may be shown on a terminal."""
    return escape_unprintable(str(path))


def _read_content(path: Path) -> bytes:
    try:
        content, size = _read(path)
    except FileNotFoundError:
        raise ConfigError(
            f"the configuration file {escape_path(path)} does not exist; `quorum config init` writes a "
            "commented one for you, and `quorum config path` shows which files are read"
        ) from None
    except OSError as error:
        raise ConfigError(f"{escape_path(path)} cannot be read: {error.strerror}") from error
    if len(content) > _LARGEST_BYTES:
        raise ConfigError(
            f"{escape_path(path)} is {size:,} bytes long, which is too large for settings (at most "
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
            raise ConfigError(f"{escape_path(path)} is a folder; name the file in it")
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{escape_path(path)} is not a regular file; put the settings into one")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(_LARGEST_BYTES + 1), status.st_size
    finally:
        os.close(descriptor)


def _decode(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{escape_path(path)}:{line}: the file is not UTF-8; save it as UTF-8") from error


def _is_deeper(data: object, levels: int) -> bool:
    """Whether tables and lists stand in each other more than so many levels deep."""
    inner: list[object] = [data]
    for _ in range(levels):
        inner = [
            entry
            for value in inner
            for entry in (
                value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
            )
        ]
        if not inner:
            return False
    return any(isinstance(value, Mapping | list) for value in inner)


def _explain_syntax_problem(path: Path, text: str, error: ValueError) -> str:
    position = compile_once(_POSITION).search(str(error))
    if position is None:
        return f"{escape_path(path)} holds a number or date that is out of range; correct it"
    line = position[1] if position[1] else str(text.rstrip().count("\n") + 1)
    reason = escape_unprintable(shorten_text(compile_once(_POSITION).sub("", str(error)), 200))
    hint = "; a text needs quotes" if reason == "Invalid value" else ""
    return f"{escape_path(path)}:{line}: this is not TOML: {reason}{hint}"


@lru_cache(maxsize=4)
def _index(text: str) -> tuple[Mapping[KeyPath, int], Mapping[KeyPath, int]]:
    """The first line on which something stands at or below each key, and that of each statement."""
    opened: dict[KeyPath, int] = {}
    set_on: dict[KeyPath, int] = {}
    for statement in parse_statements(text):
        for path in (statement.header,) if statement.is_header else statement.leaves:
            set_on.setdefault(path, statement.first + 1)
            for length in range(1, len(path) + 1):
                opened.setdefault(path[:length], statement.first + 1)
    return opened, set_on
