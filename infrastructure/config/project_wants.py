"""What a project's file wants, in words that a person can decide on: one setting each, as `key = value`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import starmap

from infrastructure.config.keys import node_at
from infrastructure.config.toml_text import KeyPath, Position, dotted, literal, without_credentials
from infrastructure.config.validation import Assignment

_LONGEST = 4000
_HIDDEN = '"********"'


def wants_of(assignments: Iterable[Assignment]) -> Iterator[str]:
    """The settings in words. Of a list of tables each key is one; what is secret is hidden."""
    for assignment in assignments:
        yield from starmap(_worded, _parts(assignment.path, assignment.value))


def _parts(path: KeyPath, value: object) -> Iterator[tuple[KeyPath, object]]:
    tables = value if isinstance(value, list | tuple) else ()
    if not any(isinstance(table, Mapping) for table in tables):
        yield path, value
        return
    for index, table in enumerate(tables):
        for name, entry in table.items():
            yield (*path, Position(index), name), entry


def _worded(path: KeyPath, value: object) -> str:
    node = node_at(path)
    hidden = node is not None and node.about.secret
    return f"{dotted(path)} = {_HIDDEN if hidden else _cut(without_credentials(literal(value)))}"


def _cut(text: str) -> str:
    """The text, or its beginning and how much follows: what is out of sight must not go unsaid."""
    rest = len(text) - _LONGEST
    return text if rest <= 0 else f"{text[:_LONGEST]}… and {rest:,} more characters"
