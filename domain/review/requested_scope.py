"""What the person asked for, as a call is held against it."""

from __future__ import annotations

from msgspec import Struct


class RequestedScope(Struct, frozen=True, kw_only=True):
    """What a call is to be covered by, in the words that reviewers read.

    `task` is what the person said, the latest last; `plan` is the plan that they approved, empty where there is
    none. Whatever else is to define the scope belongs here: reviewers are told of nothing beside it. `typed` is
    the message that this turn began with if the person typed it by hand, and else empty; guards read only that.
    """

    task: str = ""
    plan: str = ""
    typed: str = ""
