"""What a process that is killed leaves on the disk: a copy of its state after each event that it recorded."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copytree, ignore_patterns

from quorum.domain.events.event import Event

_LEDGER = "ledger.sqlite"


@dataclass(frozen=True)
class DiskImage:
    """The state home of a process that died after these events."""

    state_home: Path
    events: tuple[Event, ...]

    @property
    def last(self) -> str:
        """The type of the last event."""
        return self.events[-1].type


@dataclass
class DiskImages:
    """Copies `state_home` into `folder` after each event, once one has come that `begins`."""

    state_home: Path
    folder: Path
    begins: Callable[[Event], bool]
    images: list[DiskImage] = field(default_factory=list)
    _events: list[Event] = field(default_factory=list)
    _has_begun: bool = False

    def copy_after(self, event: Event) -> None:
        """To be called once the event is recorded."""
        self._events.append(event)
        self._has_begun = self._has_begun or self.begins(event)
        if self._has_begun:
            image = self.folder / f"image-{len(self._events)}"
            copytree(self.state_home, image, ignore=ignore_patterns(f"{_LEDGER}*"))
            _copy_ledger(self.state_home / "quorum" / _LEDGER, image / "quorum" / _LEDGER)
            self.images.append(DiskImage(image, tuple(self._events)))

    def select(self, *, without: Sequence[type] = ()) -> list[DiskImage]:
        """Those that end with none of these events."""
        return [image for image in self.images if not isinstance(image.events[-1], tuple(without))]


def _copy_ledger(source: Path, target: Path) -> None:
    """As its last transaction left it, whatever other tasks of the process are writing meanwhile."""
    with closing(sqlite3.connect(source)) as original, closing(sqlite3.connect(target)) as copy:
        original.backup(copy)
    target.chmod(0o600)
