"""Commands of the command line, run in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quorum.command_line.reading import parse


def run_command(words: Sequence[str], root: Path) -> int:
    """The exit code of a command that answers no prompt, in this folder."""
    _, command, options = parse(words)
    assert command.run is not None
    return command.run(options, root)
