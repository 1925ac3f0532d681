"""Decisions that wait in any session, as the inbox lists them.

They are answered with the rights, and signed with the keys, of whoever runs the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from quorum.application.export.session_json import mask_json
from quorum.application.inbox import build_request, build_review_context
from quorum.domain.errors import QuorumError
from quorum.domain.review.person_question import find_question
from quorum.domain.struct_json import struct_to_json
from quorum.domain.text.json_value import JsonObject
from quorum.rpc.review_json import render_review_json
from quorum.serve.approvals.pending import NotDone, PendingQuestion, QuestionList, read_question
from quorum.tui.screens.review.earlier import NOTHING

if TYPE_CHECKING:
    from quorum.application.inbox import Inbox
    from quorum.domain.sessions.waiting_review import WaitingReview

_MOST_LISTED = 50


class InboxQuestions:
    """The inbox as a source of questions. `build_mask` makes what hides secrets, and blocks."""

    name = "inbox"
    can_approve = True

    def __init__(self, inbox: Inbox, build_mask: Callable[[], Callable[[str], str]]) -> None:
        self._inbox, self._build_mask = inbox, build_mask

    async def list_questions(self) -> QuestionList:
        """Those that wait longest. Raises NotDone."""
        waiting = await self._list_waiting()
        shown = await self._build_questions(waiting[:_MOST_LISTED])
        return QuestionList(shown, left_out=len(waiting) - len(shown))

    async def find_question(self, digest: str) -> PendingQuestion | None:
        """The one of this digest, if it still waits. Raises NotDone."""
        waiting = [each for each in await self._list_waiting() if each.digest == digest]
        return next(iter(await self._build_questions(waiting)), None)

    async def note_seen(self, question: PendingQuestion) -> None:
        """Somebody looks at it."""
        await self._inbox.note_seen(question.session_id, question.digest)

    async def approve(self, question: PendingQuestion) -> str:
        """Approve it, by a signature where it takes some; what that comes to. Raises NotDone."""
        try:
            review = await self._inbox.answer(question.digest, approves=True)
        except QuorumError as refusal:
            raise NotDone(str(refusal)) from refusal
        return review.signatures or _describe_taking(review)

    async def reply(self, digest: str, reply: str) -> None:
        """Reply to a question of the model. Raises NotDone."""
        try:
            await self._inbox.reply(digest, reply)
        except QuorumError as refusal:
            raise NotDone(str(refusal)) from refusal

    async def reject(self, digest: str, reason: str) -> None:
        """Reject it. Raises NotDone."""
        try:
            await self._inbox.answer(digest, approves=False, reason=reason or None)
        except QuorumError as refusal:
            raise NotDone(str(refusal)) from refusal

    async def _list_waiting(self) -> tuple[WaitingReview, ...]:
        try:
            return await self._inbox.list_waiting()
        except QuorumError as problem:
            raise NotDone(str(problem)) from problem

    async def _build_questions(self, waiting: Sequence[WaitingReview]) -> tuple[PendingQuestion, ...]:
        if not waiting:
            return ()
        mask = await asyncio.to_thread(self._build_mask)
        return tuple(_build_question(review, mask) for review in waiting)


def _describe_taking(review: WaitingReview) -> str:
    return "its process takes the answer" if review.is_open else "it counts when the session is resumed"


def _build_question(review: WaitingReview, mask: Callable[[str], str]) -> PendingQuestion:
    shown: Mapping[str, object]
    if (question := find_question(review.packet.call)) is not None:
        shown = {"kind": "question", "digest": review.digest, **struct_to_json(question)}
    else:
        shown = render_review_json(build_request(review), build_review_context(), NOTHING, review.session.cwd)
    masked = mask_json(cast("JsonObject", dict(shown)), mask)
    assert isinstance(masked, dict)
    return read_question(masked, {"session_id": review.session.id})
