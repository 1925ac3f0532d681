"""The turns of a session in a layer: at the end of each nothing runs any more, and its effects wait, for people
elsewhere, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TypeAlias

from quorum.application.event_bus import EventBus
from quorum.application.inbox import build_review_context
from quorum.application.ports.people import ReviewContext
from quorum.application.staging.effects_review import EffectsReview
from quorum.application.staging.effects_voting import EffectsPacket, RenderPacket
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.errors import StagingError
from quorum.domain.events.event import ErrorOccurred, LayerEntered, ReviewDecided
from quorum.domain.events.report import RunReport
from quorum.domain.review.questions import (
    Approve,
    DecisionLabel,
    NobodyThere,
    Reject,
    ReviewAnswer,
    ReviewRequest,
)
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.sessions.waiting_review import count_answered_effects, end_review, find_asked_effects
from quorum.domain.staging.effects_answer import (
    EffectNames,
    EffectsAnswer,
    EffectsQuestion,
    find_effects_question,
)
from quorum.domain.staging.effects_overview import EffectsOverview
from quorum.domain.text.amounts import format_amount


class StagedTurns:
    """What a session in a layer does at its beginning, and at the end of each turn.

    `end_jobs` ends what turns left running; `hold` keeps the layer from being taken away meanwhile. `entered`
    says what was found in it.
    """

    def __init__(
        self,
        review: EffectsReview,
        inquiry: EffectsInquiry,
        end_jobs: Callable[[], Awaitable[None]],
        events: EventBus,
        *,
        hold: Callable[[], AbstractContextManager[None]],
        entered: LayerEntered,
    ) -> None:
        self.review, self.inquiry, self.hold = review, inquiry, hold
        self._end_jobs, self._events, self._entered = end_jobs, events, entered

    async def open(self) -> None:
        """Record that the session works in the layer, and merge what subagents of earlier processes did in
        theirs. Raises LedgerError."""
        await self._events.announce(self._entered)
        await self.review.merge_left()

    async def note_files(self, upper: str = "") -> None:
        """Keep what files held that a batch changed, in the layer of a subagent's own that the kernel keeps in
        `upper`, or here: the person may change them before the turn ends."""
        with suppress(StagingError):  # the end of the turn reads them, too, and says so
            await self.review.note_files(upper)

    async def note_files_of(self, subagent_id: str, tell: Callable[[str], Awaitable[None]]) -> None:
        """The same after a batch of a subagent, which reads where it replaced lines of another."""
        await self.note_files()
        await self.review.tell_of_overlaps(subagent_id, tell)

    async def gather_votes(self) -> None:
        """Have the reviewers vote on what the turn did. Raises LedgerError."""
        if not self.review.has_reviewers:
            return
        await self._end_jobs()
        with suppress(StagingError):  # as above
            await self.review.vote(await self.review.read())

    async def conclude(self) -> bool:
        """End what the turn left running, and record what waits: whether anything does. Raises LedgerError."""
        await self._end_jobs()
        try:
            return await self.review.note_waiting() is not None
        except StagingError as error:
            await self._events.record(ErrorOccurred(message=f"the effects of the turn are not known: {error}"))
            return True


AskReview: TypeAlias = Callable[[ReviewRequest, ReviewContext], Awaitable[ReviewAnswer]]

_ROUTINE = "nothing of it is in the folder yet"
_REJECTED = "rejected"
_MOST_NAMED = 20
_LONGEST_DIFF = 200_000


class EffectsInquiry:
    """Asks about the effects of a session as about its calls: whoever answers those answers this, by the digest
    of a packet. `render` writes what waits as lines, masked; `machine` is where the layer lies, `records` are
    those of earlier processes."""

    def __init__(
        self,
        effects: EffectsReview,
        ask: AskReview,
        events: EventBus,
        *,
        render: RenderPacket,
        machine: str,
        records: Sequence[LedgerRecord],
    ) -> None:
        self._effects, self._ask, self._events = effects, ask, events
        self._render, self._machine = render, machine
        asked = find_asked_effects(records)
        self._asked = asked[1] if asked is not None else None
        self._attempt = count_answered_effects(records)

    async def has_effects(self) -> bool:
        """Whether there is something to ask about, also where that cannot be read: asking says so."""
        try:
            return (await self._effects.read()).effects.can_be_applied
        except StagingError:
            return True

    async def settle(self, report: RunReport) -> RunReport | str:
        """Ask until the effects of a turn that ended so are applied, dropped or left where they are; then how
        it ended. Where they are sent back: the words with which the model goes on.

        Raises StagingError where the layer cannot be read, and LedgerError.
        """
        refused: tuple[str, ...] = ()
        while True:
            packet = await self._effects.read_noted()
            if not packet.effects.can_be_applied:
                return end_review(report) if packet.effects.is_empty else report
            request = await self._build_request(packet, report, refused)
            match await self._ask(request, build_review_context()):
                case Approve(digest) as answer if digest == request.packet.digest:
                    refused = await self._carry_out(packet, request.packet, answer)
                    if not refused:
                        return end_review(report)
                case Reject(reason=None) as answer:
                    await self._decide(request.packet, DecisionLabel.REJECTED, answer.by)
                    return end_review(report)
                case Reject(reason=str(words)) as answer:
                    await self._decide(request.packet, DecisionLabel.REJECTED, words)
                    await self._effects.reject(packet, words)
                    return words
                case NobodyThere():
                    return report
                case other:
                    refused = (f"it can be applied, sent back or discarded, and nothing else: {other!r:.80}",)
                    await self._decide(request.packet, DecisionLabel.REJECTED, refused[0])

    async def _carry_out(self, packet: EffectsPacket, asked: ReviewPacket, answer: Approve) -> tuple[str, ...]:
        """Do what was answered; why nothing was done, a sentence each."""
        try:
            given = EffectsAnswer() if answer.reply is None else EffectsAnswer.decode(answer.reply.text)
            choice = given.choose(packet.effects)
        except StagingError as error:
            await self._decide(asked, DecisionLabel.REJECTED, str(error))
            return (str(error),)
        await self._decide(asked, DecisionLabel.APPROVED, answer.approvers)
        try:
            if given.discards:
                await self._effects.discard(packet)
                return ()
            applied = await self._effects.apply(packet, choice)
        except StagingError as error:
            return (str(error),)
        return tuple(f"{path}: {why}" if path else why for path, why in applied.refused.items())

    async def _decide(self, asked: ReviewPacket, label: DecisionLabel, reason: str | None) -> None:
        self._attempt, self._asked = self._attempt + 1, None
        await self._events.announce(
            ReviewDecided(context=asked.context, digest=asked.digest, decision=label, reason=reason or None)
        )

    async def _build_request(
        self, packet: EffectsPacket, report: RunReport, refused: Sequence[str]
    ) -> ReviewRequest:
        if (asked := self._asked) is not None and asked.packet.digest == asked.digest:
            before = find_effects_question(asked.packet.call.tool_name, asked.packet.call.arguments)
            if before is not None and before.digest == packet.digest:  # what guards say takes its time
                return _build_request(asked.packet, asked.reasons, report)
        hide = self._events.hide
        overview = EffectsOverview.of(packet.effects)
        objections = await self._effects.judge(overview.files)
        diffs = await self._effects.render_diffs(packet, _LONGEST_DIFF)
        left = len(overview.files) - len(diffs)
        unshown = [f"{format_amount(left, 'file')} not shown: quorum staged show --patch\n"] if left else []
        question = EffectsQuestion(
            layer=self._effects.layer_id,
            machine=self._machine,
            digest=packet.digest,
            summary=overview.summary,
            text=self._render(self._effects.layer_id, packet, hide, objections),
            names=EffectNames.of(packet.effects),
        )
        diff = hide("".join((*diffs.values(), *unshown)))
        asking = question.build_packet(packet.effects.workspace, diff, self._attempt)
        dangers = map(hide, (*refused, *_list_dangers(packet, objections)))
        return _build_request(asking, (*dict.fromkeys(dangers), _ROUTINE), report)


def _build_request(packet: ReviewPacket, reasons: tuple[str, ...], report: RunReport) -> ReviewRequest:
    return ReviewRequest(
        packet=packet,
        reasons=reasons,
        routine_reasons=(_ROUTINE,),
        batch_size=1,
        can_be_edited=False,
        preamble=report.text,
    )


def _list_dangers(packet: EffectsPacket, objections: Mapping[str, Sequence[str]]) -> Iterator[str]:
    overview = EffectsOverview.of(packet.effects)
    yield from (f"it was changed in the folder, too: {each.path}" for each in overview.files if each.conflict)
    yield from (f"it was moved in the folder, too: {each.ref}" for each in overview.commits if each.conflict)
    yield from packet.effects.unmerged
    yield from [f"{path}: {why}" for path, reasons in objections.items() for why in reasons][:_MOST_NAMED]
    failed = [each for each in packet.work.commands if each.failed]
    if failed:
        yield f"{format_amount(len(failed), 'command')} failed"
    if packet.votes is not None and packet.votes.verdict == _REJECTED:
        yield f"the reviewers: {packet.votes.count}"
