"""Which commit of a pull request was approved last, so that the next review is about what came later."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from pathlib import Path

_MOST_KEPT = 2_000
_MOST_BYTES = 1_000_000
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class ApprovedChanges:
    """A file of commits by what was asked about them. What of it cannot be read is as if it were not there:
    more is reviewed then, never less. All methods block."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def find(self, *asked: str) -> str:
        """The commit that was approved when this was asked; empty where none was."""
        return self._read().get(_compute_digest(asked), "")

    def keep(self, commit: str, *asked: str) -> None:
        """Remember that this commit was approved. Raises OSError."""
        kept = self._read()
        kept.pop(_compute_digest(asked), None)
        kept[_compute_digest(asked)] = commit
        latest = dict(list(kept.items())[-_MOST_KEPT:])
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=self._file.parent, prefix=f".{self._file.name}-")
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                json.dump(latest, file, indent=1)
            os.replace(name, self._file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def _read(self) -> dict[str, str]:
        try:
            with self._file.open("rb") as file:
                found = json.loads(file.read(_MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(found, dict):
            return {}
        return {k: v for k, v in found.items() if isinstance(v, str) and _COMMIT.fullmatch(v)}


def _compute_digest(asked: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(asked).encode("utf-8", "surrogatepass")).hexdigest()
