"""Tells what is so large that going through it would hold up an event loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import cast

from quorum.domain.replacing import list_fields

LARGE_CHARS = 16_384
"""Characters and items of collections; to go through so many takes longer than a thread costs."""
# Of the classes that were met: to tell them anew costs more than all else here.
_WITHOUT_SIZE: set[type] = {type(None), bool, int, float}
_FIELDS: dict[type, Callable[[object], tuple[object, ...]]] = {}


def is_large(*values: object) -> bool:
    """Whether the texts and collections in these values, JSON and fields, come to `LARGE_CHARS` together.

    It looks no further than it takes to find out.
    """
    left: list[object] = [*values]
    size = 0
    while left and size < LARGE_CHARS:
        value = left.pop()
        kind = type(value)
        if kind is str:
            size += len(cast("str", value))
            continue
        if kind in _WITHOUT_SIZE:
            continue
        if (read_fields := _FIELDS.get(kind)) is not None:
            left += read_fields(value)
            continue
        match value:
            case str():  # of a class of its own
                size += len(value)
            case list() | tuple() | frozenset():
                size += len(value)
                if size < LARGE_CHARS:
                    left += value
            case dict() | Mapping():
                size += len(value)
                if size < LARGE_CHARS:
                    left += (*value, *value.values())
            case _:
                if names := list_fields(kind):
                    _FIELDS[kind] = _build_reader(names)
                    left.append(value)
                else:
                    _WITHOUT_SIZE.add(kind)
    return size >= LARGE_CHARS


def _build_reader(names: Sequence[str]) -> Callable[[object], tuple[object, ...]]:
    read = attrgetter(*names)
    return read if len(names) > 1 else lambda value: (read(value),)
