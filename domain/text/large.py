"""Tells what is so large that going through it would hold up an event loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

LARGE_CHARS = 16_384
"""Characters and items of collections; to go through so many takes longer than a thread costs."""
_FIELDS: dict[type, tuple[str, ...]] = {}  # of each class that was met


def is_large(*values: object) -> bool:
    """Whether the texts and collections in these values, JSON and dataclasses, come to `LARGE_CHARS` together.

    It looks no further than it takes to find out.
    """
    left: list[object] = [*values]
    size = 0
    while left and size < LARGE_CHARS:
        value = left.pop()
        match value:
            case None | bool() | int() | float():
                continue
            case str():
                size += len(value)
            case Mapping():
                size += len(value)
                if size < LARGE_CHARS:
                    left += (*value, *value.values())
            case list() | tuple() | frozenset():
                size += len(value)
                if size < LARGE_CHARS:
                    left += value
            case _ if is_dataclass(value) and not isinstance(value, type):
                left += [
                    getattr(value, name) for name in _FIELDS.get(type(value)) or _identity_fields(type(value))
                ]
            case _:
                continue
    return size >= LARGE_CHARS


def _identity_fields(kind: type[Any]) -> tuple[str, ...]:
    """The fields that belong to a value's identity."""
    _FIELDS[kind] = found = tuple(field.name for field in fields(kind) if field.compare)
    return found
