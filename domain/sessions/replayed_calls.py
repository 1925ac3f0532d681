"""Calls, user commands, jobs and messages of other sessions, replayed from the events of a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, assert_never

from msgspec import UNSET, Struct

from quorum.domain.calls.command_end import UserCommand
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.hook_points import HookPoint, explain_ask
from quorum.domain.calls.job import Job
from quorum.domain.calls.run_state import SeenFile
from quorum.domain.calls.tool import ToolCall, ToolResultMessage
from quorum.domain.events.event import (
    BatchPlanned,
    CallFinished,
    CallStarted,
    HookRan,
    JobEnded,
    JobStarted,
    OutputStored,
    ReviewDecided,
    ReviewRequested,
    SubagentFinished,
    SubagentStarted,
    UserCommandFinished,
    UserCommandStarted,
)
from quorum.domain.events.subagents import ContextReceived, ResultReceived, SubagentOutcome
from quorum.domain.replacing import replace
from quorum.domain.sessions.state import CallEnd, OpenCall

CallEvent: TypeAlias = (
    BatchPlanned
    | CallStarted
    | CallFinished
    | ReviewRequested
    | ReviewDecided
    | HookRan
    | OutputStored
    | SubagentStarted
    | SubagentFinished
)

_NOT_RUN = "not run: the session continued before its turn came"
_UNKNOWN = "its end is not recorded, so what it did is unknown; look before you repeat it"
# What a hook after a call may answer so that the model does not read the result. Whether one that failed had to
# withhold it, the record does not tell; that another was asked after it shows that it had not.
_WITHHOLDING = frozenset({"skip", "abort", "error"})


class _Followed(Struct):
    """One call, and what is recorded of it."""

    call: ToolCall
    context: ToolExecutionContext | None = None
    started: bool = False
    outcome: Outcome | None = None
    output: str = ""
    seen: tuple[SeenFile, ...] = ()
    withheld: str | None = None
    request: ReviewRequested | None = None
    hook_asks: tuple[str, ...] = ()
    reply: str | None = None
    subagent_id: str | None = None
    subagent_end: CallEnd | None = None
    subagent_outcome: SubagentOutcome | None = None

    @property
    def message(self) -> str:
        """The result for the model, once the call has ended."""
        return self.output if self.withheld is None else self.withheld

    @property
    def shown(self) -> tuple[SeenFile, ...]:
        """What the message shows of files."""
        return self.seen if self.withheld is None else ()

    def open_call(self) -> OpenCall:
        ended = None
        if self.outcome is not None:
            ended = CallEnd(outcome=self.outcome, message=self.message, seen=self.shown)
        return OpenCall(
            call=self.call,
            context=self.context,
            started=self.started,
            end=ended,
            pending=self.request.packet if self.request else None,
            pending_digest=self.request.digest if self.request else None,
            is_edited=self.request is not None and self.request.edited,
            hook_asks=self.hook_asks,
            reply=self.reply,
            subagent_id=self.subagent_id,
            subagent_end=self.subagent_end,
            subagent_outcome=self.subagent_outcome,
        )

    def build_result(self) -> ToolResultMessage:
        """Return the result that stands for the one that was never given."""
        outcome, message = self.outcome, self.message
        if outcome is None:
            outcome, message = (Outcome.UNKNOWN, _UNKNOWN) if self.started else (Outcome.NOT_RUN, _NOT_RUN)
        return ToolResultMessage(
            tool_use_id=self.call.native_id,
            tool_name=self.call.tool_name,
            output=message,
            is_error=outcome.is_error,
            is_rejected=outcome.is_rejected,
            seen=self.shown,
        )


class ReplayedCalls:
    """Follows the calls that have no result in the conversation yet. Events about others are passed over."""

    def __init__(self) -> None:
        self._calls: dict[str, _Followed] = {}

    def open(self, calls: Sequence[ToolCall]) -> None:
        """Follow these calls, and no others."""
        self._calls = {call.native_id: _Followed(call) for call in calls}

    @property
    def open_calls(self) -> tuple[OpenCall, ...]:
        """The calls as they stand, in the model's order."""
        return tuple(followed.open_call() for followed in self._calls.values())

    def build_results(self) -> tuple[ToolResultMessage, ...]:
        """Return a result for each call: its own, or that it was not run, or that its end is unknown."""
        return tuple(followed.build_result() for followed in self._calls.values())

    def apply(self, event: CallEvent) -> None:
        match event:
            case BatchPlanned():
                for lane in event.lanes:
                    if (followed := self._calls.get(lane.context.call_id)) is not None:
                        followed.context = lane.context
            case HookRan():
                self._apply_hook_run(event)
            case (
                CallStarted()
                | CallFinished()
                | ReviewRequested()
                | ReviewDecided()
                | OutputStored()
                | SubagentStarted()
                | SubagentFinished()
            ):
                if (followed := self._find_call(event.context)) is not None:
                    _note(followed, event)
            case _:
                assert_never(event)

    def _find_call(self, context: ToolExecutionContext) -> _Followed | None:
        """The call of this context; providers may use the ids of former calls again."""
        followed = self._calls.get(context.call_id)
        if followed is None or followed.context not in (None, context):
            return None
        followed.context = context
        return followed

    def _apply_hook_run(self, event: HookRan) -> None:
        if event.context is None or (followed := self._find_call(event.context)) is None:
            return
        if event.point is HookPoint.BEFORE_TOOL_CALL and event.answer == "ask":
            followed.hook_asks = (*followed.hook_asks, explain_ask(event.hook, event.reason))
        if event.point is not HookPoint.AFTER_TOOL_CALL:
            return
        if event.edited is not None and isinstance(output := event.edited.get("output"), str):
            followed.output = output
        because = f": {event.reason}" if event.reason else ""
        withholds = event.answer in _WITHHOLDING
        followed.withheld = f"the result was withheld by a hook{because}" if withholds else None


