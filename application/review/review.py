"""Review: the one decision, the votes of the models, and the questions to the person, one at a time."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal

from msgspec import UNSET, Struct

from quorum.application.cancellation import run_off_loop
from quorum.application.event_bus import EventBus
from quorum.application.ports.people import Approver, ReviewContext, ReviewQuestion
from quorum.application.ports.rules import SampleStore
from quorum.application.review.ballot_paper import BallotPaper
from quorum.application.review.rule_book import RuleBook, describe_call
from quorum.application.review.voting import VoteFeed, Voting
from quorum.application.session_folders import SessionFolders
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.conversation.history import ToolResults
from quorum.domain.conversation.response import Usage
from quorum.domain.errors import ConfigError, ModeRefused, QuorumError
from quorum.domain.events.event import ErrorOccurred, ModeChanged, ReviewRequested
from quorum.domain.events.session import FolderOrigin
from quorum.domain.goal import PROPOSE_CHECKS
from quorum.domain.plan.plan import SessionPhase
from quorum.domain.plan.plan_text import render_plan_text
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Ballot, Tally, are_independent
from quorum.domain.review.decision import Decision, can_run_sandboxed, decide
from quorum.domain.review.guards import GuardSettings, find_objections
from quorum.domain.review.mode import Mode
from quorum.domain.review.objection import Objection
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import AllowedTools, Answer, Rule, Subject
from quorum.domain.review.person_question import ASK_PERSON
from quorum.domain.review.plain_request import NO_REQUEST, PlainRequest
from quorum.domain.review.plan_terms import CREATE_PLAN
from quorum.domain.review.questions import (
    Approve,
    ApproveFolder,
    NobodyThere,
    ReviewAnswer,
    ReviewRequest,
    RuleOffer,
    RulePreview,
    RuleScope,
)
from quorum.domain.review.quorum_result import QuorumConcluded
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.review.rule_offers import ApprovedCall
from quorum.domain.review.rule_replay import RuleReplay
from quorum.domain.review.signing import SigningTerms
from quorum.domain.review.unasked_calls import (
    SAMPLED_MODES,
    CallKind,
    SampledCall,
    format_share,
    is_sampled,
)
from quorum.domain.review.web_reach import (
    FETCH,
    WEB_TOOLS,
    WebSources,
    find_exfiltration,
    find_web_doubt,
)


class TurnByIndex:
    """A lock that goes, when free, to the waiter with the lowest index."""

    def __init__(self) -> None:
        self._held = False
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._arrivals = 0

    @asynccontextmanager
    async def hold_turn(self, index: int) -> AsyncIterator[None]:
        """Hold the lock as the one with this index."""
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


# The first time after a resume each of their commands is taken apart.
_MANY_APPROVALS = 20


class Review:
    """Decides by rules, guards, paths, mode and votes; asks the person where that leaves a question open.

    That of a subagent is `within` the review of its owner: mode and plan are the same at any time, what a
    custom command allows holds for both, and the person is asked one question at a time.
    """

    def __init__(  # noqa: PLR0913 - all that decides about calls meets here
        self,
        *,
        person: Approver,
        paths: PathPolicy,
        mode: Mode,
        events: EventBus,
        rules: RuleBook,
        voting: Voting,
        guards: GuardSettings | None = None,
        refusal: Callable[[Mode], Awaitable[str | None]] | None = None,
        within: Review | None = None,
        folders: SessionFolders | None = None,
        plan_task: str = "",
        sampling: UnaskedSampling | None = None,
        find_signing: Callable[[Collection[str]], SigningTerms | None] = lambda _spoke: None,
    ) -> None:
        self.find_signing = find_signing
        """What people have to sign for a call about which these ids spoke; None where nothing."""
        self._sampling = sampling
        self._plan_task = plan_task
        self._within = within
        self._folders = folders
        self._person = person
        self._paths = paths
        self._mode = mode
        self._events = events
        self._rules = rules
        self.voting = voting
        self.guards = guards or GuardSettings()
        self._refusal = refusal
        self._turn: TurnByIndex = TurnByIndex() if within is None else within._turn
        # One that works in the background goes on under the command that had it begun.
        self._allowed_tools: AllowedTools | None = None if within is None else within.allowed_tools
        self.make_offer: Callable[[str], Awaitable[bool]] | None = None
        """Asks before this call whether the mode is to be `sandboxed`; None where nobody is to be asked."""
        self._approved_addresses: list[str] = [] if within is None else within._approved_addresses

    @property
    def allowed_tools(self) -> AllowedTools | None:
        """What the custom command allows whose turn it is, or in whose turn a subagent began; None where it
        does not say."""
        owned = None if self._within is None else self._within.allowed_tools
        return self._allowed_tools or owned

    @allowed_tools.setter
    def allowed_tools(self, allowed: AllowedTools | None) -> None:
        self._allowed_tools = allowed

    @property
    def mode(self) -> Mode:
        """The mode in force for decisions from now on."""
        return self._mode if self._within is None else self._within.mode

    @property
    def is_person_there(self) -> bool:
        """Whether anybody could answer a question."""
        return self._person.is_there

    @property
    def max_plan_revisions(self) -> int:
        """How often the reviewers may send a plan back before the person is asked about it."""
        return self.voting.policy.max_plan_revisions

    @property
    def phase(self) -> SessionPhase:
        """Where the session stands with plans. It may be read in any thread."""
        return self._events.phase if self._within is None else self._within.phase

    async def set_mode(self, mode: Mode) -> None:
        """Choose another mode. A question already on the screen stays there.

        Raises ModeRefused for a mode that cannot be had here.
        """
        if self._within is not None:
            await self._within.set_mode(mode)
        elif mode is not self._mode:
            if (why := await self.find_refusal(mode)) is not None:
                raise ModeRefused(why)
            self._mode = mode
            await self._events.record(ModeChanged(mode=mode))

    async def offer_sandboxed(
        self, subject: Subject, index: int, on_asking: Callable[[], None] = lambda: None
    ) -> None:
        """Have the mode `sandboxed` offered before a call that it may let run is asked about. Once there is an
        answer, nothing is offered again. `on_asking` is called when the call begins to wait for that."""
        if self._within is not None:
            await self._within.offer_sandboxed(subject, index, on_asking)
            return
        if self.make_offer is None or not can_run_sandboxed(subject, self._paths):
            return
        async with self._turn.hold_turn(index):
            if self.make_offer is None or self.mode not in (Mode.ASK, Mode.ACCEPT_EDITS):
                return
            verb = find_traits(subject.tool).verb
            call = describe_call(subject, next(iter(self._paths.roots), ""), verb=verb)
            if await self.find_refusal(Mode.SANDBOXED) is None:
                on_asking()
                if await self.make_offer(call):
                    await self.accept_mode(Mode.SANDBOXED)
            self.make_offer = None

    async def accept_mode(self, mode: Mode) -> None:
        """Choose a mode as part of an answer; a refusal is reported, and no more."""
        try:
            await self.set_mode(mode)
        except ModeRefused as error:
            await self._events.record(ErrorOccurred(message=f"the mode is still {self.mode}: {error}"))

    async def find_refusal(self, mode: Mode) -> str | None:
        """Why a mode cannot be had here and what helps, one sentence; None where it can."""
        if self._within is not None:
            return await self._within.find_refusal(mode)
        return await self._refusal(mode) if self._refusal is not None else None

    async def fall_back(self) -> str | None:
        """Leave a mode that cannot be had here, before the session begins, for `ask`, or else for `read-only`.
        Returns why, if so."""
        if (why := await self.find_refusal(self._mode)) is None:
            return None
        self._mode = Mode.ASK if await self.find_refusal(Mode.ASK) is None else Mode.READ_ONLY
        return f"{why}; the mode is {self._mode}"

    def decide(
        self,
        subject: Subject,
        votes: Tally | None = None,
        *,
        mode: Mode | None = None,
        request: PlainRequest = NO_REQUEST,
    ) -> Decision:
        """Whether a call may run now, or in another mode. `request` answers objections of guards only where
        somebody is there who may have made it."""
        objected = find_objections(
            subject.arguments,
            subject.access,
            subject.command,
            paths=self._paths,
            settings=self.guards,
            read_script=self._rules.read_script,
            request=request if self._person.is_there else NO_REQUEST,
            tool=subject.tool,
            diff=subject.diff,
            own_files=subject.own_files,
        )
        objected = (*objected, *self._find_exfiltration(subject))
        mode = mode or self.mode
        decision = decide(
            subject,
            mode=mode,
            paths=self._paths,
            rules=self._rules_in_force,
            objections=objected,
            votes=votes,
            allowed_tools=self.allowed_tools,
            plan=self.phase.make_terms(is_person_there=self._person.is_there, task_id=self._plan_task),
            web_doubt=self._find_web_doubt(subject),
        )
        return decision if self._sampling is None else self._sampling.hold_back(decision, subject, mode)

    @property
    def samples(self) -> SampleStore | None:
        """The calls that are kept for a verdict; None where none are."""
        return None if self._sampling is None else self._sampling.store

    async def sample(self, subject: Subject, context: ToolExecutionContext) -> None:
        """Keep a call for the person's verdict that is about to run because the mode allows it, if it is in the
        sample. One that cannot be kept is reported."""
        if self._sampling is None:
            return
        try:
            await self._sampling.sample(subject, describe_call(subject), self.mode, context)
        except ConfigError as error:
            await self._events.record(ErrorOccurred(message=f"a call is missing in the sample: {error}"))

    def describe_error(self) -> tuple[str, ...]:
        """How often the modes that let calls run unasked were wrong, a sentence for each kind of call."""
        try:
            return () if self._sampling is None else tuple(self._sampling.describe())
        except ConfigError as error:
            return (f"not known: {error}",)

    def describe_error_shortly(self) -> str:
        """The same of the mode in force, for a line with little room; empty where nothing was judged."""
        return "" if self._sampling is None else self._sampling.describe_shortly(self.mode)

    def list_asked(self) -> tuple[CallKind, ...]:
        """The kinds of calls about which the mode in force does not decide, since it was too often wrong."""
        return () if self._sampling is None else self._sampling.list_asked(self.mode)

    def _find_web_doubt(self, subject: Subject) -> str:
        """Why a call may carry data to the web. What a subagent is told was said by a model."""
        if subject.tool not in WEB_TOOLS:
            return ""
        return find_web_doubt(subject.tool, subject.arguments, self._collect_sources())

    def _find_exfiltration(self, subject: Subject) -> tuple[Objection, ...]:
        """What the guard `network` has against a call to the web, whatever allows it."""
        if subject.tool not in WEB_TOOLS or not self.guards.network:
            return ()
        reason = find_exfiltration(subject.tool, subject.arguments, self._collect_sources())
        return (Objection("network", reason),) if reason else ()

    def _collect_sources(self) -> WebSources:
        said = (self if self._within is None else self._within)._events.state.prompts
        messages = self._events.state.messages
        results = (each for some in messages if isinstance(some, ToolResults) for each in some.results)
        told = () if self._within is None else self._events.state.prompts
        return WebSources.of(said, results, self._approved_addresses, told=told)

    @property
    def _rules_in_force(self) -> tuple[Rule, ...]:
        rules = self._rules.rules
        return self.phase.narrow_rules(rules, self._plan_task) if self._plan_task else rules

    async def decide_off_loop(
        self, subject: Subject, votes: Tally | None = None, request: PlainRequest = NO_REQUEST
    ) -> Decision:
        """The same, in a thread where the arguments are large. A mode or rules changed meanwhile count."""
        while True:
            in_force = self._list_in_force()
            decision = await run_off_loop(
                lambda: self.decide(subject, votes, request=request), subject.arguments
            )
            if in_force == self._list_in_force():
                return decision

    def _list_in_force(self) -> tuple[object, ...]:
        return (self.mode, self._rules_in_force, self.allowed_tools, self.phase)

    async def is_allowed_in(self, mode: Mode, subject: Subject) -> bool:
        """Whether a call would run unasked in that mode, and the mode can be had here."""
        if await self.find_refusal(mode) is not None:
            return False
        decision = await run_off_loop(lambda: self.decide(subject, mode=mode), subject.arguments)
        return decision.answer is Answer.ALLOW

    async def note(self, subject: Subject) -> None:
        """Remember a call, to tell later what a new rule would have covered."""
        await run_off_loop(lambda: self._rules.note(subject), subject.arguments)

    # ---------------------------------------------------------------- votes

    def is_decided_by_votes(self, decision: Decision) -> bool:
        """Whether the models could let a call run that would have to be asked about otherwise."""
        return decision.by_mode and self.mode.traits.votes_decide and bool(self.voting.policy.reviewers)

    def feed(self, subject: Subject, *, as_advice: bool) -> VoteFeed:
        """Where votes about one call come in.

        As advice they are gathered only where a person reads them. What touches a sensitive file is put to no
        model: its packet holds what the person has not yet agreed to show to anybody. In the scope `fast` no
        model is asked about a plan, and none ever answers a question to the person.
        """
        wanted = not as_advice or (self._person.is_there and self.mode.traits.shows_votes)
        sensitive = bool(subject.access.secret) or any(map(self.is_sensitive, subject.read | subject.written))
        is_fast_plan = subject.tool == CREATE_PLAN and self.phase.is_fast
        is_question = subject.tool in (ASK_PERSON, PROPOSE_CHECKS)
        is_closed = sensitive or is_fast_plan or is_question or bool(self._list_outside(subject))
        return self.voting.feed() if wanted and not is_closed else VoteFeed()

    async def gather(
        self, packet: ReviewPacket, scope: RequestedScope, feed: VoteFeed, paper: BallotPaper | None = None
    ) -> Tally:
        """Have the reviewers vote on a packet, which they hold against the plan in force too, and count.

        `paper` is what they are asked; None: whether the call may run.
        """
        if (approved := self.phase.approved) is not None:
            scope = replace(scope, plan=render_plan_text(approved.plan))
        return await self.voting.gather(packet, scope, feed, paper)

    def is_sensitive(self, path: str) -> bool:
        """Whether even reading this path is asked about."""
        return self._paths.is_sensitive(path)

    def take_spent(self) -> list[tuple[Usage, Decimal | None]]:
        """What the votes since the last time have used: tokens, and cost in USD where that is known."""
        return self.voting.take_spent()

    async def conclude(
        self, packet: ReviewPacket, feed: VoteFeed, *, plan_round: int | None = None
    ) -> QuorumConcluded | None:
        """Record what was voted on a packet, in a round about a plan or on a call; None where nobody voted."""
        return await self.voting.conclude(packet, feed, plan_round=plan_round)

    # ---------------------------------------------------------------- the person

    def review_context(self, subject: Subject, feed: VoteFeed) -> ReviewContext:
        """What the person may look at while they are asked about a call."""
        return OpenReviewContext(
            feed,
            count=self.voting.count,
            independent=are_independent(feed.reviewers),
            preview=lambda text: self._rules.preview(text, subject),
            replay=self._rules.replay if self._rules.has_history else None,
        )

    async def propose_rules(self, subject: Subject) -> tuple[str, ...]:
        """Rules that would let a call and its like run, the narrowest first."""
        return await run_off_loop(lambda: self._rules.propose(subject), subject.arguments)

    async def offer(self, subject: Subject, approved: Sequence[ApprovedCall]) -> RuleOffer | None:
        """Rules that would have spared this question, after calls like it were approved; None where nobody is
        there to choose them."""
        if not self._person.is_there or not approved:
            return None
        if len(approved) > _MANY_APPROVALS:
            return await asyncio.to_thread(self._rules.offer, subject, approved)
        return await run_off_loop(lambda: self._rules.offer(subject, approved), subject.arguments)

    async def remember(self, rules: Sequence[str], scope: RuleScope, subject: Subject) -> None:
        """Add rules that the person made. One that cannot be saved is reported; the approval stands."""
        for rule in rules:
            try:
                await self._rules.add(rule, scope, subject)
            except QuorumError as error:
                await self._events.record(ErrorOccurred(message=f"the rule {rule} was not saved: {error}"))

    async def find_folder(self, subject: Subject) -> str | None:
        """The folder that would let a call reach what lies outside the workspace; None where there is none."""
        if self._folders is None or not (outside := self._list_outside(subject)):
            return None
        return await self._folders.find_addable(outside)

    async def _add_folder(self, folder: str) -> None:
        """Add a folder that the person was shown. One that cannot be added is reported; the approval stands."""
        if self._folders is None:
            return
        try:
            await self._folders.add(folder, FolderOrigin.REVIEW)
        except QuorumError as error:
            await self._events.record(ErrorOccurred(message=f"the folder {folder} was not added: {error}"))

    def _list_outside(self, subject: Subject) -> tuple[str, ...]:
        return tuple(sorted(path for path in subject.access.outside if not self._paths.is_inside(path)))

    async def ask(
        self,
        request: ReviewRequest,
        review_context: ReviewContext,
        settle: Callable[[], Awaitable[ReviewAnswer | None]] | None = None,
    ) -> ReviewAnswer:
        """Put one packet to the person. Waits for its turn: lower call indices are asked first.

        `settle` is asked at its turn whether an answer before has settled this question too.
        """
        packet = request.packet
        async with self._turn.hold_turn(packet.context.call_index):
            if settle is not None and (answer := await settle()) is not None:
                return answer
            await self._events.record(
                ReviewRequested(
                    context=packet.context,
                    packet=packet,
                    digest=packet.digest,
                    reasons=request.reasons,
                    routine_reasons=request.routine_reasons,
                    edited=request.is_edited,
                    signing=request.signing or UNSET,
                )
            )
            given = await self._person.ask(ReviewQuestion(request, review_context))
            answer = given if isinstance(given, ReviewAnswer) else NobodyThere()
            match answer:
                case Approve(packet.digest) if packet.call.tool_name == FETCH:
                    self._approved_addresses.append(str(packet.call.arguments.get("url")))
                case ApproveFolder(packet.digest, folder) if folder == request.folder:
                    await self._add_folder(folder)  # before the next question, which may be about it too
            return answer


class OpenReviewContext:
    """Implements `ReviewContext` over the votes about one packet and the rules about one call."""

    def __init__(
        self,
        feed: VoteFeed,
        *,
        count: Callable[[tuple[Ballot, ...]], Tally],
        independent: bool,
        preview: Callable[[str], RulePreview],
        replay: Callable[[Sequence[str]], Awaitable[RuleReplay | None]] | None = None,
    ) -> None:
        self.replay = replay
        self.reviewers = feed.reviewers
        self.independent = independent
        self.lenses = feed.lenses
        self.watch = feed.watch
        self.preview = preview
        self._feed = feed
        self._count = count

    @property
    def ballots(self) -> tuple[Ballot, ...]:
        """What the reviewers have said so far, in the order it came."""
        return self._feed.ballots

    @property
    def awaited(self) -> tuple[str, ...]:
        return self._feed.awaited

    @property
    def not_asked(self) -> tuple[str, ...]:
        return self._feed.not_asked

    @property
    def tally(self) -> Tally:
        return self._count(self._feed.ballots)


class UnaskedSampling(Struct, frozen=True, kw_only=True):
    """`share` of the calls of a session are sampled; above the share `max_error` of wrong ones they are asked
    about. Both lie between 0 and 1."""

    store: SampleStore
    session_id: str
    share: float
    max_error: float

    def hold_back(self, decision: Decision, subject: Subject, mode: Mode) -> Decision:
        """The decision, or a question in place of what the mode alone allows and was too often wrong about."""
        if not _is_allowed_by_mode(decision, subject, mode):
            return decision
        kind = CallKind.of(subject.tool)
        try:
            figures = self.store.count(kind)
        except ConfigError as error:
            reason = f"how often the mode {mode} is wrong is not known: {error}"
        else:
            if not figures.exceeds(self.max_error):
                return decision
            reason = (
                f"the mode {mode} was wrong about {figures.wrong} of {figures.judged} judged {kind}: up to "
                f"{format_share(figures.bound)}, above your limit of {format_share(self.max_error)}"
            )
        return replace(
            decision, answer=Answer.ASK, reasons=(reason,), spoke=("error of the mode",), by_mode=False
        )

    async def sample(self, subject: Subject, text: str, mode: Mode, context: ToolExecutionContext) -> None:
        """Keep a call that is about to run because the mode allows it, if it is in the sample.

        Raises ConfigError where it cannot be kept.
        """
        if subject.risk is RiskLevel.LOW or mode not in SAMPLED_MODES:
            return
        call_id = f"{self.session_id}/{context.batch_id}/{context.call_id}"
        if is_sampled(call_id, self.share):
            call = SampledCall(
                id=call_id,
                session_id=self.session_id,
                mode=mode,
                kind=CallKind.of(subject.tool),
                text=text,
                change=_describe_change(subject),
                at_ms=time.time_ns() // 1_000_000,
            )
            await self.store.add(call)

    def describe(self) -> Iterator[str]:
        """A sentence for each kind of call. Raises ConfigError."""
        for kind in CallKind:
            figures = self.store.count(kind)
            waiting = f"; {figures.waiting} wait for your verdict" if figures.waiting else ""
            held = f"; asked about, as your limit is {format_share(self.max_error)}"
            yield f"{figures.sentence}{waiting}{held if figures.exceeds(self.max_error) else ''}"

    def describe_shortly(self, mode: Mode) -> str:
        """The highest bound of the kinds that were judged, for a short line; empty where none was."""
        if mode not in SAMPLED_MODES:
            return ""
        try:
            judged = [figures for kind in CallKind if (figures := self.store.count(kind)).judged]
        except ConfigError:
            return "error not known"
        worst = max(judged, key=lambda figures: figures.bound, default=None)
        return "" if worst is None else worst.remark

    def list_asked(self, mode: Mode) -> tuple[CallKind, ...]:
        """The kinds of calls that are asked about because the mode was too often wrong about them."""
        if mode not in SAMPLED_MODES:
            return ()
        try:
            return tuple(kind for kind in CallKind if self.store.count(kind).exceeds(self.max_error))
        except ConfigError:
            return tuple(CallKind)


def _describe_change(subject: Subject) -> str:
    """What a call is to change in files: as a diff, or else the texts that it is given."""
    if subject.command is not None:
        return ""
    if subject.diff is not None:
        return subject.diff
    texts = (f"{name}: {value}" for name, value in subject.arguments.items() if isinstance(value, str))
    return "\n".join(texts) if subject.written else ""


def _is_allowed_by_mode(decision: Decision, subject: Subject, mode: Mode) -> bool:
    return (
        decision.answer is Answer.ALLOW
        and decision.by_mode
        and subject.risk is RiskLevel.HIGH
        and mode in SAMPLED_MODES
    )
