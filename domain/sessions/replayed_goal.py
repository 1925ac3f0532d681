"""The goal of a session, and its latest commands and edits, replayed from its events."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TypeAlias, assert_never

from quorum.domain.calls.effects import FileChange
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.events.event import (
    CallFinished,
    CallStarted,
    ChecksApproved,
    EffectsObserved,
    FilesRestored,
    GoalChecked,
    GoalDropped,
    GoalReceiptOutdated,
    GoalSet,
    JobEnded,
    JobStarted,
    ReviewDecided,
    ReviewRequested,
    SubagentFinished,
    SubagentStarted,
    UserCommandFinished,
    UserCommandStarted,
)
from quorum.domain.goal import EditedFiles, Goal, MayHaveTested, RanCommand, WorkEntry
from quorum.domain.replacing import replace
from quorum.domain.review.permission_rules import COMMAND_TOOL
from quorum.domain.review.questions import DecisionLabel

GoalEvent: TypeAlias = GoalSet | ChecksApproved | GoalChecked | GoalReceiptOutdated | GoalDropped


class ReplayedGoal:
    """Keeps up with the goal. An undo leaves it as it is: the person takes it away themselves."""

    def __init__(self) -> None:
        self.goal: Goal | None = None
        self._asked: dict[str, str] = {}

    def begin_turn(self, *, continues: bool) -> None:
        """Start another turn; `continues`: the process of the one before died in it."""
        if self.goal is not None and not continues:
            self._asked.clear()
            self.goal = replace(self.goal, attempts_in_turn=0)

    def apply(self, event: GoalEvent) -> None:
        match event:
            case GoalSet():
                self.goal = Goal(text=event.text, manifest=event.manifest, checks=event.checks)
            case GoalDropped():
                self.goal = None
            case ChecksApproved() if self.goal is not None:
                self.goal = replace(self.goal, checks=event.checks, receipt=None, outdated_by=())
            case GoalChecked(receipt=receipt) if self.goal is not None:
                self.goal = replace(
                    self.goal,
                    receipt=receipt,
                    outdated_by=(),
                    attempts=self.goal.attempts + 1,
                    attempts_in_turn=self.goal.attempts_in_turn + 1,
                )
            case GoalReceiptOutdated() if self.goal is not None:
                self.goal = replace(self.goal, outdated_by=event.files)
            case _:
                return  # of a goal that the record does not have

    def follow_review(self, event: ReviewRequested | ReviewDecided) -> None:
        """Remember the content of a check that the person was asked about and approved, whichever process ran
        it then. What they edited is another command."""
        if (goal := self.goal) is None:
            return
        match event:
            case ReviewRequested(packet=packet) if packet.call.tool_name == COMMAND_TOOL:
                if packet.call.arguments.get("command") in [check.command for check in goal.checks]:
                    self._asked[event.digest] = packet.content_digest
            case ReviewDecided(decision=DecisionLabel.APPROVED, digest=digest) if digest in self._asked:
                self.goal = replace(goal, seen=goal.seen | {self._asked.pop(digest)})
            case _:
                return


WorkEvent: TypeAlias = (
    CallStarted
    | CallFinished
    | EffectsObserved
    | FilesRestored
    | JobStarted
    | JobEnded
    | SubagentStarted
    | SubagentFinished
    | UserCommandStarted
    | UserCommandFinished
)

_MOST_KEPT = 300
_END_KEPT = 500


class ReplayedWork:
    """Notes the latest commands and edits. What they say about tests is found out where somebody asks."""

    def __init__(self) -> None:
        self._cwd = ""
        self._entries: deque[WorkEntry] = deque(maxlen=_MOST_KEPT)
        self._commands: dict[ToolExecutionContext, str] = {}
        self._own: dict[str, str] = {}
        self._running: set[str] = set()

    @property
    def entries(self) -> tuple[WorkEntry, ...]:
        """The oldest first."""
        return tuple(self._entries)

    def begin_session(self, cwd: str) -> None:
        """Name later files from this folder. What ran in a process before has ended with it."""
        self._cwd = cwd.rstrip("/") + "/"
        self._running.clear()
        self._commands.clear()

    def forget(self) -> None:
        """The conversation went back: what it says of tests is of before."""
        self._entries.clear()

    def apply(self, event: WorkEvent) -> None:
        match event:
            case CallStarted(context=context, tool=tool):
                command = find_traits(tool).find_command(event.arguments) if tool == COMMAND_TOOL else None
                self._commands[context] = command or ""
            case CallFinished():
                self._finish(event)
            case EffectsObserved(effects=effects, context=context):
                self._edit(effects.changes, self._commands.get(context, ""))
            case FilesRestored(changes=changes):
                self._edit(changes)
            case UserCommandStarted(command_id=id_, command=command):
                self._own[id_] = command
            case UserCommandFinished(command_id=id_, outcome=outcome, exit_code=code):
                self._entries.append(RanCommand(self._own.pop(id_, ""), outcome, exit_code=code))
            case JobStarted(job_id=id_) | SubagentStarted(subagent_id=id_):
                self._running.add(id_)
                self._entries.append(MayHaveTested())
            case JobEnded(job_id=id_) | SubagentFinished(subagent_id=id_):
                self._running.discard(id_)
                self._entries.append(MayHaveTested())
            case _:
                assert_never(event)

    def _finish(self, event: CallFinished) -> None:
        command = self._commands.pop(event.context, None)
        if command is None:  # it did not run
            return
        if event.tool == COMMAND_TOOL:
            self._entries.append(RanCommand(command, event.outcome, event.output[-_END_KEPT:]))
        elif find_traits(event.tool).kind in ("execute", "other"):
            self._entries.append(MayHaveTested())

    def _edit(self, changes: Iterable[FileChange], command: str = "") -> None:
        paths = tuple(change.path.removeprefix(self._cwd) for change in changes if not change.is_by_product)
        if paths:
            self._entries.append(EditedFiles(paths, command, bool(self._running)))
