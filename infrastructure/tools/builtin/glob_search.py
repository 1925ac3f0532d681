"""glob_search: files by name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import CallEffect, CountedLook, OutputKind, ToolTraits
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.files.searching import Glob, Walk
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.tools.builtin.parts import declare_listing, require_integer, require_text

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

_DEFAULT_RESULTS = 1000

TRAITS = ToolTraits(
    verb="find",
    title="Search",
    output=OutputKind.TREE,
    look=CountedLook("searched", "time"),
    wording={"base_dir": "in {}", "max_results": "at most {}"},
    kind="search",
    effect=CallEffect.LIST,
    arguments=("pattern", "base_dir", "max_results"),
    program="find",
)


def build(parts: ToolParts) -> GlobSearch:
    return GlobSearch(parts.workspace)


class GlobSearch:
    """Lists the files whose path matches a glob, in path order."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.definition = ToolDefinition(
            name="glob_search",
            description=(
                "Find files by name, in path order. The pattern is matched against the path from base_dir: "
                "*.py finds files of base_dir itself, **/*.py also those below. "
                "What .gitignore and .ignore files exclude is left out; links are not followed."
            ),
            parameters=(
                ToolParameter(
                    name="pattern", type="string", description='For example "src/**/*.{ts,tsx}".', required=True
                ),
                ToolParameter(name="base_dir", type="path", description='Default ".".'),
                ToolParameter(
                    name="max_results",
                    type="integer",
                    description=f"Default {_DEFAULT_RESULTS}.",
                    minimum=1,
                ),
            ),
            risk=RiskLevel.LOW,
            inline_bytes=20_000,
            access=lambda arguments: declare_listing(
                workspace.resolve(require_text(arguments, "base_dir", "."))
            ),
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """One path a line, from the working directory. Raises ToolError."""
        glob = Glob(require_text(arguments, "pattern"), "pattern")
        base = require_text(arguments, "base_dir", ".")
        most = require_integer(arguments, "max_results", _DEFAULT_RESULTS, minimum=1)
        return await run_in_thread(lambda stop: self._search(glob, base, most, stop), context.controls)

    def _search(self, glob: Glob, base: str, most: int, stop: Stop) -> str:
        location = self._workspace.locate(base)
        walk = Walk(self._workspace, location, stop)
        found: list[str] = []
        more = False
        for entry in walk.list_entries():
            if not glob.matches("/".join(entry.names)):
                continue
            if len(found) == most:
                more = True
                break
            found.append(self._workspace.format_path(os.path.join(location.path, *entry.names)))
        return "\n".join(found + self._list_notes(glob, location.path, walk, len(found), more=more))

    def _list_notes(self, glob: Glob, base: str, walk: Walk, count: int, *, more: bool) -> list[str]:
        notes = []
        if not count:
            hint = "" if glob.spans_folders else f"; use **/{glob.pattern} to look in the folders below as well"
            notes.append(f"no file in {self._workspace.format_path(base)} matches {glob.pattern}{hint}")
        if more:
            notes.append(
                f"[the first {count} in path order; there are more: narrow the pattern or raise max_results]"
            )
        if walk.unreadable:
            notes.append(f"[folders that could not be read: {walk.unreadable}]")
        return notes
