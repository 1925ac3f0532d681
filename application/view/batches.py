"""Turns events about calls into entries: batches that are planned, wait, run and end.

Batches in a row that only looked are joined into one run, with the thoughts between them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from quorum.application.view.entries import (
    AnswerEntry,
    Batch,
    Call,
    Entry,
    FollowedSubagent,
    Kept,
    LookRun,
    LookSegment,
    Phase,
    Remark,
    StoredOutput,
)
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.events import event as ev
from quorum.domain.events.subagents import SubagentEvent
from quorum.domain.review.ballot import Ballot, Vote, sort_dissent_first
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.text.json_value import JsonObject

FEWEST_FOLDED = 3
"""Calls that one row is worth."""


def is_quiet_look(call: Call) -> bool:
    """Whether a call only looked, ended well, and nothing else is to be said about it."""
    return (
        find_traits(call.tool).look is not None
        and call.phase is Phase.FINISHED
        and call.outcome is Outcome.OK
        and call.decision in (DecisionLabel.NONE, DecisionLabel.ALLOWED)
        and not call.earlier
        and not call.votes
        and all(remark.quiet for remark in call.remarks)
    )


def extend_run(entries: Sequence[Entry], batch: Batch) -> None:
    """Join a batch that has ended to the run of the batch before it, where both only looked.

    Takes as long as there are entries after the batch, however long the run is.
    """
    if batch.run is not None or not _only_looked(batch):
        return
    # A batch that was planned before the screen was cleared is no entry any more.
    place = next((n for n in range(len(entries) - 1, -1, -1) if entries[n] is batch), 0)
    thoughts: list[AnswerEntry] = []
    for before in (entries[n] for n in range(place - 1, -1, -1)):
        if isinstance(before, AnswerEntry) and before.finished and not before.text.strip():
            thoughts.insert(0, before)
            continue
        if isinstance(before, Batch) and _only_looked(before):
            _join(before, (*thoughts, batch))
        return


def _join(before: Batch, members: Sequence[Batch | AnswerEntry]) -> None:
    """Put members behind this batch, which is the last one that its run has, if it is in one."""
    run = before.run = before.run or LookRun([before])
    segments = _list_segments(run)
    segment = segments[id(before)]
    was_folded = is_folded(segment)
    for member in members:
        member.run = run
        run.members.append(member)
        segment.add(member)
        segments[id(member)] = segment
    # The row that stands for them changes with each; the others only once there is such a row.
    for member in (segment.members[0], *members) if was_folded else segment.members:
        member.version += 1


def find_segment(entry: Batch | AnswerEntry) -> LookSegment | None:
    """The part of its run that an entry belongs to; None where there is none.

    A remark may arrive after a batch was joined, so that it is no longer quiet and parts the run.
    """
    return _list_segments(entry.run).get(id(entry)) if entry.run is not None else None


def is_folded(segment: LookSegment) -> bool:
    """Whether one row can stand for all of it."""
    return segment.batches > 1 and segment.calls >= FEWEST_FOLDED


def _list_segments(run: LookRun) -> dict[int, LookSegment]:
    if run.segments is None:
        run.segments = {id(member): segment for segment in _split(run) for member in segment.members}
    return run.segments


def _split(run: LookRun) -> Iterator[LookSegment]:
    segment = LookSegment()
    thoughts: list[AnswerEntry] = []
    for member in run.members:
        if isinstance(member, AnswerEntry):
            thoughts += [member] if segment.batches else []
        elif _only_looked(member):
            for thought in thoughts:
                segment.add(thought)
            segment.add(member)
            thoughts = []
        elif segment.batches:
            yield segment
            segment, thoughts = LookSegment(), []
    if segment.batches:
        yield segment


def _only_looked(batch: Batch) -> bool:
    return bool(batch.calls) and not batch.is_own and all(map(is_quiet_look, batch.calls))


_COMPOSED_KEPT = 4_000


class Batches:
    """Keeps the batches of the present turn up to date, and adds new ones to the entries it is given.

    `untimed`: what comes is from a record that does not say when it happened.
    """

    def __init__(self, entries: list[Entry], clock: Callable[[], float]) -> None:
        self.untimed = False
        self._entries = entries
        self._clock = clock
        self._composed: Batch | None = None
        self._known: dict[str, Batch] = {}
        self._subagents: dict[str, FollowedSubagent] = {}  # those at work, some of them after their batch

    @property
    def running(self) -> list[Batch]:
        """Batches with a call that runs at this moment."""
        return [batch for batch in self._known.values() if batch.is_running]

    def take_over(self, others: Batches) -> None:
        """Continue with what others kept up to date; what is still open of it is an entry here as well."""
        self._known, self._composed = dict(others._known), others._composed
        self._subagents = dict(others._subagents)
        self._entries += [batch for batch in self._known.values() if batch.is_open]
        if self._composed is not None:
            self._entries.append(self._composed)

    def compose(self, event: ev.ToolCallDelta) -> None:
        """A piece of a call arrived: show that it is being written."""
        if self._composed is None:
            self._composed = Batch(None)
            self._entries.append(self._composed)
        calls = self._composed.calls
        call = next((c for c in calls if c.index == event.index), None)
        if call is None:
            call = Call(index=event.index, tool="", phase=Phase.COMPOSED)
            calls.append(call)
        call.tool = call.tool or event.name or ""
        if len(call.composed) < _COMPOSED_KEPT:
            call.composed += event.arguments_delta[: _COMPOSED_KEPT - len(call.composed)]
        self._composed.version += 1

    def abandon_composed(self) -> None:
        """The answer ended without calls to run: what was being written will not be."""
        if self._composed is not None:
            for call in self._composed.calls:
                call.arguments = call.arguments or _parse_partial_arguments(call.composed)
                call.enter(Phase.ABANDONED, self._clock())
            self._composed.version += 1
            self._composed = None

    def plan(self, event: ev.BatchPlanned, cwd: str) -> Batch:
        """The batch is known; it takes the place of the calls that were being written."""
        now = self._clock()
        batch = self._find_or_add_batch(event.batch_id)
        self._composed = None
        remarks = {call.index: call.remarks for call in batch.calls}
        # Hooks still speak of a finished batch until the next one is planned.
        self._known = {key: known for key, known in self._known.items() if known.is_open}
        self._known[event.batch_id] = batch
        batch.version += 1
        batch.untimed = self.untimed
        batch.calls = [
            Call(
                index=lane.context.call_index,
                tool=lane.tool,
                arguments=lane.arguments,
                risk=lane.risk,
                follows=lane.follows,
                cwd=cwd,
                waiting_for=lane.follows or None,
                remarks=remarks.get(lane.context.call_index, ()),
                since=[(now, Phase.QUEUED)],
            )
            for lane in event.lanes
        ]
        return batch

    def _find_or_add_batch(self, batch_id: str) -> Batch:
        """The batch of this id: a known one, the one being written, or a new one."""
        if (batch := self._known.get(batch_id)) is None:
            if (batch := self._composed) is None:
                batch = Batch(None)
                self._entries.append(batch)
            batch.batch_id = batch_id
            self._known[batch_id] = batch
        return batch

    def _call(self, context: ToolExecutionContext) -> tuple[Batch, Call]:
        """The call of this context; hooks speak of calls before a plan announces them."""
        batch = self._find_or_add_batch(context.batch_id)
        batch.touch()
        for call in batch.calls:
            if call.index == context.call_index:
                return batch, call
        call = Call(index=context.call_index, tool="", since=[(self._clock(), Phase.QUEUED)])
        batch.calls.append(call)
        batch.calls.sort(key=lambda each: each.index)
        return batch, call

    def queue(self, event: ev.CallQueued) -> Batch:
        batch, call = self._call(event.context)
        call.waiting_for = event.waiting_for
        call.reviewers, call.lenses = event.reviewers, dict(zip(event.reviewers, event.lenses, strict=False))
        call.files_kept, call.files = event.files_kept, event.files
        call.enter(Phase.REVIEWED if event.waiting_for == "review" else Phase.QUEUED, self._clock())
        return batch

    def ask(self, event: ev.ReviewRequested) -> Batch:
        """A call waits for somebody's word, about exactly these arguments."""
        batch, call = self._call(event.context)
        call.tool = event.packet.call.tool_name
        call.arguments = event.packet.call.arguments
        call.diff = event.packet.seal.diff
        call.asked_because = event.reasons
        call.waiting_for = "review"
        if call.voted_on != event.digest:
            call.votes, call.not_asked, call.voted_on = (), (), event.digest
        call.enter(Phase.REVIEWED, self._clock())
        return batch

    def start(self, event: ev.CallStarted) -> Batch:
        batch, call = self._call(event.context)
        call.tool, call.arguments = event.tool, event.arguments
        call.diff = event.diff or call.diff
        call.waiting_for = None
        call.enter(Phase.RUNNING, self._clock())
        return batch

    def finish(self, event: ev.CallFinished) -> tuple[Batch, Call]:
        batch, call = self._call(event.context)
        call.tool = event.tool
        call.outcome, call.decision = event.outcome, event.decision
        call.output = Kept.of(event.output, event.styles)
        call.duration = event.duration_secs if call.has_run else None
        call.waiting_for = None
        call.enter(Phase.FINISHED, self._clock())
        return batch, call

    def show_progress(self, event: ev.CallProgressed) -> Batch:
        batch, call = self._call(event.context)
        call.progress.show(event.text, event.styles)
        return batch

    def follow_subagent(self, event: SubagentEvent, *, is_live: bool) -> None:
        """Something happened to the task that a call gave, now or, if not `is_live`, in the past."""
        match event:
            case ev.SubagentStarted():
                self._show_subagent(event, is_live=is_live)
            case ev.SubagentProgressed():
                if (subagent := self._subagents.get(event.subagent_id)) is not None:
                    subagent.events.append(event.event)
            case ev.SubagentFinished():
                if (subagent := self._subagents.pop(event.subagent_id, None)) is not None:
                    subagent.end()

    def _show_subagent(self, event: ev.SubagentStarted, *, is_live: bool) -> None:
        batch = self._known.get(event.context.batch_id)
        calls = batch.calls if batch is not None else ()
        call = next((each for each in calls if each.index == event.context.call_index), None)
        if call is not None:
            call.subagent = self._subagents[event.subagent_id] = FollowedSubagent(
                session_id=event.subagent_id, prompt=event.prompt, agent=event.agent, is_live=is_live
            )

    def vote(self, event: ev.VoteCast) -> Batch:
        batch, call = self._call(event.context)
        if call.voted_on != event.digest:  # other bytes than those voted on before
            call.votes, call.not_asked, call.voted_on = (), (), event.digest
        ballot = Ballot(
            reviewer=event.reviewer,
            vote=_vote(event.verdict),
            confidence=event.confidence,
            reason=event.reason,
            objection=event.objection,
            in_scope=event.in_scope,
            lens=event.lens,
            measured=event.measured,
            program=event.program,
        )
        others = [vote for vote in call.votes if vote.reviewer != event.reviewer]  # asked again after a restart
        call.votes = sort_dissent_first((*others, ballot))
        return batch

    def conclude(self, event: ev.QuorumConcluded) -> Batch:
        """The votes on a call are counted; some may not have been asked for."""
        batch, call = self._call(event.context)
        if call.voted_on == event.digest:
            call.not_asked = tuple(vote.model for vote in event.spared)
        return batch

    def decide(self, event: ev.ReviewDecided) -> Batch:
        """A review ended; the call waits for its turn or for its result."""
        batch, call = self._call(event.context)
        if call.is_decided:
            call.earlier = (*call.earlier, (call.decision, call.reason))
        call.decision, call.reason, call.is_decided = event.decision, event.reason, True
        call.waiting_for = None
        call.enter(Phase.QUEUED, self._clock())
        return batch

    def receive(self, event: ev.EffectsObserved, cwd: str) -> None:
        """It became known what a call really changed."""
        _, call = self._call(event.context)
        call.effects, call.cwd = event.effects, cwd

    def detach(self, event: ev.JobStarted) -> None:
        """The command of a call continues as a job."""
        if event.context.batch_id in self._known:
            _, call = self._call(event.context)
            call.job_id = event.job_id

    def store(self, event: ev.OutputStored) -> None:
        """The whole output of a call is kept aside."""
        _, call = self._call(event.context)
        call.stored = StoredOutput(event.blob_id, event.size_bytes)

    def revise(self, context: ToolExecutionContext, output: str) -> None:
        """A hook put another output in the place of a call's: that is what the model sees."""
        _, call = self._call(context)
        call.output = Kept.of(output)

    def add_remark(self, context: ToolExecutionContext, remark: Remark) -> None:
        """Something else is to be said about a call."""
        _, call = self._call(context)
        call.remarks = (*call.remarks, remark)

    def close(self) -> None:
        """The turn is over: nothing more will come for calls that are still open."""
        self.rest()
        self._known.clear()

    def rest(self) -> None:
        """The turn broke off: nothing runs or waits any more, until a later turn tells of these calls."""
        self.abandon_composed()
        for batch in self._known.values():
            for call in batch.calls:
                if call.is_open:
                    call.enter(Phase.ABANDONED, self._clock())
            batch.version += 1


def _parse_partial_arguments(text: str) -> JsonObject:
    """The arguments of which only this beginning was written; what cannot be completed stands as it is."""
    for closed in (text, f'{text}"}}', f"{text}}}", f'{text.rstrip(chr(92))}"}}'):
        try:
            arguments = json.loads(closed, strict=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(arguments, dict):
            return arguments
    return {"arguments": text} if text.strip() else {}


def _vote(verdict: str) -> Vote:
    """A verdict of no known kind is an answer that cannot be read."""
    return next((vote for vote in Vote if vote == verdict), Vote.ERROR)
