"""The schema as a tree of keys, so that settings can be checked, tightened and explained one by one; and what
is wrong with raw values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from itertools import chain, islice
from types import UnionType
from typing import Annotated, Literal, TypeAlias, Union, assert_never, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct, field
from msgspec.structs import FieldInfo

from quorum.domain.settings import DEFAULTS_ENTRY, About, ProjectRule
from quorum.domain.text.fuzzy import ALIKE, find_nearest_word, measure_likeness
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.toml_text import (
    KeyPath,
    Position,
    format_key,
    format_literal,
    hide_credentials,
    shorten_text,
)

ANY_NAME = "*"


class Key(Struct, frozen=True, kw_only=True):
    """One setting. `path` has `*` where a free name stands.

    A setting that is an array of tables is set whole; `element` says what each of its tables holds. A
    `required` one has no default in the table it stands in; else that is `default`.
    """

    path: KeyPath
    type: object
    about: About
    project: ProjectRule
    required: bool = False
    default: object = None
    element: Table | None = None

    def fits(self, value: object) -> bool:
        """Whether a value read from TOML is of the right kind and within bounds."""
        try:
            msgspec.convert(value, self.type, strict=True)
        except msgspec.ValidationError:
            return False
        return self.about.accepts is None or (isinstance(value, str) and self.about.accepts(value))

    def expand(self, value: object) -> object:
        """The value, with the default in place of the entry that stands for it."""
        if not self.about.extensible or not isinstance(value, tuple) or not isinstance(self.default, tuple):
            return value
        parts = (self.default if entry == DEFAULTS_ENTRY else (entry,) for entry in value)
        return tuple(dict.fromkeys(chain.from_iterable(parts)))

    @property
    def choices(self) -> tuple[str, ...]:
        """The words it can be, where it is one of a few."""
        base = _unwrap_base(self.type)
        if get_origin(base) is Literal:
            return tuple(map(str, get_args(base)))
        if isinstance(base, UnionType) or get_origin(base) is Union:
            return tuple(
                str(word) for each in get_args(base) for word in get_args(each) if isinstance(word, str)
            )
        if isinstance(base, type) and issubclass(base, StrEnum):
            return tuple(member.value for member in base)
        return ()

    @property
    def expected(self) -> str:
        """What fits, in words."""
        if self.about.expected is not None:
            return self.about.expected
        if self.choices:
            return f"{'one of ' if len(self.choices) > 1 else ''}{', '.join(self.choices)}"
        if self.element is not None:
            return f"a list of tables, each of them headed [[{format_key(self.path)}]]"
        base = _unwrap_base(self.type)
        if base is bool:
            return "true or false"
        if base is int:
            return f"a whole number{_describe_bounds(self.type)}"
        if base is float:
            return f"a number{_describe_bounds(self.type)}"
        return "a string" if base is str else "a list of strings"


class Table(Struct, frozen=True, kw_only=True):
    """A table of settings; one with the entry `*` has free names, spelled as `about.names` says."""

    path: KeyPath
    about: About
    entries: Mapping[str, Key | Table]

    def find_entry(self, name: str) -> Key | Table | None:
        """What stands under a name, or None where there is no such setting."""
        if (found := self.entries.get(ANY_NAME)) is not None:
            return found if re.match(self.about.names, name) else None
        return self.entries.get(name)

    @property
    def required(self) -> tuple[Key, ...]:
        """The settings in it that have no default."""
        return tuple(entry for entry in self.entries.values() if isinstance(entry, Key) and entry.required)

    @property
    def has_free_names(self) -> bool:
        """Whether the names in it are the user's own."""
        return ANY_NAME in self.entries


Node: TypeAlias = Key | Table


@cache
def load_schema_tree() -> Table:
    """The root of all settings."""
    return _build_table(Settings, (), About(description=""))


def list_keys(node: Node | None = None) -> Iterator[Key]:
    """Every setting below a node, or of the whole schema, in the order of the schema.

    An array of tables comes before the settings of its tables, whose paths have a position `*`.
    """
    node = load_schema_tree() if node is None else node
    if isinstance(node, Key):
        yield node
    inner = node.element if isinstance(node, Key) else node
    for entry in inner.entries.values() if inner is not None else ():
        yield from list_keys(entry)


