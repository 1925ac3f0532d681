"""What a model reads about a command that has ended."""

from __future__ import annotations

import signal
from collections.abc import Sequence

from quorum.domain.errors import ToolError
from quorum.infrastructure.execution.commands.process import Ending


def render_result(ending: Ending, output: str, timeout_secs: int | None, more: Sequence[str] = ()) -> str:
    """The text of a result: the output, how the command exited, what had to be done about its processes and
    what `more` there is to say.

    Raises ToolError, with the same in its text, where the command could not be started, ran out of time, or
    nobody knows how it ended.
    """
    further = [*list_remarks(ending), *more]
    if ending.failure is not None:
        raise ToolError("\n".join([f"the command could not be started: {ending.failure}", *more]))
    if ending.timed_out:
        problem = (
            f"ended after {timeout_secs} s, its time limit; give it a larger timeout_secs if it needs more"
        )
        raise ToolError(_format_partial(f"the command was {problem}", output, further))
    if ending.exit_code is None:
        raise ToolError(_format_partial("how the command ended is not known", output, further))
    lines = [output] if output else []
    if ending.exit_code >= 0:
        lines.append(f"exit code {ending.exit_code}")
    else:
        lines.append(f"killed by {name_signal(-ending.exit_code)}")
    return "\n".join([*lines, *further])


def _format_partial(problem: str, output: str, further: list[str]) -> str:
    said = f"what it had printed until then:\n{output}" if output else "it had printed nothing"
    return "\n".join([f"{problem}; {said}", *further])


def list_remarks(ending: Ending) -> list[str]:
    """What had to be done about processes that a command left behind, a sentence each."""
    said: list[str] = []
    if ending.supervisor_lost:
        said.append(
            "the process that watches over the command was killed or stopped from within it; "
            f"{_count(ending.ended, 'process')} of the command {_format_were(ending.ended)} found and ended"
        )
    elif ending.ended and not ending.timed_out:
        said.append(f"{_count(ending.ended, 'background process')} {_format_were(ending.ended)} ended")
    if ending.left:
        ids = ", ".join(map(str, ending.left))
        said.append(f"{_count(len(ending.left), 'process')} could not be ended and may still run: {ids}")
    return said


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}es"


def _format_were(number: int) -> str:
    return "was" if number == 1 else "were"


def name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal has a number only
        return f"signal {number}"
