"""The commands that the person runs themselves."""

from __future__ import annotations

from typing import ClassVar

from domain.calls.execution import Outcome
from domain.lazy_dataclass import dataclass
from domain.text.styles import Styles


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCommandStarted:
    """The person runs a `!` command, which nobody reviews. `told`: it is visible to the model."""

    type: ClassVar = "own_command_started"
    durable: ClassVar = True
    command_id: str
    command: str
    told: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCommandProgressed:
    """A command of the person's printed something: these are its last lines now."""

    type: ClassVar = "own_command_progressed"
    durable: ClassVar = False
    command_id: str
    text: str
    styles: Styles = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCommandFinished:
    """A command of the person's ended; `unknown`: the process that ran it did.

    `exit_code` is negative for a signal. `output` is all that it printed, or both ends of it; the whole is
    then in the stored output `blob_id`, of `size_bytes`. `remarks` are sentences about its ending; `note` is
    what the model is to read of it, None where it is kept from it.
    """

    type: ClassVar = "own_command_finished"
    durable: ClassVar = True
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
