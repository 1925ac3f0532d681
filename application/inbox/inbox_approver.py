"""Accepts answers from other processes while the person here is asked."""

from __future__ import annotations

import asyncio

from quorum.application.ports.people import Approver, PersonAnswer, Question, ReviewQuestion
from quorum.application.ports.storage import AnswerStore
from quorum.domain.errors import LedgerError
from quorum.domain.review.questions import ReviewAnswer

_LOOK_SECS = 1.0

_CANCEL_SECS = 0.1


class InboxApprover:
    """Implements `Approver` in front of another one: the first answer to a review counts.

    An answer is looked for before the person is asked, and then once in `look_secs`, under the id of the
    session and the digest of the packet that is asked about. Only the process that writes the session does so.
    """

    def __init__(
        self,
        person: Approver,
        answers: AnswerStore | None,
        session_id: str,
        *,
        look_secs: float = _LOOK_SECS,
    ) -> None:
        self._person = person
        self._answers = answers
        self._session_id = session_id
        self._look_secs = look_secs

    @property
    def is_there(self) -> bool:
        """Whether anybody here could answer."""
        return self._person.is_there

    async def ask(self, question: Question) -> PersonAnswer:
        """Ask the person here. A review that is answered elsewhere is taken off the screen."""
        if not isinstance(question, ReviewQuestion) or self._answers is None or not self._session_id:
            return await self._person.ask(question)
        digest = question.request.packet.digest
        if (answer := await self._find(self._answers, digest)) is not None:
            return answer
        if not self._person.is_there:
            return await self._person.ask(question)
        here = asyncio.ensure_future(self._person.ask(question))
        elsewhere = asyncio.ensure_future(self._wait(self._answers, digest))
        try:
            done, _ = await asyncio.wait((here, elsewhere), return_when=asyncio.FIRST_COMPLETED)
            return here.result() if here in done else elsewhere.result()
        finally:
            here.cancel()
            while not elsewhere.done():  # a read that ends in this moment may take no notice of the first time
                elsewhere.cancel()
                await asyncio.wait((elsewhere,), timeout=_CANCEL_SECS)
            await asyncio.wait((here,))

    async def _wait(self, answers: AnswerStore, digest: str) -> ReviewAnswer:
        while True:
            await asyncio.sleep(self._look_secs)
            if (answer := await self._find(answers, digest)) is not None:
                return answer

    async def _find(self, answers: AnswerStore, digest: str) -> ReviewAnswer | None:
        try:
            answer = await answers.find(self._session_id, digest)
        except LedgerError:  # no answer can be read now; the person here can be asked all the same
            return None
        return None if answer is None else answer.to_review_answer()