def build_subagent_end(event: SubagentFinished) -> CallEnd:
    """The end of the call that gave the task."""
    outcome = Outcome.OK if event.outcome.is_answer else Outcome.ERROR
    return CallEnd(outcome=outcome, message=event.outcome.message)


def _note(
    followed: _Followed,
    event: CallStarted
    | CallFinished
    | ReviewRequested
    | ReviewDecided
    | OutputStored
    | SubagentStarted
    | SubagentFinished,
) -> None:
    match event:
        case CallStarted():
            followed.started, followed.request = True, None
        case CallFinished():
            followed.outcome, followed.output, followed.request = event.outcome, event.output, None
            followed.seen = event.seen
        case OutputStored():
            followed.output, followed.withheld = event.summary, None
        case SubagentStarted():
            followed.subagent_id = event.subagent_id
        case SubagentFinished():
            followed.subagent_end, followed.subagent_outcome = build_subagent_end(event), event.outcome
        case ReviewRequested():
            followed.request = event
        case ReviewDecided():
            if followed.request is not None and followed.request.digest == event.digest:
                followed.request = None
            followed.reply = None if event.reply is UNSET else event.reply
        case _:
            assert_never(event)


class ReplayedUserCommands:
    """The user commands that still run or that the model has yet to read of, oldest first."""

    def __init__(self) -> None:
        self._commands: dict[str, UserCommand] = {}

    @property
    def left(self) -> tuple[UserCommand, ...]:
        """The commands without an end, and those that the model has yet to read of."""
        return tuple(self._commands.values())

    def start(self, event: UserCommandStarted) -> None:
        self._commands[event.command_id] = UserCommand(
            command_id=event.command_id, command=event.command, visible_to_model=event.told
        )

    def finish(self, event: UserCommandFinished) -> None:
        if (command := self._commands.pop(event.command_id, None)) is not None and event.note is not None:
            self._commands[event.command_id] = replace(command, ended=True, note=event.note)

    def mark_as_read(self, command_id: str) -> None:
        self._commands.pop(command_id, None)


class ReplayedJobs:
    """The jobs that still run or whose end is yet to be reported, oldest first. `started` counts all jobs."""

    def __init__(self) -> None:
        self.started = 0
        self._jobs: dict[str, Job] = {}

    @property
    def left(self) -> tuple[Job, ...]:
        """The jobs without an end, and those whose end is still to be reported to the model."""
        return tuple(self._jobs.values())

    def start(self, event: JobStarted, turn: int) -> None:
        """Note that a job began in the turn with this number."""
        self.started += 1
        self._jobs[event.job_id] = Job(
            job_id=event.job_id,
            command=event.command,
            context=event.context,
            turn=turn,
            subagent_id=event.subagent_id or "",
        )

    def end(self, event: JobEnded) -> None:
        if (job := self._jobs.pop(event.job_id, None)) is not None and event.note is not None:
            self._jobs[event.job_id] = replace(job, ended=True, note=event.note)

    def mark_as_read(self, job_id: str) -> None:
        """Note that the model has read of the end of a job."""
        if (job := self._jobs.get(job_id)) is not None and job.ended:
            del self._jobs[job_id]


class ReplayedExchanges:
    """Grows with a record. `origin` is what the session was told of the one that it was opened from."""

    def __init__(self) -> None:
        self.origin: ContextReceived | None = None
        self._unread: dict[str, str] = {}
        self._results: dict[str, int] = {}

    @property
    def unread(self) -> Mapping[str, str]:
        """By its id each text that the model has yet to read, oldest first."""
        return dict(self._unread)

    @property
    def results(self) -> Mapping[str, int]:
        """For each session whose answer was taken over, how many answers it had."""
        return dict(self._results)

    def apply(self, event: ContextReceived | ResultReceived) -> None:
        if event.note is not None:
            self._unread[event.note_id] = event.note
        match event:
            case ContextReceived():
                self.origin = event
            case ResultReceived():
                self._results[event.session_id] = event.responses

    def mark_as_read(self, note_id: str) -> None:
        self._unread.pop(note_id, None)
