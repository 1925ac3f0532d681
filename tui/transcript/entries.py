"""What the transcript consists of: prompts, answers, batches of calls, notices. Drawing is elsewhere.

Each entry's `version` changes whenever its drawing would.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from domain.ballot import Ballot
from domain.effects import Effects
from domain.execution import Outcome, WaitingFor
from domain.json_value import JsonObject
from domain.review import DecisionLabel
from domain.tool import RiskLevel

_PROGRESS_LINES = 20
_LINE_KEPT = 4_000
_HEAD_KEPT = 150_000
_TAIL_KEPT = 50_000


@dataclass(slots=True)
class Prompt:
    """What the person said."""

    text: str
    version: int = 0


@dataclass(slots=True)
class Answer:
    """What the model said, in the pieces it came in. `edition` changes when the pieces were replaced."""

    pieces: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    finished: bool = False
    expanded: bool = False
    edition: int = 0
    version: int = 0

    @property
    def text(self) -> str:
        """All of the answer's text so far."""
        return "".join(self.pieces)


class NoticeKind(StrEnum):
    """How loud a notice is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(slots=True)
class Notice:
    """A remark of the program itself. `until` is the clock's time a countdown runs to, in seconds."""

    kind: NoticeKind
    text: str
    until: float | None = None
    version: int = 0


@dataclass(frozen=True, slots=True)
class Remark:
    """Something else that is to be said about a call. A quiet one is only told where details are open."""

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


@dataclass(frozen=True, slots=True)
class Kept:
    """As much of a long text as is kept for the screen; between head and tail, parts are left out."""

    head: str
    tail: str = ""
    left_out_lines: int = 0
    lines: int = 0

    @classmethod
    def of(cls, text: str) -> Kept:
        """Keep all of it, or the first 150,000 and last 50,000 characters."""
        lines = text.count("\n") + (not text.endswith("\n")) if text else 0
        if len(text) <= _HEAD_KEPT + _TAIL_KEPT:
            return cls(text, lines=lines)
        left_out = text.count("\n", _HEAD_KEPT, len(text) - _TAIL_KEPT) + 1
        return cls(text[:_HEAD_KEPT], text[-_TAIL_KEPT:], left_out, lines)


@dataclass(frozen=True, slots=True)
class StoredOutput:
    """Where the whole of an output is kept aside, and how long it is there."""

    blob_id: str
    size_bytes: int


@dataclass(slots=True)
class Progress:
    """The last lines a running call showed; a carriage return starts a line anew, as on a terminal.

    `updates` counts how often it showed something.
    """

    lines: deque[str] = field(default_factory=lambda: deque([""], maxlen=_PROGRESS_LINES))
    updates: int = 0

    def add(self, text: str) -> None:
        """Append to the last line, and begin new ones at line feeds."""
        self.updates += 1
        first, *further = text.split("\n")
        self.lines[-1] = _continued(self.lines[-1], first)
        self.lines.extend(_continued("", line) for line in further[-_PROGRESS_LINES:])

    def shown(self) -> list[str]:
        """The lines, without an empty last one."""
        lines = [line.rstrip("\r") for line in self.lines]
        return lines if lines[-1] else lines[:-1]


def _continued(line: str, more: str) -> str:
    """The line with more of it; a return at its very end takes effect with what comes next."""
    whole = line + more
    last = whole.rstrip("\r").rpartition("\r")[2][-_LINE_KEPT:]
    return last + "\r" if whole.endswith("\r") else last


@dataclass(slots=True, kw_only=True)
class Call:
    """One call of a batch as the person sees it. Times are the clock's, in seconds.

    The strongest objection is the first of `votes`, and `voted_on` the digest they are about; `is_decided`: a
    review of the call has ended; `effects` is what really changed, told from `cwd`.
    """

    index: int
    tool: str
    arguments: JsonObject = field(default_factory=dict)
    risk: RiskLevel = RiskLevel.LOW
    phase: Phase = Phase.QUEUED
    waiting_for: WaitingFor = None
    composed_chars: int = 0
    progress: Progress = field(default_factory=Progress)
    diff: str | None = None
    output: Kept | None = None
    stored: StoredOutput | None = None
    outcome: Outcome | None = None
    decision: DecisionLabel = DecisionLabel.NONE
    reason: str | None = None
    asked_because: tuple[str, ...] = ()
    is_decided: bool = False
    reviewers: tuple[str, ...] = ()
    votes: tuple[Ballot, ...] = ()
    voted_on: str = ""
    remarks: tuple[Remark, ...] = ()
    effects: Effects | None = None
    cwd: str = ""
    duration: float | None = None
    since: list[tuple[float, Phase]] = field(default_factory=list)
    expanded: bool = False

    def enter(self, phase: Phase, now: float) -> None:
        """Begin a phase; the moments of all phases are kept for the lane."""
        self.phase = phase
        if not self.since or self.since[-1][1] is not phase:
            self.since.append((now, phase))

    @property
    def is_voted_on(self) -> bool:
        """Whether reviewers are voting on it and nobody else is asked."""
        return self.phase is Phase.QUEUED and self.waiting_for == "votes"

    @property
    def is_open(self) -> bool:
        """Whether something is still to come for this call."""
        return self.phase not in (Phase.FINISHED, Phase.ABANDONED)


@dataclass(slots=True)
class Batch:
    """The calls of one answer. `batch_id` is None until the batch was planned."""

    batch_id: str | None
    calls: list[Call] = field(default_factory=list)
    version: int = 0

    @property
    def is_open(self) -> bool:
        """Whether a call of it still has no result."""
        return any(call.is_open for call in self.calls)

    @property
    def is_running(self) -> bool:
        """Whether a call of it runs at this moment."""
        return any(call.phase is Phase.RUNNING for call in self.calls)


Entry: TypeAlias = Prompt | Answer | Batch | Notice
