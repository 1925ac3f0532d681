"""The token that approving over the socket takes: made at the start, handed over once, never shown."""

from __future__ import annotations

import fcntl
import os
import secrets
import select
import stat

from quorum.domain.errors import ConfigError

_FIRST = 3  # the ones before are standard input, output and error
_BYTES = 32
_PATIENCE_MILLISECS = 5000


def write_new_token(descriptor: int) -> str:
    """Make a token, write it with a line end to an inherited pipe or socket, and close that.

    A file is refused: what is in a file can be read by what the token is to keep out. Raises ConfigError.
    """
    token = secrets.token_urlsafe(_BYTES)
    try:
        if problem := _describe_problem(descriptor):
            raise ConfigError(f"--listen-approve {descriptor}: {problem}")
        _write(descriptor, f"{token}\n".encode())
    except OSError as error:
        raise ConfigError(
            f"--listen-approve {descriptor}: the token cannot be written there ({error.strerror}); open the "
            f"descriptor for whoever is to have it, as bash does with {descriptor}> >(PROGRAM)"
        ) from error
    os.close(descriptor)
    return token


def _describe_problem(descriptor: int) -> str:
    if descriptor < _FIRST:
        return f"descriptors below {_FIRST} are taken; hand one over from {_FIRST} upwards"
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return "the descriptor must be a pipe or a socket, so that the token is kept in no file"
    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        return "the descriptor cannot be written to"
    return ""


def _write(descriptor: int, text: bytes) -> None:
    """Write what fits into any pipe at once; one that is full, and is not emptied, is not waited for."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    if not poll.poll(_PATIENCE_MILLISECS):
        raise ConfigError(f"--listen-approve {descriptor}: nobody reads from it")
    os.write(descriptor, text)
