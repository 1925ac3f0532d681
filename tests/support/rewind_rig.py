"""Turns that change real files, and a way back to before each of them."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from quorum.application.background_jobs import BackgroundJobs
from quorum.application.calls.effect_receipt import EffectReceipt
from quorum.application.calls.outputs import Outputs
from quorum.application.event_bus import EventBus
from quorum.application.session.rewind import Rewind
from quorum.application.steering import PendingMessages
from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.effects import FileChange
from quorum.domain.events.event import EffectsObserved, FilesKept, FilesRestored, SessionRewound, TurnStarted
from quorum.domain.replacing import replace
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.sessions.restoration import RestorePlan, RestoreStep
from quorum.domain.text.output import OutputLimits
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.store.snapshots.cache import SavedIndex
from quorum.infrastructure.store.snapshots.keeper import KeepLimits, WorkspaceKeeper
from quorum.infrastructure.store.snapshots.reading import FileReader
from quorum.infrastructure.store.snapshots.restorer import WorkspaceRestorer
from quorum.infrastructure.store.snapshots.watch import WorkspaceWatch
from tests.support.builders import a_context
from tests.support.fake_contents import FakeContents
from tests.support.fake_ports import RecordingObserver

SECRET = b"planted-secret"
NO_CONVERSATION: Any = None


def plan_taking_back(changes: Sequence[FileChange]) -> RestorePlan:
    """What takes back recorded changes, such as those of a restoration, that left the files as they are now."""
    steps = [RestoreStep(path=one.path, wanted=one.before, now=one.after) for one in changes]
    return RestorePlan(turn=0, steps=tuple(steps))


class RewindRig:
    """A workspace whose turns are functions that change it."""

    def __init__(
        self,
        root: Path,
        *,
        limits: KeepLimits | None = None,
        watch: WorkspaceWatch | None = None,
        saved_index: SavedIndex | None = None,
        contents: FakeContents | None = None,
        run: Any = NO_CONVERSATION,
    ) -> None:
        self.root = root
        self.contents = contents or FakeContents()
        self.observer = RecordingObserver()
        self.events = EventBus([self.observer])
        workspace = Workspace([root])
        limits = limits or KeepLimits()
        policy = PathPolicy(roots=(str(workspace.cwd),))
        reader = FileReader(
            workspace, policy, lambda content: SECRET in content, largest_bytes=limits.file_bytes
        )
        self.keeper = WorkspaceKeeper(
            reader,
            self.contents,
            limits=limits,
            watch=watch,
            saved_index=saved_index,
        )
        self.rewind = Rewind(
            run=run,
            events=self.events,
            keeper=self.keeper,
            contents=self.contents,
            restorer=WorkspaceRestorer(reader),
            jobs=BackgroundJobs(
                events=self.events, outputs=Outputs(None, OutputLimits()), pending_messages=PendingMessages()
            ),
        )
        self._calls = 0

    @asynccontextmanager
    async def call(self, access: Access = EXCLUSIVE) -> AsyncIterator[None]:
        """A call whose body changes files."""
        self._calls += 1
        context = replace(a_context(), call_id=f"call-{self._calls}", batch_id=f"batch-{self._calls}")
        async with EffectReceipt(context, access, self.keeper, self.events):
            yield

    async def turn(self, *work: Callable[[], object], access: Access = EXCLUSIVE) -> int:
        """A turn with one call for each piece of work; its number."""
        await self.events.record(TurnStarted(prompt="go"))
        for piece in work:
            async with self.call(access):
                piece()
        return self.events.state.turns[-1].number

    async def crashed_turn(self, work: Callable[[], object], access: Access = EXCLUSIVE) -> int:
        """A turn whose call never ends, as when the process is killed."""
        await self.events.record(TurnStarted(prompt="go"))
        self._calls += 1
        context = replace(a_context(), call_id=f"call-{self._calls}", batch_id=f"batch-{self._calls}")
        receipt = EffectReceipt(context, access, self.keeper, self.events)
        await receipt.__aenter__()
        work()
        return self.events.state.turns[-1].number

    async def undo(self, turn: int, *overwrite: str) -> RestorePlan:
        """Give back the files as they were before a turn, and these though somebody edited them since."""
        plan = await self.rewind.plan(turn)
        await self.rewind.restore(plan, frozenset(str(self.root / path) for path in overwrite))
        await self.events.record(SessionRewound(turn=turn, conversation=True, files=True))
        return plan

    def steps(self, plan: RestorePlan) -> dict[str, RestoreStep]:
        """The steps by path from the root."""
        return {os.path.relpath(step.path, self.root): step for step in plan.steps}

    @property
    def restored(self) -> tuple[FileChange, ...]:
        """What the last restoration reported."""
        reported = [event for event in self.observer.of(FilesRestored) if isinstance(event, FilesRestored)]
        return reported[-1].changes

    @property
    def kept(self) -> list[FilesKept]:
        """What was reported of files kept."""
        return [event for event in self.observer.of(FilesKept) if isinstance(event, FilesKept)]

    @property
    def observed(self) -> dict[str, FileChange]:
        """The last receipt, by path from the root."""
        reported = [event for event in self.observer.of(EffectsObserved) if isinstance(event, EffectsObserved)]
        return {os.path.relpath(change.path, self.root): change for change in reported[-1].effects.changes}


def tree(root: Path) -> dict[bytes, tuple[object, ...]]:
    """Every file and link below a folder: its kind, mode, and content or target."""
    found: dict[bytes, tuple[object, ...]] = {}
    for folder, folders, files in os.walk(os.fsencode(root)):
        for name in [*files, *(f for f in folders if os.path.islink(os.path.join(folder, f)))]:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                found[os.path.relpath(path, os.fsencode(root))] = ("link", os.readlink(path))
            else:
                content = Path(os.fsdecode(path)).read_bytes()
                found[os.path.relpath(path, os.fsencode(root))] = (stat.S_IMODE(status.st_mode), content)
    return found
