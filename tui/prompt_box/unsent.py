"""What is typed and not sent yet, in a file, so that a killed process does not take it along.

Each file is locked by its process: one that can be locked was left by a process that was killed. Nothing heavy
is imported with this module, for the prompt that stands before the app is loaded uses it too.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_LARGEST = 10_000_000


def locate_state_folder() -> Path:
    """Our folder in the state directory of the XDG base directories."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return base / "quorum"


def name_project(cwd: str | os.PathLike[str]) -> str:
    """The name by which files of the state folder know the project at `cwd`."""
    return hashlib.sha256(os.fsencode(os.path.realpath(cwd))).hexdigest()[:16]


class UnsentTexts:
    """The `texts` of one prompt in a project, the oldest first. There is a file only while there are some."""

    def __init__(self, cwd: str | os.PathLike[str]) -> None:
        self._cwd = cwd
        self.texts: Sequence[str] = ()
        self._file: tuple[Path, int] | None = None

    def keep(self, texts: Sequence[str]) -> bool:
        """Have these in the file in place of all others; False where it cannot be written and the former ones
        stay."""
        with suppress(OSError):
            if list(texts) != list(self.texts):
                file = self._write(texts) if texts else None
                self._remove()
                self._file, self.texts = file, texts
            return True
        return False

    def _write(self, texts: Sequence[str]) -> tuple[Path, int]:
        folder = _locate_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{os.urandom(8).hex()}.json"
        descriptor = os.open(path, _NEW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            content = {"project": name_project(self._cwd), "texts": list(texts)}
            with os.fdopen(os.dup(descriptor), "wb") as file:
                file.write(json.dumps(content).encode())
            if not os.fstat(descriptor).st_nlink:
                raise OSError("removed by another process before it was locked")
        except BaseException:
            _remove(path, descriptor)
            raise
        return path, descriptor

    def _remove(self) -> None:
        if self._file is not None:
            _remove(*self._file)
        self._file = None


def recover_unsent(cwd: Path, adopt: Callable[[Sequence[str]], object]) -> bool:
    """Have `adopt` take what killed processes left of this project, file by file; whether there was any.

    A file that is not whole is removed; one whose texts `adopt` raises OSError for stays.
    """
    project, has_found = name_project(cwd), False
    try:
        paths = sorted(_locate_folder().iterdir(), key=_find_age)
    except OSError:  # there is no folder
        return False
    for path in paths:
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                texts = _parse(os.pread(descriptor, _LARGEST, 0), project)
                if texts:
                    adopt(texts)
                    has_found = True
                if texts is not None:
                    os.unlink(path)
            finally:
                os.close(descriptor)
    return has_found


def _find_age(path: Path) -> int:
    """When it was written; 0 where another process has just recovered it."""
    with suppress(OSError):
        return path.stat().st_mtime_ns
    return 0


def _parse(content: bytes, project: str) -> Sequence[str] | None:
    """The texts in a file, none of one that is damaged; None for one of another project."""
    try:
        found = json.loads(content)
    except ValueError:
        return ()
    if not isinstance(found, dict) or not isinstance(texts := found.get("texts"), list):
        return ()
    return [text for text in texts if isinstance(text, str)] if found.get("project") == project else None


def _locate_folder() -> Path:
    return locate_state_folder() / "unsent"


def _remove(path: Path, descriptor: int) -> None:
    with suppress(OSError):
        os.unlink(path)
    os.close(descriptor)
