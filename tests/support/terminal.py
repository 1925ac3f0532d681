"""Drives the installed full-screen `quorum` in a pseudo-terminal, as a person would."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import pexpect
from ptyprocess import PtyProcess

from quorum.tui.keys.keyboard_guard import CAME_TOO_EARLY
from tests.support.forked_quorum import can_fork, fork_quorum_in_a_terminal
from tests.support.headless_run import QUORUM, environment
from tests.support.liveness import wait_until

# Terminal sequences, so that what was painted can be searched as text.
_SEQUENCES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[P_^X].*?\x1b\\|[ -/]*[0-~])"
)

ESCAPE, CTRL_C, ENTER, CLEAR_LINE = "\x1b", "\x03", "\r", "\x15"


def _take_usual_signals() -> None:
    """What a shell in a terminal does for its programs, and what starts the tests may not have done."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


class _Fork(PtyProcess):
    """A fork in a terminal: no child of ours, so that a socket says how it ends."""

    def __init__(self, pid: int, terminal: int, life: socket.socket) -> None:
        super().__init__(pid, terminal)
        self._life = life

    def isalive(self) -> bool:
        """Whether it has not ended."""
        if not self.terminated and select.select([self._life], [], [], 0)[0]:
            self.wait()
        return not self.terminated

    def wait(self) -> int | None:
        """Its exit code once it has one; None where a signal ended it."""
        if not self.terminated:
            code = int(self._life.recv(32))
            self._life.close()
            self.terminated = True
            self.exitstatus, self.signalstatus = (code, None) if code >= 0 else (None, -code)
        return self.exitstatus


class _SpawnedFork(pexpect.spawn):
    def _spawnpty(
        self,
        args: list[str | bytes],
        *,
        env: Mapping[str, str],
        cwd: str,
        dimensions: tuple[int, int],
        **_: object,
    ) -> PtyProcess:
        ours, theirs = os.openpty()
        termios.tcsetwinsize(theirs, dimensions)
        words = map(os.fsdecode, args)
        pid, life = fork_quorum_in_a_terminal(*words, terminal=theirs, cwd=Path(cwd), env=env)
        os.close(theirs)
        return _Fork(pid, ours, life)


