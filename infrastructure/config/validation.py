"""Checking raw values against the schema: what they set, and everything that is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias, assert_never

from msgspec import Struct, field

from quorum.domain.text.fuzzy import find_nearest_word
from quorum.infrastructure.config.keys import Key, Node, Table, find_nearest_key, find_node, load_schema_tree
from quorum.infrastructure.config.toml_text import (
    KeyPath,
    Position,
    format_key,
    format_literal,
    hide_credentials,
    shorten_text,
)

MOST_PROBLEMS = 20

PlaceOf: TypeAlias = Callable[[KeyPath], str]


class Assignment(Struct, frozen=True):
    """One setting and the value that a source gives it. `origin` names the source for the person."""

    path: KeyPath
    value: object
    origin: str


class Checked(Struct):
    """What one source says: valid assignments, its problems, and the tables with free names that it opens,
    each with the way to its place."""

    assignments: list[Assignment] = field(default_factory=list)
    named_tables: dict[KeyPath, PlaceOf] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def check_source(data: Mapping[str, object], *, origin: str, place: PlaceOf) -> Checked:
    """Check all of a source. `place` says where a key stands in it; it is asked only about wrong keys."""
    result = Checked()
    for node, path, value in _walk(load_schema_tree(), (), data):
        found = islice(_find_problems(node, path, value), MOST_PROBLEMS)
        problems = [f"{place(where)}: {problem}" for where, problem in found]
        if problems:
            result.problems += problems
        elif isinstance(node, Table):
            result.named_tables[path] = place
        else:
            plain = tuple(value) if isinstance(value, list) else value
            expanded = node.expand(plain) if node is not None else plain
            result.assignments.append(Assignment(path, expanded, origin))
        if len(result.problems) >= MOST_PROBLEMS:
            break
    return result


def find_missing_keys(path: KeyPath, given: Callable[[KeyPath], bool]) -> Iterator[str]:
    """A sentence about each setting that a table at this path must have and that nothing gives."""
    table = find_node(path)
    for key in table.required if isinstance(table, Table) else ():
        if not given(here := (*path, key.path[-1])):
            yield f"{format_key(here)} is missing; it must be {key.expected}"


def find_table_problem(path: KeyPath, data: Mapping[str, object]) -> str | None:
    """The sentence about a table of a free name whose settings, each of them sound, do not fit each other.

    `data` is all that is set, from all sources.
    """
    node = find_node(path)
    value: object = data
    for name in path:
        value = value.get(name, {}) if isinstance(value, Mapping) else {}
    if not isinstance(node, Table) or node.about.problem is None or not isinstance(value, Mapping):
        return None
    problem = node.about.problem(value)
    return None if problem is None else f"{format_key(path)}: {problem}"


def nest_value(path: KeyPath, value: object) -> dict[str, object]:
    """The tables that hold one value at a path of at least one name."""
    name, *rest = path
    return {name: nest_value(tuple(rest), value) if rest else value}


def describe_unknown_key(path: KeyPath) -> str:
    """The sentence about a key that does not exist."""
    parents, name = path[:-1], path[-1]
    table = find_node(parents)
    if not isinstance(table, Table):
        table = None
    if table is not None and table.has_free_names:
        takes = table.about.names_expected
        wrong = shorten_text(format_literal(name))
        return f"{wrong} cannot be a name in [{format_key(parents)}], which takes {takes}"
    text = f"there is no setting {shorten_text(format_key(path), 120)}"
    if (like := find_nearest_key(path)) is not None:
        return f"{text}; did you mean {like}?"
    where = f"{_format_header(parents)} knows" if parents else "the tables are"
    return f"{text}; {where} {', '.join(table.entries if table is not None else ())}"


def describe_wrong_value(key: Key, path: KeyPath, value: object) -> str:
    """The sentence about a value that does not fit its key."""
    text = f"{format_key(path)} must be {key.expected}, not {_describe_found(key, value)}"
    like = find_nearest_word(value, key.choices) if isinstance(value, str) else None
    return f'{text}; did you mean "{like}"?' if like is not None else text


def _find_problems(node: Node | None, path: KeyPath, value: object) -> Iterator[tuple[KeyPath, str]]:
    """Everything wrong with a value, each sentence with the key it is about."""
    match node:
        case None:
            yield path, describe_unknown_key(path)
        case Table():
            if not isinstance(value, Mapping):
                yield path, f"{format_key(path)} must be a table, not {_describe_found(node, value)}"
        case Key(element=None):
            if not node.fits(value):
                yield path, describe_wrong_value(node, path, value)
            else:
                yield from _find_flaws(node, path, value)
        case Key():
            yield from _find_problems_of_array(node, path, value)
        case _:
            assert_never(node)


def _find_problems_of_array(key: Key, path: KeyPath, value: object) -> Iterator[tuple[KeyPath, str]]:
    if not isinstance(value, list | tuple) or not all(isinstance(table, Mapping) for table in value):
        yield path, describe_wrong_value(key, path, value)
        return
    for index, table in enumerate(value):
        yield from _find_problems_of_element(key, (*path, Position(index)), table)
    yield from _find_flaws(key, path, value)


def _find_flaws(key: Key, path: KeyPath, value: object) -> Iterator[tuple[KeyPath, str]]:
    if key.about.flaw is not None and (flaw := key.about.flaw(value)) is not None:
        yield path, f"{format_key(path)}: {flaw}"


def _find_problems_of_element(
    key: Key, path: KeyPath, table: Mapping[str, object]
) -> Iterator[tuple[KeyPath, str]]:
    assert key.element is not None
    sound = True
    for node, below, value in _walk(key.element, path, table):
        for problem in _find_problems(node, below, value):
            sound = False
            yield problem
    for missing in find_missing_keys(path, lambda below: below[-1] in table):
        yield path, missing
    if sound and key.about.problem is not None and (whole := key.about.problem(table)) is not None:
        yield path, f"{format_key(path)} {whole}"


def _walk(
    node: Table, path: KeyPath, data: Mapping[str, object]
) -> Iterator[tuple[Node | None, KeyPath, object]]:
    """Every leaf of the data with what the schema has there, and every table that carries a free name."""
    for name, value in data.items():
        here = (*path, name)
        found = node.find_entry(name)
        if not isinstance(found, Table) or not isinstance(value, Mapping):
            yield found, here, value
            continue
        if node.has_free_names:
            yield found, here, value
        yield from _walk(found, here, value)


def _format_header(path: KeyPath) -> str:
    """The header under which settings of a table stand."""
    return f"[[{format_key(path[:-1])}]]" if isinstance(path[-1], Position) else f"[{format_key(path)}]"


def _describe_found(node: Node, value: object) -> str:
    if node.about.unquoted:
        return "this text" if isinstance(value, str) else "this"
    return shorten_text(hide_credentials(format_literal(value)))