def find_node(path: KeyPath) -> Node | None:
    """What the schema has at a path with real names and positions, or None."""
    node: Node | None = load_schema_tree()
    for name in path:
        if isinstance(node, Table):
            node = node.find_entry(name)
        else:
            node = node.element if node is not None and isinstance(name, Position) else None
    return node


def find_key(path: KeyPath) -> Key:
    """The setting at a path with real names. Raises KeyError where there is none."""
    node = find_node(path)
    if not isinstance(node, Key):
        raise KeyError(format_key(path))
    return node


def find_nearest_key(path: KeyPath) -> str | None:
    """The known key most like an unknown one, in dotted form, or None where nothing is like it."""
    wanted = tuple(name if isinstance(name, Position) else shorten_text(name, 80).lower() for name in path)
    known = [_fill_names(key.path, wanted) for key in list_keys()]
    tables = {key[:end] for key in known for end in range(1, len(key))}
    candidates = known + sorted(table for table in tables if len(table) == len(path))
    best = max(candidates, key=lambda candidate: (_measure_likeness(wanted, candidate), -len(candidate)))
    return format_key(best) if _measure_likeness(wanted, best) >= ALIKE else None


def _measure_likeness(wanted: KeyPath, known: KeyPath) -> float:
    """How alike two keys are: their last names, and a little off where the tables differ; a little more for a
    table that is not even begun."""
    last = measure_likeness(wanted[-1], known[-1]) - (0.1 if "NAME" in known else 0.0)
    return last - 0.35 * (1 - measure_likeness(".".join(wanted[:-1]), ".".join(known[:-1])))


def _fill_names(pattern: KeyPath, path: KeyPath) -> KeyPath:
    """A key's path with the free names of a path like it filled in, or NAME where the path is not like it."""
    filled = list(pattern)
    for place, name in enumerate(pattern):
        if name == ANY_NAME:
            alike = place < len(path) - 1 and measure_likeness(pattern[place - 1], path[place - 1]) >= ALIKE
            unknown = Position("0") if isinstance(name, Position) else "NAME"
            filled[place] = path[place] if alike else unknown
    return tuple(filled)


def _build_table(struct: type[msgspec.Struct], path: KeyPath, about: About) -> Table:
    hints = get_type_hints(struct, include_extras=True)
    entries = {
        field.name: _build_node(hints[field.name], (*path, field.name), field=field)
        for field in msgspec.structs.fields(struct)
    }
    return Table(path=path, about=about, entries=entries)


def _build_node(
    annotated: object, path: KeyPath, inherited: About | None = None, *, field: FieldInfo | None = None
) -> Node:
    about = next((extra for extra in _list_extras(annotated) if isinstance(extra, About)), inherited)
    base = _unwrap_base(annotated)
    if about is None:
        raise TypeError(f"the setting {format_key(path)} has no explanation in the schema")
    if isinstance(base, type) and issubclass(base, msgspec.Struct):
        return _build_table(base, path, about)
    if get_origin(base) is Mapping:
        entry = _build_node(get_args(base)[1], (*path, ANY_NAME), about)
        return Table(path=path, about=about, entries={ANY_NAME: entry})
    return Key(
        path=path,
        type=annotated,
        about=about,
        project=about.project,
        required=field is not None and field.required,
        default=None if field is None else field.default,
        element=_find_element(base, path, about),
    )


def _find_element(base: object, path: KeyPath, about: About) -> Table | None:
    """What the tables hold, where the type is an array of tables."""
    inner = get_args(base)[0] if get_origin(base) is tuple else None
    if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
        return _build_table(inner, (*path, Position(ANY_NAME)), about)
    return None


def _unwrap_base(annotated: object) -> object:
    return get_args(annotated)[0] if get_origin(annotated) is Annotated else annotated


def _list_extras(annotated: object) -> tuple[object, ...]:
    return get_args(annotated)[1:] if get_origin(annotated) is Annotated else ()


def _describe_bounds(annotated: object) -> str:
    meta = next(extra for extra in _list_extras(annotated) if isinstance(extra, msgspec.Meta))
    low = f"above {meta.gt:g}" if meta.gt is not None else f"from {meta.ge}"
    high = f"{'up to' if meta.gt is not None else 'to'} {meta.le}"
    return f" {low} {high}"


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
