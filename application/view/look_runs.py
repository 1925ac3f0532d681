"""Runs of answers that only looked: batches of finished reads, searches and lists, with but thoughts between.

Which of them are shown as one row is the front end's matter; what belongs together is found here, as it ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from application.view.entries import AnswerEntry, Batch, Call, Entry, LookRun, Phase
from domain.calls.execution import Outcome
from domain.review.questions import DecisionLabel

LOOKING_TOOLS = frozenset({"read_file", "grep_search", "glob_search", "list_directory"})
"""The tools that only look."""


def is_quiet_look(call: Call) -> bool:
    """Whether a call only looked, ended well, and nothing else is to be said about it."""
    return (
        call.tool in LOOKING_TOOLS
        and call.phase is Phase.FINISHED
        and call.outcome is Outcome.OK
        and call.decision in (DecisionLabel.NONE, DecisionLabel.ALLOWED)
        and not call.earlier
        and not call.votes
        and all(remark.quiet for remark in call.remarks)
    )


def extend_run(entries: Sequence[Entry], batch: Batch) -> None:
    """Join a batch that has ended to the run of the batch before it, where both only looked.

    Takes as long as there are entries after the batch and members in the run.
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
            run = before.run or LookRun([before])
            run.members += [*thoughts, batch]
            for member in run.members:
                member.run = run
            run.touch()
        return


def find_segment(entry: Batch | AnswerEntry) -> tuple[Batch | AnswerEntry, ...]:
    """The part of its run that an entry belongs to: it begins and ends with a batch. Empty where there is none.

    A remark may arrive after a batch was joined, so that it is no longer quiet and parts the run.
    """
    if (run := entry.run) is None:
        return ()
    if run.segments is None:
        run.segments = _list_segments(run)
    return run.segments.get(id(entry), ())


def _list_segments(run: LookRun) -> Mapping[int, tuple[Batch | AnswerEntry, ...]]:
    return {id(member): segment for segment in _split(run) for member in segment}


def _split(run: LookRun) -> Iterator[tuple[Batch | AnswerEntry, ...]]:
    part: list[Batch | AnswerEntry] = []
    for member in run.members:
        if isinstance(member, AnswerEntry):
            part += [member] if part else []
        elif _only_looked(member):
            part.append(member)
        elif part:
            yield _end_with_batch(part)
            part = []
    if part:
        yield _end_with_batch(part)


def _end_with_batch(part: list[Batch | AnswerEntry]) -> tuple[Batch | AnswerEntry, ...]:
    last = max(place for place, member in enumerate(part) if isinstance(member, Batch))
    return tuple(part[: last + 1])


def _only_looked(batch: Batch) -> bool:
    return bool(batch.calls) and not batch.is_own and all(map(is_quiet_look, batch.calls))
