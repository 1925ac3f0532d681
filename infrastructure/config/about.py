"""What the schema says of a setting besides its type: what fits, what it means, what a project may do to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from urllib.parse import urlsplit

from msgspec import Struct

BARE_NAME = r"\A[A-Za-z0-9_-]+\Z"


class ProjectRule(StrEnum):
    """What an untrusted project file may do to a setting.

    `own` settings are the person's alone, and no project file sets them, trusted or not; `never` ones wait for
    trust, `free` ones do not. The others are the ways in which it may only tighten: lower a number, set or
    lower a cap (0 is none), take a stricter choice (the type lists the strictest first), add to a list, or
    narrow a list to fewer names. To a list that is added to, a trusted file adds as well, so that trust takes
    no protection away.
    """

    OWN = "own"
    NEVER = "never"
    FREE = "free"
    LOWER = "lower"
    CAP = "cap"
    STRICTER = "stricter"
    ADD = "add"
    NARROW = "narrow"


DEFAULTS_ENTRY = "..."


class About(Struct, frozen=True, kw_only=True):
    """What stands beside a type in the schema.

    `expected` words what fits, where the type alone cannot, and `accepts` looks closer than the type can;
    `flaw` answers what is wrong with a value of the right type, or None;
    `secret` values are never shown; a wrong value of an `unquoted` key is not repeated in the error, because
    it may be a key pasted in the wrong place; `problem` answers what is wrong as a whole with a table of an
    array, or with one of a free name, or None; `names` is the pattern of the free names of a table,
    `names_expected` its wording, and `names_example` stands for such a name in the reference. In a list that
    is `extensible`, the entry `DEFAULTS_ENTRY` stands for the default. A setting that says nothing of projects
    waits for trust.
    """

    description: str
    project: ProjectRule = ProjectRule.NEVER
    expected: str | None = None
    accepts: Callable[[str], bool] | None = None
    flaw: Callable[[object], str | None] | None = None
    extensible: bool = False
    secret: bool = False
    unquoted: bool = False
    problem: Callable[[Mapping[str, object]], str | None] | None = None
    names: str = BARE_NAME
    names_expected: str = "letters, digits, - and _ only"
    names_example: str = "NAME"


def is_web_address(text: str) -> bool:
    """Whether it is an http or https address with a host, in printable ASCII; an empty text also counts."""
    try:
        parts = urlsplit(text)
        named = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return not text or (named and text.isascii() and text.isprintable() and " " not in text)
