"""Events about calls: their order, their running and results, what they did to files, and user commands."""

from __future__ import annotations

from typing import ClassVar

from msgspec import UNSET, Struct, UnsetType

from quorum.domain.calls.effects import Effects
from quorum.domain.calls.execution import Outcome, ToolExecutionContext, WaitingFor
from quorum.domain.calls.hook_points import HookPoint
from quorum.domain.calls.run_state import SeenFile
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.fact import CallStage, CanonicalPlace, Fact, PersonInput
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.shell.network_hosts import AskedHost
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.output import Styles


class PlannedLane(Struct, frozen=True, kw_only=True):
    """One call of a planned batch, and the indices of the calls it follows. `repairs` are phrases about what of
    the model's arguments was read in another form."""

    context: ToolExecutionContext
    tool: str
    arguments: JsonObject
    risk: RiskLevel
    follows: tuple[int, ...]
    repairs: tuple[str, ...] = ()


class BatchPlanned(Fact, frozen=True, kw_only=True, tag="batch_planned"):
    """The order of a batch was decided; one lane per call, in the model's order."""

    batch_id: str
    lanes: tuple[PlannedLane, ...]


class CallQueued(Fact, frozen=True, kw_only=True, tag="call_queued"):
    """A call began to wait, or what it waits for changed. `reviewers` are the models asked for their votes,
    and `lenses` the names of their lenses in the same order: empty for a reviewer, or altogether, without one.

    Where it waits for the former contents of `files` to be kept, `files_kept` of them are.
    """

    durable: ClassVar = False
    context: ToolExecutionContext
    waiting_for: WaitingFor
    reviewers: tuple[str, ...] = ()
    lenses: tuple[str, ...] = ()
    files_kept: int = 0
    files: int = 0


class FilesKept(Fact, frozen=True, kw_only=True, tag="files_kept"):
    """Before a risky call: the files that it may change are stored as they are.

    `manifest` names the stored list of them, which may build on one before it; `complete` tells whether every
    file was seen.
    """

    place: ClassVar = CallStage.FILES_KEPT
    context: ToolExecutionContext
    manifest: str
    files: int
    complete: bool


class CallStarted(Fact, frozen=True, kw_only=True, tag="call_started"):
    """A call began to run with these arguments. `diff` is what an edit is about to do."""

    place: ClassVar = CallStage.START
    context: ToolExecutionContext
    tool: str
    arguments: JsonObject
    diff: str | None = None


class CallProgressed(Fact, frozen=True, kw_only=True, tag="call_progressed"):
    """A running call showed something: `text` is all there is to be seen of it now."""

    durable: ClassVar = False
    context: ToolExecutionContext
    text: str
    styles: Styles = ()


class CallFinished(Fact, frozen=True, kw_only=True, tag="call_finished"):
    """A call has its one result. `duration_secs` counts its running, not its waiting; `styles` are those of a
    program that printed the output, `seen` is what it shows of files to the model, `hosts` are those that a
    command in the sandbox asked for."""

    place: ClassVar = CallStage.END
    context: ToolExecutionContext
    tool: str
    outcome: Outcome
    decision: DecisionLabel
    output: str
    duration_secs: float
    styles: Styles = ()
    seen: tuple[SeenFile, ...] = ()
    hosts: tuple[AskedHost, ...] | UnsetType = UNSET


class EffectsObserved(Fact, frozen=True, kw_only=True, tag="effects_observed"):
    """Files changed while a risky call ran; `subagent_id`: it was one of that subagent, whose task the call of
    `context` gave, and unset for one of the session itself."""

    place: ClassVar = CallStage.EFFECTS
    context: ToolExecutionContext
    effects: Effects
    subagent_id: str | UnsetType = UNSET  # as earlier records have it


class OutputStored(Fact, frozen=True, kw_only=True, tag="output_stored"):
    """An output was kept aside; the model sees the summary."""

    place: ClassVar = CallStage.OUTPUT_STORED
    context: ToolExecutionContext
    blob_id: str
    size_bytes: int
    summary: str


class HookRan(Fact, frozen=True, kw_only=True, tag="hook_ran"):
    """A hook answered at one of its points; `context` is absent at the points that are no call's.

    `answer` is continue, skip, abort, finish, continue_with_messages or error. `edited` holds what the hook
    changed: the arguments, the output, or the text that it added, as they are now.
    """

    point: HookPoint
    hook: str
    answer: str
    reason: str | None
    context: ToolExecutionContext | None
    edited: JsonObject | None = None

    @property
    def place(self) -> CanonicalPlace | CallStage:  # type: ignore[override]
        """Among those of its call, where it has one."""
        if self.point is HookPoint.ON_NOTIFICATION:  # nothing waits for it
            return CanonicalPlace.BY_CHANCE
        if self.context is None:
            return CanonicalPlace.BEFORE_CALLS
        is_after = self.point is HookPoint.AFTER_TOOL_CALL
        return CallStage.HOOKS_AFTER if is_after else CallStage.HOOKS_BEFORE


class StateMerged(Fact, frozen=True, kw_only=True, tag="state_merged"):
    """Modifiers were folded into the run's state; `changed` holds the values that differ now."""

    batch_id: str
    changed: JsonObject


class UserCommandStarted(PersonInput, frozen=True, kw_only=True, tag="own_command_started"):
    """The person runs a `!` command, which nobody reviews. `told`: it is visible to the model."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    command_id: str
    command: str
    told: bool

    @property
    def is_said(self) -> bool:
        return self.told


class UserCommandProgressed(Fact, frozen=True, kw_only=True, tag="own_command_progressed"):
    """A command of the person's printed something: these are its last lines now."""

    durable: ClassVar = False
    command_id: str
    text: str
    styles: Styles = ()


class UserCommandFinished(Fact, frozen=True, kw_only=True, tag="own_command_finished"):
    """A command of the person's ended; `unknown`: the process that ran it did.

    `exit_code` is negative for a signal. `output` is all that it printed, or both ends of it; the whole is
    then in the stored output `blob_id`, of `size_bytes`. `remarks` are sentences about its ending; `note` is
    what the model is to read of it, None where it is kept from it.
    """

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    command_id: str
    outcome: Outcome
    exit_code: int | None
    output: str
    duration_secs: float
    remarks: tuple[str, ...] = ()
    blob_id: str | None = None
    size_bytes: int = 0
    note: str | None = None
    styles: Styles = ()
