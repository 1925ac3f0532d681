"""What a subagent does in a layer of its own, until that is merged: at its end, or later what was left."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from pathlib import Path

from msgspec import Struct

from quorum.application.calls.batch_state import OneSession
from quorum.application.calls.effect_receipt import EffectReceipt
from quorum.application.cancellation import wait_shielded
from quorum.application.event_bus import EventBus
from quorum.application.ports.storage import Ledger, Storage
from quorum.application.ports.workspace import EditWatcher, FileKeeper
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.errors import LedgerError, QuorumError, StagingError, ToolError
from quorum.domain.events.event import EffectsObserved, FilesKept
from quorum.domain.sessions.session_summary import ContinuedSession, LedgerRecord
from quorum.infrastructure.staging.entered_layer import EnteredLayer
from quorum.infrastructure.staging.layer_folder import LayerFolder
from quorum.infrastructure.staging.merging import ChangedMeanwhile
from quorum.infrastructure.staging.mounting import MountRefused, enter_namespaces
from quorum.infrastructure.staging.subagent_layer import (
    SubagentLayer,
    TooMuch,
    WorkOrigin,
    holds_work,
    list_subagents,
    open_subagent_layer,
    read_name,
    read_origin,
    reopen_subagent_layer,
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


class OwnerRecord(Struct, frozen=True):
    """The record of a session that can be written, and what stood on it when it was opened."""

    events: EventBus
    records: Sequence[LedgerRecord]


OpenEvents = Callable[[Ledger, Sequence[LedgerRecord]], EventBus]
OpenRecord = Callable[[str], AbstractAsyncContextManager[OwnerRecord | None]]
"""Opens that of a session by its id; None where it is kept no longer. Raises LedgerError."""


def open_stored_records(storage: Storage, cwd: str, open_events: OpenEvents) -> OpenRecord:
    """Those in a storage that no process writes."""

    @asynccontextmanager
    async def open_record(session_id: str) -> AsyncIterator[OwnerRecord | None]:
        if session_id not in {each.id for each in await storage.archive.list_sessions()}:
            yield None
            return
        opened = await asyncio.to_thread(storage.open_session, ContinuedSession(session_id), cwd=cwd)
        if opened.ledger is None:
            raise LedgerError(str(opened.in_use or f"the session {session_id} cannot be written"))
        try:
            yield OwnerRecord(open_events(opened.ledger, opened.records), opened.records)
        finally:
            await opened.ledger.aclose()

    return open_record


class LeftWork:
    """Merges it on the record of the session for which it was done, as if that had not been broken off: what
    cannot be recorded there is not merged. `tell` gets sentences about it, and whether it was done; why
    something was not is said once. `door` keeps calls of sessions from the workspace meanwhile."""

    def __init__(
        self,
        layer: EnteredLayer,
        environ: Mapping[str, str],
        keeper: FileKeeper,
        open_record: OpenRecord,
        tell: Callable[[str, bool], Awaitable[None]],
        door: OneSession | None = None,
    ) -> None:
        self._layer = layer
        self._environ = environ
        self._keeper = keeper
        self._open_record = open_record
        self._tell = tell
        self._door = door or OneSession()

    async def merge(self) -> None:
        """Merge all that nobody works at, in the order of the calls that it was done for."""
        if not list_subagents(self._layer.folder):
            return
        with self._layer.hold_turn():
            await self._door.enter()
            try:
                for place in sorted(list_subagents(self._layer.folder), key=_rank):
                    if place not in self._layer.apart and holds_work(place):
                        await self._merge(place)
            finally:
                self._door.leave()

    async def _merge(self, place: Path) -> None:
        name = read_name(place)
        try:
            layer = await asyncio.to_thread(reopen_subagent_layer, self._layer, place)
            try:
                remarks = await self._merge_on_record(layer, place)
            finally:
                await asyncio.to_thread(layer.close)
        except (StagingError, ToolError, LedgerError) as error:
            why = (
                str(error) if isinstance(error, StagingError) else f"what {name} changed is not merged: {error}"
            )
            if why not in self._layer.told:
                self._layer.told.add(why)
                await self._tell(why, False)
            return
        await self._tell("; ".join((f"what {name} changed is in the layer now", *remarks)), True)

    async def _merge_on_record(self, layer: SubagentLayer, place: Path) -> Sequence[str]:
        origin = read_origin(place)
        session_id = origin.session_id if origin is not None else ""
        async with self._open_record(session_id) as record:
            if origin is None or record is None:
                unrecorded = (
                    "whose session this was cannot be read, so it is on no record"
                    if origin is None
                    else "its session is not on record any more, so this is not either"
                )
                return *await merge_recorded(layer, self._layer, self._environ, _leave_unrecorded), unrecorded
            context, last = origin.context, _find_last(record.records, origin.context)

            def open_receipt(paths: Sequence[str]) -> AbstractAsyncContextManager[None]:
                if layer.is_begun and isinstance(last, EffectsObserved):  # the process was killed right after
                    return nullcontext()
                begun = last.manifest if layer.is_begun and isinstance(last, FilesKept) else ""
                access, by = Access.of(writes=paths), origin.subagent_id
                return EffectReceipt(context, access, self._keeper, record.events, subagent_id=by, begun=begun)

            return await merge_recorded(layer, self._layer, self._environ, open_receipt)


def _rank(place: Path) -> tuple[str, int]:
    """Layers that are opened at once get their numbers by chance."""
    origin = read_origin(place)
    return (origin.context.batch_id, origin.context.call_index) if origin is not None else ("", 0)


def _leave_unrecorded(_paths: Sequence[str]) -> AbstractAsyncContextManager[None]:
    return nullcontext()


def _find_last(
    records: Sequence[LedgerRecord], context: ToolExecutionContext
) -> FilesKept | EffectsObserved | None:
    """What was recorded last of the files of a call."""
    for record in reversed(records):
        match record.event:
            case (FilesKept() | EffectsObserved()) as event if event.context == context:
                return event
            case _:
                continue
    return None


def merge_from_outside(
    folder: LayerFolder, merge: Callable[[EnteredLayer], Coroutine[object, object, Sequence[str]]]
) -> Sequence[str]:
    """Merge what is left in a layer that is held, and that this process does not work in; sentences about it.

    `merge` is done in a fork, which alone is in the layer, and leaves it with its end: nothing that a fork must
    not share may be open. Blocks; never raises for what it cannot do.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(BaseException), open(writing, "w", encoding="utf-8") as pipe:
            os.close(reading)
            try:
                enter_namespaces()
                layer = EnteredLayer(folder)
                layer.mount()
                said = asyncio.run(merge(layer))
            except (QuorumError, MountRefused, OSError) as error:
                said = [str(error)]
            json.dump(said, pipe)
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return tuple(json.loads(answer)) if answer else ("what subagents did could not be merged",)
