"""A declared call before it runs: what it would do as things stand, for those who plan and decide."""

from __future__ import annotations

from collections.abc import Mapping

from quorum.application.calls.batch_state import BatchState
from quorum.application.calls.decided_access import hold_to_access
from quorum.application.calls.guarded_tool import GuardedTool
from quorum.application.off_loop import run_off_loop
from quorum.domain.calls.access import EXCLUSIVE, Access
from quorum.domain.calls.execution import ToolExecution, ToolExecutionContext, ToolStatus
from quorum.domain.calls.offered_tools import OfferedTools
from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.calls.seal import Seal
from quorum.domain.calls.tool import RiskLevel, ToolCall, ToolDefinition
from quorum.domain.errors import StaleSeal
from quorum.domain.replacing import replace
from quorum.domain.review.ballot import Tally
from quorum.domain.review.decision import Decision
from quorum.domain.review.permissions import Subject
from quorum.domain.review.plain_request import PlainRequest
from quorum.domain.review.quorum_result import QuorumConcluded
from quorum.domain.shell.command_line import ShellVerdict
from quorum.domain.text.json_value import JsonObject

# How often a call that nobody is asked about is looked at anew when its files keep changing under it.
MAX_STALE_SEALS = 3


class DeclaredCall:
    """One call of a batch: its arguments as they stand, what they would touch, and how it is sealed.

    `arguments` may be changed by hooks and by the person; `invalid` tells that it will not run, whatever
    is decided. `decided` is the access that the last decision was about: what is approved reaches these paths,
    wherever its arguments lead by then.
    """

    def __init__(
        self, *, context: ToolExecutionContext, call: ToolCall, tool: GuardedTool | None, state: BatchState
    ) -> None:
        self.context = context
        self.arguments = call.arguments
        self.repairs = call.repairs
        self.invalid = False
        self.access = EXCLUSIVE
        self.decided = EXCLUSIVE
        self.execution = ToolExecution(context=context, call=call)
        self.seal: Seal | None = None
        self._packet: tuple[JsonObject, Seal | None, ReviewPacket] | None = None
        self._unsealed: str | None = None
        self.quorum_results: list[QuorumConcluded] = []
        self._tool = tool
        self._state = state
        self._shell: ShellVerdict | None = None

    @property
    def risk(self) -> RiskLevel:
        """The tool's risk; HIGH for a tool that does not exist or was not offered."""
        return self._tool.definition.risk if self._tool else RiskLevel.HIGH

    @property
    def definition(self) -> ToolDefinition | None:
        """The tool's definition; None for a tool that does not exist or was not offered."""
        return self._tool.definition if self._tool else None

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths it declares to touch."""
        return _list_paths(self.access)

    async def _determine_paths(self, arguments: JsonObject) -> tuple[str, ...]:
        return _list_paths(await self._determine_access(arguments))

    async def _determine_access(self, arguments: JsonObject) -> Access:
        if (tool := self._tool) is None:
            return EXCLUSIVE
        return await run_off_loop(lambda: tool.definition.determine_access(arguments), arguments)

    async def derive_access(self) -> None:
        """Find out what the call would touch. Until then it counts as touching everything."""
        self.access = await self._determine_access(self.arguments)
        self.execution.is_concurrency_safe = self.access.is_concurrency_safe

    @property
    def subject(self) -> Subject:
        return Subject(
            tool=self.execution.name,
            risk=self.risk,
            access=self.access,
            arguments=self.arguments,
            command=self._tool.find_command(self.arguments) if self._tool else None,
            shell=self._shell,
        )

    async def refresh_access(self) -> None:
        if self._tool and not self.invalid and self.execution.status is ToolStatus.QUEUED:
            self.access = await self._determine_access(self.arguments)

    async def look_again(self, error: StaleSeal, stale: int, *, is_asked: bool = False) -> int:
        """Find out anew what the call would touch, and count how often that was not what was decided about.

        Raises the error where that was too often and no person is asked in between.
        """
        if not is_asked and stale + 1 >= MAX_STALE_SEALS:
            raise error
        await self.derive_access()
        # An answer to the question before is none to the next, which is about other paths.
        self._packet, self._unsealed = None, f"by now it leads to {', '.join(self.paths)}"
        return stale + 1

    async def inspect_command(self) -> None:
        self._shell = await self._tool.judge(self.arguments) if self._tool else None

    async def decide(self, votes: Tally | None = None) -> Decision:
        self.decided = self.access
        return await self._state.review.decide_off_loop(
            self.subject, votes, PlainRequest(self._state.scope.typed)
        )

    async def compute_seal(self, projected: Mapping[str, bytes]) -> Seal | None:
        if self._tool is None:
            return None
        with hold_to_access(self.access):
            return await self._tool.seal(self.arguments, projected)

    async def get_packet(self) -> ReviewPacket:
        known = self._packet
        if known is None or known[0] is not self.arguments or known[1] is not self.seal:
            self._packet = known = (self.arguments, self.seal, await self.build_packet(self.seal))
        return known[2]

    async def build_packet(self, seal: Seal | None) -> ReviewPacket:
        # whoever decides sees what would run, and none of the model's own words for it
        call = replace(self.execution.call, arguments=self.arguments, reasoning=None, parse_error=None)
        packet = ReviewPacket(
            call=call,
            context=self.context,
            seal=seal or Seal(cwd=self._state.cwd, unsealed=self._unsealed),
            asked_by=self._state.asked_by,
        )
        await run_off_loop(lambda: packet.digest, packet)
        return packet

    async def find_problems(self, arguments: JsonObject) -> tuple[str, ...]:
        assert self._tool is not None
        schema, definition = self._state.schema, self._tool.definition
        return await run_off_loop(lambda: schema.find_problems(definition, arguments), arguments)

    async def repair_arguments(self) -> None:
        """Read arguments whose meaning is plain in the form that the tool asks for; keep what changed."""
        call, tool, schema = self.execution.call, self._tool, self._state.schema
        if tool is None or call.parse_error:
            return
        definition = tool.definition
        self.arguments, repairs = await run_off_loop(
            lambda: schema.repair(definition, call.arguments), call.arguments
        )
        self.repairs = (*call.repairs, *repairs)

    async def find_problem(self, offered: OfferedTools) -> str | None:
        """Why the call as the model made it cannot run at all; None where it can."""
        call = self.execution.call
        if self._tool is None:
            return offered.explain_absence(call.tool_name)
        schema, definition = self._state.schema, self._tool.definition
        example = schema.give_example(definition, call.arguments)
        if call.parse_error:
            problem = f"the arguments of {call.tool_name} could not be read: {call.parse_error}"
            return f"{problem}; for example: {example}"
        if problems := await self.find_problems(self.arguments):
            return f"bad arguments for {call.tool_name}: {'; '.join(problems)}; for example: {example}"
        return None


def _list_paths(access: Access) -> tuple[str, ...]:
    return tuple(sorted(access.reads | access.writes))
