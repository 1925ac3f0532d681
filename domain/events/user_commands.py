"""The commands that the person runs themselves."""

from __future__ import annotations

from typing import ClassVar

from quorum.domain.calls.execution import Outcome
from quorum.domain.fact import CanonicalPlace, Fact
from quorum.domain.text.styles import Styles


class UserCommandStarted(Fact, frozen=True, kw_only=True, tag="own_command_started"):
    """The person runs a `!` command, which nobody reviews. `told`: it is visible to the model."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    command_id: str
    command: str
    told: bool


class UserCommandProgressed(Fact, frozen=True, kw_only=True, tag="own_command_progressed"):
    """A command of the person's printed something: these are its last lines now."""

    durable: ClassVar = False
    command_id: str
    text: str
    styles: Styles = ()


class UserCommandFinished(Fact, frozen=True, kw_only=True, tag="own_command_finished"):
    """A command of the person's ended; `unknown`: the process that ran it did.

    `exit_code` is negative for a signal. `output` is all that it printed, or both ends of it; the whole is
    then in the stored output `blob_id`, of `size_bytes`. `remarks` are sentences about its ending; `note` is
    what the model is to read of it, None where it is kept from it.
    """

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    command_id: str
    outcome: Outcome
    exit_code: int | None
    output: str
    duration_secs: float
    remarks: tuple[str, ...] = ()
    blob_id: str | None = None
    size_bytes: int = 0
    note: str | None = None
    styles: Styles = ()
