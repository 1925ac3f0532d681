"""`quorum fleet work`: a worker and the processes of its sessions, all forked by one parent."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from quorum.command_line.options import StartOptions
from quorum.errors import ForkedCommand, complain
from quorum.fleet.fork_server import ForkedSession, ForkedWorker, ForkServer

if TYPE_CHECKING:
    from quorum.application.ports.fleet import Fleet
    from quorum.infrastructure.config.loading import LoadedSettings

OF_WORKERS = (
    "quorum.settings",
    "quorum.fleet.session_processes",
    "quorum.infrastructure.store.postgres.fleet_worker",
)
OF_SESSIONS = (
    "quorum.__main__",
    "quorum.command_line.reading",
    "quorum.cli.fleet",
    "quorum.cli.app",
    "quorum.fleet.advance",
    "quorum.tui.keys.commands",
    "quorum.infrastructure.bootstrap",
    "quorum.infrastructure.container",
    "quorum.infrastructure.models.clouds.endpoint",
    "quorum.infrastructure.models.shared.stored_keys",
    "quorum.infrastructure.store.postgres.database",
    "quorum.infrastructure.store.postgres.fleet",
    "quorum.domain.review.hazards.inspection",
    # what is loaded at its first use
    "anyio.streams.tls",
    "httpcore2",
    "jsonschema",
    "tree_sitter",
    "tree_sitter_bash",
)
OF_PROVIDERS = {
    "anthropic": ("quorum.infrastructure.models.anthropic.client", "anthropic.resources.messages"),
    "openai": ("quorum.infrastructure.models.openai_responses.client", "openai.resources.responses"),
    "openai-chat": ("quorum.infrastructure.models.openai_chat.client", "openai.resources.chat.completions"),
}
"""By the type of a provider in the settings."""

_OF_BUCKETS = ("quorum.infrastructure.store.objects.object_store", "obstore.store")


def fork_processes(options: StartOptions) -> ForkedWorker | int:
    """Start a worker and what it asks for, until it ends; the exit code. In the worker: how it asks.

    Raises ForkedCommand in the process of a session, and OSError where no process can be started.
    """
    if not sys.flags.safe_path:
        # Nothing in the folder it is started in may be imported in place of a package.
        _execute(*sys.argv[1:])
    server = ForkServer(OF_WORKERS, OF_SESSIONS, uses_exec=options.debug, quiet=options.quiet)
    match server.serve():
        case ForkedSession(arguments=arguments, is_exec=True):
            _execute(*arguments)
        case ForkedSession(arguments=arguments):
            raise ForkedCommand(arguments)
        case other:
            return other


def _execute(*arguments: str) -> NoReturn:
    """Have this process run `quorum` with these arguments."""
    os.execv(sys.executable, [sys.executable, "-P", "-m", "quorum", *arguments])


async def advance_sessions(
    fleet: Fleet,
    options: StartOptions,
    root: Path,
    loaded: LoadedSettings,
    parent: socket.socket,
    *,
    concurrency: int,
    until_empty: bool,
) -> int:
    """Advance sessions until the parent says to stop; the exit code.

    When it says so again, they are left to other workers at once. Raises LedgerError.
    """
    from quorum.fleet.session_processes import SessionProcesses
    from quorum.infrastructure.storage import uses_bucket

    processes = SessionProcesses(options, root, parent)
    settings = loaded.settings
    processes.begin(
        list_first_uses(
            {provider.type for provider in settings.providers.values()},
            uses_bucket=uses_bucket(settings.storage),
        )
    )
    working = asyncio.ensure_future(
        fleet.advance_sessions(
            processes.advance,
            concurrency=concurrency,
            until_empty=until_empty,
        )
    )
    stopping = False

    def stop() -> None:
        nonlocal stopping
        if stopping:
            os._exit(128 + signal.SIGTERM)  # the parent kills what runs
        stopping = True
        complain(["ending once the sessions have that run; again: leave them to other workers now"])
        working.cancel()

    processes.listen(stop)
    with suppress(asyncio.CancelledError):
        await working
    return 0


def list_first_uses(provider_types: Collection[str], *, uses_bucket: bool) -> list[str]:
    """The modules that sessions with such settings load besides."""
    modules = [module for kind in sorted(provider_types) for module in OF_PROVIDERS.get(kind, ())]
    return [*modules, *_OF_BUCKETS] if uses_bucket else modules
