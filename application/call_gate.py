"""Decides about the calls of another agent, in a session of ours, and leaves carrying them out to the agent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Protocol, assert_never

from quorum.application.calls.tool_runtime import BatchResult, ToolRuntime, build_batch
from quorum.application.event_bus import EventBus
from quorum.application.identifiers import generate_id
from quorum.application.ports.tools import Tool
from quorum.application.review.review import Review
from quorum.application.turn.recovery import Recovery, plan_recovery
from quorum.application.turn.run_tally import RunTally
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.packet import ProposedCall
from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.conversation.history import ToolResults, UserMessage
from quorum.domain.conversation.response import TOOL_USE, LlmResponse, ToolUseBlock
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import LedgerError
from quorum.domain.events.event import (
    ErrorOccurred,
    Event,
    HookRan,
    MessageAdded,
    NoticeGiven,
    QuorumConcluded,
    ResponseCompleted,
    ReviewDecided,
    ReviewRequested,
    SessionStarted,
    TurnFinished,
    TurnStarted,
)
from quorum.domain.review.ballot import explain_vote, format_reviewer
from quorum.domain.review.gate_decision import GateDecision
from quorum.domain.review.permission_rules import Answer
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.review.quorum_result import VoteRecord
from quorum.domain.review.requested_scope import RequestedScope
from quorum.domain.review.signing import SigningTerms
from quorum.domain.sessions.waiting_review import MIN_DIGEST


async def begin_caller_session(
    events: EventBus,
    review: Review,
    *,
    session_id: str,
    caller: str,
    cwd: str,
    form: SessionKind = SessionKind.AGENT,
) -> str | None:
    """Announce the session where it is new; the answer is why the review mode is another than the settings
    want, if it is. Raises LedgerError."""
    state = events.state
    fallen_back = await review.fall_back()
    if not state.session_id:
        await events.announce(
            SessionStarted(session_id=session_id, model=caller, mode=review.mode, cwd=cwd, form=form)
        )
    recovery = plan_recovery(state.open_calls, turn_index=state.responses - 1, scope=RequestedScope())
    if recovery is not None:
        await _close(events, recovery.drop_reviews() if recovery.pending else recovery)
    return fallen_back


async def _close(events: EventBus, recovery: Recovery) -> None:
    """Record that nothing was answered about these calls, as far as that is known."""
    for finished in recovery.list_ends():
        await events.announce(finished)
    results = [
        ToolResultMessage(
            tool_use_id=context.call_id,
            tool_name=call.tool_name,
            output=end.message,
            is_error=end.outcome.is_error,
            is_rejected=end.outcome.is_rejected,
        )
        for context, call in recovery.batch.calls
        if (end := recovery.batch.ends.get(context.call_id)) is not None
    ]
    await events.announce(MessageAdded(message=ToolResults(tuple(results))))


class DecisionWatch:
    """Implements `Observer`: keeps the reasons and the digest of the call that is decided about."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget the call before."""
        self.asked: tuple[str, ...] = ()
        self.decided: str | None = None
        self.digest = ""
        self.signing: SigningTerms | None = None
        self.troubles: list[str] = []
        self.votes: QuorumConcluded | None = None

    def notify(self, event: Event) -> None:
        """Take note of what concerns the decision."""
        match event:
            case ReviewRequested(reasons=reasons, digest=digest, signing=signing):
                self.asked, self.digest, self.signing = reasons, digest, signing or None
            case ReviewDecided(reason=reason, digest=digest):
                self.decided, self.digest = reason, digest
            case QuorumConcluded():
                self.votes = event
            case HookRan(answer="error", hook=hook, reason=reason):
                self.troubles.append(f"the hook {hook} failed: {reason}")
            case ErrorOccurred(message=message) | NoticeGiven(message=message):
                self.troubles.append(message)
            case _:
                return


# A prompt such as "yes, do that" means something only with those before it.
_PROMPTS_TOLD = 3


class StandIn(Tool, Protocol):
    """A tool that stands for a call of another agent, and leaves it to the agent to carry it out."""

    @property
    def doubt(self) -> str:
        """Why the call is not known to be of low risk, in words; empty where that is plain from its kind."""
        ...


