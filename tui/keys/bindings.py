"""The keys of our own classes, without those of the library that they come from."""

from __future__ import annotations

from collections.abc import Iterator

from textual.binding import Binding
from textual.dom import DOMNode


def own_bindings(node: type[DOMNode]) -> Iterator[Binding]:
    """The bindings of a class and of those of ours that it comes from, the farthest first, one for each key."""
    for base in reversed(node.__mro__):
        if base.__module__.startswith("tui."):
            yield from Binding.make_bindings(base.__dict__.get("BINDINGS", ()))
