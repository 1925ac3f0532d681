"""A supervised program with a payload on its standard input."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from quorum.domain.shell.sandbox import Keys
from quorum.infrastructure.execution.commands.process import SupervisedProcess

# The supervisor gives every command an empty standard input: this puts the payload in its place, leaves no name
# of it behind, and becomes the program. Nothing of the program's words is read as shell.
_WITH_PAYLOAD = 'exec <"$0"; rm -f "$0"; exec "$@"'


@contextmanager
def start_with_payload(
    argv: Sequence[str],
    payload: bytes,
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout_secs: float,
    on_output: Callable[[bytes], None],
    on_errors: Callable[[bytes], None],
    keys: Keys = "all",
) -> Iterator[SupervisedProcess]:
    """The running program, whose absolute path `argv` begins with. Leave the context when it has ended.

    The payload is in a file that only we can read, gone afterwards. Raises OSError where the program cannot be
    started.
    """
    with tempfile.TemporaryDirectory(prefix="quorum-input-") as folder:
        file = Path(folder, "payload.json")
        file.write_bytes(payload)
        yield SupervisedProcess(
            ("/bin/sh", "-c", _WITH_PAYLOAD, str(file), *argv),
            cwd=cwd,
            environment=environment,
            timeout_secs=timeout_secs,
            on_output=on_output,
            on_errors=on_errors,
            keys=keys,
        )
