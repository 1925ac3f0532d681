"""Telling people elsewhere that a decision waits: one after another, until it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from quorum.application.ports.people import Approver, PersonAnswer, Question, ReviewQuestion
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.errors import LedgerError, PushFailed
from quorum.domain.text.printable import make_printable

_MOST_NAME = 60
_LAST_SECS = 10.0
"""So long a message that is under way may take once its decision is answered, or left open."""


class PushMessage(Struct, frozen=True, kw_only=True):
    """What is told: no argument of a call and nothing that a file holds. `waiting` decisions wait by now."""

    digest: str
    session_id: str
    tool: str
    folder: str
    waiting: int

    @property
    def text(self) -> str:
        """One sentence."""
        more = f", and {self.waiting - 1} more" if self.waiting > 1 else ""
        what = f"{format_tool_name(self.tool)} in {self.folder}"
        return f"{what} waits for your answer{more} ({self.digest[:16]})."


class Push(Struct, frozen=True, kw_only=True, eq=False):
    """Somebody to tell: after which time, and how often at most. `send` raises PushFailed."""

    name: str
    after_secs: float
    every_secs: float
    send: Callable[[PushMessage], Awaitable[None]]


class PushingApprover:
    """Implements `Approver` in front of another one: who is named in `pushes` is told while a review waits.

    Where nobody is here, but the review is left open for others, the first ones are told at once. `complain` is
    told of each that cannot be, once. `find_seen_age` says how many seconds ago somebody opened the decision of
    a digest, infinitely many where nobody has.
    """

    def __init__(
        self,
        person: Approver,
        pushes: Sequence[Push],
        *,
        session_id: str,
        folder: str,
        complain: Callable[[str], Awaitable[None]],
        find_seen_age: Callable[[str], Awaitable[float]] | None = None,
    ) -> None:
        self._person = person
        self._pushes = sorted(pushes, key=lambda push: push.after_secs)
        self._session_id = session_id
        self._folder = make_printable(folder, newlines=False)[:_MOST_NAME]
        self._complain = complain
        self._find_seen_age = find_seen_age
        self._waiting: list[str] = []
        self._told_at: dict[str, float] = {}
        self._told_of: dict[str, set[str]] = {}
        self._failed: set[str] = set()
        self._telling: set[asyncio.Future[None]] = set()

    @property
    def is_there(self) -> bool:
        """Whether anybody here could answer."""
        return self._person.is_there

    async def ask(self, question: Question) -> PersonAnswer:
        """Ask, and tell the others one after another until there is an answer."""
        if not isinstance(question, ReviewQuestion):
            return await self._person.ask(question)
        packet = question.request.packet
        tool = make_printable(packet.call.tool_name, newlines=False)[:_MOST_NAME]
        self._waiting.append(packet.digest)
        telling = asyncio.ensure_future(self._tell_all(packet.digest, tool))
        self._telling.add(telling)
        telling.add_done_callback(self._telling.discard)
        is_answered = False
        try:
            answer = await self._person.ask(question)
            is_answered = True
            return answer
        finally:
            self._waiting.remove(packet.digest)
            for told in self._told_of.values():
                told.discard(packet.digest)
            telling.cancel()
            if not is_answered:  # the process may end now; an answer waits for no message
                await asyncio.wait((telling,))

    async def _tell_all(self, digest: str, tool: str) -> None:
        began = asyncio.get_running_loop().time()
        is_left_open = not self._person.is_there
        first = self._pushes[0].after_secs if self._pushes else 0.0
        for push in self._pushes:
            after = push.after_secs - first if is_left_open else push.after_secs
            await self._wait_until(began + after)
            await self._wait_for_whoever_looks(digest, after)
            await self._wait_until(self._told_at.get(push.name, began - push.every_secs) + push.every_secs)
            if digest in self._told_of.get(push.name, ()):
                continue
            self._told_at[push.name] = asyncio.get_running_loop().time()
            self._told_of[push.name] = set(self._waiting)
            message = PushMessage(
                digest=digest,
                session_id=self._session_id,
                tool=tool,
                folder=self._folder,
                waiting=len(self._waiting),
            )
            await _finish(self._send(push, message))

    async def _wait_for_whoever_looks(self, digest: str, secs: float) -> None:
        """Somebody who has opened it has as long to answer, from then on, before the next one is told."""
        if self._find_seen_age is None:
            return
        while (left := secs - await self._find_seen_age(digest)) > 0:  # noqa: ASYNC110 - the storage tells
            await asyncio.sleep(left)

    @staticmethod
    async def _wait_until(at: float) -> None:
        if (left := at - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(left)

    async def _send(self, push: Push, message: PushMessage) -> None:
        try:
            await push.send(message)
        except PushFailed as error:
            self._told_of.pop(push.name, None)  # the next one tells of all that wait
            if push.name not in self._failed:
                self._failed.add(push.name)
                with suppress(LedgerError):  # whoever records next says it
                    await self._complain(f"nobody was told that a decision waits, by {push.name}: {error}")


async def _finish(sending: Awaitable[None]) -> None:
    """Let it end, if it does soon, where the one who waits for it is cancelled."""
    under_way = asyncio.ensure_future(sending)
    try:
        await asyncio.shield(under_way)
    except asyncio.CancelledError:
        await asyncio.wait((under_way,), timeout=_LAST_SECS)
        under_way.cancel()
        raise
