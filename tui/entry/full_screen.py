"""`quorum`: the full-screen app, painted first and given its agent afterwards.

Nothing heavy is imported with this module: what the first frame needs comes in `_show`, settings, tools and
SDKs in a thread once that frame is painted.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.entry.complaints import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from application.ports import Observer, Person
    from application.run_agent import RunAgent
    from infrastructure.config.loading import LoadedSettings
    from infrastructure.container import Container
    from tui.command_line import Options


def run_app(options: Options, root: Path) -> int:
    """Show the app until it is left; its exit code. Raises UsageError where there is no terminal for it."""
    if problem := _terminal_problem():
        raise UsageError(problem)
    os.environ.setdefault("ESCDELAY", "25")  # milliseconds; Textual reads it when it is imported
    gc.disable()  # imports make much that lives on; it collects again once the session is warm
    return asyncio.run(_show(options, root))


def _terminal_problem() -> str | None:
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty()):
        return "the full-screen app needs a terminal; without one use: quorum run PROMPT"
    if os.environ.get("TERM", "") in {"", "dumb"}:
        return "this terminal is a dumb one (TERM); use another, or: quorum run PROMPT"
    return None


async def _show(options: Options, root: Path) -> int:
    from tui.app import QuorumApp
    from tui.terminal_input import survive_bytes_that_are_no_text

    survive_bytes_that_are_no_text()
    composed: list[Container] = []
    checks: list[asyncio.Task[None]] = []

    def compose(person: Person, observer: Observer) -> LoadedSettings:
        """Runs in a thread while the screen is already up: most of what is imported is imported here."""
        from tui.entry import composition, settings

        loaded = settings.load(options, root)
        composed.append(composition.compose(loaded, root, person, observer))
        return loaded

    async def compose_agent(person: Person, observer: Observer) -> RunAgent:
        loaded = await asyncio.to_thread(compose, person, observer)
        app.adopt(theme=loaded.settings.tui.theme, notifications=loaded.settings.tui.notifications)
        agent: RunAgent = composed[0].run_agent()
        await agent.open()
        checks.append(asyncio.create_task(_tell_sandbox(composed[0])))
        _tell((*loaded.warnings, *composed[0].saved_rules().warnings), observer)
        return agent

    app = QuorumApp(compose_agent, cwd=root, initial_prompt=options.prompt)
    try:
        await app.run_async()
    finally:
        for container in composed:
            await container.gateway().aclose()
    return app.return_code or 0


async def _tell_sandbox(container: Container) -> None:
    """Found out beside everything else: trying the sandbox takes a moment, and nothing waits for it."""
    from domain.events import SandboxChecked
    from domain.sandbox import SandboxOn

    state = await container.sandbox().state()
    await container.events().record(SandboxChecked(on=isinstance(state, SandboxOn), told=state.told))


def _tell(warnings: Sequence[str], observer: Observer) -> None:
    from domain.events import ErrorOccurred

    for warning in warnings:
        observer.notify(ErrorOccurred(message=warning))
