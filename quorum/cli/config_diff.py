"""What a change to a file of settings changed, line by line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infrastructure.config.config_file import ConfigFileEdit


def list_changed_lines(change: ConfigFileEdit) -> Iterator[str]:
    """The lines that went, after `-`, and those that came, after `+`, as they are in the file."""
    before, after = change.before.splitlines(), change.after.splitlines()
    for number, line in enumerate(difflib.unified_diff(before, after, lineterm="", n=0)):
        if number > 1 and not line.startswith("@@"):  # the first two name the files
            yield line
