"""`quorum`: the full-screen app, painted first and given its agent afterwards.

Nothing heavy is imported with this module: what the first frame needs comes in `_show`, settings, tools and
SDKs in a thread once that frame is painted.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
from codecs import lookup
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from quorum.cli.errors import UsageError
from quorum.cli.starting import explain_start_failures

if TYPE_CHECKING:
    from pathlib import Path

    from application.ports.people import Approver, Observer
    from application.ports.storage import SessionArchive, Storage
    from application.session.agent_session import AgentSession
    from application.session.session_record import SessionRecord
    from domain.events.masking import SecretMask
    from domain.review.mode import Mode
    from domain.sessions.past_session import SessionChoice
    from domain.text.json_value import JsonObject
    from infrastructure.config.loading import LoadedSettings
    from infrastructure.container import Container
    from infrastructure.trust.decisions import TrustDecisions
    from quorum.cli.listening import Listening
    from quorum.options import Options
    from tui.agent.local_servers import LocalServers
    from tui.agent.settings_service import SettingsService
    from tui.app.app import QuorumApp
    from tui.terminal.shutdown import Shutdown
    from tui.themes.looks import PrintStatusLine


def run_app(options: Options, root: Path) -> int:
    """Show the app until it is left; its exit code.

    Raises UsageError where there is no terminal for it, and StartFailure where it cannot be shown.
    """
    needs_terminal = not options.listen.headless and not os.environ.get("TEXTUAL_DRIVER")
    if needs_terminal and (problem := _terminal_problem()):
        raise UsageError(problem)
    size = options.listen.size if options.listen.headless else None
    with explain_start_failures():
        _tune_textual()
        if not needs_terminal and not options.listen.headless:
            _check_driver()
            size = _take_environment_of_driver()
    gc.disable()  # imports make much that lives on; it collects again once the session is warm
    return asyncio.run(_show(options, root, size))


def _tune_textual() -> None:
    """Have Textual read its constants, which it takes from the environment when they are imported.

    A lone escape is one after 25 ms; a letter typed while an answer streams is painted within 1/120 s. The
    environment is the person's afterwards: their commands get it.
    """
    wanted = {"ESCDELAY": "25", "TEXTUAL_FPS": "120"}
    ours = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        import_module("textual.constants")
    finally:
        for name in ours:
            del os.environ[name]


def _terminal_problem() -> str | None:
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty()):
        return "the full-screen app needs a terminal; without one use: quorum run PROMPT"
    if not (sys.stderr and sys.stderr.isatty()):
        return "the full-screen app draws on stderr, which is not a terminal here; do not redirect it"
    if os.environ.get("TERM", "") in {"", "dumb"}:
        return "this terminal is too simple (TERM=dumb); use another, or: quorum run PROMPT"
    if (encoding := lookup(sys.stderr.encoding).name) != "utf-8":
        return f"the screen needs UTF-8, and here is {encoding}; try: LC_ALL=C.UTF-8 quorum"
    return None


def _check_driver() -> None:
    """Raises UsageError where TEXTUAL_DRIVER names no driver, or Textual's own for terminals without one."""
    from textual.app import App
    from textual.drivers.linux_driver import LinuxDriver

    try:
        driver = App[None]().get_driver_class()
    except (ImportError, AttributeError, ValueError, RuntimeError) as error:
        raise UsageError(f"TEXTUAL_DRIVER names no driver: {error}") from error
    if issubclass(driver, LinuxDriver) and (problem := _terminal_problem()):
        raise UsageError(problem)


def _take_environment_of_driver() -> tuple[int, int] | None:
    """Take away what says how this app is drawn: it is not about the apps that its commands start.

    Returns the first size of the screen, columns and lines, if it was among that.
    """
    for name in ("TEXTUAL_DRIVER", "TEXTUAL_COLOR_SYSTEM"):  # Textual has read them
        os.environ.pop(name, None)
    if "ROWS" not in os.environ:
        return None
    columns, lines = os.environ.pop("COLUMNS", ""), os.environ.pop("ROWS")
    return (int(columns), int(lines)) if columns.isdecimal() and lines.isdecimal() else None


def _wants_reader(options: Options) -> bool:
    """Whether that is known before the settings are read: a reader should not read out another screen."""
    in_environment = os.environ.get("QUORUM_TUI__SCREEN_READER") == "true"
    return bool(options.overrides.get("tui.screen_reader", in_environment))


def _kind_of_app(options: Options, listening: Listening | None) -> Callable[..., QuorumApp]:
    if listening is not None:
        return listening.app
    if options.demo:
        from tui.demo.app import DemoApp

        return DemoApp
    from tui.app.app import QuorumApp

    return QuorumApp


