"""Looking for what the sandbox keeps from commands before there is a command that waits for it."""

from __future__ import annotations

import asyncio

from infrastructure.blocking import Stop, run_in_thread
from infrastructure.execution.sandbox.sandbox import Sandbox
from infrastructure.files.mounts import are_local
from infrastructure.files.workspace import Workspace

_EARLY_SECS = 1.0  # after the session was opened, when the screen has come up


class EarlySearch:
    """Implements `BackgroundWork`: the first search of a workspace of 300,000 files takes seconds, later
    ones read only the folders that changed. What does not lie on disks of this machine is left to the commands.
    """

    def __init__(self, sandbox: Sandbox, workspace: Workspace) -> None:
        self._sandbox = sandbox
        self._workspace = workspace
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Search once the screen has come up."""
        if self._task is None:
            self._task = asyncio.create_task(self._wait_and_search(), name="early-search")

    async def aclose(self) -> None:
        """Search no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _wait_and_search(self) -> None:
        await asyncio.sleep(_EARLY_SECS)
        await run_in_thread(self._search)

    def _search(self, stop: Stop) -> None:
        if are_local(self._workspace.folders):
            self._sandbox.find_gap(stop.check)
