"""What every request says of things that the model may choose from by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from quorum.domain.instructions.instruction import InstructionScope

_LONGEST_DESCRIPTION = 500  # characters of one thing that every request carries
_MOST_CHARACTERS = 8_000  # of all of them together


class Offered(Protocol):
    """Something that a person or a project keeps in files, and the model chooses by its name."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str:
        """When to choose it."""
        ...

    @property
    def scope(self) -> InstructionScope: ...


_Offered = TypeVar("_Offered", bound=Offered)


def select_by_name(found: Sequence[_Offered]) -> tuple[_Offered, ...]:
    """One of each name, in the order of names: the person's own before a project's, and of a project's the
    nearest, which stands last."""
    chosen: dict[str, _Offered] = {}
    for each in found:
        taken = chosen.get(each.name)
        if taken is None or taken.scope is InstructionScope.PROJECT:
            chosen[each.name] = each
    return tuple(chosen[name] for name in sorted(chosen))


def render_offers(heading: str, offered: Sequence[Offered], *, rest: str) -> str:
    """Names and descriptions below a heading, as far as there is room for them; empty where there are none.

    `rest` says where the others are listed.
    """
    if not offered:
        return ""
    room = _MOST_CHARACTERS
    lines: list[str] = []
    for place, each in enumerate(offered):
        line = f"- {each.name}: {shorten(each.description, _LONGEST_DESCRIPTION)}"
        if len(line) > room:
            line = f"- {each.name}"
        if len(line) > room:
            lines.append(f"- and {len(offered) - place} more, {rest}")
            break
        room -= len(line)
        lines.append(line)
    return "\n".join((heading, "", *lines))


def shorten(text: str, limit: int) -> str:
    """A text on one line, at most so many characters."""
    joined = " ".join(text.split())
    return joined if len(joined) <= limit else f"{joined[: limit - 1]}…"
