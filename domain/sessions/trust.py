"""Whether the person trusts what a folder brings along."""

from __future__ import annotations

import hashlib
from enum import StrEnum

from msgspec import Struct

_MOST_COMPARED = 4_000
"""Lines, of both contents together."""


class Standing(StrEnum):
    """How a project's file stands with the person: trusted as it is, trusted as it once was, or not known."""

    TRUSTED = "trusted"
    CHANGED = "changed"
    UNKNOWN = "unknown"


class TrustContent(Struct, frozen=True, kw_only=True):
    """What a file, or a folder that counts as a whole, holds: its digest, what it may do, and its text, both as
    lines that the person can read."""

    digest: str
    wants: tuple[str, ...]
    text: tuple[str, ...] = ()


class TrustItem(Struct, frozen=True, kw_only=True):
    """One file of a project, as it was read, or one folder that counts as a whole.

    `file` is its canonical path; `digest` is the SHA-256, in hexadecimal, of the very bytes that were read.
    `wants` says, a line each, what would count only if it is trusted, with nothing in it that is secret;
    `text` is what of it the model would read, a line each, and may be long. `changed`: the person trusted
    another content of it before; `former` are the lines of that, where they are known.
    """

    file: str
    digest: str
    wants: tuple[str, ...]
    changed: bool = False
    text: tuple[str, ...] = ()
    former: tuple[str, ...] | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        """What the answer is about: the text, or without one what the file may do."""
        return self.text or self.wants

    def compare(self) -> tuple[str, ...] | None:
        """What changed since the person trusted it, as lines of a unified diff; None where that is not known,
        or too long to be compared."""
        if self.former is None or len(self.former) + len(self.lines) > _MOST_COMPARED:
            return None
        from difflib import unified_diff

        return tuple(unified_diff(self.former, self.lines, lineterm=""))[2:]


class TrustQuestion(Struct, frozen=True, kw_only=True):
    """Whether to trust what the folder (a canonical path) brings along, all or nothing. It has an item."""

    folder: str
    items: tuple[TrustItem, ...]

    @property
    def digest(self) -> str:
        """What the answer is bound to: the item's digest, or of several one over all of them."""
        if len(self.items) == 1:
            return self.items[0].digest
        named = "".join(f"{item.digest} {item.file}\0" for item in self.items)
        return hashlib.sha256(named.encode("utf-8", "surrogateescape")).hexdigest()

    def extend(self, items: tuple[TrustItem, ...]) -> TrustQuestion:
        return TrustQuestion(folder=self.folder, items=(*self.items, *items))
