"""What the person typed before: kept per project in a file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

_TAIL_BYTES = 1_000_000
_LONGEST_KEPT = 100_000
_MOST_ENTRIES = 1_000


def locate_state_folder() -> Path:
    """Our folder in the state directory of the XDG base directories."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return base / "quorum"


def locate_history(cwd: Path) -> Path:
    """The file of the project at `cwd`."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(cwd))).hexdigest()[:16]
    return locate_state_folder() / "history" / f"{name}.jsonl"


class History:
    """Earlier prompts, one JSON string a line. Read at the first use; damaged lines are passed over.

    What `hide` takes out never reaches the file: by default what looks like a secret. It may be set later.
    """

    def __init__(self, path: Path, hide: Callable[[str], str] | None = None) -> None:
        self._path = path
        self.hide = hide or _mask_secrets
        self._entries: list[str] | None = None

    @property
    def entries(self) -> list[str]:
        """All prompts that are remembered, oldest first."""
        if self._entries is None:
            self._entries = _read(self._path)
        return self._entries

    def add(self, prompt: str) -> None:
        """Remember a prompt, here and in the file. Raises OSError where the file cannot be written.

        What repeats the last prompt is not added; what is longer than 100,000 characters stays out of the file.
        """
        entries = self.entries
        if entries and entries[-1] == prompt:
            return
        entries.append(prompt)
        if len(prompt) <= _LONGEST_KEPT:
            _append(self._path, self.hide(prompt))


def _mask_secrets(prompt: str) -> str:
    from quorum.domain.events.masking import SecretMask

    return SecretMask().mask_text(prompt)


def _read(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read().split(b"\n")
    except OSError:
        return []  # nothing to remember; a file that cannot be written either is reported when adding
    kept = [entry for line in lines if (entry := _parse_line(line)) is not None]
    return kept[-_MOST_ENTRIES:]


def _parse_line(line: bytes) -> str | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, str) and entry else None


def _append(path: Path, prompt: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    line = json.dumps(prompt).encode() + b"\n"
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if _is_torn(descriptor):
            line = b"\n" + line
        os.write(descriptor, line)  # one write: lines of two windows of one project never mix
    finally:
        os.close(descriptor)


def _is_torn(descriptor: int) -> bool:
    """Whether the last line lacks its end, as a crash may leave it."""
    size = os.lseek(descriptor, 0, os.SEEK_END)
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
