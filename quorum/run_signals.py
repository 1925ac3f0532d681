"""Signals to `quorum run`: from the first moment to the last, each of them is the ending "interrupted"."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from types import FrameType

INTERRUPTED = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# The object of `--output json` for a run that was interrupted before it had a session.
_REPORT = (
    '"session_id":"","status":"interrupted","stop_reason":null,"text":"","turns":0,"usage":{"input":0,"output":0,'
    '"cache_read":0,"cache_write":0,"reasoning":0},"calls":[]}\n'
)


class RunSignals:
    """Ends the process at once, until somebody listens.

    A signal that whoever started us had ignored, as SIGHUP under nohup, stays ignored. Only SIGINT counts
    always, because shells ignore it for what they start beside them.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._answer = _answer(arguments)
        self._listener: Callable[[], object] | None = None
        for number in _SIGNALS:
            if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._receive)

    def listen(self, listener: Callable[[], object]) -> None:
        """Call this for every signal from now on, in the main thread, between any two of its steps."""
        self._listener = listener

    def ignore(self) -> None:
        """The run has its ending: no signal changes it any more."""
        self._listener = lambda: None

    @staticmethod
    def release() -> None:
        """Leave signals to the interpreter, as for a command that is no run."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in _SIGNALS[1:]:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)

    def _receive(self, _number: int, _frame: FrameType | None) -> None:
        if self._listener is not None:
            self._listener()
            return
        with suppress(OSError):  # the code tells it as well
            os.write(1, self._answer)
        os._exit(INTERRUPTED)


def _answer(arguments: Sequence[str]) -> bytes:
    """What a run with this command line prints when it is interrupted before anything was done."""
    words = [*arguments, ""]
    chosen = [word.removeprefix("--output=") for word in words if word.startswith("--output=")]
    chosen += [after for word, after in pairwise(words) if word == "--output"]
    match chosen[-1:]:
        case ["json"]:
            return f"{{{_REPORT}".encode()
        case ["stream-json"]:
            return f'{{"type":"session_finished","v":1,{_REPORT}'.encode()
        case _:
            return b""
