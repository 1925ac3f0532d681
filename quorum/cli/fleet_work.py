"""`quorum fleet work`: each session is advanced by a process of its own, which ends with the worker."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from application.ports.fleet import Fleet, SessionBusy
from application.session.advance import REVIEW_OPEN
from domain.fleet.fleet_session import Advance, FleetSession, FleetState
from domain.text.printable import printable
from quorum.cli.errors import complain
from quorum.cli.fleet_advance import BUSY
from quorum.options import Options

_END_SECS = 15.0
"""How long a session that is cancelled has to end in order."""
_LONGEST_ERROR = 500
_UNUSABLE = 2
"""The exit code of a start that failed."""
_FLAGS = {
    "review.mode": "--mode",
    "agent.max_tool_turns": "--max-tool-turns",
    "agent.max_cost_usd": "--max-cost-usd",
    "agent.max_tokens": "--max-tokens",
}


async def work(fleet: Fleet, options: Options, root: Path) -> int:
    """Advance sessions until a signal comes; the exit code.

    A second signal leaves them to other workers at once. Raises LedgerError.
    """
    processes = _SessionProcesses(options, root)
    working = asyncio.ensure_future(
        fleet.work(
            processes.advance,
            concurrency=options.fleet.concurrency,
            until_empty=options.fleet.until_empty,
        )
    )
    loop = asyncio.get_running_loop()
    stopping = False

    def stop() -> None:
        nonlocal stopping
        if stopping:
            processes.kill()
            os._exit(128 + signal.SIGTERM)
        stopping = True
        complain(["ending once the sessions have that run; again: leave them to other workers now"])
        working.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop)
    with suppress(asyncio.CancelledError):
        await working
    return 0


class _SessionProcesses:
    """Starts `quorum fleet advance` for a session, and reads what came of it."""

    def __init__(self, options: Options, root: Path) -> None:
        self._root = root
        self._command = [sys.executable, "-P", "-m", "quorum", "fleet", "advance", *_forward(options, root)]
        self._quiet = options.quiet
        self._running: set[Process] = set()

    async def advance(self, session: FleetSession, is_cancelled: Callable[[], bool]) -> Advance:
        """Implements `AdvanceSession`."""
        theirs, ours = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                "--owner",
                str(theirs),
                "--",
                session.session_id,
                cwd=self._root,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                pass_fds=(theirs,),
                start_new_session=True,  # a signal from the terminal is the worker's
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        self._running.add(process)
        try:
            out, err = await process.communicate()
        except asyncio.CancelledError:
            if not is_cancelled():
                raise  # the process is killed below, and another worker continues
            await _end_in_order(process)
            self._tell(session, Advance(state=FleetState.CANCELLED))
            return Advance(state=FleetState.CANCELLED)
        finally:
            os.close(ours)
            if process.returncode is None:
                _kill(process)
                await asyncio.shield(process.wait())
            self._running.discard(process)
        assert process.returncode is not None
        advance = read_advance(process.returncode, out, err)
        self._tell(session, advance)
        return advance

    def kill(self) -> None:
        """Kill all that run."""
        for process in self._running:
            _kill(process)

    def _tell(self, session: FleetSession, advance: Advance) -> None:
        if not self._quiet:
            name = f" {printable(session.name, newlines=False)}" if session.name else ""
            error = f": {printable(advance.error, newlines=False)}" if advance.error else ""
            print(f"{session.session_id}{name} {advance.status or advance.state}{error}", flush=True)


def read_advance(code: int, out: bytes, err: bytes) -> Advance:
    """What came of `quorum fleet advance`. Raises SessionBusy where it is to be tried again."""
    said = err.decode("utf-8", "replace").strip().removeprefix("quorum: ")[-_LONGEST_ERROR:]
    # What is wrong with the settings, the keys or the installation of this machine is not the session's fault.
    if code in (BUSY, _UNUSABLE) or code < 0 or code > 128:
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


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):  # it has just ended
        process.kill()


async def _end_in_order(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(process.communicate(), _END_SECS)


def _forward(options: Options, root: Path) -> list[str]:
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
