"""Setting a goal, approving its checks, and finding out whether the receipt of an attempt still holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quorum.application.calls.tool_set import ToolSet
from quorum.application.event_bus import EventBus
from quorum.application.goal.workspace_changes import WorkspaceChanges
from quorum.application.identifiers import generate_id
from quorum.application.ports.workspace import FileKeeper
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.tool import ToolCall
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import GoalRefused, LedgerError, ToolError
from quorum.domain.events.event import (
    ChecksApproved,
    ErrorOccurred,
    GoalDropped,
    GoalReceiptOutdated,
    GoalSet,
    OutdatedTestsClaimed,
)
from quorum.domain.goal.claimed_tests import claims_tests, find_last_test_run
from quorum.domain.goal.goal import Goal, GoalCheck, TypedGoal
from quorum.domain.review.permission_rules import COMMAND_TOOL
from quorum.domain.text.json_value import JsonObject

_MOST_FILES = 50

NO_GOALS_HERE = "a goal needs a session in which one model works with its tools"


class GoalService:
    """Keeps the goal of one session. It is read from the events, so that what is recorded is what holds.

    A check is approved by its content: the command, and the program, files and sandbox that it would run with,
    at the moment when the person names it or agrees to it. A check is ended after `check_secs`.
    """

    def __init__(
        self,
        events: EventBus,
        keeper: FileKeeper,
        root: str,
        kind: SessionKind,
        get_tools: Callable[[], ToolSet],
        check_secs: int,
    ) -> None:
        self._events = events
        self._root = root
        self._kind = kind
        self._get_tools = get_tools
        self._check_secs = check_secs
        self.changes = WorkspaceChanges(keeper, root)

    @property
    def goal(self) -> Goal | None:
        """The goal that was set last and not taken away."""
        return self._events.state.goal

    async def set_goal(self, typed: TypedGoal) -> None:
        """Set a goal in place of any other. The person has named its checks, if there are any, and approves
        them with that. Raises GoalRefused and LedgerError, and then the former one stands."""
        if self._kind is not SessionKind.AGENT:
            raise GoalRefused(NO_GOALS_HERE)
        if not typed.text.strip():
            raise GoalRefused("the goal is empty; write what is to be reached")
        checks = await self._measure_all(typed.checks)
        state = await self.changes.capture()
        await self._events.announce(GoalSet(text=typed.text, manifest=state.manifest, checks=checks))

    async def approve(self, commands: Sequence[str], context: ToolExecutionContext | None = None) -> None:
        """Put these checks, which the person approved, in place of the goal's. Raises GoalRefused."""
        if self.goal is None:
            raise GoalRefused("no goal is set")
        checks = await self._measure_all(commands)
        await self._events.announce(ChecksApproved(checks=checks, context=context))

    async def drop(self) -> None:
        """Take the goal away. Raises GoalRefused where there is none."""
        if self.goal is None:
            raise GoalRefused("no goal is set")
        await self._events.announce(GoalDropped())

    async def look_again(self) -> None:
        """Say so, once, where files changed since the checks of the last attempt ran, whoever changed them."""
        goal = self.goal
        if goal is None or goal.receipt is None or goal.is_open or goal.is_outdated:
            return  # those of an attempt that failed say nothing that could be wrong later
        try:
            found = await self.changes.find_since(goal.receipt.manifest)
        except LedgerError as error:
            await self._events.record(ErrorOccurred(message=f"not known whether the receipt holds: {error}"))
            return
        if found.files:
            labels = tuple(file.label for file in found.files[:_MOST_FILES])
            await self._events.record(GoalReceiptOutdated(files=labels))

    async def note_claim(self, answer: str) -> None:
        """Say so where an answer speaks of tests and none can have run since the last edit."""
        run = find_last_test_run(self._events.state.recent_work)
        if run is not None and run.predates_edit and claims_tests(answer):
            files = run.edited[:_MOST_FILES]
            await self._events.record(
                OutdatedTestsClaimed(command=run.command, exit_code=run.exit_code, files=files)
            )

    def build_arguments(self, command: str) -> JsonObject:
        """The arguments of the call that runs a check."""
        return {"command": command, "timeout_secs": self._check_secs}

    async def measure(self, command: str) -> GoalCheck:
        """The check with the digest of what it would run and with what, as things stand. Raises GoalRefused."""
        if (tool := self._get_tools().find(COMMAND_TOOL)) is None:
            raise GoalRefused(f"checks are commands, and this session has no {COMMAND_TOOL}")
        if (hidden := self._events.hide(command)) != command:  # another process would run what is recorded
            raise GoalRefused(f"the check {hidden} holds a secret, which is not recorded; put it into a script")
        arguments = self.build_arguments(command)
        try:
            seal = await tool.seal(arguments, {})
        except (ToolError, OSError) as problem:
            raise GoalRefused(f"the check {command} cannot run: {problem}") from problem
        id_ = generate_id()
        packet = ReviewPacket(
            call=ToolCall(native_id=id_, tool_name=COMMAND_TOOL, arguments=arguments),
            context=ToolExecutionContext(call_id=id_, batch_id=id_, call_index=0, turn_index=0),
            seal=seal or Seal(cwd=self._root),
        )
        return GoalCheck(command=command, digest=packet.content_digest)

    async def _measure_all(self, commands: Sequence[str]) -> tuple[GoalCheck, ...]:
        return tuple([await self.measure(command) for command in commands])
