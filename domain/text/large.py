"""Tells what is so large that going through it would hold up an event loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

LARGE_CHARS = 16_384
"""Characters and items of collections; to go through so many takes longer than a thread costs."""
_FIELDS: dict[type, tuple[str, ...]] = {}  # of each dataclass that was met
_WITHOUT_SIZE: set[type] = {type(None), bool, int, float}  # and all others that were met


def is_large(*values: object) -> bool:
    """Whether the texts and collections in these values, JSON and dataclasses, come to `LARGE_CHARS` together.

    It looks no further than it takes to find out.
    """
    left: list[object] = [*values]
    size = 0
    while left and size < LARGE_CHARS:
        value = left.pop()
        kind = type(value)
        if kind in _WITHOUT_SIZE:
            continue
        if (names := _FIELDS.get(kind)) is not None:
            left += [getattr(value, name) for name in names]
            continue
        match value:
            case str():
                size += len(value)
            case list() | tuple() | frozenset():
                size += len(value)
                if size < LARGE_CHARS:
                    left += value
            case Mapping():
                size += len(value)
                if size < LARGE_CHARS:
                    left += (*value, *value.values())
            case _ if is_dataclass(value) and not isinstance(value, type):
                left.append(value)
                _FIELDS[kind] = tuple(field.name for field in fields(value) if field.compare)
            case _:
                _WITHOUT_SIZE.add(kind)
    return size >= LARGE_CHARS
