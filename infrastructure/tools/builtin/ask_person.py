"""ask_person: the model puts a question to the person, with answers to choose from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import OutputKind, ToolTraits
from quorum.domain.errors import ToolError
from quorum.domain.review.person_question import (
    ASK_PERSON,
    LEAST_OPTIONS,
    MOST_OPTIONS,
    BadQuestion,
    read_question,
)
from quorum.domain.text.json_value import JsonObject

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

_OPTION: JsonObject = {
    "type": "object",
    "properties": {
        "label": {"type": "string", "minLength": 1, "description": "One to five words."},
        "description": {"type": "string", "description": "What choosing it means."},
    },
    "required": ["label"],
    "additionalProperties": False,
}

TRAITS = ToolTraits(
    verb="ask",
    title="Answer the model's question",
    telling=("question",),
    counted={"options": "option"},
    output=OutputKind.REPLY,
    kind="think",
    is_conditional=True,
    is_owners=True,
)


def build(parts: ToolParts) -> AskPerson | None:
    """The tool; none for a subagent, which has its owner to answer to."""
    return AskPerson(str(parts.root)) if not parts.is_owned else None


class AskPerson:
    """Hands over what the person replied: its review is the question, so that it is asked, recorded, left open
    and answered elsewhere as every other."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self.definition = ToolDefinition(
            name=ASK_PERSON,
            description=(
                f"Ask the person one question with {LEAST_OPTIONS} to {MOST_OPTIONS} answers to choose from; "
                "they can also answer in their own words. Never for a permission, which is asked by itself, "
                "nor for what has a sensible default. Put the answer that you recommend first. Where nobody is "
                "there to answer, the run ends with the question."
            ),
            parameters=(
                ToolParameter(
                    name="question",
                    type="string",
                    description="The whole question, clear without what you wrote before.",
                    required=True,
                ),
                ToolParameter(
                    name="options",
                    type="array",
                    description="The answers; none for “something else”.",
                    required=True,
                    items=_OPTION,
                ),
                ToolParameter(
                    name="several",
                    type="boolean",
                    description="Whether more than one may be chosen.",
                ),
            ),
            risk=RiskLevel.LOW,
            access=lambda _arguments: Access(),
        )

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """Touches nothing. Raises ToolError for what is no question, before anybody is asked it."""
        try:
            read_question(arguments)
        except BadQuestion as problem:
            raise ToolError(f"this question cannot be asked: {problem}") from problem
        return Seal(cwd=self._cwd)

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """What the person replied. Raises ToolError where nobody was asked."""
        if context.controls.reply is None:
            raise ToolError("nobody was asked this question")
        return context.controls.reply
