"""A row of the tables of harmful uses of programs."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.review.plain_request import RequestTerms


class HarmfulUse(Struct, frozen=True):
    """Programs, the words that must follow first, one that must be among the rest, and what that does.

    A word is needed, or excludes the row, if the pattern matches it whole; "" needs and excludes none.
    `request`: what the person may plainly ask for; None: it is objected to whatever was asked.
    """

    program: str
    needed: str
    does: str
    unless: str = ""
    guard: str = "destructive"
    request: RequestTerms | None = None
