"""The statements of a TOML file: what each sets, and on which lines it stands."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from quorum.infrastructure.config.toml_text import KeyPath, Position

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
