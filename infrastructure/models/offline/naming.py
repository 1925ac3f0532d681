"""File and folder names as arguments of a request."""

from __future__ import annotations

import re

from quorum.domain.text.mention import parse_quoted_mention, split_lines
from quorum.infrastructure.models.offline.requests import MAX_REQUESTS, Misread
from quorum.infrastructure.models.offline.scanning import Item, Scanner
from quorum.infrastructure.models.offline.vocabulary import NAMELESS, begins_request, looks_like_path

_MORE = r"(?=\s+(?!(?:and|then|in|with|to)\b)[^\s,;、。])\s++"
_NOISE = re.compile(
    rf"(?:(?:me|the|both|at|files?|folders?|director(?:y|ies)|contents?\s++of|in|all|of){_MORE})*+",
    re.IGNORECASE,
)
_KIND_AFTER = re.compile(r"\s++(?:files?|folders?|director(?:y|ies))(?![\w./-])", re.IGNORECASE)


def read_names(scanner: Scanner, *, folders: bool = False) -> list[str]:
    """The names that stand here, stepping over them; empty if none does. Stops where prose or a verb begins.

    The first may be any word that could be a name; later ones must look like a path, be quoted, or, among
    folders, stand alone after a comma or "and".
    """
    found: list[str] = []
    while len(found) <= MAX_REQUESTS:
        here = scanner.pos
        joined = scanner.skip_joints()
        item = _parse_name(scanner, anything=not found or (folders and joined))
        scanner.skip(_KIND_AFTER)
        if item is None or (found and not _is_sure(item) and not scanner.at_joint):
            scanner.pos = here
            break
        found.append(item.value)
    return found


def read_name(scanner: Scanner) -> str | None:
    """The one name that stands here, stepping over it; None if none does."""
    scanner.skip_spaces()
    item = _parse_name(scanner, anything=True)
    return item.value if item else None


def require_names(scanner: Scanner, hint: str, *, folders: bool = False) -> list[str]:
    """Like `names`, but raises Misread with this hint where none stands."""
    if found := read_names(scanner, folders=folders):
        return found
    raise Misread(hint)


def _parse_name(scanner: Scanner, *, anything: bool) -> Item | None:
    if begins_request(scanner.text, scanner.pos):
        return None
    scanner.skip(_NOISE)
    item = _mention(scanner) or scanner.read_item()
    if item is None or not item.value.strip():
        return None
    if _is_sure(item):
        return item
    plausible = item.value.casefold() not in NAMELESS and not item.value.startswith("-")
    return item if anything and plausible else None


def _mention(scanner: Scanner) -> Item | None:
    """The name behind an @, as prompts name files."""
    if not scanner.text.startswith("@", scanner.pos):
        return None
    if (quoted := parse_quoted_mention(scanner.text, scanner.pos)) is not None:
        path, scanner.pos = quoted
        return Item(split_lines(path)[0], quoted=True)
    scanner.pos += 1
    if (bare := scanner.read_item()) is None:
        scanner.pos -= 1
        return None
    return Item(split_lines(bare.value)[0], quoted=True)


def _is_sure(item: Item) -> bool:
    return item.quoted or looks_like_path(item.value)
