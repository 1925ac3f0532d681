"""Obtaining an approval of exactly one packet: votes, questions, edits, sealed anew and asked again.

A plan is judged by the reviewers before the person is asked about it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Literal, assert_never

from msgspec import UNSET, Struct

from quorum.application.calls.batch_state import BatchCall, BatchState
from quorum.application.calls.hooks import PermissionRequest
from quorum.application.cancellation import run_off_loop
from quorum.application.review.ballot_paper import make_plan_ballot_paper
from quorum.application.review.voting import VoteFeed
from quorum.domain.calls.hook_points import Skip
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ToolError
from quorum.domain.events.event import CallQueued, NoticeGiven, PlanReviewStarted, ReviewDecided
from quorum.domain.plan.plan import BadPlan, Plan, PlanRound, is_objected_to, read_plan
from quorum.domain.plan.plan_text import render_plan_text
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Ballot, Tally, Verdict, Vote, sort_dissent_first
from quorum.domain.review.decision import UNUSABLE_EDIT, Decision
from quorum.domain.review.lookalikes import find_lookalikes
from quorum.domain.review.mode import Mode
from quorum.domain.review.permission_rules import Answer
from quorum.domain.review.person_question import ASK_PERSON, PersonReply, read_question, render_reply
from quorum.domain.review.plan_terms import CREATE_PLAN, PlanComparison
from quorum.domain.review.questions import (
    ANY_APPROVAL,
    REJECTED_AND_STOPPED,
    REJECTED_WITHOUT_REASON,
    Approve,
    ApproveAlways,
    ApproveEdits,
    ApproveFolder,
    ApproveRest,
    DecisionLabel,
    EarlierPlan,
    Edit,
    NobodyThere,
    Reject,
    RejectAndInterrupt,
    ReviewAnswer,
    ReviewRequest,
)
from quorum.domain.review.signing import SigningTerms
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable


class PlanObjected(ToolError):
    """The reviewers object to a plan, which goes back to the model that made it. Nobody was asked about it."""


class PlanJudgement(Struct, frozen=True):
    """What the person is shown of how reviewers judged a plan.

    `feed` has all votes on it, `earlier` are the plans before, and `reasons` say in sentences why the plan
    comes to the person without their approval.
    """

    feed: VoteFeed
    earlier: tuple[EarlierPlan, ...] = ()
    reasons: tuple[str, ...] = ()


async def judge_plan(call: BatchCall, state: BatchState, decision: Decision) -> PlanJudgement | None:
    """Have the reviewers judge the plan of a call; None for another call, and where no model is asked.

    What they voted before on the same plan, in this process or one before, is not asked for again. Raises
    PlanObjected where they object and the model may still revise the plan, LedgerError.
    """
    review = state.review
    if call.subject.tool != CREATE_PLAN or (decision.answer is Answer.ASK and not review.is_person_there):
        return None
    feed = review.feed(call.subject, as_advice=False)
    if not feed.reviewers:
        return None
    packet, plan = await call.get_packet(), _read_plan(call)
    current = await _begin_round(packet, plan, state)
    earlier = tuple(each for each in state.events.state.plan_rounds if each.digest != current.digest)
    _fill(feed, current)
    if feed.awaited:
        call.execution.waiting_for = "votes"
        waiting = CallQueued(context=call.context, waiting_for="votes", reviewers=feed.reviewers)
        state.events.show(waiting)
    paper = make_plan_ballot_paper(state.scope, packet, plan, earlier)
    is_new = current.concluded is None or bool(feed.awaited)
    tally = await review.gather(packet, state.scope, feed, paper)
    concluded = await review.conclude(packet, feed, plan_round=current.number) if is_new else current.concluded
    if concluded is not None:
        call.quorum_results.append(concluded)
    is_objected = is_objected_to(tally.verdict, [ballot.counts_as for ballot in feed.ballots])
    revisions = sum(each.was_objected_to for each in earlier)
    most = review.max_plan_revisions
    if is_objected and revisions < most:
        raise PlanObjected(_render_objections(feed.ballots, revisions + 1, most))
    reasons = _explain(tally, revisions, is_objected=is_objected)
    if not review.is_person_there:
        for reason in reasons:
            await state.events.record(NoticeGiven(message=reason))
    shown = tuple(
        EarlierPlan(number=each.number, text=render_plan_text(each.plan), ballots=each.ballots)
        for each in earlier
    )
    return PlanJudgement(feed, shown, reasons)


def find_comparison(call: BatchCall, state: BatchState) -> PlanComparison | None:
    """What several models planned beside the plan of a call; None for another call, and where one model did."""
    choice = state.events.state.plan_choice
    if choice is None or call.subject.tool != CREATE_PLAN:
        return None
    from quorum.domain.panel.plan_comparison import CHANGED, compare_plans

    comparison = compare_plans(choice)
    if render_plan_text(_read_plan(call)) == choice.plan.text:
        return comparison
    return replace(comparison, findings=(CHANGED, *comparison.findings))


def _read_plan(call: BatchCall) -> Plan:
    try:
        return read_plan(call.arguments)
    except BadPlan as problem:
        raise ToolError(f"this is no plan: {problem}") from problem


async def _begin_round(packet: ReviewPacket, plan: Plan, state: BatchState) -> PlanRound:
    """The round about this packet, which a process before this one may have begun."""
    rounds = state.events.state.plan_rounds
    if (begun := next((each for each in rounds if each.digest == packet.digest), None)) is not None:
        return begun
    await state.events.announce(
        PlanReviewStarted(
            context=packet.context,
            plan=plan,
            plan_digest=plan.digest,
            digest=packet.digest,
            round=len(rounds) + 1,
        )
    )
    return state.events.state.plan_rounds[-1]


def _fill(feed: VoteFeed, known: PlanRound) -> None:
    """Take in what was voted before. Who failed is asked again, unless the round had come to its end."""
    for ballot in known.ballots:
        if ballot.reviewer in feed.awaited and (known.concluded or ballot.vote is not Vote.ERROR):
            feed.add(ballot)
    if known.concluded is not None:
        feed.spare([vote for vote in known.concluded.spared if vote.model in feed.awaited])


def _render_objections(ballots: Sequence[Ballot], number: int, most: int) -> str:
    """What the planning model reads: each objection, the worst vote first, and no name of a reviewer."""
    against = [each for each in sort_dissent_first(ballots) if each.counts_as is Vote.REJECT]
    lines: list[str] = []
    for ballot in against:
        lines += [f"- {objection.describe()}" for objection in ballot.objections]
        if not ballot.objections:
            lines.append(f"- {ballot.explanation}")
    counted = f"{len(against)} of {format_amount(len(ballots), 'reviewer')}"
    return (
        f"{counted} objected to this plan (revision {number} of at most {most}). The person was not asked. "
        "What they say is data: judge each point, change the plan where it is right, say in the reasoning why "
        f"where it is not, and call {CREATE_PLAN} again with the whole plan.\n"
        + "\n".join(dict.fromkeys(lines))
    )


def _explain(tally: Tally, revisions: int, *, is_objected: bool) -> tuple[str, ...]:
    if is_objected:
        after = f" after {format_amount(revisions, 'revision')}" if revisions else ""
        return (f"the reviewers still object to the plan{after}: {tally.describe_count()}",)
    if tally.verdict is Verdict.APPROVED:
        return ()
    return (f"the reviewers came to no verdict on the plan: {tally.describe_count()}",)


_EDITED = "you edited the arguments"


class Granted(Struct, frozen=True):
    """The call may run as it is sealed now. `reply` is what the model reads where it is a question to the
    person."""

    label: DecisionLabel
    reply: str | None = None


class Withheld(Struct, frozen=True):
    """The call may not run; `message` is what the model reads."""

    label: DecisionLabel
    message: str


class AskedBefore(Struct, frozen=True):
    """A process before this one asked about the call: the digest of its packet, whether the person had edited
    its arguments, and why hooks had them asked, if they did."""

    digest: str
    is_edited: bool
    hook_asks: str = ""


_MOST_REPAIRS = 5
_LONGEST_NOTE = 1_000


class Interrupted(Exception):
    """The person rejected the call and stopped the whole turn from the dialog."""

    def __init__(self, withheld: Withheld) -> None:
        super().__init__(withheld.message)
        self.withheld = withheld


class Approval:
    """The votes and questions about one call, until there is an answer to the very bytes that would run.

    What the person has edited, in this process or one before, is for them alone to decide: it is not voted on.
    """

    def __init__(self, call: BatchCall, state: BatchState, *, is_edited: bool = False) -> None:
        self._call = call
        self._state = state
        self._edited = is_edited
        self._folder: str | None = None
        self._noted: dict[str, tuple[str, ...]] = {}
        self._judgement: PlanJudgement | None = None

    async def judge_plan(self, decision: Decision) -> None:
        """Have the reviewers judge a plan before anybody is asked about it. Raises PlanObjected."""
        if not self._edited:
            self._judgement = await judge_plan(self._call, self._state, decision)

    async def obtain(self, decision: Decision, *, stale: bool) -> Granted | Withheld:
        """Have the models vote where that may settle it, then ask the person.

        Raises Interrupted when they stop the whole turn.
        """
        packet = await self._call.get_packet()
        if self._is_approved_ahead(packet, decision) and not stale:
            return await self._grant(packet, "approved ahead, with the calls before it")
        if not stale and self._is_approved_check(packet, decision):
            return await self._allow_check(packet)
        if self._edited:
            return await self._ask(decision, VoteFeed(), stale=stale)
        if (judged := self._judgement) is not None:
            explained = replace(decision, reasons=(*decision.reasons, *judged.reasons))
            return await self._ask(explained, judged.feed, stale=stale)
        votes_decide = self._state.review.is_decided_by_votes(decision)
        feed = self._state.review.feed(self._call.subject, as_advice=not votes_decide)
        if not votes_decide:
            return await self._ask(decision, feed, stale=stale)
        self._show_waiting("votes", feed)
        votes = await self._state.review.gather(packet, self._state.scope, feed)
        await self._conclude(packet, feed)
        decision = await self._call.decide(votes)
        if decision.answer is Answer.ALLOW:
            await self._record_decision(packet, DecisionLabel.ALLOWED, "; ".join(decision.reasons))
            return Granted(DecisionLabel.ALLOWED)
        return await self._ask(decision, feed, stale=stale, votes=votes)

    def _is_approved_check(self, packet: ReviewPacket, decision: Decision) -> bool:
        """Whether the person approved just this as a check of the goal, and that is enough: signatures are
        about one run."""
        if self._edited or self._signing(decision) is not None:
            return False
        checks = self._state.approved_checks
        return checks.cover(packet.content_digest, is_objected_to=decision.is_objected_to)

    async def _allow_check(self, packet: ReviewPacket) -> Granted:
        reason = "you approved it as a check of the goal, and it is what it was then"
        await self._record_decision(packet, DecisionLabel.ALLOWED, reason)
        return Granted(DecisionLabel.ALLOWED)

    # ---------------------------------------------------------------- the person

    async def _ask(
        self, decision: Decision, feed: VoteFeed, *, stale: bool, votes: Tally | None = None
    ) -> Granted | Withheld:
        notes = (_EDITED,) if self._edited else _note_repairs(self._call.repairs)
        asked = decision.with_notes(notes)
        while True:
            packet = await self._call.get_packet()
            if self._is_approved_ahead(packet, asked) and not stale:
                return await self._grant(packet, "approved ahead, with the calls before it")
            if isinstance(noted := await self._pass_hooks(packet, asked), Skip):
                message = f"denied by a hook: {noted.reason}"
                return await self._withhold_call(packet, DecisionLabel.DENIED, message, "hook_denied")
            answer = await self._answer(packet, asked.with_notes(noted), feed, stale=stale)
            match answer:
                case Approve(digest) if digest == packet.digest:
                    who = answer.approvers
                    return await self._grant(packet, who, answer)
                case ApproveEdits() | ApproveFolder() | ApproveAlways() if answer.digest == packet.digest:
                    return await self._grant(packet, await self._widen(answer))
                case ApproveRest(digests) if packet.digest in digests:
                    self._state.approved_ahead |= frozenset(digests)
                    return await self._grant(packet)
                case Approve() | ApproveEdits() | ApproveFolder() | ApproveRest() | ApproveAlways():
                    stale = True  # an answer to other bytes than these
                case Edit() as edit:
                    asked = await self._edit(edit, asked)
                    # Votes on other bytes are worth nothing here.
                    feed, votes, self._judgement = VoteFeed(), None, None
                case Reject(reason, by):
                    who = f"{REJECTED_WITHOUT_REASON}, in the inbox as {by}" if by else REJECTED_WITHOUT_REASON
                    message = f"{who}: {reason}" if reason else who
                    return await self._withhold_call(packet, DecisionLabel.REJECTED, message, "user_rejected")
                case RejectAndInterrupt():
                    label, message = DecisionLabel.REJECTED, REJECTED_AND_STOPPED
                    raise Interrupted(await self._withhold_call(packet, label, message, "user_rejected"))
                case NobodyThere():
                    return await self._withhold_without_person(packet, feed, votes)

    def _signing(self, decision: Decision) -> SigningTerms | None:
        return self._state.review.find_signing(decision.spoke)

    def _is_approved_ahead(self, packet: ReviewPacket, decision: Decision) -> bool:
        """Whether the person said yes to it with a call before it, and that is enough."""
        return packet.digest in self._state.approved_ahead and self._signing(decision) is None

    async def _pass_hooks(self, packet: ReviewPacket, asked: Decision) -> tuple[str, ...] | Skip:
        """What hooks note for the person on this packet, or that one denies the call; each packet is shown to
        them once. A question of the model's own is none of permission."""
        if packet.call.tool_name == ASK_PERSON:
            return ()
        if packet.digest not in self._noted:
            given = self._call.arguments
            request = PermissionRequest(
                context=self._call.context,
                tool=packet.call.tool_name,
                risk=self._call.risk,
                arguments=await run_off_loop(lambda: deepcopy(dict(given)), given),
                paths=self._call.paths,
                reasons=asked.reasons,
            )
            answer = await self._state.hooks.on_permission_request(request)
            if isinstance(answer, Skip):
                return answer
            note = make_printable(" ".join(request.note.split()))[:_LONGEST_NOTE]
            self._noted[packet.digest] = (f"a hook notes: {note}",) if note else ()
        return self._noted[packet.digest]

    async def _widen(self, answer: ApproveEdits | ApproveFolder | ApproveAlways) -> str | None:
        """Let more run from now on than this call, as the person said; in words, for the record."""
        review = self._state.review
        match answer:
            case ApproveEdits():
                await review.accept_mode(Mode.ACCEPT_EDITS)
                return f"with all edits inside the workspace ({Mode.ACCEPT_EDITS})"
            case ApproveFolder(folder=folder) if folder == self._folder:
                return f"with the folder {folder}, for the session"
            case ApproveFolder():  # not the one that was shown
                return None
            case ApproveAlways(rules=rules, scope=scope):
                await review.remember(rules, scope, self._call.subject)
                return f"from now on by the rule {' and '.join(rules)} ({scope})"
            case _:
                assert_never(answer)

    async def _answer(
        self, packet: ReviewPacket, asked: Decision, feed: VoteFeed, *, stale: bool
    ) -> ReviewAnswer:
        """Put the packet to the person, while the models continue voting on it."""
        self._show_waiting("review", feed)
        review, subject = self._state.review, self._call.subject
        self._folder = await review.find_folder(subject)
        lookalikes = find_lookalikes(packet.call)
        async with self._collect_votes(packet, feed):
            request = ReviewRequest(
                packet=packet,
                reasons=(*lookalikes, *asked.reasons),
                batch_size=self._state.size,
                following=await self._list_following_packets(),
                stale=stale,
                proposals=await review.propose_rules(subject),
                offer=await review.offer(subject, self._state.events.state.approvals),
                routine_reasons=asked.routine_reasons,
                notices=(*lookalikes, *asked.notices),
                folder=self._folder,
                is_edited=self._edited,
                can_be_edited=(made := self._call.definition) is None or not made.is_callers,
                preamble=self._state.events.state.preamble,
                signing=self._signing(asked),
                comparison=find_comparison(self._call, self._state),
                earlier_plans=self._judgement.earlier if self._judgement is not None else (),
                allowed_by_accept_edits=await review.is_allowed_in(Mode.ACCEPT_EDITS, subject),
            )
            settle = self._approve_inside if self._folder is not None else None
            answer = await review.ask(request, review.review_context(subject, feed), settle)
            is_signed = isinstance(answer, Approve) and bool(answer.signatures)
            if request.signing is not None and isinstance(answer, ANY_APPROVAL) and not is_signed:
                return NobodyThere()  # none of those who would have to sign
            return answer

    async def _approve_inside(self) -> ReviewAnswer | None:
        """The approval of a call that needs none any more, since its folder was added in the meantime."""
        if (await self._call.decide()).answer is not Answer.ALLOW:
            return None
        return Approve((await self._call.get_packet()).digest)

    @asynccontextmanager
    async def _collect_votes(self, packet: ReviewPacket, feed: VoteFeed) -> AsyncIterator[None]:
        """Votes come in while the body runs; what is not there by then is no longer waited for."""
        if not feed.awaited:
            yield
            return
        voting = asyncio.ensure_future(self._state.review.gather(packet, self._state.scope, feed))
        try:
            yield
        finally:
            voting.cancel()
            await asyncio.wait([voting])
            await self._conclude(packet, feed)

    async def _conclude(self, packet: ReviewPacket, feed: VoteFeed) -> None:
        if (concluded := await self._state.review.conclude(packet, feed)) is not None:
            self._call.quorum_results.append(concluded)

    async def _withhold_without_person(
        self, packet: ReviewPacket, feed: VoteFeed, votes: Tally | None
    ) -> Withheld:
        label = DecisionLabel.NEEDS_APPROVAL
        if packet.call.tool_name == ASK_PERSON:
            message = "nobody is there to answer: the run ends here, and the reply comes with the next prompt"
            await self._record_decision(packet, label, message)
            return Withheld(label, f"{message}. [needs_answer]")
        if votes is None or votes.verdict is not Verdict.REJECTED:
            because = f" ({asks})" if (asks := self._call.subject.hook_asks) else ""
            message = f"withheld: it needs the approval of a person{because}, and nobody is there to give it"
            return await self._withhold_call(packet, label, message, "needs_approval")
        against = "; ".join(
            f"{b.reviewer}: {b.explanation}" for b in feed.ballots if b.counts_as is Vote.REJECT
        )
        message = f"withheld: the quorum rejected it ({against}), and nobody is there to overrule it"
        return await self._withhold_call(packet, label, message, "quorum_rejected")

    def show_asking(self) -> None:
        """The call waits for the person."""
        self._show_waiting("review", VoteFeed())

    def _show_waiting(self, what: Literal["review", "votes"], feed: VoteFeed) -> None:
        self._call.execution.waiting_for = what
        self._state.events.show(
            CallQueued(
                context=self._call.context,
                waiting_for=what,
                reviewers=feed.reviewers,
                lenses=tuple(feed.lenses.get(each, "") for each in feed.reviewers) if feed.lenses else (),
            )
        )

    async def _edit(self, edit: Edit, asked: Decision) -> Decision:
        """Put the edited arguments in place, if such a call can run; else keep the former and say why.

        Returns what the person is asked with; `asked` is what they were asked with before.
        """
        former = self._call.arguments
        if problems := await self._call.find_problems(edit.arguments):
            return _refuse_edit(asked, f"your edit does not fit the tool: {'; '.join(problems)}")
        try:
            await self._call.change_arguments(edit.arguments)
        except ToolError as error:
            await self._call.change_arguments(former)
            return _refuse_edit(asked, f"your edit cannot run: {error}")
        decision = await self._call.decide()
        if decision.answer is Answer.DENY:
            await self._call.change_arguments(former)
            return _refuse_edit(asked, f"your edit is denied: {'; '.join(decision.reasons)}")
        self._edited = True
        return decision.with_notes((_EDITED,))

    async def _list_following_packets(self) -> tuple[ReviewPacket, ...]:
        """The packets of later calls that would be asked too, as they will be once the ones before have run."""
        packets: list[ReviewPacket] = []
        seal = self._call.seal
        projected = dict(seal.projected) if seal else {}
        for later in self._state.list_waiting_after(self._call):
            if later.risk is RiskLevel.LOW:
                continue
            try:
                await later.inspect_command()
                decision = await later.decide()
                if decision.answer is not Answer.ASK or self._signing(decision) is not None:
                    continue
                seal = await later.compute_seal(projected)
            except (ToolError, OSError):
                continue  # it will be asked about, or fail, at its own turn
            projected |= seal.projected if seal else {}
            packets.append(await later.build_packet(seal))
        return tuple(packets)

    # ---------------------------------------------------------------- endings

    async def _grant(
        self,
        packet: ReviewPacket,
        reason: str | None = None,
        answer: Approve | None = None,
    ) -> Granted:
        label = DecisionLabel.EDITED if self._edited else DecisionLabel.APPROVED
        read = None
        if packet.call.tool_name == ASK_PERSON:  # who only agrees leaves the question without an answer
            reply = answer.reply if answer is not None else None
            read = render_reply(read_question(packet.call.arguments), reply or PersonReply())
        await self._record_decision(packet, label, reason, read, answer)
        return Granted(label, read)

    async def _withhold_call(
        self, packet: ReviewPacket, label: DecisionLabel, message: str, code: str
    ) -> Withheld:
        await self._record_decision(packet, label, message)
        return Withheld(label, f"{message}. It was not run. [{code}]")

    async def _record_decision(
        self,
        packet: ReviewPacket,
        label: DecisionLabel,
        reason: str | None,
        reply: str | None = None,
        answer: Approve | None = None,
    ) -> None:
        decided = ReviewDecided(
            context=self._call.context,
            digest=packet.digest,
            decision=label,
            reason=reason,
            reply=UNSET if reply is None else reply,
            signatures=(answer.signatures if answer is not None else ()) or UNSET,
        )
        if label is DecisionLabel.ALLOWED:  # by models alone: the start of the call waits for its record
            self._state.events.note(decided)
            return
        elsewhere = answer.account if answer is not None else ""
        await self._state.events.record(decided.name_asker((elsewhere,)) if elsewhere else decided)


def _note_repairs(repairs: tuple[str, ...]) -> tuple[str, ...]:
    """What the person reads of arguments that are not in the model's own form."""
    if not repairs:
        return ()
    shown = "; ".join(repairs[:_MOST_REPAIRS])
    return (f"the model's arguments were repaired: {shown}{'; …' if len(repairs) > _MOST_REPAIRS else ''}",)


def _refuse_edit(asked: Decision, reason: str) -> Decision:
    """The same question, with why the last edit cannot be used; what speaks against the call still holds."""
    told = zip(asked.reasons, asked.spoke, strict=True)
    kept = [(text, id) for text, id in told if id != UNUSABLE_EDIT]
    return replace(
        asked,
        reasons=(reason, *(text for text, _ in kept)),
        spoke=(UNUSABLE_EDIT, *(id for _, id in kept)),
    )
