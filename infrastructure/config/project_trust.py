"""What a project's file may do: untrusted what harms nobody and what tightens, trusted nearly everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import starmap
from pathlib import Path
from typing import Protocol, TypeAlias, cast

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.trust import Standing
from quorum.domain.settings import ProjectRule, is_web_address
from quorum.infrastructure.config.keys import Assignment, Key, PlaceOf, find_key, find_node
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.config.toml_text import (
    KeyPath,
    Position,
    format_key,
    format_literal,
    hide_credentials,
    shorten_text,
)

_LONGEST_VALUE = 4000
_HIDDEN = '"********"'

WHY = {
    Standing.UNKNOWN: "is not trusted",
    Standing.CHANGED: "has changed since you trusted it",
}
"""Why a project's file is held to less, as the end of a sentence about it."""

_Names: TypeAlias = "tuple[str, ...]"


class _Tighten(Protocol):
    """How one kind of setting is tightened: the value that results, and what was refused, if anything."""

    def __call__(self, key: Key, beneath: object, wanted: object, /) -> tuple[object, str | None]: ...


class Restrained(Struct, frozen=True):
    """What of a project file counts, and a sentence about everything that does not.

    `wants` are the settings that would count if the file were trusted, as `key = value`.
    """

    assignments: tuple[Assignment, ...]
    warnings: tuple[str, ...]
    wants: tuple[str, ...] = ()


def restrict(
    assignments: Iterable[Assignment],
    beneath: Mapping[KeyPath, Assignment],
    *,
    file: Path,
    user_file: Path | None,
    standing: Standing,
) -> Restrained:
    """Hold an untrusted project's file to its rules. `beneath` holds the settings that it is laid over."""
    kept: list[Assignment] = []
    warnings: list[str] = []
    wanted: list[Assignment] = []
    forbidden: list[KeyPath] = []
    own: list[KeyPath] = []
    for assignment in assignments:
        key = find_key(assignment.path)
        if key.project is ProjectRule.OWN:
            own.append(assignment.path)
        elif key.project is ProjectRule.NEVER:
            forbidden.append(assignment.path)
            wanted.append(assignment)
        elif key.project is ProjectRule.FREE:
            kept.append(assignment)
        else:
            tightened, refusal = _tighten(key, assignment, beneath[assignment.path])
            if tightened is not None:
                kept.append(tightened)
            if refusal is not None:
                wanted.append(assignment)
                warnings.append(f"{escape_path(file)} {refusal}")
    if own:
        warnings.insert(0, _explain_ignored(own, file, user_file))
    if forbidden:
        warnings.insert(0, _explain_forbidden(forbidden, file, WHY[standing]))
    return Restrained(tuple(kept), tuple(warnings), tuple(describe_wishes(wanted)))


_NEEDED = frozenset({"providers", "models", "prices", "context_budget", "storage"})
_KEPT = frozenset({("tui", "screen_reader")})


def is_needed(path: KeyPath) -> bool:
    """Whether a setting says how models are reached and where things are kept, without which nothing works."""
    return path[0] in _NEEDED or path in _KEPT


def keep_restrictions(
    assignments: Iterable[Assignment], beneath: Mapping[KeyPath, Assignment]
) -> Iterator[Assignment]:
    """What counts of the person's own settings where they want none of what they have added: what is needed,
    and what tightens."""
    for assignment in assignments:
        key = find_key(assignment.path)
        if is_needed(assignment.path):
            yield assignment
        elif key.project not in (ProjectRule.OWN, ProjectRule.NEVER, ProjectRule.FREE):
            tightened, _ = _tighten(key, assignment, beneath[assignment.path])
            if tightened is not None:
                yield tightened


def accept_assignments(
    assignments: Iterable[Assignment],
    beneath: Mapping[KeyPath, Assignment],
    *,
    file: Path,
    user_file: Path | None,
) -> Restrained:
    """What of a trusted project's file counts: all but what is the person's own."""
    kept: list[Assignment] = []
    own: list[KeyPath] = []
    for assignment in assignments:
        key = find_key(assignment.path)
        if key.project is ProjectRule.OWN:
            own.append(assignment.path)
        elif key.project is ProjectRule.ADD:
            added, _ = _tighten(key, assignment, beneath[assignment.path])
            kept += [added] if added is not None else []
        else:
            kept.append(assignment)
    return Restrained(tuple(kept), (_explain_ignored(own, file, user_file),) if own else ())


def describe_passwords(assignments: Iterable[Assignment], place: PlaceOf) -> list[str]:
    """A sentence about each address of a project's file that holds a user name and password.

    To leave such an address out would send what is meant for it to the public one, so it is an error.
    """
    return [
        f"{place(assignment.path)}: {format_key(assignment.path)} holds a user name and password; a "
        "project's file may hold no key, even if you trust it: take them out, or put the address in "
        "your own file"
        for assignment in assignments
        if find_key(assignment.path).about.accepts is is_web_address
        and hide_credentials(text := str(assignment.value)) != text
    ]


def _tighten(key: Key, wanted: Assignment, beneath: Assignment) -> tuple[Assignment | None, str | None]:
    value, refusal = _WAYS[key.project](key, beneath.value, wanted.value)
    sentence = None
    if refusal is not None:
        found = shorten_text(format_literal(wanted.value))
        sets = f"sets {format_key(wanted.path)} = {found}"
        sentence = f"{sets}; until you trust it (`quorum config trust`), it may only {refusal}"
    if value == beneath.value:
        return None, sentence
    origin = f"{beneath.origin} + {wanted.origin}" if key.project is ProjectRule.ADD else wanted.origin
    return replace(wanted, value=value, origin=origin), sentence


