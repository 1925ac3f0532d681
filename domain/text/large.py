"""Tells what is so large that going through it would hold up an event loop."""

from __future__ import annotations

from collections.abc import Mapping

from quorum.domain.replacing import list_fields

LARGE_CHARS = 16_384
"""Characters and items of collections; to go through so many takes longer than a thread costs."""
_WITHOUT_SIZE: set[type] = {type(None), bool, int, float}  # and all others that were met


def is_large(*values: object) -> bool:
    """Whether the texts and collections in these values, JSON and fields, come to `LARGE_CHARS` together.

    It looks no further than it takes to find out.
    """
    left: list[object] = [*values]
    size = 0
    while left and size < LARGE_CHARS:
        value = left.pop()
        kind = type(value)
        if kind in _WITHOUT_SIZE:
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
            case _:
                if names := list_fields(kind):
                    left += [getattr(value, name) for name in names]
                else:
                    _WITHOUT_SIZE.add(kind)
    return size >= LARGE_CHARS
