"""A tool as a module of one is written, for tests: what screens and doors say of it stands here alone."""

from __future__ import annotations

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition
from quorum.domain.calls.tool_traits import CallEffect, CountedLook, OutputKind, ToolTraits
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.blocking import run_in_thread
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.tools.builtin.parts import FILE_PARAMETER, ToolParts, declare_reading, require_text

TRAITS = ToolTraits(
    verb="count",
    title="Count the words of",
    output=OutputKind.PLAIN,
    look=CountedLook("counted", "file", distinct="path"),
    kind="read",
    effect=CallEffect.READ,
    arguments=("path",),
    program="wc -w",
)


def build(parts: ToolParts) -> WordCount:
    """The tool of a session."""
    return WordCount(parts.workspace)


class WordCount:
    """Counts the words of a file."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.definition = ToolDefinition(
            name="word_count",
            description="Count the words of a file.",
            parameters=(FILE_PARAMETER,),
            risk=RiskLevel.LOW,
            access=lambda arguments: declare_reading(workspace.resolve(require_text(arguments, "path"))),
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        location = self._workspace.locate(require_text(arguments, "path"))

        def count() -> str:
            with self._workspace.open_file(location) as file:
                return str(len(file.read().split()))

        return await run_in_thread(lambda _stop: count(), context.controls)
