"""Whether the person trusts the settings that a folder brings along."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Standing(StrEnum):
    """How a project's file stands with the person: trusted as it is, trusted as it once was, or not known."""

    TRUSTED = "trusted"
    CHANGED = "changed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustQuestion:
    """Whether to trust a project's file as it was read.

    `folder` and `file` are canonical paths; `digest` is the SHA-256 of the very bytes that were read, in
    hexadecimal. `wants` says, one setting each as `key = value`, what would count only then, with nothing in
    it that is secret; `changed`: the person trusted another content of this file before.
    """

    folder: str
    file: str
    digest: str
    wants: tuple[str, ...]
    changed: bool
