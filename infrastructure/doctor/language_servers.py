"""Starts each language server of the settings once, as a session would, and ends it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from quorum.domain.errors import ConfigError
from quorum.domain.review.path_policy import PathPolicy
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.doctor.finding import Finding, fail, report_ok
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.language_servers.opening import open_language_servers
from quorum.infrastructure.settings_conversion import list_key_names

_REMEDY = "install it, or correct command of [lsp.{}] (docs/language-servers.md)"


async def check_language_servers(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """Whether each of them starts in this folder."""
    workspace, table = Workspace([Path(os.getcwd())]), settings.tools.run_command
    policy = PathPolicy(
        roots=(str(workspace.cwd),), protected=settings.review.protected, sensitive=settings.review.sensitive
    )
    sandbox = Sandbox(
        choice=table.sandbox,
        policy=policy,
        environ=environ,
        readable=table.sandbox_readable,
        writable=table.sandbox_writable,
    )
    try:
        opened = open_language_servers(
            settings.lsp, workspace, policy, environ, list_key_names(settings), sandbox
        )
    except ConfigError as error:
        return [fail("language server", str(error), "correct it")]
    if opened is None:
        return []
    from quorum.infrastructure.language_servers.channel import LanguageServerFailed
    from quorum.infrastructure.language_servers.server import LanguageServer

    async def check(server: LanguageServer) -> Finding:
        try:
            await server.ensure()
        except LanguageServerFailed as error:
            text = f"{server.name} does not start: {error}"
            return fail("language server", text, _REMEDY.format(server.name))
        version = f", {server.version}" if server.version else ""
        return report_ok("language server", f"{server.name} starts{version}")

    try:
        return list(await asyncio.gather(*map(check, opened.find_servers(None))))
    finally:
        await opened.aclose()
