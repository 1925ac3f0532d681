"""load_skill: the instructions of a skill that the person trusts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import ToolTraits
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.tools.builtin.parts import require_text

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

_INLINE_BYTES = 1 << 20  # a skill is bounded itself, and means little in pieces

TRAITS = ToolTraits(verb="skill", telling=("name", "file"), kind="read", is_conditional=True)


def build(parts: ToolParts) -> LoadSkill | None:
    """The tool; none where the session has no skills, trusted or not."""
    return LoadSkill(parts.load_skill) if parts.load_skill is not None else None


class LoadSkill:
    """Gives the model the text of a skill, or of one of its files. Runs nothing."""

    def __init__(self, load: Callable[[str, str], Awaitable[str]]) -> None:
        self._load = load
        self.definition = ToolDefinition(
            name="load_skill",
            description=(
                "Read the instructions of a skill that the system prompt names, and the list of its files; "
                "with `file`, read one of these. It runs nothing: run a skill's scripts with run_command."
            ),
            parameters=(
                ToolParameter(
                    name="name", type="string", description="The skill, by its name in the list.", required=True
                ),
                ToolParameter(
                    name="file",
                    type="string",
                    description="A file of the skill, by its path in the list of files.",
                ),
            ),
            risk=RiskLevel.LOW,
            access=lambda _arguments: Access(),
            inline_bytes=_INLINE_BYTES,
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """The text. Raises ToolError that names what can be loaded."""
        return await self._load(
            require_text(arguments, "name").strip(), require_text(arguments, "file", "").strip()
        )
