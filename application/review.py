"""Review: who may run, and the questions to the person, one at a time and in call order."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from application.event_stream import EventStream
from application.ports import Person
from domain.access import Access
from domain.events import ModeChanged, ReviewRequested
from domain.path_policy import PathPolicy
from domain.review import Decision, Mode, ReviewAnswer, ReviewRequest, decide
from domain.tool import ToolDefinition


class Review:
    """Decides by the mode and the paths, and asks the person where that leaves a question open."""

    def __init__(self, *, person: Person, paths: PathPolicy, mode: Mode, events: EventStream) -> None:
        self._person = person
        self._paths = paths
        self._mode = mode
        self._events = events
        self._turn = _TurnByIndex()

    @property
    def mode(self) -> Mode:
        """The mode in force for decisions from now on."""
        return self._mode

    async def set_mode(self, mode: Mode) -> None:
        """Choose another mode. A question already on the screen stays there."""
        if mode is not self._mode:
            self._mode = mode
            await self._events.record(ModeChanged(mode=mode))

    def decide(self, definition: ToolDefinition, access: Access) -> Decision:
        """Whether a call of this tool with this access may run now."""
        return decide(risk=definition.risk, access=access, paths=self._paths, mode=self._mode)

    async def ask(self, request: ReviewRequest) -> ReviewAnswer:
        """Put one packet to the person. Waits for its turn: lower call indices are asked first."""
        packet = request.packet
        async with self._turn.of(packet.context.call_index):
            await self._events.record(
                ReviewRequested(
                    context=packet.context, packet=packet, digest=packet.digest, reasons=request.reasons
                )
            )
            return await self._person.review(request)


class _TurnByIndex:
    """A lock that goes, when free, to the waiter with the lowest index."""

    def __init__(self) -> None:
        self._held = False
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrivals = 0

    @asynccontextmanager
    async def of(self, index: int) -> AsyncIterator[None]:
        await self._acquire(index)
        try:
            yield
        finally:
            self._release()

    async def _acquire(self, index: int) -> None:
        if not self._held:
            self._held = True
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arrivals += 1
        heapq.heappush(self._waiting, (index, self._arrivals, place))
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # the turn had just been given to us: pass it on
                self._release()
            raise

    def _release(self) -> None:
        while self._waiting:
            _, _, place = heapq.heappop(self._waiting)
            if not place.done():
                place.set_result(None)
                return
        self._held = False
