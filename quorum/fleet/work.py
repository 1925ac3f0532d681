"""`quorum fleet work`: a worker and the processes of its sessions, all forked by one parent."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import signal
import socket
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorum.application.ports.fleet import SessionBusy, SessionKilled
from quorum.application.session.advance import REVIEW_OPEN
from quorum.command_line.options import StartOptions
from quorum.domain.errors import ConfigError
from quorum.domain.fleet_session import Advance, FleetSession, FleetState, WorkerIdentity
from quorum.domain.text.printable import make_printable
from quorum.errors import ForkedCommand, complain
from quorum.fleet.advance import BUSY
from quorum.fleet.fork_server import OWNER, ForkedSession, ForkedWorker, ForkServer
from quorum.infrastructure.execution.commands.environment import build_command_environment, name_signal
from quorum.infrastructure.tools.built_in_tools import MODULES
from quorum.version import __version__

if TYPE_CHECKING:
    from quorum.application.ports.fleet import Fleet
    from quorum.infrastructure.config.loading import LoadedSettings

_END_SECS = 15.0
"""How long a session that is cancelled has to end in order."""
_LONGEST_ERROR = 500
_UNUSABLE = 2
"""The exit code of a start that failed."""
_ORPHANED = 137
_FLAGS = {
    "review.mode": "--mode",
    "agent.max_tool_turns": "--max-tool-turns",
    "agent.max_cost_usd": "--max-cost-usd",
    "agent.max_tokens": "--max-tokens",
    "agent.max_time_secs": "--max-time",
}


class _Pipe:
    """What a process prints into `theirs`, read by this one."""

    def __init__(self) -> None:
        ours, self.theirs = os.pipe()
        self._file = os.fdopen(ours, "rb", 0)
        self._transport: asyncio.BaseTransport | None = None
        self.reader = asyncio.StreamReader()

    async def open(self) -> None:
        """Begin to read."""
        loop, protocol = asyncio.get_running_loop(), asyncio.StreamReaderProtocol(self.reader)
        self._transport, _ = await loop.connect_read_pipe(lambda: protocol, self._file)

    def close(self) -> None:
        """Read no more."""
        if self._transport is not None:
            self._transport.close()
        else:
            self._file.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _SessionProcess:
    """`owner` is a descriptor: once it is closed, the process ends. `ended` is its exit code."""

    number: int
    owner: int
    output: _Pipe
    errors: _Pipe
    ended: asyncio.Future[int]

    async def communicate(self) -> tuple[int, bytes, bytes]:
        """Its exit code, and all that it printed. Raises SessionBusy where it could not be started."""
        out, err = await asyncio.gather(self.output.reader.read(), self.errors.reader.read())
        return await asyncio.shield(self.ended), out, err


class SessionProcesses:
    """Has the parent start `quorum fleet advance` for a session, and reads what came of it."""

    def __init__(self, options: StartOptions, root: Path, parent: socket.socket) -> None:
        self._root = root
        self._arguments = ["fleet", "advance", *_forward(options, root), "--owner", str(OWNER), "--"]
        self._quiet = options.quiet
        self._parent = parent
        self._received = b""
        self._started = 0
        self._running: dict[int, asyncio.Future[int]] = {}
        self._delayed: dict[str, str] = {}  # by session: why it is tried again later

    def listen(self, stop: Callable[[], None]) -> None:
        """Hear from the parent; `stop` is called for each signal that it got."""
        asyncio.get_running_loop().add_reader(self._parent, self._receive, stop)

    def begin(self, modules: Sequence[str]) -> None:
        """Tell the parent that sessions will be asked for, and that they load these modules."""
        self._ask({"ready": True, "modules": list(modules)})

    async def advance(self, session: FleetSession, is_cancelled: Callable[[], bool]) -> Advance:
        """Implements `AdvanceSession`."""
        process = await self._start(session.session_id)
        try:
            code, out, err = await process.communicate()
        except asyncio.CancelledError:
            if not is_cancelled():
                raise  # the process is killed below, and another worker continues
            await self._end_in_order(process)
            self._tell(session, Advance(state=FleetState.CANCELLED))
            return Advance(state=FleetState.CANCELLED)
        finally:
            os.close(process.owner)
            process.output.close()
            process.errors.close()
            if not process.ended.done():
                self._ask({"signal": int(signal.SIGKILL), "session": process.number})
                await asyncio.shield(process.ended)
            del self._running[process.number]
        try:
            advance = read_advance(code, out, err)
        except SessionBusy as busy:
            self._tell_once(session, str(busy))
            raise
        self._tell(session, advance)
        return advance

    async def _start(self, session_id: str) -> _SessionProcess:
        with ExitStack() as at_failure, ExitStack() as sent:
            theirs, owner = os.pipe()
            sent.callback(os.close, theirs)
            at_failure.callback(os.close, owner)
            output, errors = _Pipe(), _Pipe()
            for pipe in (output, errors):
                sent.callback(os.close, pipe.theirs)
                at_failure.callback(pipe.close)
                await pipe.open()
            self._started += 1
            request = {
                "start": self._started,
                "arguments": [*self._arguments, session_id],
                "folder": str(self._root),
            }
            self._ask(request, (output.theirs, errors.theirs, theirs))
            ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            self._running[self._started] = ended
            at_failure.pop_all()
            return _SessionProcess(number=self._started, owner=owner, output=output, errors=errors, ended=ended)

    def _ask(self, request: Mapping[str, object], descriptors: Sequence[int] = ()) -> None:
        """Raises nothing where the parent is gone: that ends this process, too."""
        with suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(self._parent, [json.dumps(request).encode() + b"\n"], descriptors)

    def _receive(self, stop: Callable[[], None]) -> None:
        try:
            received = self._parent.recv(1 << 16)
        except OSError:
            received = b""
        if not received:
            os._exit(_ORPHANED)  # and with this process its sessions
        *lines, self._received = (self._received + received).split(b"\n")
        for line in lines:
            self._note(json.loads(line), stop)

    def _note(self, message: Mapping[str, Any], stop: Callable[[], None]) -> None:
        match message:
            case {"ended": int(number), "code": int(code)}:
                self._running[number].set_result(code)
            case {"ended": int(number), "error": str(error)}:
                self._running[number].set_exception(SessionBusy(error))
            case {"stop": True}:
                stop()
            case _:
                raise ValueError(f"the parent said {message!r:.200}")

    async def _end_in_order(self, process: _SessionProcess) -> None:
        self._ask({"signal": int(signal.SIGTERM), "session": process.number})
        with suppress(asyncio.TimeoutError, SessionBusy):
            await asyncio.wait_for(process.communicate(), _END_SECS)

    def _tell_once(self, session: FleetSession, why: str) -> None:
        """Say why a session is tried again later, unless that is known."""
        if self._delayed.get(session.session_id) != why:
            self._delayed[session.session_id] = why
            self._print(session, "not advanced", why)

    def _tell(self, session: FleetSession, advance: Advance) -> None:
        self._delayed.pop(session.session_id, None)
        self._print(session, advance.status or advance.state, advance.error)

    def _print(self, session: FleetSession, state: str, error: str) -> None:
        if not self._quiet:
            name = f" {make_printable(session.name, newlines=False)}" if session.name else ""
            why = f": {make_printable(error, newlines=False)}" if error else ""
            print(f"{session.session_id}{name} {state}{why}", flush=True)


def read_advance(code: int, out: bytes, err: bytes) -> Advance:
    """What came of `quorum fleet advance`. Raises SessionBusy where it is to be tried again, and SessionKilled
    where a signal ended it."""
    said = err.decode("utf-8", "replace").strip().removeprefix("quorum: ")[-_LONGEST_ERROR:]
    if code < 0:
        how = f"killed by {name_signal(-code)}"
        raise SessionKilled(f"{how}; it said last: {said}" if said else how)
    # What is wrong with the settings, the keys or the installation of this machine is not the session's fault.
    if code in (BUSY, _UNUSABLE) or code > 128:
        raise SessionBusy(said or f"the process of the session ended with {code}")
    try:
        report = json.loads(out)
    except ValueError:
        report = None
    if not isinstance(report, Mapping):
        return Advance(state=FleetState.FAILED, status="failed", error=said or f"exit code {code}")
    status, error = str(report.get("status", "")), str(report.get("error", ""))
    if report.get("stop_reason") == REVIEW_OPEN:
        return Advance(state=FleetState.REVIEW_OPEN)
    return Advance(state=FleetState.ENDED, status=status, error=error[-_LONGEST_ERROR:])


def _forward(options: StartOptions, root: Path) -> list[str]:
    """The options of the worker for the process of a session."""
    words = ["-C", str(root)]
    if options.config_file is not None:
        words += ["--config", str(options.config_file.absolute())]
    for model in options.models:
        words += ["-m", model]
    for key, flag in _FLAGS.items():
        if key in options.overrides:
            words += [flag, str(options.overrides[key])]
    return words


OF_WORKERS = (
    "quorum.settings",
    "quorum.fleet.work",
    "quorum.infrastructure.store.postgres.fleet",
)
OF_SESSIONS = (
    "quorum.__main__",
    "quorum.command_line.reading",
    "quorum.cli.fleet",
    "quorum.cli.app",
    "quorum.fleet.advance",
    "quorum.tui.keys.slash_commands",
    "quorum.infrastructure.bootstrap",
    "quorum.infrastructure.container",
    "quorum.infrastructure.models.clouds.endpoint",
    "quorum.infrastructure.models.shared.stored_keys",
    "quorum.infrastructure.store.postgres.database",
    "quorum.domain.review.hazards.inspection",
    # what is loaded at its first use
    "quorum.infrastructure.session_inputs",
    "quorum.infrastructure.tools.registration",
    "quorum.infrastructure.address_guard",
    "quorum.infrastructure.composition.agent",
    "quorum.infrastructure.composition.agent",
    "quorum.infrastructure.execution.network.host_proxy",
    "quorum.infrastructure.execution.shell.named_paths",
    "quorum.infrastructure.mcp.servers",
    "quorum.infrastructure.models.shared.form_by_schema",
    "quorum.infrastructure.staging.waiting_layers",
    "quorum.domain.review.effects.file_contents",
    "quorum.domain.review.effects.tool_calls",
    "quorum.domain.review.started_commands",
    *(f"quorum.infrastructure.tools{name}" for name in MODULES.values() if name.startswith(".builtin.")),
    "anyio._backends._asyncio",
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
    server = ForkServer(OF_WORKERS, OF_SESSIONS, prepare_sessions, uses_exec=options.debug, quiet=options.quiet)
    match server.serve():
        case ForkedSession(arguments=arguments, is_exec=True):
            os.execv(sys.executable, [sys.executable, "-P", "-m", "quorum", *arguments])
        case ForkedSession(arguments=arguments):
            raise ForkedCommand(arguments)
        case other:
            return other


def prepare_sessions() -> None:
    """Find out what does not depend on the settings, which each session would find out anew."""
    from quorum.infrastructure.config.loading import build_defaults
    from quorum.infrastructure.config.schema import Settings
    from quorum.infrastructure.models.shared.network_loading import load_certificates
    from quorum.infrastructure.prices.model_figures import load_published_prices
    from quorum.infrastructure.storage import build_path_policy
    from quorum.infrastructure.tools.registration import find_plugins

    platform.processor()  # an SDK asks for it, and it is a program
    # Patterns compile where they are first used.
    build_command_environment({"NAME": "name: value"}, ())
    policy = build_path_policy(Settings(), ())
    policy.is_protected("/file.old"), policy.is_sensitive("/file.old")
    for find in (build_defaults, find_plugins, load_certificates, load_published_prices):
        with suppress(ConfigError, OSError, ImportError):  # the session says so
            find()


async def advance_sessions(
    fleet: Fleet,
    options: StartOptions,
    root: Path,
    loaded: LoadedSettings,
    forked: ForkedWorker,
    *,
    concurrency: int,
    until_empty: bool,
) -> int:
    """Advance sessions until the parent says to stop; the exit code.

    When it says so again, they are left to other workers at once. Raises LedgerError.
    """
    from quorum.fleet.metrics import send_fleet_metrics
    from quorum.infrastructure.blocking import watch_outages
    from quorum.infrastructure.storage import uses_bucket

    processes = SessionProcesses(options, root, forked.parent)
    settings = loaded.settings
    processes.begin(
        list_first_uses(
            {provider.type for provider in settings.providers.values()},
            uses_bucket=uses_bucket(settings.storage),
        )
    )
    name = f"process {os.getppid()} on {socket.gethostname()}"
    sending = asyncio.ensure_future(send_fleet_metrics(fleet, loaded, forked.server_id))
    working = asyncio.ensure_future(
        fleet.advance_sessions(
            processes.advance,
            concurrency=concurrency,
            until_empty=until_empty,
            worker=WorkerIdentity(
                name=name,
                server_id=forked.server_id,
                version=__version__,
                folder=str(root),
            ),
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
    with suppress(asyncio.CancelledError), watch_outages(lambda sentence: complain([sentence])):
        await working
    sending.cancel()
    with suppress(asyncio.CancelledError):
        await sending
    return 0


def list_first_uses(provider_types: Collection[str], *, uses_bucket: bool) -> list[str]:
    """The modules that sessions with such settings load besides."""
    modules = [module for kind in sorted(provider_types) for module in OF_PROVIDERS.get(kind, ())]
    return [*modules, *_OF_BUCKETS] if uses_bucket else modules
