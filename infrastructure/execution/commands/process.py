"""Programs under a supervisor: started, read from, ended, and waited for until nothing of them is alive."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from quorum.application.program_lookup import select_loader_environment
from quorum.domain.shell.network_hosts import PROXY_PORT
from quorum.domain.shell.sandbox import Keys
from quorum.infrastructure.blocking import look_where_we_work
from quorum.infrastructure.execution.commands import supervisor
from quorum.infrastructure.execution.commands.orphans import generate_marker, kill_orphans
from quorum.infrastructure.execution.program import find_compiled_form

if TYPE_CHECKING:  # loaded where one is made
    from quorum.infrastructure.execution.network.host_proxy import HostProxy

_GRACE_SECS = 0.5
_SWEEP_SECS = 3.0
_READ_BYTES = 65536
_DRAIN_BYTES = 1 << 20


class Ending(Struct, frozen=True, kw_only=True):
    """How a command ended.

    `exit_code` is negative for a signal and None where it never became known; `failure` says why the shell
    could not be started; `ended` counts the processes it left behind and that were ended, `left` names those
    that could not be; `supervisor_lost` tells that the command got rid of its supervisor.
    """

    exit_code: int | None
    failure: str | None = None
    timed_out: bool = False
    ended: int = 0
    left: tuple[int, ...] = ()
    supervisor_lost: bool = False


class SupervisedProcess:
    """A running command. Everything happens in callbacks of the loop, so that no cancellation can stop it.

    `argv` starts with the program's absolute path. `on_errors` gets standard error apart; without it both
    streams come to `on_output` in the order printed. `owner` is what its processes are found by should they
    outlive us: the batch of the call, where it belongs to one. Where `timeout_secs` is None it may continue for
    ever. `stdin` is a descriptor for its standard input, which is empty otherwise. `keys` are those it reaches
    of the kernel's, `guards` are those of a sandbox, see the supervisor. `proxy` serves the network of its own
    that the command then has, for as long as it runs. `supervisor_secs` is how long the supervisor may take
    over ending it before we do that ourselves, `grace_secs` the time between TERM and KILL. Raises OSError
    where the supervisor cannot be started, for example in a folder that is gone.
    """

    def __init__(  # noqa: PLR0913 - all that commands differ in meets here
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        timeout_secs: float | None,
        on_output: Callable[[bytes], None],
        on_errors: Callable[[bytes], None] | None = None,
        owner: str = "",
        stdin: int | None = None,
        guards: Sequence[bytes] = (),
        keys: Keys = "all",
        proxy: HostProxy | None = None,
        supervisor_secs: float = 4.0,
        grace_secs: float = _GRACE_SECS,
    ) -> None:
        self._keys = keys
        self._proxy = proxy
        self._channel: socket.socket | None = None
        self._grace_secs = grace_secs
        self._stdin = -1 if stdin is None else stdin
        self._supervisor_secs = supervisor_secs
        self._loop = asyncio.get_running_loop()
        self._streams: dict[int, Callable[[bytes], None]] = {}
        self._marker = generate_marker()
        self._news = b""
        self._timed_out = False
        self._lifeline: int | None = None
        self._hit: set[int] = set()
        self._start(argv, cwd, {**environment, self._marker: owner}, on_output, on_errors, guards)
        self._finished: asyncio.Future[Ending] = self._loop.create_future()
        for stream in self._streams:
            self._loop.add_reader(stream, self._read_output, stream)
        self._loop.add_reader(self._control, self._read_control)
        if self._channel is not None:
            self._loop.add_reader(self._channel, self._take_listener)
        self._timer = None if timeout_secs is None else self._loop.call_later(timeout_secs, self._expire)

    @property
    def finished(self) -> asyncio.Future[Ending]:
        """Done once it and all it started are dead. For looking and waiting only: see `wait`."""
        return self._finished

    async def wait(self) -> Ending:
        """How it ended, once it and all it started are dead.

        Cancelled, it ends the command and lets CancelledError through when all is dead, however often it is
        cancelled meanwhile.
        """
        cancellation: asyncio.CancelledError | None = None
        while not self._finished.done():
            try:
                await asyncio.wait([self._finished])
            except asyncio.CancelledError as error:
                cancellation = error
                self.end()
        if cancellation is not None:
            raise cancellation
        return self._finished.result()

    async def wait_unless(self, wish: asyncio.Future[None]) -> bool:
        """Wait until it has ended, or until the wish is done; whether it runs on and is not being ended.

        Cancelled, it ends the command as `wait` does.
        """
        either = asyncio.Event()
        self._finished.add_done_callback(lambda _: either.set())
        wish.add_done_callback(lambda _: either.set())
        try:
            await either.wait()
        except asyncio.CancelledError:
            self.end()
            with suppress(asyncio.CancelledError):
                await self.wait()
            raise
        return self._lifeline is not None and self._read_report("exit") is None and not self._finished.done()

    def lift_timeout(self) -> None:
        """It may continue for ever from now on. No effect on one that is being ended."""
        if self._lifeline is not None:
            self._stop_timer()

    def end(self) -> None:
        """Ask the supervisor to end everything: TERM, the time of grace, KILL. Does not wait."""
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None
            self._supervisor.send_signal(signal.SIGCONT)  # the command may have stopped it
            self._stop_timer()
            self._timer = self._loop.call_later(self._supervisor_secs, self._force)

    def _start(
        self,
        argv: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        on_output: Callable[[bytes], None],
        on_errors: Callable[[bytes], None] | None,
        guards: Sequence[bytes],
    ) -> None:
        variables = [os.fsencode("=".join(each)) for each in environment.items()]
        order = [*map(os.fsencode, argv), *guards, *variables]
        with ExitStack() as theirs, ExitStack() as ours:
            reader, output = _open_pipe(ours, theirs)
            self._streams[reader] = on_output
            errors = output
            if on_errors is not None:
                reader, errors = _open_pipe(ours, theirs)
                self._streams[reader] = on_errors
            self._control, control = _open_pipe(ours, theirs)
            lifeline, self._lifeline = _open_pipe(theirs, ours)
            file = theirs.enter_context(tempfile.TemporaryFile())
            file.write(b"".join(field + b"\0" for field in order))
            file.seek(0)
            channel = -1
            if self._proxy is not None:
                self._channel, other_end = socket.socketpair()
                ours.enter_context(self._channel)
                channel = theirs.enter_context(other_end).fileno()
            words = [
                find_compiled_form(supervisor.__file__),
                str(lifeline),
                str(control),
                str(self._grace_secs),
            ]
            words += [
                str(len(argv)),
                self._keys,
                str(len(guards)),
                str(channel),
                str(PROXY_PORT),
                str(self._stdin),
            ]
            self._supervisor = look_where_we_work(
                lambda: subprocess.Popen(
                    [sys.executable, "-I", "-S", *words],
                    stdin=file,
                    stdout=output,
                    stderr=errors,
                    cwd=cwd,
                    env=select_loader_environment(os.environ),  # the command's travels apart
                    pass_fds=(lifeline, control, *(each for each in (channel, self._stdin) if each >= 0)),
                    start_new_session=True,
                )
            )
            ours.pop_all()
        for stream in self._streams:
            os.set_blocking(stream, False)

    def _take_listener(self) -> None:
        """The supervisor sends the socket before the command begins, or ends without it."""
        if self._channel is None or self._proxy is None:
            return
        _, listeners, _, _ = socket.recv_fds(self._channel, 1, 1)
        self._loop.remove_reader(self._channel)
        self._channel.close()
        self._channel = None
        for listener in listeners:
            os.set_inheritable(listener, False)
            self._proxy.begin(listener)

    def _read_output(self, stream: int) -> None:
        data = os.read(stream, _READ_BYTES)
        if data:
            self._streams[stream](data)
        else:
            self._loop.remove_reader(stream)

    def _read_control(self) -> None:
        data = os.read(self._control, 4096)
        self._news += data
        if not data:
            self._loop.remove_reader(self._control)
            self._stop_timer()
            self._supervisor.wait()  # its descriptors are closed: it is already dying
            if self._read_report("done") is None:
                self._sweep(self._loop.time() + _SWEEP_SECS)
            else:
                left = tuple(map(int, (self._read_report("left") or "").split()))
                self._finish(int(self._read_report("ended") or 0), left, supervisor_lost=False)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _expire(self) -> None:
        if self._read_report("exit") is None:
            self._timed_out = True
            self.end()

    def _force(self) -> None:
        """The supervisor did not do as it was asked, for example because the command has stopped it."""
        self._hit |= kill_orphans(self._marker, group=self._shell, supervisor=self._supervisor.pid)[0]
        self._supervisor.kill()

    def _sweep(self, deadline: float) -> None:
        hit, unreachable = kill_orphans(self._marker, group=self._shell)
        self._hit |= hit
        dying = (
            self._hit & supervisor.list_processes().keys()
        )  # also those that only the supervisor's descent gave away
        if dying and self._loop.time() < deadline:
            self._loop.call_later(0.02, self._sweep, deadline)
        else:
            left = tuple(sorted(dying | unreachable))
            self._finish(len(self._hit.difference(left)), left, supervisor_lost=True)

    def _finish(self, ended: int, left: tuple[int, ...], *, supervisor_lost: bool) -> None:
        for stream in self._streams:
            self._drain(stream)
        for reader in (*self._streams, self._control):
            self._loop.remove_reader(reader)
            os.close(reader)
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None
        if self._channel is not None:
            self._loop.remove_reader(self._channel)
            self._channel.close()
            self._channel = None
        if self._proxy is not None:
            self._proxy.failure = self._read_report("unheard") or ""
            self._proxy.end()
        code = self._read_report("exit")
        self._finished.set_result(
            Ending(
                exit_code=None if code is None else int(code),
                failure=self._read_report("failed"),
                timed_out=self._timed_out,
                ended=ended,
                left=left,
                supervisor_lost=supervisor_lost,
            )
        )

    def _drain(self, stream: int) -> None:
        """Take what is still in the pipe; bounded, since a process that would not die may continue writing."""
        for _ in range(_DRAIN_BYTES // _READ_BYTES):
            try:
                data = os.read(stream, _READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                return
            self._streams[stream](data)

    @property
    def _shell(self) -> int | None:
        pid = self._read_report("shell")
        return None if pid is None else int(pid)

    def _read_report(self, topic: str) -> str | None:
        lines = self._news.decode("utf-8", "replace").split("\n")[:-1]
        said = (line.partition(" ") for line in lines)
        return next((rest for word, _, rest in said if word == topic), None)


def _open_pipe(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    """A pipe whose two ends belong to these stacks."""
    ends = os.pipe()
    reader.callback(os.close, ends[0])
    writer.callback(os.close, ends[1])
    return ends


def start_with_payload(
    argv: Sequence[str],
    payload: bytes,
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout_secs: float,
    on_output: Callable[[bytes], None],
    on_errors: Callable[[bytes], None],
    keys: Keys = "all",
    proxy: HostProxy | None = None,
) -> SupervisedProcess:
    """The running program, whose absolute path `argv` begins with; its standard input is the payload, in a file
    without a name. Raises OSError where the program cannot be
    started.
    """
    with tempfile.TemporaryFile() as file:
        file.write(payload)
        file.seek(0)
        return SupervisedProcess(
            argv,
            cwd=cwd,
            environment=environment,
            timeout_secs=timeout_secs,
            on_output=on_output,
            on_errors=on_errors,
            stdin=file.fileno(),
            keys=keys,
            proxy=proxy,
        )
