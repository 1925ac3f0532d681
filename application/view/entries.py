"""What the transcript consists of: prompts, answers, batches of calls, subagents, notices.

Drawing is elsewhere. Each entry's `version` changes whenever its drawing would; `undone`: it belongs to a turn
that was taken back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct, field

from quorum.domain.calls.effects import Effects, FileChange
from quorum.domain.calls.execution import Outcome, WaitingFor
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.calls.tool_traits import CountedLook, find_traits
from quorum.domain.code_review.review_result import ReviewResult
from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.panel.cost_estimate import CostEstimate
from quorum.domain.panel.debate_record import DebateRecord
from quorum.domain.panel.panel_answer import (
    PanelAnswer,
    PanelForm,
    Participant,
    PeerReview,
    Point,
    RankedAnswer,
    Synthesis,
    rank_answers,
)
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Ballot
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import Styles, insert_sequences


class PanelStep(StrEnum):
    ANSWERS = "answers"
    REVIEWS = "reviews"
    SYNTHESIS = "synthesis"
    OVER = "over"


class PanelMember(Struct):
    """A participant. `writing` is the end of what it has written so far, `characters` how much that is."""

    participant: Participant
    answer: PanelAnswer | None = None
    review: PeerReview | None = None
    writing: str = ""
    characters: int = 0

    @property
    def label(self) -> str:
        """What other models know it by."""
        return self.participant.label


class PanelEntry(Struct):
    """`began` and `ended` are times of the view's clock, in seconds; `ended` is None while it is at work.

    `chosen` is the label of the answer that stands alone, `additions` what the others have that it lacks,
    `synthesis` what was made of all answers, `reason` says what there should be and is not, `result` is what a
    code review came to, and `debate` what was said in a debate after the first answer.
    """

    panel_id: str
    moderator: str
    members: list[PanelMember]
    began: float
    costs: tuple[CostEstimate, ...] = ()
    form: PanelForm = PanelForm.DISCUSSION
    chosen: str | None = None
    additions: tuple[Point, ...] = ()
    synthesis: Synthesis | None = None
    ended: float | None = None
    reason: str = ""
    is_concluded: bool = False
    expanded: bool = False
    version: int = 0
    undone: bool = False
    result: ReviewResult | None = None
    debate: DebateRecord = field(default_factory=DebateRecord)

    def find_member(self, label: str) -> PanelMember | None:
        return next((member for member in self.members if member.label == label), None)

    @property
    def answered(self) -> list[PanelMember]:
        """Those that gave an answer."""
        return [member for member in self.members if member.answer is not None and member.answer.is_answer]

    @property
    def step(self) -> PanelStep:
        """What it is at, or was at when it broke off."""
        if self.is_concluded:
            return PanelStep.OVER
        if any(member.answer is None for member in self.members):
            return PanelStep.ANSWERS
        is_reviewed = self.form is not PanelForm.DRAFT
        if is_reviewed and len(self.answered) > 1 and any(member.review is None for member in self.answered):
            return PanelStep.REVIEWS
        return PanelStep.SYNTHESIS

    @property
    def is_running(self) -> bool:
        return self.ended is None

    def rank(self) -> dict[str, RankedAnswer]:
        """The place and score of each answer, by label; the best first."""
        reviews = [member.review for member in self.members if member.review is not None]
        ranked = rank_answers([member.label for member in self.answered], reviews)
        return {each.label: each for each in ranked}

    @property
    def cost_usd(self) -> Decimal | None:
        """What the answers cost; None where the price of any is not known."""
        costs = [member.answer.cost_usd for member in self.answered if member.answer is not None]
        return sum((cost for cost in costs if cost is not None), Decimal(0)) if None not in costs else None


class FollowedSubagent(Struct, kw_only=True):
    """The session in which a task is done. `events` are those that happened while it works in this process, as
    JSON, oldest first; once it has ended they are on its record alone, and `is_live` ends."""

    session_id: str
    prompt: str
    agent: str = ""
    is_live: bool = False
    events: list[JsonObject] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Who it is and what it is about, on one line."""
        return " ".join(f"task {self.agent}".split()) + f": {' '.join(self.prompt.split())}"

    def end(self) -> None:
        """It works no more. Whoever shows the events keeps the list that they have."""
        self.is_live, self.events = False, []


_PROGRESS_LINES = 20
_PROGRESS_KEPT = 16_000
_HEAD_KEPT = 150_000
_TAIL_KEPT = 50_000


class PromptEntry(Struct):
    """What the person said, and the files attached to it; `steers`: into a turn that was running."""

    text: str
    steers: bool = False
    files: tuple[AttachedFile, ...] = ()
    expanded: bool = False
    version: int = 0
    undone: bool = False


class AnswerEntry(Struct):
    """What the model said, in the pieces it came in. `edition` changes when the pieces were replaced.

    `thought_secs` is how long its thoughts arrived, as far as they were seen to; `run` is the one whose batches
    it stands between.
    """

    pieces: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    thought_secs: float = 0.0
    thought_from: float | None = None
    finished: bool = False
    expanded: bool = False
    edition: int = 0
    version: int = 0
    undone: bool = False
    run: LookRun | None = None

    @property
    def text(self) -> str:
        """All of the answer's text so far."""
        return "".join(self.pieces)


