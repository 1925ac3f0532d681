"""Runs of answers that only looked: batches of finished reads, searches and lists, with but thoughts between.

Whether they are shown as one row is the front end's matter; what belongs together is found here, as it ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from quorum.application.view.entries import AnswerEntry, Batch, Call, Entry, LookRun, LookSegment, Phase
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.review.questions import DecisionLabel

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
