"""The execution of one call: who it is, what it will touch, what state it is in, how it ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from quorum.domain.calls.run_state import Modifier, RunState, SeenFile
from quorum.domain.calls.tool import ToolCall, ToolResultMessage
from quorum.domain.errors import IllegalTransition
from quorum.domain.replacing import replace
from quorum.domain.shell.network_hosts import AskedHost
from quorum.domain.text.output import Printed


class SealedFile(Struct, frozen=True, kw_only=True):
    """A file as it was when the packet was made. `sha256` is None where there was no file."""

    path: str
    sha256: str | None


class Seal(Struct, frozen=True, kw_only=True, eq=False):
    """What a tool says a call will touch, measured now.

    `diff` is the full unified diff of a file edit. `executables` are the programs a command names, resolved, or
    what else carries a call out, exactly; `environment` is what the command's environment adds to ours or takes
    away (None).
    `unsealed` says in words what a seal cannot hold, such as the further effects of a command; `sandbox` what
    keeps them in bounds, or why nothing does, and None for a call that starts no process.
    `folders` are those that a write makes because they are missing, outermost first.
    `projected` is the content each written file will have, for sealing later calls of the same batch.
    It follows from the rest and stays out of the digest and of comparisons, as does `opened`: folders that the
    call is let into, in which changes are expected.
    """

    cwd: str
    files: tuple[SealedFile, ...] = ()
    folders: tuple[str, ...] = ()
    diff: str | None = None
    executables: tuple[str, ...] = ()
    environment: Mapping[str, str | None] = field(default_factory=dict)
    unsealed: str | None = None
    sandbox: str | None = None
    projected: Mapping[str, bytes] = field(default_factory=dict)
    opened: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seal) and all(
            getattr(self, name) == getattr(other, name)
            for name in self.__struct_fields__
            if name not in ("projected", "opened")
        )

    def __ne__(self, other: object) -> bool:  # a struct has its own, which does not ask `__eq__`
        return not self == other


class CallControls(Protocol):
    """What a running tool may do besides returning, and the seal it was let through with."""

    @property
    def cancelled(self) -> bool:
        """Whether the call should stop as soon as it can. Safe to read from any thread."""
        ...

    @property
    def seal(self) -> Seal | None:
        """What was approved; a tool refuses with StaleSeal when the world no longer fits it."""
        ...

    @property
    def was_asked(self) -> bool:
        """Whether a person was asked about this very call, and approved it."""
        ...

    @property
    def reply(self) -> str | None:
        """What the person replied, in words for the model, where the call is a question to them."""
        ...

    @property
    def state(self) -> RunState:
        """The run's shared state as it was when the call started."""
        ...

    def report(self, shown: str | Printed) -> None:
        """Show progress, in the place of what was shown before. Safe from any thread; returns at once."""
        ...

    def modify(self, modifier: Modifier) -> None:
        """Queue a change of the run's state. It is made in call order when the call has ended well, and
        dropped when it failed."""
        ...

    def note_seen(self, file: SeenFile) -> None:
        """Note what the result shows of a file; dropped when the call fails. Safe from any thread."""
        ...

    def note_host(self, host: AskedHost) -> None:
        """Note a host that the call asked for, whatever becomes of the call."""
        ...


class _Detached:
    cancelled = False
    seal = None
    was_asked = False
    reply = None
    state = RunState()

    def report(self, shown: str | Printed) -> None:
        """Nobody listens to a call that runs outside a runtime."""

    def modify(self, modifier: Modifier) -> None:
        """A call outside a runtime has no state to change."""

    def note_seen(self, file: SeenFile) -> None:
        """No conversation remembers what a call outside a runtime showed."""

    def note_host(self, host: AskedHost) -> None:
        """Nothing records what a call outside a runtime asked for."""


_DETACHED = _Detached()


class ToolExecutionContext(Struct, frozen=True, kw_only=True, dict=True):
    """Identity of one call, given to the tool with its arguments.

    `batch_id` is one per assistant response, never reused, and sorts by time; `call_index` is the call's
    0-based place in the model's order; `turn_index` counts the responses of the run. The scheduler never
    branches on any of it. `controls` is no part of the identity: equality and JSON leave it out.
    """

    call_id: str
    batch_id: str
    call_index: int
    turn_index: int

    @property
    def controls(self) -> CallControls:
        """What the running tool may do besides returning."""
        controls: CallControls = self.__dict__.get("controls", _DETACHED)
        return controls

    def with_controls(self, controls: CallControls) -> ToolExecutionContext:
        """The same call, with these controls."""
        same = replace(self)
        same.__dict__["controls"] = controls
        return same