class NoticeKind(StrEnum):
    """How loud a notice is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Notice(Struct):
    """A remark of the program itself. `until` is the clock's time a countdown runs to, in seconds."""

    kind: NoticeKind
    text: str
    until: float | None = None
    version: int = 0
    undone: bool = False


class Restoration(Struct):
    """Files that were given back as they had been. Paths are relative to `cwd`."""

    changes: tuple[FileChange, ...]
    cwd: str = ""
    expanded: bool = False
    version: int = 0
    undone: bool = False


class Remark(Struct, frozen=True):
    """Something else that is to be said about a call. A quiet one is only shown where details are open."""

    kind: NoticeKind
    text: str
    quiet: bool = False


class Phase(StrEnum):
    """What a call is doing."""

    COMPOSED = "composed"
    QUEUED = "queued"
    REVIEWED = "reviewed"
    RUNNING = "running"
    FINISHED = "finished"
    ABANDONED = "abandoned"


class Kept(Struct, frozen=True):
    """As much of a long text as is kept for the screen; between head and tail, parts are left out."""

    head: str
    tail: str = ""
    left_out_lines: int = 0
    lines: int = 0
    styles: Styles = ()

    @classmethod
    def of(cls, text: str, styles: Styles = ()) -> Kept:
        """Keep all of it, or the first 150,000 and last 50,000 characters without their styles."""
        lines = text.count("\n") + (not text.endswith("\n")) if text else 0
        if len(text) <= _HEAD_KEPT + _TAIL_KEPT:
            return cls(text, lines=lines, styles=styles)
        left_out = text.count("\n", _HEAD_KEPT, len(text) - _TAIL_KEPT) + 1
        return cls(text[:_HEAD_KEPT], text[-_TAIL_KEPT:], left_out, lines)

    def restore_styles(self) -> Kept:
        """The same with the sequences in it that style it."""
        return replace(self, head=insert_sequences(self.head, self.styles)) if self.styles else self


class StoredOutput(Struct, frozen=True):
    """Where the whole of an output is kept aside, and how long it is there."""

    blob_id: str
    size_bytes: int


class Progress(Struct):
    """What a running call shows at this moment; each report takes the place of the one before.

    `updates` counts how often it showed something.
    """

    text: str = ""
    styles: Styles = ()
    updates: int = 0

    def show(self, text: str, styles: Styles = ()) -> None:
        self.updates += 1
        self.text = text[-_PROGRESS_KEPT:]
        self.styles = styles if len(text) <= _PROGRESS_KEPT else ()

    def list_lines(self) -> list[str]:
        """Its last lines, without empty ones at the end."""
        return _list_last_lines(self.text.rstrip("\r\n"))

    def list_styled_lines(self) -> list[str]:
        """The same with the sequences that style them."""
        return _list_last_lines(insert_sequences(self.text.rstrip("\r\n"), self.styles))


def _list_last_lines(text: str) -> list[str]:
    return text.split("\n")[-_PROGRESS_LINES:] if text else []


class Call(Struct, kw_only=True):
    """One call of a batch as the person sees it. Times are the clock's, in seconds.

    `follows` are the calls it had to wait for, by their places. The strongest objection is the first of
    `votes`, and `voted_on` the digest they are about; `not_asked` are reviewers that the first vote spared,
    `lenses` the lenses of those that have one;
    `is_decided`: a review of the call has ended; `earlier` are the decisions before the last one; `effects` is
    what changed; paths in `cwd` are shown without it; `subagent` does the task that it gives; `toggled` are the
    folds in its output that the person changed; `composed` is the beginning of its arguments as written;
    `plan_changes` are the lines of a plan that differ from the plan before, None where there was none; `job_id`
    is the job as which its command continues.
    """

    index: int
    tool: str
    arguments: JsonObject = field(default_factory=dict)
    risk: RiskLevel = RiskLevel.LOW
    follows: tuple[int, ...] = ()
    phase: Phase = Phase.QUEUED
    waiting_for: WaitingFor = None
    files_kept: int = 0
    files: int = 0
    composed: str = ""
    progress: Progress = field(default_factory=Progress)
    diff: str | None = None
    output: Kept | None = None
    stored: StoredOutput | None = None
    outcome: Outcome | None = None
    decision: DecisionLabel = DecisionLabel.NONE
    reason: str | None = None
    asked_because: tuple[str, ...] = ()
    is_decided: bool = False
    earlier: tuple[tuple[DecisionLabel, str | None], ...] = ()
    reviewers: tuple[str, ...] = ()
    lenses: Mapping[str, str] = field(default_factory=dict)
    votes: tuple[Ballot, ...] = ()
    voted_on: str = ""
    not_asked: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()
    effects: Effects | None = None
    cwd: str = ""
    subagent: FollowedSubagent | None = None
    plan_changes: tuple[str, ...] | None = None
    job_id: str = ""
    duration: float | None = None
    since: list[tuple[float, Phase]] = field(default_factory=list)
    expanded: bool = False
    toggled: set[str] = field(default_factory=set)

    @property
    def number(self) -> int:
        """Its place in the batch as a person counts."""
        return self.index + 1

    def enter(self, phase: Phase, now: float) -> None:
        """Begin a phase; the moments of all phases are kept for the lane."""
        self.phase = phase
        if not self.since or self.since[-1][1] is not phase:
            self.since.append((now, phase))

    def list_stretches(self, phase: Phase, now: float) -> list[tuple[float, float]]:
        """When it was in a phase, from moment to moment; a phase it is in still lasts."""
        stops = [moment for moment, _ in self.since[1:]] + [now]
        return [(begin, end) for (begin, kind), end in zip(self.since, stops, strict=False) if kind is phase]

    @property
    def has_run(self) -> bool:
        """Whether it began to run."""
        return any(phase is Phase.RUNNING for _, phase in self.since)

    @property
    def is_voted_on(self) -> bool:
        """Whether reviewers are voting on it and nobody else is asked."""
        return self.phase is Phase.QUEUED and self.waiting_for == "votes"

    @property
    def is_open(self) -> bool:
        """Whether something is still to come for this call."""
        return self.phase not in (Phase.FINISHED, Phase.ABANDONED)


