"""An MCP server of the official SDK that completes the arguments of a prompt and of a resource template."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

server = MCPServer("files")
PATHS = ("src/a.py", "src/b c.py", "tests/a.py")


@server.prompt()
def review(path: str, depth: str = "1") -> str:
    """Reviews a file."""
    return f"Review {path} to {depth}"


@server.resource("repo://{owner}/{name}")
def read_repository(owner: str, name: str) -> str:
    """A repository."""
    return f"{owner} has {name}"


@server.completion()
async def complete(
    reference: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion | None:
    """Paths that begin with what is typed; repositories of the owner typed before; a failure of its own."""
    if argument.value == "boom":
        raise RuntimeError("boom")
    if isinstance(reference, PromptReference):
        return Completion(values=[path for path in PATHS if path.startswith(argument.value)])
    owner = (context.arguments or {}).get("owner", "") if context is not None else ""
    return Completion(values=[f"{owner}-{number}" for number in range(2)])


if __name__ == "__main__":
    server.run()
