"""What becomes of the calls of a batch: their order, their running and results, and what they did to files."""

from __future__ import annotations

from typing import ClassVar

from domain.calls.effects import Effects
from domain.calls.execution import Outcome, ToolExecutionContext, WaitingFor
from domain.calls.hook import HookPoint
from domain.calls.seen_file import SeenFile
from domain.calls.tool import RiskLevel
from domain.lazy_dataclass import dataclass
from domain.review.questions import DecisionLabel
from domain.text.json_value import JsonObject
from domain.text.styles import Styles


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLane:
    """One call of a planned batch, and the indices of the calls it follows. `repairs` are phrases about what of
    the model's arguments was read in another form."""

    context: ToolExecutionContext
    tool: str
    arguments: JsonObject
    risk: RiskLevel
    follows: tuple[int, ...]
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlanned:
    """The order of a batch was decided; one lane per call, in the model's order."""

    type: ClassVar = "batch_planned"
    durable: ClassVar = True
    batch_id: str
    lanes: tuple[PlannedLane, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallQueued:
    """A call began to wait, or what it waits for changed. `reviewers` are the models asked for their votes,
    and `lenses` the names of their lenses in the same order: empty for a reviewer, or altogether, without one.

    Where it waits for the former contents of `files` to be kept, `files_kept` of them are.
    """

    type: ClassVar = "call_queued"
    durable: ClassVar = False
    context: ToolExecutionContext
    waiting_for: WaitingFor
    reviewers: tuple[str, ...] = ()
    lenses: tuple[str, ...] = ()
    files_kept: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesKept:
    """Before a risky call: the files that it may change are stored as they are.

    `manifest` names the stored list of them, which may build on one before it; `complete` tells whether every
    file was seen.
    """

    type: ClassVar = "files_kept"
    durable: ClassVar = True
    context: ToolExecutionContext
    manifest: str
    files: int
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """A call began to run with these arguments. `diff` is what an edit is about to do."""

    type: ClassVar = "call_started"
    durable: ClassVar = True
    context: ToolExecutionContext
    tool: str
    arguments: JsonObject
    diff: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallProgressed:
    """A running call showed something: `text` is all there is to be seen of it now."""

    type: ClassVar = "call_progressed"
    durable: ClassVar = False
    context: ToolExecutionContext
    text: str
    styles: Styles = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished:
    """A call has its one result. `duration_secs` counts its running, not its waiting; `styles` are those of a
    program that printed the output, `seen` is what it shows of files to the model."""

    type: ClassVar = "call_finished"
    durable: ClassVar = True
    context: ToolExecutionContext
    tool: str
    outcome: Outcome
    decision: DecisionLabel
    output: str
    duration_secs: float
    styles: Styles = ()
    seen: tuple[SeenFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectsObserved:
    """Files changed while a risky call ran."""

    type: ClassVar = "effects_observed"
    durable: ClassVar = True
    context: ToolExecutionContext
    effects: Effects


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputStored:
    """An output was kept aside; the model sees the summary."""

    type: ClassVar = "output_stored"
    durable: ClassVar = True
    context: ToolExecutionContext
    blob_id: str
    size_bytes: int
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRan:
    """A hook answered at one of its points; `context` is absent at the points that are no call's.

    `answer` is continue, skip, abort, finish, continue_with_messages or error. `edited` holds what the hook
    changed: the arguments, or the output, as they are now.
    """

    type: ClassVar = "hook_ran"
    durable: ClassVar = True
    point: HookPoint
    hook: str
    answer: str
    reason: str | None
    context: ToolExecutionContext | None
    edited: JsonObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMerged:
    """Modifiers were folded into the run's state; `changed` holds the values that differ now."""

    type: ClassVar = "state_merged"
    durable: ClassVar = True
    batch_id: str
    changed: JsonObject
