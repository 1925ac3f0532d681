"""What a hook may answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class HookPoint(StrEnum):
    """The four points at which hooks run."""

    ON_MESSAGE_SEND = "on_message_send"
    BEFORE_TOOL_CALL = "before_tool_call"
    AFTER_TOOL_CALL = "after_tool_call"
    ON_TURN_END = "on_turn_end"


@dataclass(frozen=True, slots=True)
class Continue:
    """Go on; the next hook sees what this one changed."""


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave out the request, the call or the result; later hooks of this point do not run."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Abort:
    """End the whole run as failed, with this reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The turn may end."""


@dataclass(frozen=True, slots=True)
class ContinueWithMessages:
    """Put these messages to the model in the person's place and go on."""

    messages: tuple[str, ...]


HookAnswer: TypeAlias = Continue | Skip | Abort
TurnEndAnswer: TypeAlias = Finish | ContinueWithMessages | Abort


class OnHookError(StrEnum):
    """What a failing hook means. CLOSED: what it guards does not happen. OPEN: it happens unchanged, with a
    warning."""

    CLOSED = "closed"
    OPEN = "open"
