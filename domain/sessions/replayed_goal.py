"""The goal of a session, and the last run of tests in it, replayed from its events."""

from __future__ import annotations

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
from quorum.domain.goal.claimed_tests import SeenTestRun
from quorum.domain.goal.goal import Goal
from quorum.domain.replacing import replace
from quorum.domain.review.permission_rules import COMMAND_TOOL
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.shell.known_test_runners import runs_tests
from quorum.domain.staging.layer_work import StagedCommand

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
                self.goal = replace(self.goal, checks=event.checks)
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


TestEvent: TypeAlias = (
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


class ReplayedTestRuns:
    """Keeps up with the last run of tests, and with what was edited since. Whatever may have run tests without
    saying so, such as a script or a subagent, makes it unsure until the next edit."""

    def __init__(self, cwd: str = "") -> None:
        self.last: SeenTestRun | None = None
        self._cwd = cwd
        self._commands: dict[ToolExecutionContext, str] = {}
        self._own: dict[str, str] = {}
        self._running: set[str] = set()

    def begin_session(self, cwd: str) -> None:
        """Name later files from this folder. What ran in a process before has ended with it."""
        self._cwd = cwd
        self._running.clear()

    def forget(self) -> None:
        """The conversation went back: what it says of tests is of before."""
        self.last = None

    def apply(self, event: TestEvent) -> None:
        match event:
            case CallStarted(context=context, tool=tool):
                command = find_traits(tool).find_command(event.arguments)
                self._commands[context] = command or "" if tool == COMMAND_TOOL else ""
            case CallFinished():
                self._finish(event)
            case EffectsObserved(effects=effects, context=context):
                if runs_tests(self._commands.get(context, "")) is not True:
                    self._edit(effects.changes)
            case FilesRestored(changes=changes):
                self._edit(changes)
            case UserCommandStarted(command_id=id_, command=command):
                self._own[id_] = command
            case UserCommandFinished(command_id=id_, exit_code=code):
                self._run(self._own.pop(id_, ""), code)
            case JobStarted(job_id=id_) | SubagentStarted(subagent_id=id_):
                self._running.add(id_)
                self._doubt()
            case JobEnded(job_id=id_) | SubagentFinished(subagent_id=id_):
                self._running.discard(id_)
                self._doubt()
            case _:
                assert_never(event)

    def _finish(self, event: CallFinished) -> None:
        command = self._commands.pop(event.context, None)
        if command is None:  # it did not run
            return
        if event.tool == COMMAND_TOOL:
            self._run(command, StagedCommand.read(command, event.outcome, event.output).exit_code)
        elif find_traits(event.tool).kind in ("execute", "other"):
            self._doubt()

    def _run(self, command: str, exit_code: int | None) -> None:
        match runs_tests(command):
            case True if exit_code is not None:
                self.last = SeenTestRun(command=command, exit_code=exit_code)
            case True | None:
                self._doubt()
            case False:
                return

    def _edit(self, changes: Iterable[FileChange]) -> None:
        paths = [self._label(change.path) for change in changes if not change.is_by_product]
        if self.last is None or not paths:
            return
        edited = tuple(dict.fromkeys([*paths, *self.last.edited]))
        self.last = replace(self.last, edited=edited, is_unsure=bool(self._running))

    def _doubt(self) -> None:
        if self.last is not None:
            self.last = replace(self.last, is_unsure=True)

    def _label(self, path: str) -> str:
        return path.removeprefix(self._cwd.rstrip("/") + "/")
