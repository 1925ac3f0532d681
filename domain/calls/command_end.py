"""How a command ended, one of the model's and one of the person's own, and what the model reads of it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from quorum.domain.calls.execution import Outcome
from quorum.domain.shell.known_test_runners import runs_tests
from quorum.domain.text.output import ToolOutput
from quorum.domain.text.pattern import compile_once

_LAST_LINES = 6
_LONGEST_LINE = 300
# How a command ended stands behind all that it printed, which may hold such lines, too.
_ENDING = r"exit code (\d+)|killed by (?:SIG[A-Z0-9]+|signal \d+)"


class CommandEnd(Struct, frozen=True, kw_only=True):
    """A command that ended. `exit_code` is None where it has none, as after a timeout or a signal;
    `last_lines` are those that it printed last. `was_stopped`: it ran in the background until somebody, or the
    end of the turn, stopped it."""

    command: str
    outcome: Outcome
    exit_code: int | None = None
    last_lines: tuple[str, ...] = ()
    was_stopped: bool = False

    @property
    def is_test(self) -> bool:
        """Whether it runs tests, by its words."""
        return runs_tests(self.command) is True

    @property
    def failed(self) -> bool:
        return self.exit_code != 0 and not self.was_stopped

    @property
    def ending(self) -> str:
        """How it ended, in a few words."""
        if self.was_stopped:
            return "stopped"
        if self.exit_code is not None:
            return f"exit code {self.exit_code}"
        return "ended without an exit code" if self.outcome is Outcome.OK else self.outcome.value

    @classmethod
    def read(cls, command: str, outcome: Outcome, output: str) -> CommandEnd:
        """The command whose result a model was given as this text: what it printed, then how it exited."""
        lines = output.rstrip().splitlines()
        ends = [
            (place, found)
            for place, line in enumerate(lines)
            if (found := compile_once(_ENDING).fullmatch(line))
        ]
        place, found = ends[-1] if ends and outcome is Outcome.OK else (len(lines), None)
        return cls(
            command=command,
            outcome=outcome,
            exit_code=int(found[1]) if found is not None and found[1] is not None else None,
            last_lines=_shorten(lines[:place]),
        )

    @classmethod
    def read_job(
        cls, command: str, exit_code: int | None, output: str, *, was_stopped: bool = False
    ) -> CommandEnd:
        """The command that ended in the background."""
        return cls(
            command=command,
            outcome=Outcome.UNKNOWN if exit_code is None else Outcome.OK,
            exit_code=exit_code,
            last_lines=_shorten(output.splitlines()),
            was_stopped=was_stopped,
        )


def _shorten(lines: Sequence[str]) -> tuple[str, ...]:
    return tuple(line[:_LONGEST_LINE] for line in lines if line.strip())[-_LAST_LINES:]


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
