"""What an untrusted project file may do: set what harms nobody, tighten, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeAlias, cast

from domain.mode import Mode
from infrastructure.config.about import ProjectRule
from infrastructure.config.keys import Key, key_at
from infrastructure.config.toml_file import shown
from infrastructure.config.toml_text import KeyPath, dotted, literal, shortened
from infrastructure.config.validation import Assignment

# Each of these lets run what the other asks about, so that neither is stricter.
_APART = frozenset({Mode.ACCEPT_EDITS.value, Mode.QUORUM.value})

_Names: TypeAlias = "tuple[str, ...]"


class _Tighten(Protocol):
    """How one kind of setting is tightened: the value that results, and what was refused, if anything."""

    def __call__(self, key: Key, beneath: object, wanted: object, /) -> tuple[object, str | None]: ...


@dataclass(frozen=True, slots=True)
class Restrained:
    """What of a project file counts, and a sentence about everything that does not."""

    assignments: tuple[Assignment, ...]
    warnings: tuple[str, ...]


def restrained(
    assignments: Iterable[Assignment],
    beneath: Mapping[KeyPath, Assignment],
    *,
    file: Path,
    user_file: Path | None,
) -> Restrained:
    """Hold a project's file to its rules. `beneath` holds the settings that it is laid over."""
    kept: list[Assignment] = []
    warnings: list[str] = []
    forbidden: list[KeyPath] = []
    for assignment in assignments:
        key = key_at(assignment.path)
        if key.project is ProjectRule.NEVER:
            forbidden.append(assignment.path)
        elif key.project is ProjectRule.FREE:
            kept.append(assignment)
        else:
            tightened, refusal = _tightened(key, assignment, beneath[assignment.path])
            if tightened is not None:
                kept.append(tightened)
            if refusal is not None:
                warnings.append(f"{shown(file)} {refusal}")
    if forbidden:
        warnings.insert(0, _forbidden(forbidden, file, user_file))
    return Restrained(tuple(kept), tuple(warnings))


def _tightened(key: Key, wanted: Assignment, beneath: Assignment) -> tuple[Assignment | None, str | None]:
    value, refusal = _WAYS[key.project](key, beneath.value, wanted.value)
    sentence = None
    if refusal is not None:
        found = shortened(literal(wanted.value))
        sentence = f"sets {dotted(wanted.path)} = {found}; a project file may only {refusal}"
    if value == beneath.value:
        return None, sentence
    origin = f"{beneath.origin} + {wanted.origin}" if key.project is ProjectRule.ADD else wanted.origin
    return replace(wanted, value=value, origin=origin), sentence


def _lower(_: Key, beneath: object, wanted: object) -> tuple[object, str | None]:
    limit, number = cast("float", beneath), cast("float", wanted)
    if number <= limit:
        return number, None
    return limit, f"lower it, so it stays {literal(limit)}"


def _stricter(key: Key, beneath: object, wanted: object) -> tuple[object, str | None]:
    """The choices of such a setting stand in the schema with the strictest first."""
    present, word = str(beneath), str(wanted)
    if {word, present} != _APART and key.choices.index(word) <= key.choices.index(present):
        return word, None
    return present, f"choose a stricter {key.path[-1]}, so it stays {literal(present)}"


def _add(_: Key, beneath: object, wanted: object) -> tuple[object, str | None]:
    return tuple(dict.fromkeys((*cast("_Names", beneath), *cast("_Names", wanted)))), None


def _narrow(_: Key, beneath: object, wanted: object) -> tuple[object, str | None]:
    """Keep only what both name. An empty list means all, so an empty outcome must not be let through."""
    present, names = tuple(cast("_Names", beneath)), tuple(cast("_Names", wanted))
    if not present or set(names) == set(present):
        return names, None
    common = tuple(name for name in present if name in names)
    value = common or present
    refusal = None if names and set(names) <= set(present) else f"narrow it, so it is {literal(value)}"
    return value, refusal


def _forbidden(paths: list[KeyPath], file: Path, user_file: Path | None) -> str:
    names = ", ".join(map(dotted, paths))
    ignored = "it is ignored" if len(paths) == 1 else "they are ignored"
    them = "it" if len(paths) == 1 else "them"
    own = f"put {them} in {shown(user_file)} or " if user_file is not None else ""
    return (
        f"{shown(file)} sets {shortened(names, 400)}; a project file may not, so {ignored} "
        f"({own}name the file with --config)"
    )


_WAYS: Mapping[ProjectRule, _Tighten] = {
    ProjectRule.LOWER: _lower,
    ProjectRule.STRICTER: _stricter,
    ProjectRule.ADD: _add,
    ProjectRule.NARROW: _narrow,
}
