"""Commands that the person runs themselves: how one ended, and what the model is to read of it."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.calls.execution import Outcome
from quorum.domain.text.output import ToolOutput

COMMAND_NOTE = "The person ran a command of their own in the workspace, not you: "
_RAN = COMMAND_NOTE + "{command}\n{ending}"
_PRINTED = "\nIt printed, each line of it behind a bar:\n{output}"
_SILENT = "\nIt printed nothing."
_LOST = "quorum ended while it ran, so its end and its output are not known; it was not run again."


class CommandRun(Struct, frozen=True, kw_only=True):
    """How a command of the person's ended, and what it printed.

    `exit_code` is negative for a signal, and None where it never became known; `failure` says why it could not
    be started; `remarks` are sentences about what had to be done about its processes, or what it needed.
    """

    output: str | ToolOutput = ""
    exit_code: int | None = None
    cancelled: bool = False
    failure: str | None = None
    remarks: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """The same in a word."""
        if self.cancelled:
            return Outcome.CANCELLED
        if self.failure is not None:
            return Outcome.NOT_RUN
        if self.exit_code is None:
            return Outcome.UNKNOWN
        return Outcome.ERROR if self.exit_code else Outcome.OK

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        if self.failure is not None:
            return f"It could not be started: {self.failure}"
        if self.cancelled:
            return "The person stopped it before its end."
        if self.exit_code is None:
            return "How it ended is not known."
        if self.exit_code < 0:
            return f"It was killed by signal {-self.exit_code}."
        return f"Its exit code was {self.exit_code}."


class UserCommand(Struct, frozen=True, kw_only=True):
    """A command of the person's that is not over and done with.

    `visible_to_model`: the model reads of it. `ended`: its end is recorded; `note` is then what the model is
    still to read of it, None where there is nothing.
    """

    command_id: str
    command: str
    visible_to_model: bool
    ended: bool = False
    note: str | None = None


def describe_user_command(command: str, run: CommandRun, printed: str) -> str:
    """What the model reads of a command that has ended; `printed` is as much of its output as it gets.

    It is said in the person's name: no line of the output can pass for one of theirs.
    """
    ending = " ".join([run.ending, *run.remarks])
    barred = "\n".join(f"| {line}".rstrip() for line in printed.splitlines())
    output = _PRINTED.format(output=barred) if printed.strip() else _SILENT
    return _RAN.format(command=command, ending=ending) + output


def describe_lost_command(command: str) -> str:
    """What the model reads of a command whose end nobody saw."""
    return _RAN.format(command=command, ending=_LOST)
