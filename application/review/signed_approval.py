"""Approvals that people sign: calls of which the managed policy says so run once enough of them have."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from quorum.application.ports.people import Approver, PersonAnswer, Question, ReviewQuestion
from quorum.application.ports.storage import AnswerStore
from quorum.domain.errors import LedgerError, SigningRefused
from quorum.domain.replacing import replace
from quorum.domain.review.questions import (
    ANY_APPROVAL,
    Approve,
    Reject,
    ReviewAnswer,
    ReviewRequest,
)
from quorum.domain.review.signing import ApprovalSignature, SignatureTally, SigningTerms, tally_signatures

Sign = Callable[[str, str, SigningTerms], Awaitable[ApprovalSignature]]
"""Signs the packet of a session, both by their names, with a key that is here. Raises SigningRefused."""
Verify = Callable[[ApprovalSignature], Awaitable[str]]
"""Tells why a signature does not hold, empty where it does."""

_LOOK_SECS = 1.0


async def verify_signatures(
    verify: Verify,
    terms: SigningTerms,
    given: Collection[ApprovalSignature],
    *,
    session_id: str,
    digest: str,
) -> SignatureTally:
    """Count the signatures about one packet that hold."""
    candidates = [each for each in given if each.person in terms.people]
    problems = {each: problem for each in candidates if (problem := await verify(each))}
    return tally_signatures(terms, tuple(given), problems, session_id=session_id, digest=digest)


class SigningApprover:
    """Implements `Approver` in front of two others: `person` is asked where people have to sign, `otherwise` in
    all other cases.

    A yes of the person here is one signature, with their own key; those of others come through `answers`. A no
    of anybody ends it, and needs no signature. What is kept is verified each time before it counts.
    """

    def __init__(
        self,
        person: Approver,
        otherwise: Approver,
        answers: AnswerStore | None,
        session_id: str,
        *,
        sign: Sign,
        verify: Verify,
        look_secs: float = _LOOK_SECS,
    ) -> None:
        self._person = person
        self._otherwise = otherwise
        self._answers = answers
        self._session_id = session_id
        self._sign = sign
        self._verify = verify
        self._look_secs = look_secs

    @property
    def is_there(self) -> bool:
        """Whether anybody here could answer."""
        return self._person.is_there

    async def ask(self, question: Question) -> PersonAnswer:
        """Ask the person here, and wait for the signatures of others."""
        if not isinstance(question, ReviewQuestion) or (terms := question.request.signing) is None:
            return await self._otherwise.ask(question)
        digest, note = question.request.packet.digest, ""
        while True:
            if (refusal := await self._find_refusal(digest)) is not None:
                return refusal
            known = await self._list_signatures(digest)
            tally = await verify_signatures(
                self._verify, terms, known, session_id=self._session_id, digest=digest
            )
            if terms.is_met(tally.signed):
                return Approve(digest, by=", ".join(tally.signed), signatures=tally.counted)
            shown = ReviewQuestion(_explain(question.request, terms, tally, note), question.context)
            if not self._person.is_there:
                return await self._person.ask(shown)
            answer = await self._ask_here(shown, digest, known)
            if answer is None:
                continue
            if not isinstance(answer, ANY_APPROVAL):
                return answer
            note = await self._take_yes(digest, terms, tally)

    async def _take_yes(self, digest: str, terms: SigningTerms, tally: SignatureTally) -> str:
        """Sign for the person here; why that is not enough, where it is known."""
        if self._answers is None or not self._session_id:
            return "signatures are kept with the session, and nothing of this one is kept"
        try:
            signature = await self._sign(self._session_id, digest, terms)
            if signature.person not in tally.signed:
                await self._answers.add_signature(signature)
        except (SigningRefused, LedgerError) as error:
            return f"your yes does not count: {error}"
        return f"you have signed as {signature.person}"

    async def _ask_here(
        self, question: ReviewQuestion, digest: str, known: Collection[ApprovalSignature]
    ) -> PersonAnswer | None:
        """What the person here says; None where somebody elsewhere signed or refused first."""
        here = asyncio.ensure_future(self._person.ask(question))
        elsewhere = asyncio.ensure_future(self._wait_for_news(digest, known))
        try:
            await asyncio.wait((here, elsewhere), return_when=asyncio.FIRST_COMPLETED)
            return here.result() if here.done() else None
        finally:
            here.cancel()
            elsewhere.cancel()
            await asyncio.wait((here, elsewhere))

    async def _wait_for_news(self, digest: str, known: Collection[ApprovalSignature]) -> None:
        while True:
            await asyncio.sleep(self._look_secs)
            if await self._find_refusal(digest) is not None or await self._list_signatures(digest) != known:
                return

    async def _find_refusal(self, digest: str) -> ReviewAnswer | None:
        """A no from elsewhere. A yes from there that is not signed is none."""
        try:
            kept = await self._answers.find(self._session_id, digest) if self._answers is not None else None
        except LedgerError:
            return None
        return Reject(kept.reason, by=kept.answered_by) if kept is not None and not kept.approves else None

    async def _list_signatures(self, digest: str) -> tuple[ApprovalSignature, ...]:
        try:
            return await self._answers.list_signatures(self._session_id, digest) if self._answers else ()
        except LedgerError:
            return ()


def _explain(request: ReviewRequest, terms: SigningTerms, tally: SignatureTally, note: str) -> ReviewRequest:
    """The question with how far the signing is. It can only be answered with yes or no: no rule and no folder
    stands in for people."""
    signed = f"signed by {', '.join(tally.signed)}; " if tally.signed else ""
    state = (terms.describe(), f"{signed}{terms.describe_missing(tally.signed)}", note, *tally.problems)
    said = tuple(filter(None, state))
    return replace(
        request,
        reasons=(*said, *request.reasons),
        notices=(*said, *request.notices),
        following=(),
        proposals=(),
        offer=None,
        folder=None,
        allowed_by_accept_edits=False,
    )
