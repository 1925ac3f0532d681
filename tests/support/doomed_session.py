"""A process that goes on with a session and kills itself at a moment it was told.

Its one argument is JSON: the `folder` of the stage, its `sandbox`, the `calls` of a turn or the turn to `undo`,
and the moment to die at: `before` or `after` an event of this type is recorded, or once a running call says
"now".
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quorum.domain.events.event import CallProgressed, Event
from quorum.infrastructure.container import Container
from tests.support.real_session import LedgerThat, SessionStage, call
from tests.support.session_parts import change_ledger

_PATIENCE_SECS = 120.0


@dataclass(frozen=True)
class _Fate:
    """Kills this process when its moment comes."""

    moment: str
    event: str

    def befall(self, event: Event) -> None:
        if event.type == self.event:
            _die()

    def notify(self, event: Event) -> None:
        if self.moment == "now" and isinstance(event, CallProgressed) and "now" in event.text:
            _die()

    def adjust(self, container: Container) -> None:
        if self.moment in ("before", "after"):
            change_ledger(container, lambda ledger: LedgerThat(ledger, **{self.moment: self.befall}))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def _live(order: dict[str, Any]) -> None:
    stage = SessionStage(Path(order["folder"]), sandbox=order["sandbox"])
    fate = _Fate(order["moment"], order["event"])
    async with stage.opened(observer=fate, adjust=fate.adjust) as session:
        if order["undo"] is not None:
            await session.undo(order["undo"])
        else:
            await session.turn(*[[call(tool, **arguments) for tool, arguments in order["calls"]]])


def dies(
    stage: SessionStage,
    *calls: tuple[str, dict[str, object]],
    undo: int | None = None,
    moment: str = "now",
    event: str = "",
) -> None:
    """Let such a process live and die. Raises where it outlives its moment."""
    order = {
        "folder": str(stage.folder),
        "sandbox": stage.sandbox,
        "calls": calls,
        "undo": undo,
        "moment": moment,
        "event": event,
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.doomed_session", json.dumps(order)],
        timeout=_PATIENCE_SECS,
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


if __name__ == "__main__":
    asyncio.run(_live(json.loads(sys.argv[1])))