async def _show(options: Options, root: Path, size: tuple[int, int] | None) -> int:
    with explain_start_failures():
        from domain.text.printable import printable

        listening = _listening(options, root)
    headless = options.listen.headless
    sessions = _Sessions(options, root, listening)
    try:
        with explain_start_failures():
            app, shutdown = _make_app(options, root, sessions, listening)
        try:
            await app.run_async(headless=headless, size=size)
        finally:
            shutdown.begin(1 if app.return_code is None else app.return_code)
    finally:
        await sessions.close()
        if listening is not None:
            listening.close()
    if not options.quiet:
        with suppress(OSError):  # the terminal is gone
            for words in app.parting_words:
                print(printable(words), file=sys.stderr)
    shutdown.conclude()
    return 1 if app.return_code is None else app.return_code


def _listening(options: Options, root: Path) -> Listening | None:
    if options.listen.socket is None:
        return None
    from quorum.cli.listening import Listening

    return Listening(options, root)


def _make_app(
    options: Options, root: Path, sessions: _Sessions, listening: Listening | None
) -> tuple[QuorumApp, Shutdown]:
    from tui.terminal.shutdown import Shutdown

    app = _kind_of_app(options, listening)(
        sessions.compose,
        cwd=root,
        choose=lambda: options.session,
        open_archive=sessions.open_archive,
        initial_prompt=options.prompt,
        screen_reader=_wants_reader(options),
    )
    sessions.app = app
    shutdown = app.shutdown = Shutdown(restore_terminal=app.restore_terminal, hurry=app.hurry)
    app.open_settings = sessions.open_settings
    app.open_local_servers = sessions.open_local_servers
    return app, shutdown


