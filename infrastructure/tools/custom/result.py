"""What a model is told about a custom tool that has ended: its standard output, or why there is none."""

from __future__ import annotations

import codecs

from domain.errors import ToolError
from infrastructure.commands.account import remarks, signal_name
from infrastructure.commands.output import HeadAndTail
from infrastructure.commands.process import Ending

_TAIL_BYTES = 4000


class ExactOutput:
    """Standard output as it was printed, within `limit` bytes; bytes that are no UTF-8 are replaced."""

    def __init__(self, limit: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = HeadAndTail(limit)

    def feed(self, data: bytes) -> None:
        """Take what was printed."""
        self._kept.append(self._decoder.decode(data))

    def close(self) -> str:
        """The whole text, within the limit. Nothing may be fed afterwards."""
        self._kept.append(self._decoder.decode(b"", final=True))
        return self._kept.text()


def result(ending: Ending, *, output: str, errors: str, timeout_secs: int) -> str:
    """Exactly the standard output of a program that exited with 0.

    Raises ToolError, with the end of standard error, for every other ending, and where processes are left that
    could not be ended.
    """
    problem = _problem(ending, timeout_secs)
    if problem is None:
        return output
    stream, text = ("standard error", errors) if errors.strip() else ("standard output", output)
    said = f"the end of its {stream}:\n{_tail(text)}" if text.strip() else "it printed nothing"
    raise ToolError("\n".join([f"{problem}; {said}", *remarks(ending)]))


def _problem(ending: Ending, timeout_secs: int) -> str | None:
    if ending.failure is not None:
        return f"the program could not be started: {ending.failure}"
    if ending.timed_out:
        return f"the program was ended after {timeout_secs} s, its time limit"
    if ending.exit_code is None:
        return "how the program ended is not known"
    if ending.exit_code < 0:
        return f"the program was killed by {signal_name(-ending.exit_code)}"
    if ending.exit_code > 0:
        return f"the program failed with exit code {ending.exit_code}"
    return "the program exited with 0, but processes that it started live on" if ending.left else None


def _tail(text: str) -> str:
    data = text.strip("\n").encode("utf-8", "replace")
    return data[-_TAIL_BYTES:].decode(errors="ignore")