class Terminal:
    """One running app. `painted` is all text that was ever painted, sequences removed.

    `variables` are set in its environment besides the usual ones; `parent` is the command that starts it, where
    it is not the leader of the session itself. The app is a fork of a process that has imported it, or,
    where that matters, the program.
    """

    def __init__(
        self,
        cwd: Path,
        home: Path,
        *,
        rows: int,
        columns: int,
        arguments: list[str],
        variables: Mapping[str, str] | None = None,
        program: Path = QUORUM,
        parent: Sequence[str] = (),
        is_program: bool = False,
    ) -> None:
        first, *rest = *parent, str(program), *arguments
        env = environment(home, **{"TERM": "xterm-256color", "COLORTERM": "truecolor", **(variables or {})})
        is_fork = first == str(QUORUM) and not is_program and can_fork(env)
        self.process = (_SpawnedFork if is_fork else pexpect.spawn)(
            first,
            rest,
            cwd=str(cwd),
            env=env,
            dimensions=(rows, columns),
            encoding="utf-8",
            codec_errors="replace",
            timeout=30,
            preexec_fn=_take_usual_signals,
        )
        self._raw = ""
        self._may_hold_keys = False  # a key that came before those of a dialog stays in the prompt

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.process.close(force=True)
        except pexpect.ExceptionPexpect:  # killed, and on a busy machine it takes longer to end
            self.process.ptyproc.wait()
            self.process.close()

    @property
    def raw(self) -> str:
        """All bytes painted so far, sequences included."""
        self._drain()
        return self._raw

    @property
    def painted(self) -> str:
        """All text painted so far."""
        self._drain()
        return _SEQUENCES.sub("", self._raw)

    def type(self, text: str) -> None:
        """Send keys."""
        self.process.send(text)

    def submit(self, prompt: str) -> None:
        """Type a prompt and send it."""
        if self._may_hold_keys:
            self.process.send(CLEAR_LINE)
            self._may_hold_keys = False
        self.process.send(prompt + ENTER)

    @contextmanager
    def fresh(self) -> Iterator[None]:
        """What is painted from here on counts alone."""
        self._drain()
        self._raw = ""
        yield

    def wait_for(self, text: str, timeout: float = 120) -> None:
        """Until this text has been painted. Raises AssertionError with what was painted instead."""
        self.wait_for_any(text, timeout=timeout)

    def wait_for_any(self, *texts: str, timeout: float = 120) -> str:
        """Until one of these texts has been painted, and which: a state that passes may never be seen on a busy
        machine, where what follows it comes as soon. Raises AssertionError as `wait_for` does."""
        deadline = time.monotonic() + timeout
        while True:
            painted = self.painted
            if (found := next((text for text in texts if text in painted), None)) is not None:
                return found
            if time.monotonic() > deadline or not self._read_more():
                named = " or ".join(map(repr, texts))
                raise AssertionError(f"{named} was never painted; the last was:\n{self.painted[-3000:]}")

    def wait_until_ready(self) -> None:
        """Until the session of a new app with the offline model is open: the welcome names its model."""
        self.wait_for("offline/offline")

    def wait_until(self, holds: Callable[[], object], what: str) -> None:
        """Wait for what the app does. What it paints meanwhile is taken, as every terminal does: else it could
        not go on. Raises AssertionError with `what` that is."""

        def looks_on() -> object:
            self._drain()
            return holds()

        wait_until(looks_on, what)

    def press_when_awake(self, key: str, expected: str, *, within: float = 100) -> None:
        """Press a key of a dialog until its guard has let it through and what it leads to is painted.

        `expected` must be text that was not on the screen before, since a repaint of it would count as well.
        `within` is generous, because a key that is pressed twice may do something else the second time.
        """
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline:
            time.sleep(0.5)  # the guard wants 0.4 s without keys: this pause is what it asks for
            with self.fresh():
                self.type(key)
                try:
                    if self.wait_for_any(expected, CAME_TOO_EARLY, timeout=within) == CAME_TOO_EARLY:
                        self.wait_for(expected, timeout=8)  # so long, too, that the key is not taken for text
                except AssertionError:
                    self._may_hold_keys = True
                    continue
                return
        raise AssertionError(f"{key!r} did not lead to {expected!r}:\n{self.painted[-2000:]}")

    def quit(self) -> str:
        """Ctrl+C twice within a second, until both were seen so, also by a busy machine: what is written then.

        A turn that still runs takes the first for itself.
        """
        deadline = time.monotonic() + 120
        while True:
            self.type(CTRL_C)
            time.sleep(0.1)
            self.type(CTRL_C)
            if self.has_ended(within=5) or time.monotonic() > deadline:
                break
        last = str(self.process.before)
        assert self.ended() == 0
        return last

    def hang_up(self) -> None:
        """Take the terminal away, as a closed window does."""
        self.process.ptyproc.fileobj.close()

    def has_ended(self, within: float) -> bool:
        """Whether the app ends within so many seconds."""
        try:
            self.process.expect(pexpect.EOF, timeout=within)
        except pexpect.TIMEOUT:
            return False
        return True

    def ended(self, timeout: float = 120) -> int:
        """Wait for the app's end; its exit code."""
        self.process.expect(pexpect.EOF, timeout=timeout)
        self.process.close()
        assert self.process.exitstatus is not None
        return self.process.exitstatus

    def _read_more(self) -> bool:
        """Take what is painted within a moment; whether there may be more."""
        try:
            self._raw += self.process.read_nonblocking(65536, timeout=0.2)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        return True

    def _drain(self) -> None:
        while True:
            try:
                self._raw += self.process.read_nonblocking(65536, timeout=0)
            except (pexpect.TIMEOUT, pexpect.EOF):
                return


@contextmanager
def run_until_killed(
    cwd: Path, home: Path, *, rows: int, columns: int, arguments: Sequence[str] = ()
) -> Iterator[Terminal]:
    """An app that is killed when the block ends, as a lack of memory does, and has ended then."""
    with Terminal(cwd, home, rows=rows, columns=columns, arguments=list(arguments)) as terminal:
        try:
            yield terminal
        finally:
            terminal.process.kill(signal.SIGKILL)
            assert terminal.has_ended(within=120)