class Batch(Struct):
    """The calls of one answer. `batch_id` is None until the batch was planned.

    `untimed`: it comes from a record that does not say when its calls waited and ran. `is_own`: it is a
    command that the person ran themselves. `expanded`: calls that one row may stand for are shown one by one.
    `run`: the one it was joined to, once it had ended.
    """

    batch_id: str | None
    calls: list[Call] = field(default_factory=list)
    untimed: bool = False
    is_own: bool = False
    expanded: bool = False
    version: int = 0
    undone: bool = False
    run: LookRun | None = None

    def touch(self) -> None:
        """Have it drawn anew, and what is drawn together with it."""
        if self.run is not None:
            self.run.touch()
        else:
            self.version += 1

    @property
    def is_open(self) -> bool:
        """Whether a call of it still has no result."""
        return any(call.is_open for call in self.calls)

    @property
    def is_running(self) -> bool:
        """Whether a call of it runs at this moment."""
        return any(call.phase is Phase.RUNNING for call in self.calls)


class LookRun(Struct):
    """Batches in a row that only looked when they ended, and the thoughts between them, in their order."""

    members: list[Batch | AnswerEntry]
    segments: dict[int, LookSegment] | None = None
    """What belongs together by the identity of each member, until something of it changes."""

    def touch(self) -> None:
        """Have all of it drawn anew: what one row stands for depends on each of them."""
        self.segments = None
        for member in self.members:
            member.version += 1


class LookSummary(Struct):
    """What looks that have ended add up to: how many of each kind, and the seconds that they took.

    `seen` are the values of arguments that count once each, in their order. `secs` is without the time between
    batches; `is_timed`: at least one call has times.
    """

    times: dict[CountedLook, int] = field(default_factory=dict)
    seen: dict[tuple[CountedLook, str], None] = field(default_factory=dict)
    secs: float = 0.0
    is_timed: bool = False

    def add(self, calls: Sequence[Call]) -> None:
        """Add the looks of one batch."""
        for call in calls:
            if (look := find_traits(call.tool).look) is None:
                continue
            if look.distinct:
                value = (look, str(call.arguments.get(look.distinct)))
                if value in self.seen:
                    continue
                self.seen[value] = None
            self.times[look] = self.times.get(look, 0) + 1
        if times := [call.since for call in calls if call.since]:
            self.is_timed = True
            self.secs += max(since[-1][0] for since in times) - min(since[0][0] for since in times)


class LookSegment(Struct):
    """A part of a run that begins and ends with a batch, with nothing in it but looks and thoughts.

    `batches` and `calls` count those in it; `is_untimed`: the record of one does not say when it ran. A look
    that is added does not make the segment anew: runs grow long, and each frame asks about each member.
    """

    members: list[Batch | AnswerEntry] = field(default_factory=list)
    batches: int = 0
    calls: int = 0
    summary: LookSummary = field(default_factory=LookSummary)
    is_untimed: bool = False
    _is_open: bool | None = None

    def add(self, member: Batch | AnswerEntry) -> None:
        """Put it behind the others."""
        self.members.append(member)
        self._is_open = None
        if isinstance(member, Batch):
            self.batches += 1
            self.calls += len(member.calls)
            self.summary.add(member.calls)
            self.is_untimed |= member.untimed

    def is_any_open(self) -> bool:
        """Whether one of its members, or a call of them, is expanded."""
        if self._is_open is None:
            self._is_open = any(
                member.expanded or (isinstance(member, Batch) and any(call.expanded for call in member.calls))
                for member in self.members
            )
        return self._is_open

    def note_expanded(self) -> None:
        """A member was expanded or folded: have all drawn anew where they are one row no more, or again."""
        was_open, self._is_open = self._is_open, None
        if self.is_any_open() is not was_open:
            for member in self.members:
                member.version += 1


Entry: TypeAlias = PromptEntry | AnswerEntry | Batch | Notice | Restoration | PanelEntry
