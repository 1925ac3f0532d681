"""Checking raw values against the schema: what they set, and everything that is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from infrastructure.config.keys import Key, Node, Table, nearest, nearest_word, schema_tree
from infrastructure.config.toml_text import KeyPath, dotted, literal, shortened, without_credentials

MOST_PROBLEMS = 20

PlaceOf: TypeAlias = Callable[[KeyPath], str]


@dataclass(frozen=True, slots=True)
class Assignment:
    """One setting and the value that a source gives it. `origin` names the source for the person."""

    path: KeyPath
    value: object
    origin: str


@dataclass(slots=True)
class Checked:
    """What one source says: valid assignments, its problems, and the tables with free names that it opens,
    each with the way to its place."""

    assignments: list[Assignment] = field(default_factory=list)
    named_tables: dict[KeyPath, PlaceOf] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def checked(data: Mapping[str, object], *, origin: str, place: PlaceOf) -> Checked:
    """Check all of a source. `place` says where a key stands in it; it is asked only about wrong keys."""
    result = Checked()
    for node, path, value in _walk(schema_tree(), (), data):
        match node:
            case None:
                problem = unknown_key(path)
            case Table() if isinstance(value, Mapping):
                result.named_tables[path] = place
                continue
            case Table():
                problem = f"{dotted(path)} must be a table, not {_found(node, value)}"
            case Key() if node.fits(value):
                plain = tuple(value) if isinstance(value, list) else value
                result.assignments.append(Assignment(path, plain, origin))
                continue
            case Key():
                problem = wrong_value(node, path, value)
            case _:
                assert_never(node)
        result.problems.append(f"{place(path)}: {problem}")
        if len(result.problems) == MOST_PROBLEMS:
            break
    return result


def nested(path: KeyPath, value: object) -> dict[str, object]:
    """The tables that hold one value at a path of at least one name."""
    name, *rest = path
    return {name: nested(tuple(rest), value) if rest else value}


def unknown_key(path: KeyPath) -> str:
    """The sentence about a key that does not exist."""
    parents, name = path[:-1], path[-1]
    table = _table_at(parents)
    if table is not None and table.has_free_names:
        takes = table.about.names_expected
        return f"{shortened(literal(name))} cannot be a name in [{dotted(parents)}], which takes {takes}"
    text = f"there is no setting {shortened(dotted(path), 120)}"
    if (like := nearest(path)) is not None:
        return f"{text}; did you mean {like}?"
    where = f"[{dotted(parents)}] knows" if parents else "the tables are"
    return f"{text}; {where} {', '.join(table.entries if table is not None else ())}"


def wrong_value(key: Key, path: KeyPath, value: object) -> str:
    """The sentence about a value that does not fit its key."""
    text = f"{dotted(path)} must be {key.expected}, not {_found(key, value)}"
    like = nearest_word(value, key.choices) if isinstance(value, str) else None
    return f'{text}; did you mean "{like}"?' if like is not None else text


def _walk(
    node: Table, path: KeyPath, data: Mapping[str, object]
) -> Iterator[tuple[Node | None, KeyPath, object]]:
    """Every leaf of the data with what the schema has there, and every table that carries a free name."""
    for name, value in data.items():
        here = (*path, name)
        found = node.entry(name)
        if not isinstance(found, Table) or not isinstance(value, Mapping):
            yield found, here, value
            continue
        if node.has_free_names:
            yield found, here, value
        yield from _walk(found, here, value)


def _found(node: Node, value: object) -> str:
    if node.about.unquoted:
        return "this text" if isinstance(value, str) else "this"
    return shortened(without_credentials(literal(value)))


def _table_at(path: KeyPath) -> Table | None:
    node: Node | None = schema_tree()
    for name in path:
        node = node.entry(name) if isinstance(node, Table) else None
    return node if isinstance(node, Table) else None
