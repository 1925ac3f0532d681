"""What a model reads about a custom tool that has ended: its standard output, or why there is none."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Sequence
from typing import NoReturn

from quorum.application.calls.whole_outputs import attach_whole_output, store_whole
from quorum.application.ports.storage import Spill
from quorum.domain.calls.summary import describe_structure, is_long
from quorum.domain.errors import ToolError
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.output import Printed, Spilled, Stored, Structured, ToolOutput
from quorum.infrastructure.execution.commands.account import list_remarks, name_signal
from quorum.infrastructure.execution.commands.output import BoundedText, CommandOutput, Overflow
from quorum.infrastructure.execution.commands.process import Ending

_TAIL_BYTES = 4000


class ExactOutput:
    """Standard output as it was printed, within `limit` bytes; bytes that are no UTF-8 are replaced.

    Once it is more, `overflow` gets all of it, from the beginning on.
    """

    def __init__(self, limit: int, overflow: Overflow | None = None) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = BoundedText(limit, overflow)

    @property
    def overflows(self) -> bool:
        """Whether there was more than is kept."""
        return self._kept.overflows

    def overflow_now(self) -> None:
        """Give `overflow` what there is, though it would be kept: less than that is going to be shown."""
        self._kept.overflow_now()

    def feed(self, data: bytes) -> None:
        """Take what was printed."""
        self._kept.append(self._decoder.decode(data))

    def close(self) -> str:
        """The whole text, within the limit. Nothing may be fed afterwards."""
        self._kept.append(self._decoder.decode(b"", final=True))
        return self._kept.join()


class CustomOutput:
    """Both streams of a custom tool, each kept within `limit` bytes; what is more goes whole into a spill."""

    def __init__(self, limit: int, open_spill: Callable[[], Spill] | None) -> None:
        self._output_spill = open_spill() if open_spill is not None else None
        self._error_spill = open_spill() if open_spill is not None else None
        self.output = ExactOutput(limit, self._output_spill)
        self.errors = CommandOutput(limit, self._error_spill)

    def discard(self) -> None:
        """Give up what was spilled."""
        for spill in (self._output_spill, self._error_spill):
            if spill is not None:
                spill.discard()

    def build_result(self, ending: Ending, *, timeout_secs: int) -> str | Printed | Spilled:
        """Exactly the standard output of a program that exited with 0. Blocks where it is put into the store.

        Raises ToolError, with the end of standard error, or of standard output where there is none, for every
        other ending, and where processes are left that could not be ended. All that such an end leaves out is
        in the store.
        """
        output, errors = self.output.close(), self.errors.close().text
        problem = _find_problem(ending, timeout_secs)
        if problem is None:
            if self._output_spill is None or not self.output.overflows:
                return output
            return store_whole(self._output_spill, Printed(output))
        if errors.strip():
            error = _build_error(problem, "standard error", errors, ending)
            return self._raise(error, errors, self.errors, self._error_spill)
        error = _build_error(problem, "standard output", output, ending)
        return self._raise(error, output, self.output, self._output_spill)

    def _raise(
        self, error: ToolError, text: str, stream: ExactOutput | CommandOutput, spill: Spill | None
    ) -> NoReturn:
        if spill is None or not is_long(text, _TAIL_BYTES):
            raise error
        stream.overflow_now()
        raise attach_whole_output(spill, error)


def read_json_output(text: str, notes: Sequence[str] = ()) -> ToolOutput:
    """Return what a program printed as the JSON that it is declared to be; what is none, as text that says so.

    `notes` follow it: they are the summary of a value that is stored for them.
    """
    try:
        value: JsonValue = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        return Printed("\n".join([f"[declared to print JSON, but this is none: {reason}]", text, *notes]))
    if not notes:
        return Structured(value)
    return Stored(Structured(value), summary="\n".join([describe_structure(value), *notes]))


def _refuse_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is no JSON")


def _build_error(problem: str, stream: str, text: str, ending: Ending) -> ToolError:
    said = f"the end of its {stream}:\n{_cut_to_tail(text)}" if text.strip() else "it printed nothing"
    return ToolError("\n".join([f"{problem}; {said}", *list_remarks(ending)]))


def _find_problem(ending: Ending, timeout_secs: int) -> str | None:
    if ending.failure is not None:
        return f"the program could not be started: {ending.failure}"
    if ending.timed_out:
        return f"the program was ended after {timeout_secs} s, its time limit"
    if ending.exit_code is None:
        return "how the program ended is not known"
    if ending.exit_code < 0:
        return f"the program was killed by {name_signal(-ending.exit_code)}"
    if ending.exit_code > 0:
        return f"the program failed with exit code {ending.exit_code}"
    return "the program exited with 0, but processes that it started live on" if ending.left else None


def _cut_to_tail(text: str) -> str:
    data = text.strip("\n").encode("utf-8", "replace")
    return data[-_TAIL_BYTES:].decode(errors="ignore")
