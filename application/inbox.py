"""The inbox: decisions that wait in any session, answered from any process by the digest of their packet.

It also lists what is open and what has ended in the sessions of one storage.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection
from contextlib import suppress

from msgspec import Struct

from quorum.application.ports.people import Approver, PersonAnswer, Question, ReviewContext, ReviewQuestion
from quorum.application.ports.storage import AnswerStore, SessionArchive
from quorum.application.program_lookup import find_own_command
from quorum.application.review.review import OpenReviewContext
from quorum.application.review.signed_approval import Sign, Verify, verify_signatures
from quorum.application.review.voting import VoteFeed
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.errors import AnswerRefused, LedgerError, StagingError
from quorum.domain.events.event import ReviewDecided
from quorum.domain.events.masking import MaskedPacket
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import QuorumRule
from quorum.domain.review.person_question import ASK_PERSON, PersonReply, find_question, read_reply
from quorum.domain.review.questions import RemoteAnswer, ReviewAnswer, ReviewRequest, RulePreview
from quorum.domain.review.quorum_result import count_votes
from quorum.domain.review.signing import SigningTerms
from quorum.domain.sessions.session_summary import SessionSummary, select_own_sessions
from quorum.domain.sessions.waiting_review import (
    MIN_DIGEST,
    WORK_EVENTS,
    WaitingReview,
    explain_no_longer_waiting,
    find_decision,
    find_waiting_reviews,
    is_at_work,
)
from quorum.domain.staging.effects_answer import EffectsAnswer, find_effects_question
from quorum.domain.text.printable import make_printable

_DIGEST = re.compile(rf"[0-9a-f]{{{MIN_DIGEST},64}}")


class Inbox:
    """Lists and answers the reviews of all sessions of one storage. It never writes to a session's events.

    An answer is kept apart; the process that writes the session reads it, and records the decision itself.
    `clock` gives milliseconds since 1970, `answered_by` names the person and the machine. `restore` makes a
    packet whole of which the record of a session in that folder hides a part, or gives it back as it is.
    `list_staged` blocks, and gives the ids of the sessions whose changes wait where nobody works. `sign`
    signs the approval of a packet, by the ids of its session and its digest, and `verify` tells why a signature
    does not hold; without them, as where the policy names nobody, none can be given or counts.
    """

    def __init__(
        self,
        archive: SessionArchive,
        answers: AnswerStore,
        *,
        clock: Callable[[], int],
        answered_by: str,
        restore: Callable[[MaskedPacket, str], ReviewPacket] = lambda packet, _cwd: packet,
        list_staged: Callable[[], Collection[str]] = frozenset,
        sign: Sign | None = None,
        verify: Verify | None = None,
    ) -> None:
        self._list_staged = list_staged
        self._sign = sign
        self._verify = verify
        self.archive = archive
        self._answers = answers
        self._clock = clock
        self._answered_by = answered_by
        self._restore = restore
        self._found: dict[SessionSummary, tuple[WaitingReview, ...]] = {}  # as long as a session stays as it is

    async def list_staged(self) -> frozenset[str]:
        """The ids of the sessions whose changes wait in a layer in which no process works."""
        return frozenset(await asyncio.to_thread(self._list_staged))

    async def list_waiting(self, without: Collection[str] = ()) -> tuple[WaitingReview, ...]:
        """The reviews that wait for an answer, the one that waits longest first. Raises LedgerError.

        Sessions of the ids `without`, and their subagents, are left out.
        """
        in_review = await self.archive.list_in_review()
        listed = [one for one in in_review if one.id not in without and one.owner not in without]
        self._found = {one: found for one, found in self._found.items() if one in listed}
        waiting: list[WaitingReview] = []
        for session in listed:
            try:
                reviews = await self._find_in(session)
            except LedgerError:
                if session.id in {one.id for one in await self.archive.list_in_review()}:
                    raise
                continue  # it was deleted since it was listed
            for review in reviews:
                if await self._answers.find(session.id, review.digest) is None:
                    signed = await self._add_signers(await self._make_whole(review))
                    if not await self._is_approved(signed):
                        waiting.append(signed)
        return tuple(sorted(waiting, key=lambda review: (review.since_ms, review.digest)))

    async def _find_in(self, session: SessionSummary) -> tuple[WaitingReview, ...]:
        """The reviews of a session; its records are read again only once it has changed."""
        if (found := self._found.get(session)) is None:
            found = find_waiting_reviews(session, await self.archive.read(session.id))
            self._found[session] = found
        return found

    async def _make_whole(self, review: WaitingReview) -> WaitingReview:
        packet, cwd = review.packet, review.session.cwd
        if not isinstance(packet, MaskedPacket):
            return review
        return replace(review, packet=await asyncio.to_thread(self._restore, packet, cwd))

    async def find(self, name: str) -> WaitingReview:
        """The one waiting review whose digest begins so, or that of the session whose id begins so.

        Raises AnswerRefused, which says what became of it, and LedgerError.
        """
        waiting = await self.list_waiting()
        found = [each for each in waiting if each.digest.startswith(name.lower())] if name else []
        found = found or [each for each in waiting if name and each.session.id.startswith(name)]
        match found:
            case [only]:
                return only
            case []:
                raise AnswerRefused(await self._explain(name.lower()))
            case _:
                digests = ", ".join(each.short_digest for each in found)
                raise AnswerRefused(f"{len(found)} decisions wait under {name!a}; name one of: {digests}")

    async def note_seen(self, session_id: str, digest: str) -> None:
        """Somebody looks at this decision of a session: whoever would be told of it next is told later. What
        cannot be kept is told as if nobody had looked."""
        with suppress(LedgerError):
            await self._answers.note_seen(session_id, digest)

    async def answer_effects(self, digest: str, given: EffectsAnswer) -> WaitingReview:
        """Have what is asked about the changes in a layer be done so; the review that is answered.

        Raises as `answer` does, and AnswerRefused for what is no such question, or a path that is not in it.
        """
        review = await self._find_by_digest(digest)
        call = review.packet.call
        if (question := find_effects_question(call.tool_name, call.arguments)) is None:
            raise AnswerRefused(f"{review.short_digest} is a call of {call.tool_name}: approve or reject it")
        try:
            given.check(question.names)
        except StagingError as error:
            raise AnswerRefused(str(error)) from error
        return await self._keep(review, approves=True, reason=PersonReply(text=given.encode()).encode())

    async def answer(self, digest: str, *, approves: bool, reason: str | None = None) -> WaitingReview:
        """Answer the review whose digest begins so, with at least 16 digits of it; the review that is answered.

        Of one that people have to sign, an approval is one signature. Raises AnswerRefused where it does not
        wait any more, was answered by somebody else, or cannot be approved because it is a question or a part
        of what would run is neither recorded nor known here; SigningRefused and LedgerError.
        """
        review = await self._find_by_digest(digest)
        if approves and review.packet.call.tool_name == ASK_PERSON:
            raise AnswerRefused(
                f"{review.short_digest} is a question, which a yes does not answer: give an option's number, "
                f"or your own words, with {find_own_command()} inbox answer {review.short_digest} REPLY"
            )
        if approves and isinstance(review.packet, MaskedPacket) and review.packet.original is None:
            raise AnswerRefused(
                f"a part of the call {review.short_digest} is hidden here, because it may be a secret that is "
                "not known here: approve it in its own session, which can show it; it can be rejected from here"
            )
        if approves and review.signing is not None:
            return await self._add_signature(review, review.signing)
        return await self._keep(review, approves=approves, reason=reason)

    async def _add_signature(self, review: WaitingReview, terms: SigningTerms) -> WaitingReview:
        if self._sign is None:
            raise AnswerRefused(
                f"{review.short_digest} has to be signed, and the policy of this machine names nobody who may"
            )
        await self._answers.add_signature(await self._sign(review.session.id, review.digest, terms))
        return await self._add_signers(review)

    async def _add_signers(self, review: WaitingReview) -> WaitingReview:
        if (terms := review.signing) is None:
            return review
        kept = await self._answers.list_signatures(review.session.id, review.digest)
        signed = dict.fromkeys(each.person for each in kept if each.person in terms.people)
        return replace(review, signed_by=tuple(signed))

    async def _is_approved(self, review: WaitingReview) -> bool:
        """Whether its signatures are enough, and hold: nobody is needed any more. Of what does not hold its
        session says so, and asks again."""
        terms = review.signing
        if terms is None or self._verify is None or not terms.is_met(review.signed_by):
            return False
        session_id, digest = review.session.id, review.digest
        kept = await self._answers.list_signatures(session_id, digest)
        tally = await verify_signatures(self._verify, terms, kept, session_id=session_id, digest=digest)
        return terms.is_met(tally.signed)

    async def reply(self, digest: str, reply: PersonReply | str) -> WaitingReview:
        """Reply to the question whose digest begins so, where it is typed as `read_reply` takes it; the review
        that is answered. Raises as `answer` does, and AnswerRefused for what is no question."""
        review = await self._find_by_digest(digest)
        question = find_question(review.packet.call)
        if question is None:
            raise AnswerRefused(
                f"{review.short_digest} is a call of {review.packet.call.tool_name}, and no question to reply "
                f"to: {find_own_command()} inbox approve or reject answers it"
            )
        given = read_reply(question, reply) if isinstance(reply, str) else reply
        return await self._keep(review, approves=True, reason=given.encode())

    async def _find_by_digest(self, digest: str) -> WaitingReview:
        digest = digest.lower()
        if not _DIGEST.fullmatch(digest):
            raise AnswerRefused(
                f"{digest[:70]!a} is no digest of a packet: give at least {MIN_DIGEST} of its digits, as "
                f"{find_own_command()} inbox prints them"
            )
        return await self.find(digest)

    async def _keep(self, review: WaitingReview, *, approves: bool, reason: str | None) -> WaitingReview:
        answer = RemoteAnswer(
            session_id=review.session.id,
            digest=review.digest,
            approves=approves,
            reason=reason,
            answered_by=self._answered_by,
            at_ms=self._clock(),
        )
        kept = await self._answers.add(answer)
        if kept != answer:
            raise AnswerRefused(
                f"the decision {review.short_digest} was {_describe(kept)}, so yours came too late"
            )
        return review

    async def find_decision(self, review: WaitingReview) -> ReviewDecided | None:
        """What its session has recorded as the decision, if it has by now. Raises LedgerError."""
        return find_decision(await self.archive.read(review.session.id), review.digest)

    async def _explain(self, digest: str) -> str:
        """Why no decision waits under this name."""
        remedy = f"{find_own_command()} inbox lists those that wait"
        if not _DIGEST.fullmatch(digest):
            return f"no decision waits under {digest[:70]!a}; {remedy}"
        session = await self.archive.find_review(digest)
        if session is None:
            return f"no packet with the digest {digest} was ever put to review here; {remedy}"
        records = await self.archive.read(session.id)
        named = f"the decision {digest[:MIN_DIGEST]} of session {session.id} does not wait any more"
        for review in find_waiting_reviews(session, records):
            if review.digest.startswith(digest):
                kept = await self._answers.find(session.id, review.digest)
                if kept is not None:
                    return f"{named}: it was {_describe(kept)}"
                if (signed := await self._add_signers(review)).signatures:
                    return f"{named}: {make_printable(signed.signatures, newlines=False)}"
        return f"{named}: {explain_no_longer_waiting(records, digest)}"


def _describe(answer: RemoteAnswer) -> str:
    verb = "rejected"
    if answer.approves:
        verb = "approved" if answer.reason is None else "answered"
    return f"{verb} by {make_printable(answer.answered_by, newlines=False)} already"


_NO_RULES = "a rule is made where the session is open"


def build_request(review: WaitingReview) -> ReviewRequest:
    """The question, which can only be answered with yes or no here."""
    signing = review.signing
    said = () if signing is None else tuple(filter(None, (signing.describe(), review.signatures)))
    return ReviewRequest(
        packet=review.packet,
        reasons=(*said, *review.reasons),
        routine_reasons=review.routine_reasons,
        notices=said,
        preamble=review.preamble,
        signing=signing,
        batch_size=1,
        can_be_edited=False,
        is_elsewhere=True,
    )


def build_review_context() -> ReviewContext:
    """Nobody votes here, and no rule can be tried."""
    majority = QuorumRule.parse("majority")
    return OpenReviewContext(
        VoteFeed(),
        count=lambda ballots: count_votes(ballots, majority, min_votes=1, reviewers=0),
        independent=False,
        preview=lambda _rule: RulePreview(problem=_NO_RULES),
    )


_ENDED_SHOWN = 20


class SessionBoard(Struct, frozen=True, kw_only=True):
    """Reviews that wait, the longest first; ended sessions whose changes wait in a layer; other sessions that a
    process has, and the ids of those of them in which something runs; and those that ended last."""

    waiting: tuple[WaitingReview, ...] = ()
    staged: tuple[SessionSummary, ...] = ()
    open: tuple[SessionSummary, ...] = ()
    at_work: frozenset[str] = frozenset()
    ended: tuple[SessionSummary, ...] = ()


async def read_board(inbox: Inbox, archive: SessionArchive, *, without: Collection[str] = ()) -> SessionBoard:
    """All sessions but those of the ids `without`; a session whose review waits is not listed again.

    Raises LedgerError.
    """
    waiting = await inbox.list_waiting(without)
    asking = {review.session.owner or review.session.id for review in waiting}
    others = [
        session
        for session in select_own_sessions(await archive.list_sessions())
        if session.is_begun and session.id not in without and session.id not in asking
    ]
    is_open = tuple(session for session in others if session.open_in is not None)
    staged, has_ended = await inbox.list_staged(), [one for one in others if one.open_in is None]
    return SessionBoard(
        waiting=waiting,
        staged=tuple(session for session in has_ended if session.id in staged),
        open=is_open,
        at_work=frozenset(
            [session.id for session in is_open if is_at_work(await archive.read(session.id, WORK_EVENTS))]
        ),
        ended=tuple(session for session in has_ended if session.id not in staged)[:_ENDED_SHOWN],
    )


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
