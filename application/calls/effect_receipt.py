"""Around a risky call: the files it may change are kept first, and what it changed is reported after."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType

from msgspec import UNSET, UnsetType

from quorum.application.calls.batch_state import OneSession
from quorum.application.cancellation import run_to_end
from quorum.application.event_bus import EventBus
from quorum.application.ports.workspace import FileKeeper
from quorum.domain.calls.access import Access
from quorum.domain.calls.effects import Effects, KeptFiles, compare_kept
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.errors import ContentGone, LedgerError, LostConnection, ToolError
from quorum.domain.events.event import CallQueued, EffectsObserved, FilesKept


class EffectReceipt:
    """Keeps the files before the execution of one call, so that it can be undone, and looks again after it.

    A call whose effects are not known beforehand is watched over the whole workspace, any other at the paths
    it declared. A call that failed or was cancelled gets its receipt too: it may have changed something.
    What another session does meanwhile would count as its doing: it waits for `one_session`. Changes in the
    folders that were `opened` for it count as declared. `subagent_id`: what it changes is a subagent's work.
    `with_call`: the start and the end of the call follow on the record, and are written together with it.
    `begun` is the manifest of the files that a process kept which was killed before it had looked again.
    """

    def __init__(
        self,
        context: ToolExecutionContext,
        access: Access,
        keeper: FileKeeper,
        events: EventBus,
        one_session: OneSession | None = None,
        *,
        opened: Sequence[str] = (),
        with_call: bool = False,
        subagent_id: str | UnsetType = UNSET,
        begun: str = "",
    ) -> None:
        self._one_session = one_session
        self._context = context
        self._with_call = with_call
        self._subagent_id = subagent_id
        self._begun = begun
        self._declared = access.writes | frozenset(opened)
        self._paths = None if access.exclusive else tuple(sorted(access.writes))
        self._keeper = keeper
        self._events = events
        self._kept = KeptFiles(roots=())

    async def __aenter__(self) -> None:
        """Keep the files as they are. Raises ToolError and LostConnection: the call must not run then."""
        if self._one_session is not None:
            await self._one_session.enter()
        try:
            await self._keep()
        except BaseException:
            self._leave()
            raise

    async def _keep(self) -> None:
        try:
            if self._begun and await self._go_on():
                return
            self._kept = kept = await self._keeper.keep(self._paths, self._report)
            if kept.manifest:
                begun = FilesKept(
                    context=self._context,
                    manifest=kept.manifest,
                    files=len(kept.states),
                    complete=kept.complete,
                )
                if self._with_call:
                    self._events.note(begun)
                else:
                    await self._events.announce(begun)
        except LostConnection:
            raise
        except LedgerError as error:
            raise ToolError(f"not run: its files could not be kept: {error}") from error

    async def _go_on(self) -> bool:
        """Whether it is known what the files held before a process changed some that was killed."""
        try:
            self._kept = await self._keeper.load(self._begun)
        except ContentGone:
            self._begun = ""
        return bool(self._begun)

    def _report(self, kept: int, files: int) -> None:
        self._events.show(CallQueued(context=self._context, waiting_for="files", files_kept=kept, files=files))

    async def __aexit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Look again, and tell what changed; of a cancelled call also that nothing did."""
        cancelled = kind is not None and issubclass(kind, asyncio.CancelledError)
        try:
            await run_to_end(self._tell(always=cancelled))
        finally:
            self._leave()

    def _leave(self) -> None:
        if self._one_session is not None:
            self._one_session.leave()

    async def _tell(self, *, always: bool) -> None:
        effects = await self._find_changes()
        if always or self._begun or effects.changes or not effects.complete:
            observed = EffectsObserved(context=self._context, effects=effects, subagent_id=self._subagent_id)
            if self._with_call:
                self._events.note(observed)
            else:
                await self._events.record(observed)

    async def _find_changes(self) -> Effects:
        if not self._begun:
            return await self._keeper.find_changes(self._kept, self._declared)
        return compare_kept(self._kept, await self._keeper.keep(self._kept.roots), self._declared)
