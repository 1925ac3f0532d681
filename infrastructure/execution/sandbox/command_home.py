"""The home of one command in the sandbox: empty folders on the disk, looked at and removed once it has ended.

Nobody finds out what a command leaves in a file system in memory, which is gone with its last process.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from quorum.domain.text.paths import is_below_any
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.execution.sandbox.session_tmp import remove_folder

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_NAMED = 3
# What programs make anew each time.
_UNIMPORTANT = frozenset({".cache", ".npm"})


class CommandHome:
    """`sources` are our folders by the homes in whose place they are mounted, of which the command calls `own`
    `~`; `mounted` is what else is mounted, which bubblewrap makes places for."""

    def __init__(self, sources: Mapping[str, str], mounted: Collection[str], own: str) -> None:
        self._own = own
        self._sources = dict(sources)
        self._mounted = frozenset(path for path in mounted if is_below_any(path, sources))

    def close(self) -> list[str]:
        """Remove it, and say what the command wrote there, in a sentence. The command must have ended."""
        sources, self._sources = self._sources, {}
        names: list[str] = []
        for home, source in sources.items():
            shown = "~" if home == self._own else home
            with suppress(OSError):
                found = self._find(home, source)
                names += [make_printable(f"{shown}/{each}", newlines=False) for each in found]
            with suppress(OSError):
                remove_folder(source)
        if not names:
            return []
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        was, is_ = ("was", "is") if len(names) == 1 else ("were", "are")
        return [
            f"{', '.join(names[:_MOST_NAMED])}{more} {was} written in the sandbox's own home and {is_} gone; "
            "write in the workspace, or the person can open a folder with tools.run_command.sandbox_writable"
        ]

    def _find(self, home: str, source: str) -> list[str]:
        around = {os.path.relpath(path, home) for path in self._mounted}
        for path in list(around):
            while path := os.path.dirname(path):
                around.add(path)
        folder = os.open(source, _FOLDER)
        try:
            return sorted(_list_written(folder, "", around))
        finally:
            os.close(folder)


def _list_written(folder: int, name: str, around: Collection[str]) -> Iterator[str]:
    """What is in a folder and neither a place of a mount nor around one; no link is followed."""
    for entry in os.listdir(folder):
        path = f"{name}{entry}"
        if path in _UNIMPORTANT:
            continue
        if path not in around:
            yield path
            continue
        with suppress(OSError):  # the place of a mounted file, or closed by the command
            inner = os.open(entry, _FOLDER, dir_fd=folder)
            try:
                yield from _list_written(inner, f"{path}/", around)
            finally:
                os.close(inner)
