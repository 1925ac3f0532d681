"""code_lookup: what language servers know of the code, as places with their lines, or as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import CountedLook, OutputKind, ToolTraits
from quorum.domain.errors import ToolError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.tools.builtin.parts import declare_reading, require_integer, require_text

if TYPE_CHECKING:  # most sessions have no language server, and load nothing for it
    from quorum.infrastructure.language_servers.lookups import CodeLookups
    from quorum.infrastructure.tools.builtin.parts import ToolParts

TRAITS = ToolTraits(
    verb="look up",
    title="Look up code",
    telling=("operation", "symbol", "path"),
    output=OutputKind.MATCHES,
    look=CountedLook("looked up", "name", "symbol"),
    wording={"line": "line {}"},
    kind="search",
    is_conditional=True,
)


def build(parts: ToolParts) -> CodeLookup | None:
    if parts.language_servers is None:
        return None
    from quorum.infrastructure.language_servers.lookups import CodeLookups

    return CodeLookup(parts.workspace, CodeLookups(parts.language_servers))


class CodeLookup:
    """Asks the language servers of the session. A server is started when it is first asked."""

    def __init__(self, workspace: Workspace, lookups: CodeLookups) -> None:
        self._workspace = workspace
        self._lookups = lookups
        self.definition = ToolDefinition(
            name="code_lookup",
            description=(
                "Ask a language server about code: exact where grep_search only finds text. definition, "
                "type_definition, implementation and references of a name come as path:line:text; hover is its "
                "type and documentation; symbols are what a file declares, workspace_symbols are declarations "
                "of a name anywhere; diagnostics are a file's errors and warnings now."
            ),
            parameters=(
                ToolParameter(
                    name="operation",
                    type="string",
                    description="definition, references, hover, symbols, workspace_symbols, diagnostics, "
                    "implementation or type_definition.",
                    required=True,
                ),
                ToolParameter(
                    name="path",
                    type="path",
                    description="The file in which the name stands. Optional for workspace_symbols.",
                ),
                ToolParameter(
                    name="symbol",
                    type="string",
                    description="The name as it stands in the file, such as total or order.total; for "
                    "workspace_symbols what to search for.",
                ),
                ToolParameter(
                    name="line",
                    type="integer",
                    description="The line on which it stands, from 1. Default: its first place in the file.",
                    minimum=1,
                ),
            ),
            risk=RiskLevel.LOW,
            inline_bytes=30_000,
            access=self._declare_access,
        )

    def _declare_access(self, arguments: JsonObject) -> Access:
        """The answer may show any file of the workspace that a search shows."""
        named = declare_reading(self._workspace.resolve(require_text(arguments, "path", "") or "."))
        return Access.of(
            reads=(*named.reads, *self._workspace.folders), secret=named.secret, outside=named.outside
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """The answer. Raises ToolError."""
        from quorum.infrastructure.language_servers.lookups import CodeQuestion, Lookup

        operation = require_text(arguments, "operation")
        if operation not in tuple(Lookup):
            raise ToolError(f"operation must be one of {', '.join(Lookup)}")
        line = require_integer(arguments, "line", 0, minimum=0)
        question = CodeQuestion(
            lookup=Lookup(operation),
            path=require_text(arguments, "path", ""),
            symbol=require_text(arguments, "symbol", "").strip(),
            line=line or None,
        )
        return await self._lookups.answer(question, context.controls.report)
