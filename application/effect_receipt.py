"""The receipt of a risky call: which files really changed, against what it had declared."""

from __future__ import annotations

import asyncio
from types import TracebackType

from application.event_stream import EventStream
from application.ports import FileWatch
from domain.access import Access
from domain.effects import FileLook, effects_between
from domain.events import EffectsObserved
from domain.execution import ToolExecutionContext


class EffectReceipt:
    """Around the execution of one call: looks at the files before and after, and tells what differs.

    A call whose effects cannot be told beforehand is watched over the whole workspace, any other at the paths
    it declared. A cancelled call gets no receipt: it must end at once.
    """

    def __init__(
        self, context: ToolExecutionContext, access: Access, watch: FileWatch, events: EventStream
    ) -> None:
        self._context = context
        self._declared = access.writes
        self._paths = None if access.exclusive else tuple(sorted(access.writes))
        self._watch = watch
        self._events = events
        self._before = FileLook()

    async def __aenter__(self) -> None:
        """Look at the files as they are."""
        self._before = await self._watch.look(self._paths)

    async def __aexit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Look again, and tell what changed."""
        if kind is not None and issubclass(kind, asyncio.CancelledError):
            return
        effects = effects_between(self._before, await self._watch.look(self._paths), self._declared)
        if effects.changes or not effects.complete:
            await self._events.record(EffectsObserved(context=self._context, effects=effects))
