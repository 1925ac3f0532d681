"""`quorum`: the full-screen app, painted first and given its agent afterwards.

Nothing heavy is imported with this module: what the first frame needs comes in `_show`, settings, tools and
SDKs in a thread once that frame is painted.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from quorum.app.terminal import check_driver, take_environment_of_driver, tune_textual, wants_reader
from quorum.starting import explain_start_failures

if TYPE_CHECKING:
    from pathlib import Path

    from quorum.application.ports.people import Approver, Observer
    from quorum.application.ports.storage import SessionArchive, Storage
    from quorum.application.session.agent_session import AgentSession
    from quorum.application.session.session_record import SessionRecord
    from quorum.cli.app import AppOptions
    from quorum.cli.app.listening import Listening
    from quorum.domain.events.masking import SecretMask
    from quorum.domain.sessions.session_summary import SessionChoice
    from quorum.domain.text.json_value import JsonObject
    from quorum.infrastructure.config.loading import LoadedSettings
    from quorum.infrastructure.container import Container
    from quorum.infrastructure.trust_decisions import TrustDecisions
    from quorum.tui.agent.services import LocalServers, SettingsService, WorktreesPort
    from quorum.tui.app.app import QuorumApp
    from quorum.tui.terminal.early_prompt import EarlyPrompt
    from quorum.tui.terminal.shutdown import Shutdown
    from quorum.tui.themes.looks import PrintStatusLine


def show_app(options: AppOptions, root: Path, early_prompt: EarlyPrompt | None, carried: bytes = b"") -> int:
    """Show the app until it is left; its exit code. The terminal is checked, and `early_prompt` may have it.
    What is `carried` is of the app whose place it takes; empty: of none.

    Raises UsageError where its driver is none, and StartFailure where it cannot be shown.
    """
    size = options.screen_size
    with explain_start_failures():
        tune_textual()
        if not options.headless and os.environ.get("TEXTUAL_DRIVER"):
            check_driver()
            size = take_environment_of_driver()
    gc.disable()  # imports make much that lives on; it collects again once the session is warm
    from quorum.event_loop import run_event_loop

    return run_event_loop(_show(options, root, size, early_prompt, carried))


def _choose_app(options: AppOptions, listening: Listening | None) -> Callable[..., QuorumApp]:
    if listening is not None:
        return listening.build_app
    if options.demo:
        from quorum.tui.demo_app import DemoApp

        return DemoApp
    from quorum.tui.app.app import QuorumApp

    return QuorumApp


async def _show(
    options: AppOptions,
    root: Path,
    size: tuple[int, int] | None,
    early_prompt: EarlyPrompt | None,
    carried: bytes,
) -> int:
    with explain_start_failures():
        from quorum.domain.text.printable import make_printable

        listening = _build_listening(options, root)
    headless = options.headless
    sessions = _Sessions(options, root, listening)
    try:
        with explain_start_failures():
            app, shutdown = _make_app(options, root, sessions, listening)
            app.early_prompt = early_prompt
            if carried:
                from quorum.tui.tabs.carrying import decode

                app.take_over(decode(carried))
            app.can_restart = listening is None and size is None and not options.demo
        try:
            await app.run_async(headless=headless, size=size)
        finally:
            shutdown.begin(1 if app.return_code is None else app.return_code)
    finally:
        await sessions.close()
        if listening is not None:
            listening.close()
    if app.restart is not None and shutdown.is_terminated:
        from quorum.app.handing_over import give_terminal_back

        give_terminal_back(app.carried)
        return 128 + signal.SIGTERM
    if app.restart is not None:
        from quorum.cli.app.restarting import render_arguments
        from quorum.errors import RestartedCommand

        raise RestartedCommand(render_arguments(options, root, app.restart), app.carried)
    if not options.quiet:
        with suppress(OSError):  # the terminal is gone
            for words in app.parting_words:
                print(make_printable(words), file=sys.stderr)
    shutdown.conclude()
    return 1 if app.return_code is None else app.return_code


def _build_listening(options: AppOptions, root: Path) -> Listening | None:
    if options.listen is None:
        return None
    from quorum.cli.app.listening import Listening

    return Listening(options, root)


def _make_app(
    options: AppOptions, root: Path, sessions: _Sessions, listening: Listening | None
) -> tuple[QuorumApp, Shutdown]:
    from quorum.tui.terminal.shutdown import Shutdown

    app = _choose_app(options, listening)(
        sessions.compose,
        cwd=root,
        choose=lambda: options.session,
        open_archive=sessions.open_archive,
        initial_prompt=options.prompt,
        screen_reader=wants_reader(options.overrides),
    )
    sessions.app = app
    shutdown = app.shutdown = Shutdown(restore_terminal=app.restore_terminal, hurry=app.hurry)
    app.open_settings = sessions.open_settings
    app.open_local_servers = sessions.open_local_servers
    app.offers_server_first = not options.models
    app.open_worktrees = sessions.open_worktrees
    app.find_layer_obstacle = sessions.find_layer_obstacle
    return app, shutdown


class _Sessions:
    """Composes what the `app` shows, one session after the other, and gives it its own settings."""

    app: QuorumApp

    def __init__(self, options: AppOptions, root: Path, listening: Listening | None = None) -> None:
        self._options, self._root, self._listening = options, root, listening
        self._checks: set[asyncio.Task[None]] = set()
        self._trust: TrustDecisions | None = None
        self._listed: Storage | None = None
        self._is_first = True
        self._has_offered = False
        self._mask: SecretMask | None = None
        self._making_mask = threading.Lock()

    async def compose(
        self, person: Approver, observer: Observer, choice: SessionChoice, folder: Path
    ) -> AgentSession:
        """A session in a folder, with its agent, announced; what the project wants to be trusted with is asked
        before."""
        await asyncio.to_thread(import_module, "quorum.settings")
        from quorum.infrastructure.trust_decisions import open_trust_decisions
        from quorum.settings import check_keys, load_with_trust

        self._trust = self._trust or open_trust_decisions(os.environ)
        if folder != self._root:
            from quorum.app.worktree_service import share_trust

            await asyncio.to_thread(share_trust, folder, self._trust, os.environ)
        look = self._adopt_settings if self._is_first else lambda _settings: ()  # the question has it, too
        loaded = await load_with_trust(self._options, folder, self._trust, person, look)
        await asyncio.to_thread(check_keys, loaded)
        await self._require_layer(loaded)
        record = await asyncio.to_thread(self._open_record, loaded, choice, folder)
        try:
            container = await asyncio.to_thread(
                self._compose_container, loaded, person, observer, record, folder
            )
            notices = self._adopt_settings(loaded) if self._is_first else ()
            agent = container.agent()
            await agent.open()
            agent.review.make_offer = self._build_offer(loaded, container, person, observer)
        except BaseException:
            await record.release()
            raise
        self._begin_check(_tell_sandbox(container, agent))
        if self._is_first:
            self._begin_check(self._tell_worktrees())
        self._is_first = False
        record_notices = container.record().notices
        _tell((*record_notices, *loaded.warnings, *notices, *container.saved_rules().warnings), observer)
        return agent

    async def _require_layer(self, loaded: LoadedSettings) -> None:
        """Begin anew in a layer, where only the settings ask for one: for this process it is too late."""
        from quorum.domain.review.mode import Mode
        from quorum.infrastructure.staging.entered import find_entered
        from quorum.tui.keys.keyed_app import Restart

        is_wanted = loaded.settings.review.mode is Mode.STAGED and find_entered() is None
        if is_wanted and self._is_first and self.app.can_restart:
            self.app.begin_anew(Restart(Mode.STAGED.value))
            await asyncio.Future[None]()  # the app ends meanwhile

    def _begin_check(self, check: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(check)
        self._checks.add(task)
        task.add_done_callback(self._checks.discard)

    async def _tell_worktrees(self) -> None:
        """Name the worktrees that earlier runs left behind. Without any nothing more is imported for it."""
        from quorum.infrastructure.config.paths import locate_worktrees

        places = locate_worktrees(os.environ)
        if places is None or not await asyncio.to_thread(places.is_dir):
            return
        from quorum.app.worktree_service import describe_worktrees

        if said := await asyncio.to_thread(describe_worktrees, self._root, os.environ):
            self.app.chat.say(said)

    def _build_offer(
        self, loaded: LoadedSettings, container: Container, person: Approver, observer: Observer
    ) -> Callable[[str], Awaitable[bool]] | None:
        """What offers the mode `sandboxed` in a session, once in all tabs; None where nobody answers here, the
        session only reads, or an agent of another vendor works in it, which that mode does not confine."""
        record = container.record()
        if self._listening is not None or self._options.demo or record.in_use or record.external_agent:
            return None

        async def offer(call: str) -> bool:
            if self._has_offered:
                return False
            from quorum.app.settings_service import FileSettingsService, SandboxOffer

            service = FileSettingsService(self._options, self._root)
            shown = self._mask.in_review.mask_text(call) if self._mask is not None else ""
            self._has_offered = True
            try:
                accepts, note = await SandboxOffer(loaded, service).make(person, container.sandbox(), shown)
            except BaseException:  # such as that the turn was interrupted: nothing is decided
                self._has_offered = False
                raise
            _tell((note,) if note is not None else (), observer)
            return accepts

        return offer

    def _adopt_settings(self, loaded: LoadedSettings) -> tuple[str, ...]:
        """Have the app take over its settings; returns a sentence about what of an untrusted file is ignored.

        It is for the first session: later on they are what the person has made of them.
        """
        from quorum.domain.errors import ConfigError
        from quorum.domain.replacing import replace

        tui = loaded.settings.tui
        notices: tuple[str, ...] = ()
        try:
            self.app.adopt(tui)
        except ConfigError as error:
            if "tui.theme" not in loaded.covered:
                raise
            notices = (
                f"{loaded.locate(('tui', 'theme'))}: {error}; the file is not trusted, so this is ignored",
            )
            self.app.adopt(replace(tui, theme=str(loaded.covered["tui.theme"])))
        from quorum.version import __version__

        self.app.version = __version__
        self.app.print_status_line = self._build_status_line(loaded)
        return notices

    def _build_status_line(self, loaded: LoadedSettings) -> PrintStatusLine | None:
        """What runs the person's own program for the status line, if there is one."""
        if not (argv := loaded.settings.tui.statusline):
            return None
        from quorum.infrastructure.execution.commands.environment import build_command_environment
        from quorum.infrastructure.execution.status_command import StatusCommand
        from quorum.infrastructure.settings_conversion import list_key_names
        from quorum.version import __version__

        environment = build_command_environment(os.environ, list_key_names(loaded.settings))
        command = StatusCommand(argv, cwd=self._root, environment=environment)

        async def print_line(session: JsonObject) -> str:
            return await command.print_line({**session, "version": __version__})

        return print_line

    def _open_record(self, loaded: LoadedSettings, choice: SessionChoice, folder: Path) -> SessionRecord:
        """Runs in a thread, as all that is imported late or waits for a disk."""
        from quorum.infrastructure.session_inputs import open_session

        fork = self._options.fork and self._is_first
        return open_session(loaded, folder, choice, fork=fork)

    def _compose_container(
        self,
        loaded: LoadedSettings,
        person: Approver,
        observer: Observer,
        record: SessionRecord,
        folder: Path,
    ) -> Container:
        """Runs in a thread while the screen is already up: most of what is imported is imported here."""
        from quorum.application.session_folders import list_option_folders
        from quorum.domain.events.masking import SecretMask
        from quorum.errors import mask_complaints
        from quorum.infrastructure.bootstrap import build_session
        from quorum.infrastructure.session_inputs import SessionInputs
        from quorum.infrastructure.trust_decisions import open_trust_decisions
        from quorum.thread_sharing import share_arena
        from quorum.tui.keys.slash_commands import RESERVED_NAMES

        share_arena()
        with self._making_mask:  # two tabs may be composed at once
            self._mask = self._mask or SecretMask()
        own: tuple[Path, ...] = ()
        if self._listening is not None:
            self._listening.teach(self._mask)
            own = (self._listening.path,)
        external = None
        if record.external_agent and not record.in_use:
            from quorum.headless.agent_session import find_external_agent

            external = find_external_agent(record.external_agent, loaded, folder.resolve())
        return build_session(
            SessionInputs(
                loaded=loaded,
                root=folder,
                approver=person,
                observer=observer,
                record=record,
                mask=self._mask,
                sockets=own,
                wanted_folders=list_option_folders(self._options.add_dirs),
                reserved_commands=RESERVED_NAMES,
                trust=self._trust or open_trust_decisions(os.environ),
            ),
            external=external,
            mask_outputs=(mask_complaints,),
            warm_up=_warm_up,
        )

    def open_settings(self) -> SettingsService:
        """The settings and their files."""
        from quorum.app.settings_service import FileSettingsService

        return FileSettingsService(self._options, self._root)

    def find_layer_obstacle(self) -> str:
        """Why no layer can be over the folder, a clause; empty where one can. Blocks."""
        from quorum.infrastructure.staging.entering import find_obstacle

        return find_obstacle(self._root, os.environ)

    def open_local_servers(self) -> LocalServers:
        """The servers of models on this machine, and the settings that can use one."""
        from quorum.app.settings_service import LocalServerSettings

        return LocalServerSettings(self._options, self._root)

    def open_worktrees(self, folder: Path) -> WorktreesPort:
        """The worktrees of the repository around a folder."""
        from quorum.app.worktree_service import WorktreeService
        from quorum.settings import open_own_file

        return WorktreeService(
            folder,
            root=self._root,
            environ=os.environ,
            open_archive=self.open_archive,
            load=self._load_settings,
            open_own_file=partial(open_own_file, self._options, self._root),
        )

    def _load_settings(self, folder: Path) -> LoadedSettings:
        """The settings of a folder, as far as they are trusted by now. Blocks."""
        from quorum.infrastructure.trust_decisions import open_trust_decisions
        from quorum.settings import load_trusting

        trust = self._trust or open_trust_decisions(os.environ)
        return load_trusting(self._options, folder, trust.load_trusted())

    async def open_archive(self) -> SessionArchive:
        """The list of sessions, for a choice before there is any."""
        return await asyncio.to_thread(self._open_archive)

    def _open_archive(self) -> SessionArchive:
        from quorum.infrastructure.storage import open_storage
        from quorum.settings import load

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


def _warm_up() -> None:
    """Runs in a thread, once the SDK of the model is loaded."""
    from quorum.tui.session.approver import ScreenApprover
    from quorum.tui.transcript.layout.view import TranscriptView

    TranscriptView.warm_up()
    ScreenApprover.warm_up()


async def _tell_sandbox(container: Container, agent: AgentSession) -> None:
    """Found out beside everything else: trying the sandbox takes a moment, and nothing waits for it."""
    from quorum.domain.errors import LedgerError
    from quorum.domain.events.event import SandboxChecked
    from quorum.domain.shell.sandbox import SandboxOn

    state = await container.sandbox().find_state()
    if agent.record.in_use:
        return
    with suppress(LedgerError):  # the next turn will not get far without a record either, and says so
        await container.events().record(SandboxChecked(on=isinstance(state, SandboxOn), told=state.description))


def _tell(warnings: Sequence[str], observer: Observer) -> None:
    from quorum.domain.events.event import NoticeGiven

    for warning in warnings:
        observer.notify(NoticeGiven(message=warning))
