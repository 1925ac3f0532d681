"""What tests of commands share: controls that remember, a daemon, waiting for what is true in the end."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from quorum.domain.calls.execution import Seal, ToolExecutionContext
from quorum.domain.calls.summary import extract_text
from quorum.domain.errors import ToolError
from quorum.domain.shell.network_hosts import AskedHost
from quorum.domain.text.output import Printed
from quorum.infrastructure.execution.commands.process import SupervisedProcess
from quorum.infrastructure.tools.builtin.run_command import RunCommand

# Forks twice, leaves the session, shrugs off TERM: what is hardest to find again. Its arguments say who it is.
_DAEMON = """
import os, signal, sys, time
if os.fork(): os.wait(); sys.exit()
os.setsid()
if os.fork(): os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(sys.argv[1], "w").close()
while True: time.sleep(60)
"""


class RecordingControls:
    cancelled = False
    reply = None

    def __init__(self, seal: Seal | None = None, *, was_asked: bool = False) -> None:
        self.seal = seal
        self.was_asked = was_asked
        self.shown: list[str | Printed] = []
        self.hosts: list[AskedHost] = []

    @property
    def reports(self) -> list[str]:
        return [extract_text(each) for each in self.shown]

    def report(self, shown: str | Printed) -> None:
        self.shown.append(shown)

    def note_host(self, host: AskedHost) -> None:
        self.hosts.append(host)


def context_with(controls: RecordingControls, call_id: str = "call-0") -> ToolExecutionContext:
    context = ToolExecutionContext(call_id=call_id, batch_id="batch-1", call_index=0, turn_index=0)
    return context.with_controls(controls)


def tool_in(root: Path, **options: object) -> RunCommand:
    def resolve(name: str) -> Path:
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise ToolError(f"{name} is outside the workspace")
        return path

    return RunCommand(root=root, resolve_directory=resolve, **options)  # type: ignore[arg-type]


class Daemon:
    """A process that outlives its parents; `command` starts it and goes on once it is up."""

    def __init__(self, folder: Path, *, wrapper: str = "") -> None:
        self.ready = folder / f"ready-{secrets.token_hex(8)}"
        script = folder / "daemon.py"
        script.write_text(_DAEMON)
        start = f"{wrapper} {sys.executable} {script} {self.ready}"
        self.command = f"{start} & while [ ! -e {self.ready} ]; do sleep 0.01; done"

    def is_alive(self) -> bool:
        """Also true of processes on the way to becoming it."""
        return bool(alive_with(str(self.ready)))


def a_sleep() -> str:
    """Sleeping for a time nobody else sleeps for, so that the process can be found."""
    return f"600.{secrets.randbelow(10**12):012d}"


def alive_with(argument: str) -> list[int]:
    """Processes, zombies aside, one of whose arguments is this."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            arguments = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if argument.encode() in arguments:
            found.append(int(name))
    return found


async def eventually(condition: Callable[[], object], within: float = 120.0) -> None:
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "this did not become true in time"
        await asyncio.sleep(0.01)


async def reach_time_limit(running: Awaitable[object], *, once: Callable[[], object]) -> ToolError:
    """How a command fails whose time is up `once` this holds, however long a busy machine takes to start it."""
    started: list[SupervisedProcess] = []
    start = SupervisedProcess.__init__

    def remember(process: SupervisedProcess, *args: object, **options: object) -> None:
        start(process, *args, **options)  # type: ignore[arg-type]
        started.append(process)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SupervisedProcess, "__init__", remember)
        call = asyncio.ensure_future(running)
        await eventually(lambda: call.done() or once())
        for process in started:
            process._expire()
        with pytest.raises(ToolError) as failed:
            await call
    return failed.value


async def run_out_of_time(running: Awaitable[object], *, once: Callable[[], object]) -> str:
    """What is said of a command whose time is up `once` this holds."""
    return str(await reach_time_limit(running, once=once))