def _take_lower(_: Key, beneath: object, wanted: object) -> tuple[object, str | None]:
    limit, number = cast("float", beneath), cast("float", wanted)
    if number <= limit:
        return number, None
    return limit, f"lower it, so it stays {format_literal(limit)}"


def _take_lower_cap(_: Key, beneath: object, wanted: object) -> tuple[object, str | None]:
    """As `_take_lower`, but 0 is no cap at all, so it is above every other."""
    limit, number = cast("float", beneath), cast("float", wanted)
    if not limit or 0 < number <= limit:
        return number, None
    return limit, f"lower it, so it stays {format_literal(limit)}"


def _take_stricter(key: Key, beneath: object, wanted: object) -> tuple[object, str | None]:
    if isinstance(beneath, tuple | list) or isinstance(wanted, tuple | list):
        value = _take_common(key, beneath, wanted)
        refused = f"choose a stricter {key.path[-1]}, so it is {format_literal(value)}"
        return value, None if value == wanted else refused
    present, word = str(beneath), str(wanted)
    if _is_as_strict(key, word, present):
        return word, None
    return present, f"choose a stricter {key.path[-1]}, so it stays {format_literal(present)}"


def _take_common(key: Key, beneath: object, wanted: object) -> object:
    """What both a list and another value let through: neither the strictest choice nor the loosest lists
    anything, and of those between nobody knows what they have in common with a list."""
    strictest, *_, loosest = key.choices
    if loosest in (beneath, wanted):
        return wanted if beneath == loosest else beneath
    if isinstance(beneath, str) or isinstance(wanted, str):
        return strictest
    names = cast("_Names", wanted)
    return tuple(name for name in cast("_Names", beneath) if name in names) or strictest


def _is_as_strict(key: Key, word: str, present: str) -> bool:
    """The choices of such a setting stand in the schema with the strictest first; modes have a rank."""
    if key.choices == tuple(Mode):
        return Mode(word).is_as_strict_as(Mode(present))
    return key.choices.index(word) <= key.choices.index(present)


def _add(_: Key, beneath: object, wanted: object) -> tuple[object, str | None]:
    return tuple(dict.fromkeys((*cast("_Names", beneath), *cast("_Names", wanted)))), None


def _narrow(_: Key, beneath: object, wanted: object) -> tuple[object, str | None]:
    """Keep only what both name. An empty list means all, so an empty outcome must not be let through."""
    present, names = tuple(cast("_Names", beneath)), tuple(cast("_Names", wanted))
    if not present or set(names) == set(present):
        return names, None
    common = tuple(name for name in present if name in names)
    value = common or present
    refusal = None if names and set(names) <= set(present) else f"narrow it, so it is {format_literal(value)}"
    return value, refusal


def _explain_forbidden(paths: list[KeyPath], file: Path, why: str) -> str:
    names = ", ".join(map(format_key, paths))
    return (
        f"{escape_path(file)} {why}, so what it sets of {shorten_text(names, 400)} is ignored "
        "(`quorum config trust` shows what it wants, and trusts it)"
    )


def _explain_ignored(paths: list[KeyPath], file: Path, user_file: Path | None) -> str:
    names = ", ".join(map(format_key, paths))
    ignored = "it is ignored" if len(paths) == 1 else "they are ignored"
    them = "it" if len(paths) == 1 else "them"
    own = f"put {them} in {escape_path(user_file)}, or " if user_file is not None else ""
    return (
        f"{escape_path(file)} sets {shorten_text(names, 400)}; no project's file may, so {ignored} "
        f"({own}name the file with --config)"
    )


def tighten_value(key: Key, beneath: object, wanted: object) -> object:
    """The tighter of two values of a setting that has an order. Raises KeyError for one that has none."""
    return _WAYS[key.project](key, beneath, wanted)[0]


_WAYS: Mapping[ProjectRule, _Tighten] = {
    ProjectRule.LOWER: _take_lower,
    ProjectRule.CAP: _take_lower_cap,
    ProjectRule.STRICTER: _take_stricter,
    ProjectRule.ADD: _add,
    ProjectRule.NARROW: _narrow,
}


def describe_wishes(assignments: Iterable[Assignment]) -> Iterator[str]:
    """The settings in words. Of a list of tables each key is one; what is secret is hidden."""
    for assignment in assignments:
        yield from starmap(_format_value, _list_parts(assignment.path, assignment.value))


def _list_parts(path: KeyPath, value: object) -> Iterator[tuple[KeyPath, object]]:
    tables = value if isinstance(value, list | tuple) else ()
    if not any(isinstance(table, Mapping) for table in tables):
        yield path, value
        return
    for index, table in enumerate(tables):
        for name, entry in table.items():
            yield (*path, Position(index), name), entry


def _format_value(path: KeyPath, value: object) -> str:
    node = find_node(path)
    hidden = node is not None and node.about.secret
    return f"{format_key(path)} = {_HIDDEN if hidden else _cut(hide_credentials(format_literal(value)))}"


def _cut(text: str) -> str:
    """The text, or its beginning and how much follows: what is out of sight must be mentioned."""
    rest = len(text) - _LONGEST_VALUE
    return text if rest <= 0 else f"{text[:_LONGEST_VALUE]}… and {rest:,} more characters"
