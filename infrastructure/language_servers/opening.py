"""Opens the language servers that the settings name: most name none, and load nothing for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.config.program_tables import LanguageServerTable
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.execution.commands.sealing import expand_declared_command
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.files.workspace import Workspace

if TYPE_CHECKING:
    from quorum.infrastructure.language_servers.servers import LanguageServers


def open_language_servers(
    tables: Mapping[str, LanguageServerTable],
    workspace: Workspace,
    policy: PathPolicy,
    environ: Mapping[str, str],
    secret_names: Collection[str],
    sandbox: Sandbox,
) -> LanguageServers | None:
    """The servers that are on, none of them started; None where there is none. Raises ConfigError."""
    enabled = {name: table for name, table in tables.items() if table.enabled}
    if not enabled:
        return None
    from quorum.infrastructure.language_servers.server import LanguageServer, ServerProgram
    from quorum.infrastructure.language_servers.servers import LanguageServers
    from quorum.infrastructure.language_servers.sources import SourceFiles

    environment = build_command_environment(environ, secret_names)
    sources = SourceFiles(workspace, policy)
    servers = []
    for name, table in enabled.items():
        program = ServerProgram(
            command=expand_declared_command(table.command, f"lsp.{name}", environment),
            environment=environment,
            workspace=workspace.cwd,
            sandbox=sandbox,
        )
        servers.append(LanguageServer(name, table, program=program, sources=sources))
    return LanguageServers(servers, sources)