class CallGate:
    """One session of another agent, whose calls are decided about as if they were calls of a session of ours.

    `build_caller_tool` gives the tool that stands for a proposed call, `build_runtime` the runtime that has
    exactly this tool. `caller` names the agent, `watch` observes the events. `begin_turn` is called before each
    decision, `release` when no more are made. `undecided` is the answer where nothing could be decided.
    """

    def __init__(  # noqa: PLR0913 - all that one session of another agent is decided with
        self,
        *,
        session_id: str,
        caller: str,
        cwd: str,
        review: Review,
        events: EventBus,
        watch: DecisionWatch,
        build_caller_tool: Callable[[ProposedCall], Awaitable[StandIn]],
        build_runtime: Callable[[Tool], ToolRuntime],
        begin_turn: Callable[[], None],
        release: Callable[[], Awaitable[None]],
        undecided: Callable[[str], GateDecision],
    ) -> None:
        self.session_id = session_id
        self._caller = caller
        self._cwd = cwd
        self._review = review
        self._events = events
        self._watch = watch
        self._tool_for = build_caller_tool
        self._runtime_with = build_runtime
        self._begin_turn = begin_turn
        self._release = release
        self._undecided = undecided
        self._is_open = False
        self._noted: set[str] = set()
        self._lock = asyncio.Lock()

    async def note_prompt(self, prompt: str) -> None:
        """Record what the person asked the caller for: reviewers of later calls read it. Raises LedgerError."""
        async with self._lock:
            await self._open()
            await self._events.announce(TurnStarted(prompt=prompt))
            await self._events.announce(MessageAdded(message=UserMessage(prompt)))
            await self._events.announce(TurnFinished(report=RunTally(self.session_id).report()))

    async def decide(self, call: ProposedCall, *, unknown: Collection[str] = ()) -> GateDecision:
        """Decide about one call; what is answered is recorded before. Never raises for what a call holds.

        `unknown` are names that the caller sent beside the call, of which nothing is known: they are recorded.
        What cannot be decided or recorded is `undecided`; what is denied stays denied, and so does what people
        have to sign until they have.
        """
        async with self._lock:
            self._watch.begin()
            try:
                await self._open()
                await self._note_unknown(unknown)
                return await self._decide(call)
            except LedgerError as error:
                return self._undecided(f"the decision cannot be recorded: {error}")

    def explain_unsigned(self) -> str:
        """Whose signatures the call that is decided about waits for; empty where it waits for none."""
        if (terms := self._watch.signing) is None:
            return ""
        digest = self._watch.digest[:MIN_DIGEST]
        return f"{terms.describe()}, within the time of the gate: quorum inbox approve {digest}"

    async def aclose(self) -> None:
        """Let go of the connections to models, and of what hooks in the sandbox shared."""
        await self._release()

    async def _open(self) -> None:
        """Begin the session, or continue it: what a process before this one left open is closed."""
        if self._is_open:
            return
        fallen_back = await begin_caller_session(
            self._events, self._review, session_id=self.session_id, caller=self._caller, cwd=self._cwd
        )
        if fallen_back is not None:
            self._watch.troubles.append(fallen_back)
        self._is_open = True

    async def _note_unknown(self, names: Collection[str]) -> None:
        """Record each name once for as long as the session is open."""
        new = [name for name in names if name not in self._noted]
        self._noted.update(new)
        if new:
            named = ", ".join(map(repr, new))
            message = f"{self._caller} also sends {named} beside its calls, of which nothing is known here"
            await self._events.announce(NoticeGiven(message=message, is_note=True))

    async def _decide(self, call: ProposedCall) -> GateDecision:
        events = self._events
        self._begin_turn()
        if call.task and call.task not in events.state.prompts[-1:]:
            await events.announce(TurnStarted(prompt=call.task))
            await events.announce(MessageAdded(message=UserMessage(call.task)))
        elif not events.state.messages:
            opening = f"{self._caller} works in {self._cwd}; its calls are decided about here."
            await events.announce(TurnStarted(prompt=opening))
            await events.announce(MessageAdded(message=UserMessage(opening)))
        else:
            await events.announce(TurnStarted(prompt=""))
        block = ToolUseBlock(id=generate_id(), name=call.tool, input=call.arguments)
        response = LlmResponse(content=(block,), stop_reason=TOOL_USE, model=self._caller)
        turn_index = events.state.responses
        await events.announce(ResponseCompleted(turn_index=turn_index, response=response))
        scope = RequestedScope(task="\n\n".join(events.state.prompts[-_PROMPTS_TOLD:]))
        tool = await self._tool_for(call)
        runtime = self._runtime_with(tool)
        result = await runtime.run(build_batch(response.tool_calls(), turn_index=turn_index, scope=scope))
        await self._finish(response, result)
        return self._read(result, tool.doubt)

    async def _finish(self, response: LlmResponse, result: BatchResult) -> None:
        tally = RunTally(self.session_id)
        tally.add_response(response, None, continues=False)
        tally.add_calls(result.records, response.tool_calls())
        tally.add_spent(self._review)
        if result.aborted is not None:
            tally.give_up(result.aborted)
        self._events.note(MessageAdded(message=ToolResults(result.results)))
        await self._events.announce(TurnFinished(report=tally.report()))

    # ---------------------------------------------------------------- what came of it

    def _read(self, result: BatchResult, doubt: str) -> GateDecision:
        (record,), (message,) = result.records, result.results
        watch, output = self._watch, message.output
        if result.aborted is not None and not result.is_record_lost:
            return self._answer(Answer.DENY, result.aborted)
        match record.outcome:
            case Outcome.OK:
                return self._answer(Answer.ALLOW, watch.decided or self._explain_unasked())
            case Outcome.REJECTED if record.decision is DecisionLabel.NEEDS_APPROVAL:
                asked = watch.asked or (output,)
                answer = Answer.ASK if watch.signing is None else Answer.DENY
                untold = "" if any(doubt in reason for reason in asked) else doubt
                return self._answer(answer, *asked, untold, *self._list_votes(), *watch.troubles)
            case Outcome.REJECTED:
                return self._answer(Answer.DENY, watch.decided or output)
            case Outcome.SKIPPED:
                return self._answer(Answer.DENY, output)
            case Outcome.ERROR | Outcome.NOT_RUN | Outcome.CANCELLED | Outcome.UNKNOWN:
                undecided = self._undecided(output)
                return self._answer(undecided.answer, *undecided.reasons, *watch.troubles)
            case _:
                assert_never(record.outcome)

    def _answer(self, answer: Answer, *reasons: str) -> GateDecision:
        said = tuple(dict.fromkeys(reason for reason in reasons if reason))
        return GateDecision(answer=answer, reasons=said, digest=self._watch.digest)

    def _explain_unasked(self) -> str:
        return f"it is of low risk, or the mode {self._review.mode} allows it"

    def _list_votes(self) -> tuple[str, ...]:
        """What the reviewers said, where a person is to be asked."""
        if self._watch.votes is None:
            return ()
        return tuple(map(_describe_vote, self._watch.votes.votes))


def _describe_vote(vote: VoteRecord) -> str:
    explained = explain_vote(vote.verdict, vote.in_scope, vote.reasoning)
    return f"{format_reviewer(vote.model, vote.lens)}: {vote.verdict}, {explained}"