class _Sessions:
    """Composes what the `app` shows, one session after the other, and gives it its own settings."""

    app: QuorumApp

    def __init__(self, options: Options, root: Path, listening: Listening | None = None) -> None:
        self._options, self._root, self._listening = options, root, listening
        self._checks: set[asyncio.Task[None]] = set()
        self._trust: TrustDecisions | None = None
        self._listed: Storage | None = None
        self._is_first = True
        self._has_offered = False
        self._mask: SecretMask | None = None
        self._making_mask = threading.Lock()

    async def compose(self, person: Approver, observer: Observer, choice: SessionChoice) -> AgentSession:
        """A session with its agent, announced; what the project wants to be trusted with is asked before."""
        await asyncio.to_thread(import_module, "quorum.cli.settings")
        from infrastructure.trust.decisions import open_trust_decisions
        from quorum.cli.key_checks import check_keys
        from quorum.cli.settings import load_with_trust

        self._trust = self._trust or open_trust_decisions(os.environ)
        loaded = await load_with_trust(self._options, self._root, self._trust, person.trust)
        await asyncio.to_thread(check_keys, loaded)
        record = await asyncio.to_thread(self._open_record, loaded, choice)
        try:
            container = await asyncio.to_thread(self._compose_container, loaded, person, observer, record)
            notices = self._adopt_settings(loaded) if self._is_first else ()
            agent = container.agent()
            mode, unkept = await self._offer(loaded, container, person)
            await agent.open()
            if mode is not None:
                await agent.review.set_mode(mode)
        except BaseException:
            await record.release()
            raise
        self._is_first = False
        check = asyncio.create_task(_tell_sandbox(container, agent))
        self._checks.add(check)
        check.add_done_callback(self._checks.discard)
        record_notices = container.visible_record().notices
        notices = (*notices, unkept) if unkept is not None else notices
        _tell((*record_notices, *loaded.warnings, *notices, *container.saved_rules().warnings), observer)
        return agent

    async def _offer(
        self, loaded: LoadedSettings, container: Container, person: Approver
    ) -> tuple[Mode | None, str | None]:
        """The mode that the person chose at the first start, if they did, and what to say of it.

        Nobody who answers from afar is asked, nor a session that only reads.
        """
        if self._has_offered or self._listening is not None or self._options.demo:
            return None, None
        self._has_offered = True
        from quorum.cli.sandbox_offer import SandboxOffer
        from quorum.cli.settings_service import FileSettingsService

        if container.visible_record().in_use:
            return None, None
        offer = SandboxOffer(loaded, FileSettingsService(self._options, self._root))
        return await offer.make(person, container.sandbox())

    def _adopt_settings(self, loaded: LoadedSettings) -> tuple[str, ...]:
        """Have the app take over its settings; returns a sentence about what of an untrusted file is ignored.

        It is for the first session: later on they are what the person has made of them.
        """
        from domain.errors import ConfigError

        tui = loaded.settings.tui
        notices: tuple[str, ...] = ()
        adopt = partial(
            self.app.adopt,
            notifications=tui.notifications,
            notify_by=tui.notify_by,
            layout=tui.layout,
            screen_reader=tui.screen_reader,
        )
        try:
            adopt(theme=tui.theme)
        except ConfigError as error:
            if "tui.theme" not in loaded.covered:
                raise
            notices = (
                f"{loaded.place(('tui', 'theme'))}: {error}; the file is not trusted, so this is ignored",
            )
            adopt(theme=str(loaded.covered["tui.theme"]))
        from quorum.version import __version__

        self.app.version = __version__
        self.app.editing = tui.editing
        self.app.enter_while_running = tui.enter_while_running
        self.app.mark_approve_for_edits = tui.mark_approve_for_edits
        self.app.print_status_line = self._status_line(loaded)
        self.app.rebind(tui.keys)
        return notices

    def _status_line(self, loaded: LoadedSettings) -> PrintStatusLine | None:
        """What runs the person's own program for the status line, if there is one."""
        if not (argv := loaded.settings.tui.statusline):
            return None
        from infrastructure.building_blocks import list_key_names
        from infrastructure.execution.commands.environment import build_command_environment
        from infrastructure.execution.status_command import StatusCommand
        from quorum.version import __version__

        environment = build_command_environment(os.environ, list_key_names(loaded.settings))
        command = StatusCommand(argv, cwd=self._root, environment=environment)

        async def print_line(session: JsonObject) -> str:
            return await command.print_line({**session, "version": __version__})

        return print_line

    def _open_record(self, loaded: LoadedSettings, choice: SessionChoice) -> SessionRecord:
        """Runs in a thread, as all that is imported late or waits for a disk."""
        from infrastructure.bootstrap import open_session

        fork = self._options.fork and self._is_first
        return open_session(loaded, self._root, choice, fork=fork)

    def _compose_container(
        self, loaded: LoadedSettings, person: Approver, observer: Observer, record: SessionRecord
    ) -> Container:
        """Runs in a thread while the screen is already up: most of what is imported is imported here."""
        from application.session.session_folders import list_option_folders
        from domain.events.masking import SecretMask
        from infrastructure.bootstrap import build_session
        from quorum.cli.errors import mask_complaints
        from tui.keys.commands import RESERVED_NAMES
        from tui.transcript.layout.view import TranscriptView

        with self._making_mask:  # two tabs may be composed at once
            self._mask = self._mask or SecretMask()
        own: tuple[Path, ...] = ()
        if self._listening is not None:
            self._listening.teach(self._mask)
            own = (self._listening.path,)
        return build_session(
            loaded,
            self._root,
            approver=person,
            observer=observer,
            record=record,
            mask=self._mask,
            sockets=own,
            folders=list_option_folders(self._options.add_dirs),
            reserved_commands=RESERVED_NAMES,
            trust=self._trust,
            mask_outputs=(mask_complaints,),
            warm_up=TranscriptView.warm_up,
        )

    def open_settings(self) -> SettingsService:
        """The settings and their files."""
        from quorum.cli.settings_service import FileSettingsService

        return FileSettingsService(self._options, self._root)

    def open_local_servers(self) -> LocalServers:
        """The servers of models on this machine, and the settings that can use one."""
        from quorum.cli.local_servers import LocalServerSettings

        return LocalServerSettings(self._options, self._root)

    async def open_archive(self) -> SessionArchive:
        """The list of sessions, for a choice before there is any."""
        return await asyncio.to_thread(self._open_archive)

    def _open_archive(self) -> SessionArchive:
        from infrastructure.storage import open_storage
        from quorum.cli.settings import load

        if self._listed is None:
            self._listed = open_storage(
                load(self._options, self._root, needs_project=False).settings.storage, os.environ
            )
        return self._listed.archive

    async def close(self) -> None:
        """Let go of what the sessions left behind; the app has closed the sessions themselves."""
        for check in tuple(self._checks):
            check.cancel()
        if self._listed is not None:
            await asyncio.to_thread(self._listed.close)


async def _tell_sandbox(container: Container, agent: AgentSession) -> None:
    """Found out beside everything else: trying the sandbox takes a moment, and nothing waits for it."""
    from domain.errors import LedgerError
    from domain.events.event import SandboxChecked
    from domain.shell.sandbox import SandboxOn

    state = await container.sandbox().state()
    if agent.record.in_use:
        return
    with suppress(LedgerError):  # the next turn will not get far without a record either, and says so
        await container.events().record(SandboxChecked(on=isinstance(state, SandboxOn), told=state.description))


def _tell(warnings: Sequence[str], observer: Observer) -> None:
    from domain.events.event import ErrorOccurred

    for warning in warnings:
        observer.notify(ErrorOccurred(message=warning))
