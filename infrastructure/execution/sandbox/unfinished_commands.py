"""What protected paths there were before each command that runs unasked, kept on disk while it runs.

Where quorum is killed meanwhile, nobody looks for what the command made. The resumed session does, by this.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.execution.sandbox.guarded_files import GuardedFiles, PathIdentity

_SUFFIX = ".json"
_UNREADABLE = (
    "a command ran unasked in the sandbox when quorum was killed; which protected paths it made cannot be "
    "told, because the list of those before it cannot be read: look for new ones before any program obeys them"
)


class UnfinishedCommand(Struct, frozen=True, kw_only=True):
    """What was found before a command in these folders, and the paths that it was let write."""

    roots: tuple[str, ...]
    before: GuardedFiles
    opened: tuple[str, ...]
    began_ns: int


class UnfinishedCommands:
    """Those of one session, in a `folder` of its own. Blocks."""

    def __init__(self, folder: Path, policy: PathPolicy) -> None:
        self._folder = folder
        self._own: set[Path] = set()
        self._policy = policy

    def begin(self, before: GuardedFiles, opened: Sequence[str], roots: Sequence[str]) -> Callable[[], None]:
        """Keep this until what is returned is called. The command runs also where it cannot be kept."""
        places = {path: [each.itself, each.parent, each.link] for path, each in before.places.items()}
        kept = {"roots": list(roots), "places": places, "opened": list(opened)}
        file = self._folder / f"{secrets.token_hex(8)}{_SUFFIX}"
        self._own.add(file)
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            file.write_text(json.dumps(kept), encoding="utf-8", errors="surrogateescape")
        return lambda: self._end(file)

    def _end(self, file: Path) -> None:
        self._own.discard(file)
        with suppress(OSError):
            file.unlink()

    def pop_all(self) -> tuple[list[UnfinishedCommand], list[str]]:
        """Those that nobody ended, and what is to be said of others, a sentence each; none is kept any more.

        Call it while no command of the session runs.
        """
        found: list[UnfinishedCommand] = []
        said: list[str] = []
        for file in sorted(self._folder.glob(f"*{_SUFFIX}")):
            try:
                found.append(self._read(file))
            except (OSError, ValueError, TypeError, KeyError, AttributeError):
                said.append(_UNREADABLE)
            with suppress(OSError):
                file.unlink()
        return found, list(dict.fromkeys(said))

    def _read(self, file: Path) -> UnfinishedCommand:
        kept = json.loads(file.read_text(encoding="utf-8", errors="surrogateescape"))
        first, *added = map(str, kept["roots"])
        if first != os.path.realpath(self._policy.roots[0]):
            raise ValueError("another workspace")
        # Nothing is renamed in a folder that does not belong to the workspace any more.
        roots = (first, *(folder for folder in added if folder in self._policy.roots))
        places = {
            str(path): PathIdentity(_pair(itself), _pair(parent), str(link))
            for path, (itself, parent, link) in kept["places"].items()
        }
        return UnfinishedCommand(
            roots=roots,
            before=GuardedFiles(places=places),
            opened=tuple(map(str, kept["opened"])),
            began_ns=file.stat().st_mtime_ns,
        )

    def clear(self) -> None:
        """Keep nothing of this process any more: its commands have ended. Another may have the session open."""
        for file in tuple(self._own):
            self._end(file)
        with suppress(OSError):
            self._folder.rmdir()


def _pair(numbers: Sequence[int]) -> tuple[int, int]:
    device, inode = numbers
    return int(device), int(inode)
