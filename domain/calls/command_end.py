"""How a command ended, as its result says it to a model."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from quorum.domain.calls.execution import Outcome
from quorum.domain.shell.known_test_runners import runs_tests
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
