"""The standard streams of a command without a screen: what cannot be written ends it without a traceback."""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from typing import TextIO

CLOSED_PIPE = 128 + 13  # what a shell reports for a process ended by SIGPIPE
UNWRITABLE = 74  # EX_IOERR of sysexits.h
_ESCAPES = "quorum-escapes"


class OutputLost(Exception):
    """Standard output takes no more.

    It is no OSError: whoever catches one for a file of theirs must not catch this.
    """

    def __init__(self, cause: OSError) -> None:
        super().__init__(f"standard output cannot be written: {cause.strerror or cause}")
        self.exit_code = CLOSED_PIPE if cause.errno == errno.EPIPE else UNWRITABLE

    @property
    def is_closed(self) -> bool:
        """Whether the reader closed it: there is nobody left to read."""
        return self.exit_code == CLOSED_PIPE


class _Output(io.FileIO):
    """Standard output. After a failure nothing more is written to it."""

    lost: OutputLost | None = None

    def write(self, data: object, /) -> int:
        if self.lost is not None:
            raise self.lost
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError as error:
            self.lost = OutputLost(error)
            raise self.lost from None


class _Errors(io.FileIO):
    """Standard error. What cannot be written there is dropped: there is no other place to tell it."""

    def write(self, data: object, /) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError:
            return len(memoryview(data))  # type: ignore[arg-type]


def guard_streams() -> bool:
    """Replace stdout by a stream that raises OutputLost, and stderr by one that drops what it cannot write.
    Returns whether there is a standard output.

    Both write what cannot be encoded as JSON escapes. Streams that somebody else has put there, such as a test,
    stay. A closed descriptor is filled, so that no file that is opened later takes its place.
    """
    codecs.register_error(_ESCAPES, _escape)
    is_open = sys.stdout is not None
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR)  # it takes the lowest number
    if sys.stdout is sys.__stdout__:
        sys.stdout = _wrap_text(_Output(1, "w", closefd=False), sys.__stdout__)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _wrap_text(_Errors(2, "w", closefd=False), sys.__stderr__, each_line=True)
    return is_open


def release_streams() -> None:
    """Put the streams of the interpreter back, for a program that draws on the terminal."""
    if _is_ours(sys.stdout, _Output):
        sys.stdout = sys.__stdout__
    if _is_ours(sys.stderr, _Errors):
        sys.stderr = sys.__stderr__


def abandon_output() -> None:
    """Have nothing more written to standard output: what is still in its buffer cannot go anywhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, _Output):
        raw.lost = None


def _is_ours(stream: TextIO | None, kind: type[io.FileIO]) -> bool:
    return isinstance(getattr(getattr(stream, "buffer", None), "raw", None), kind)


def _wrap_text(raw: io.FileIO, like: TextIO | None, *, each_line: bool = False) -> TextIO:
    encoding = like.encoding if like is not None else "utf-8"
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=encoding,
        errors=_ESCAPES,
        newline="\n",
        line_buffering=each_line or raw.isatty(),
    )


def _escape(error: UnicodeError) -> tuple[str, int]:
    """What an encoding has no bytes for, as JSON writes it: in JSON it is the same text."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    escapes = []
    for character in error.object[error.start : error.end]:
        units = character.encode("utf-16-be", "surrogatepass")
        escapes += [f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2)]
    return "".join(escapes), error.end
