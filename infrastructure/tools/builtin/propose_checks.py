"""propose_checks: puts the checks of a goal to the person; approved, they say whether it is reached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from quorum.application.goal_service import GoalService
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import ToolTraits
from quorum.domain.errors import GoalRefused, ToolError
from quorum.domain.goal import MOST_CHECKS, PROPOSE_CHECKS, read_commands
from quorum.domain.text.json_value import JsonObject

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

TRAITS = ToolTraits(
    verb="propose",
    title="Approve the checks of the goal",
    counted={"commands": "check"},
    commands="commands",
    kind="think",
    is_conditional=True,
    is_owners=True,
    is_planners=True,
)


def build(parts: ToolParts) -> ProposeChecks | None:
    """The tool; none for a subagent, whose goal is its task."""
    return ProposeChecks(parts.goals, str(parts.root)) if not parts.is_owned else None


class ProposeChecks:
    """Gives the goal the checks that the person was asked about."""

    def __init__(self, goals: GoalService, cwd: str) -> None:
        self._goals, self._cwd = goals, cwd
        self.definition = ToolDefinition(
            name=PROPOSE_CHECKS,
            description=(
                "Propose the shell commands that check the goal which the person set: each exits with 0 once "
                "it is reached, and with another code before. The person approves, edits or rejects them. They "
                "run each time you end your answer. Choose few that prove it, such as the project's own "
                "tests and linters, that end by themselves and change no file of the project."
            ),
            parameters=(
                ToolParameter(
                    name="commands",
                    type="array",
                    description=f"One to {MOST_CHECKS} shell commands, run from the workspace root.",
                    required=True,
                    items={"type": "string"},
                ),
            ),
            risk=RiskLevel.LOW,
            access=lambda _arguments: Access.of(writes={"state:goal"}),
        )

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """Touches nothing. Raises ToolError for what can be no checks, before anybody is asked about them."""
        if self._goals.goal is None:
            raise ToolError("the person has set no goal: there is nothing to check")
        for command in _read(arguments):
            await self._measure(command)
        return Seal(cwd=self._cwd)

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """Tell the model that its checks count from now on."""
        if not context.controls.was_asked:
            raise ToolError("nobody was asked about these checks")
        try:
            await self._goals.approve(_read(arguments), context)
        except GoalRefused as problem:
            raise ToolError(str(problem)) from problem
        return "The person approved these checks. They run each time you end your answer. Go on with the goal."

    async def _measure(self, command: str) -> None:
        try:
            await self._goals.measure(command)
        except GoalRefused as problem:
            raise ToolError(str(problem)) from problem


def _read(arguments: JsonObject) -> tuple[str, ...]:
    commands = arguments.get("commands")
    if not isinstance(commands, list | tuple):
        raise ToolError("commands must be a list of shell commands")
    try:
        return read_commands(commands, least=1)
    except GoalRefused as problem:
        raise ToolError(str(problem)) from problem
