"""What a guard has against a call."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.review.plain_request import Asked, RequestTerms


class Objection(Struct, frozen=True):
    """What a guard has against a call, in words for the person. `guard` is its name in the settings.

    `request` is what the person must plainly ask for to take it back; None: it stands whatever was asked.
    `asked` is how plainly they did.
    """

    guard: str
    reason: str
    request: RequestTerms | None = None
    asked: Asked = Asked.NOT


def describe_write_outside(path: str) -> str:
    """What the guard has against a write outside the workspace."""
    return f"it writes outside the workspace: {path}"