class Orphan(Struct, frozen=True, kw_only=True):
    """A process that a call started, and that runs on though the quorum it belonged to is gone.

    `command` is its command line, cut to one short line; empty where it cannot be read.
    """

    pid: int
    command: str


# Progress lines kept with a record; a tool may print without end.
KEPT_PROGRESS = 50


class ToolStatus(StrEnum):
    """Where an execution stands. YIELDED: its result has been handed on."""

    QUEUED = "queued"
    EXECUTING = "executing"
    COMPLETED = "completed"
    YIELDED = "yielded"


class Outcome(StrEnum):
    """How a call ended."""

    OK = "ok"
    ERROR = "error"
    REJECTED = "rejected"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    NOT_RUN = "not_run"
    UNKNOWN = "unknown"

    @property
    def is_error(self) -> bool:
        """Whether the model reads an error."""
        return self in _ERRORS

    @property
    def is_rejected(self) -> bool:
        """Whether somebody or some rule withheld the call."""
        return self in _REJECTED


INTERRUPTED = "interrupted before it ran"
"""What the model reads of a call that did not run because its turn ended."""

_ERRORS = frozenset({Outcome.ERROR, Outcome.UNKNOWN, Outcome.CANCELLED, Outcome.NOT_RUN})
_REJECTED = frozenset({Outcome.REJECTED, Outcome.SKIPPED})

WaitingFor: TypeAlias = Literal["review", "votes", "files"] | tuple[int, ...] | None


class ToolExecution(Struct, kw_only=True):
    """The tracked record of one call.

    `waiting_for` is None, "review", "votes", or the indices of the calls it follows.
    """

    context: ToolExecutionContext
    call: ToolCall
    is_concurrency_safe: bool = False
    status: ToolStatus = ToolStatus.QUEUED
    waiting_for: WaitingFor = None
    progress: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_PROGRESS))
    modifiers: list[Modifier] = field(default_factory=list)
    seen: list[SeenFile] = field(default_factory=list)
    outcome: Outcome | None = None
    output: str | None = None

    @property
    def id(self) -> str:
        """The provider's id of the call."""
        return self.context.call_id

    @property
    def name(self) -> str:
        return self.call.tool_name

    def start(self) -> None:
        """QUEUED → EXECUTING. Raises IllegalTransition from any other state."""
        self._move(ToolStatus.EXECUTING, frm=(ToolStatus.QUEUED,))
        self.waiting_for = None

    def complete(self, outcome: Outcome, output: str, seen: Sequence[SeenFile] = ()) -> None:
        """→ COMPLETED; the output shows these files, too. Straight from QUEUED only with an outcome other than
        OK; else IllegalTransition."""
        if self.status is ToolStatus.QUEUED and outcome is Outcome.OK:
            raise IllegalTransition(f"call {self.id} cannot be ok without having run")
        self._move(ToolStatus.COMPLETED, frm=(ToolStatus.QUEUED, ToolStatus.EXECUTING))
        self.outcome, self.output, self.waiting_for = outcome, output, None
        self.seen.extend(seen)

    def fail(self, output: str) -> None:
        """Turn an end that was OK into an error: what the call had queued could not be done. COMPLETED only."""
        self.revise(output)
        self.outcome = Outcome.ERROR

    def revise(self, output: str) -> None:
        """Put another text in place of the output, as a hook or a promotion wants it. COMPLETED only."""
        if self.status is not ToolStatus.COMPLETED:
            raise IllegalTransition(f"call {self.id} is {self.status.value}: it has no output to revise")
        self.output = output

    @property
    def results(self) -> tuple[ToolResultMessage, ...]:
        """The one message that goes back, once the call has ended; nothing before."""
        if self.outcome is None or self.output is None:
            return ()
        message = ToolResultMessage(
            tool_use_id=self.id,
            tool_name=self.name,
            output=self.output,
            is_error=self.outcome.is_error,
            is_rejected=self.outcome.is_rejected,
            seen=tuple(self.seen) if self.outcome is Outcome.OK else (),
        )
        return (message,)

    def hand_over(self) -> ToolResultMessage:
        """COMPLETED → YIELDED, with the message that goes back. Raises IllegalTransition otherwise."""
        self._move(ToolStatus.YIELDED, frm=(ToolStatus.COMPLETED,))
        (message,) = self.results
        return message

    def _move(self, to: ToolStatus, *, frm: tuple[ToolStatus, ...]) -> None:
        if self.status not in frm:
            raise IllegalTransition(f"call {self.id} is {self.status.value} and cannot become {to.value}")
        self.status = to
