"""What a subagent does in a layer of its own, until it is merged into that of its session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

from quorum.application.calls.batch_state import OneSession
from quorum.application.calls.effect_receipt import EffectReceipt
from quorum.application.cancellation import wait_shielded
from quorum.application.ports.workspace import EditWatcher
from quorum.domain.errors import StagingError, ToolError
from quorum.infrastructure.staging.entered_layer import EnteredLayer
from quorum.infrastructure.staging.merging import ChangedMeanwhile
from quorum.infrastructure.staging.subagent_layer import (
    SubagentLayer,
    TooMuch,
    WorkOrigin,
    open_subagent_layer,
)

_MOST_PLANS = 5
_MERGED = "[Of its changes, which are in the workspace now: {remarks}.]"


async def merge_recorded(
    layer: SubagentLayer,
    session_layer: EnteredLayer,
    environ: Mapping[str, str],
    open_receipt: Callable[[Sequence[str]], AbstractAsyncContextManager[None]],
    edits: EditWatcher | None = None,
) -> Sequence[str]:
    """Merge it into the layer of its session under the receipt of its paths, and drop it; what there is to say
    of that. Raises StagingError, ToolError and LedgerError: what is missing then is still kept in it."""
    for _ in range(_MOST_PLANS):
        plan = await asyncio.to_thread(layer.plan, environ)
        paths = [f"{session_layer.folder.workspace}/{path}" for path in plan.paths]
        if edits is not None and paths:
            await edits.before_edits(paths)
        try:
            async with open_receipt(paths) if paths else nullcontext():
                await asyncio.to_thread(layer.merge, plan, environ)
        except ChangedMeanwhile:
            continue
        finally:
            if edits is not None and paths:
                edits.note_edits(paths)
        await asyncio.to_thread(layer.remove)
        return plan.remarks
    raise StagingError(f"others change the same files all the time: {layer.upper} has what {layer.name} did")


class MergedWork:
    """What the subagent `name` does. It is merged once all of `before` are, under the receipt that
    `open_receipt` makes for the paths; who does that in a later process finds its `origin`. `door` keeps calls
    of other sessions from the workspace meanwhile, and `edits` learns what was merged. `tell` has the person
    know why it was not."""

    def __init__(
        self,
        name: str,
        layer: EnteredLayer,
        environ: Mapping[str, str],
        origin: WorkOrigin,
        open_receipt: Callable[[Sequence[str]], EffectReceipt],
        *,
        edits: EditWatcher,
        door: OneSession,
        tell: Callable[[str], Awaitable[None]],
        before: Sequence[MergedWork],
    ) -> None:
        self._name = name
        self._origin = origin
        self._session_layer = layer
        self._environ = environ
        self._open_receipt = open_receipt
        self._edits = edits
        self._door = door
        self._tell = tell
        self._before = tuple(before)
        self._layer: SubagentLayer | None = None
        self._is_over = asyncio.Event()

    @property
    def is_over(self) -> bool:
        """Whether nobody has to wait for it."""
        return self._is_over.is_set()

    async def open(self) -> bool:
        """Have the current task work in a layer of its own from now on; whether it can: that of the session may
        hold too much, or the kernel mount no other."""
        await self._door.enter()
        opening = asyncio.create_task(
            asyncio.to_thread(open_subagent_layer, self._session_layer, self._name, self._origin)
        )
        try:
            self._layer = await wait_shielded(opening)
        except (StagingError, TooMuch):
            self._is_over.set()
            return False
        except asyncio.CancelledError:
            if opening.exception() is None:
                self._layer = opening.result()
            raise
        finally:
            self._door.leave()
        self._layer.threads.use()
        return True

    @property
    def upper(self) -> str:
        """Where the kernel keeps what was changed."""
        return self._layer.upper if self._layer is not None else ""

    def check(self) -> None:
        """Raise StagingError where a thread is not in its layer."""
        if self._layer is None:
            raise StagingError("this layer was merged: nothing runs in it any more")
        self._layer.check()

    async def merge(self) -> str:
        """Merge all of it; nothing may run in it any more. What the model of the session is to read of that;
        the second time nothing. Raises LostConnection."""
        if (layer := self._layer) is None:
            self._is_over.set()
            return ""
        self._layer = None
        layer.threads.leave()
        try:
            await asyncio.to_thread(layer.threads.close)
            for each in self._before:
                await each._is_over.wait()
            await self._door.enter()
            try:
                remarks = await merge_recorded(
                    layer, self._session_layer, self._environ, self._open_receipt, self._edits
                )
            finally:
                self._door.leave()
        except (StagingError, ToolError) as error:
            self._session_layer.told.add(str(error))
            await self._tell(str(error))
            return f"[{error}]"
        finally:
            await asyncio.to_thread(layer.close)
            self._is_over.set()
        return _MERGED.format(remarks="; ".join(remarks)) if remarks else ""
