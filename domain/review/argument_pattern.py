"""Patterns of one argument as permission rules write them: `url=https://docs.example.org/*`.

In a web address a `*` of a rule that allows stays within the host, so that what stands in the path of another
site cannot pass for the host that was meant.
"""

from __future__ import annotations

import re

from domain.text.wildcard import fits

_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<host>[^/?#\\]*)(?P<rest>.*)", re.DOTALL)
_UPWARDS = re.compile(r"(?i)(^|[/\\])(\.|%2e){1,2}($|[/\\?#])")


def matches_argument(pattern: str, value: str, *, strict: bool) -> bool:
    """Whether a value fits a pattern. `strict` is for rules that allow; others match without regard to case."""
    if not strict:
        wanted = pattern.lower()
        return any(fits(each.lower(), wanted) for each in (value, f"{value}/"))
    if (wanted_address := _ADDRESS.fullmatch(pattern)) is None:
        return fits(value, pattern)
    address = _ADDRESS.fullmatch(value)
    return (
        address is not None
        and address["scheme"].lower() == wanted_address["scheme"].lower()
        and not set(address["host"]) & set("@ \t\r\n")
        and fits(address["host"].lower(), wanted_address["host"].lower())
        and not _UPWARDS.search(address["rest"])
        and fits(address["rest"], wanted_address["rest"])
    )
