"""The parent of a fleet's worker: what it forks is as apart as a new program, and ends with its owner."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.headless_run import configure_for, environment
from tests.support.sse_server import Say, ScriptedCall, SseServer

ROOT = Path(__file__).parents[2]

PROGRAM = """
import ctypes, json, os, signal, socket, sys, time
from quorum.fleet.fork_server import OWNER, ForkedSession, ForkedWorker, ForkServer

def say(**what):
    os.write(1, json.dumps(what).encode() + b"\\n")

def ask(parent, request, *descriptors):
    socket.send_fds(parent, [json.dumps(request).encode() + b"\\n"], descriptors)

class Sessions:
    def __init__(self, parent):
        self.parent, self.owners, self.text, self.messages = parent, {}, b"", []

    def start(self, number, *arguments, folder="/", output=1):
        theirs, self.owners[number] = os.pipe()
        ask(self.parent, {"start": number, "arguments": arguments, "folder": folder}, output, 2, theirs)
        os.close(theirs)

    def hear(self):
        while b"\\n" not in self.text:
            if not (data := self.parent.recv(4096)):
                os._exit(137)
            self.text += data
        line, self.text = self.text.split(b"\\n", 1)
        return json.loads(line)

def session(arguments, is_exec):
    raise NotImplementedError

def worker(sessions):
    raise NotImplementedError

modules = later = ()
prepare = lambda: None
{code}
end = ForkServer(modules, later, prepare).serve()
if isinstance(end, ForkedWorker):
    sys.exit(worker(Sessions(end.parent)))
elif isinstance(end, ForkedSession):
    sys.exit(session(end.arguments, end.is_exec))
sys.exit(end)
"""


class Program:
    """A program that serves forks, in which `code` says what its worker and its sessions do."""

    def __init__(self, code: str, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM.replace("{code}", code)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self._said = self.process.stdout

    def read(self) -> dict[str, Any]:
        """What one of its processes said next. Fails where all have ended."""
        line = self._said.readline()
        assert line, self.process.communicate()[1]
        said: dict[str, Any] = json.loads(line)
        return said

    def end(self) -> int:
        """The exit code of the parent, after its last child has ended."""
        rest, errors = self.process.communicate(timeout=60)
        assert rest == "", errors
        return self.process.returncode


def test_a_session_has_what_it_was_given_and_nothing_of_the_parent_or_of_other_sessions(tmp_path: Path) -> None:
    program = Program(
        """
mark, prepared, later = [], [], ("colorsys",)
def prepare():
    prepared.append("colorsys" in sys.modules)

def session(arguments, is_exec):
    say(**{
        "arguments": arguments, "is_exec": is_exec, "mark": mark, "folder": os.getcwd(), "prepared": prepared,
        "descriptors": [n for n in range(256) if os.path.exists(f"/proc/self/fd/{n}")],
        "input": os.read(0, 1).decode(), "leads": os.getsid(0) == os.getpid(),
        "blocked": [int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, ())],
        "handlers": [signal.getsignal(n) == h for n, h in handlers.items()],
        "wakeup": signal.set_wakeup_fd(-1), "same": dict(os.environ) == environment,
        "can_be_inspected": ctypes.CDLL(None).prctl(3, 0, 0, 0, 0),
    })
    mark.append(arguments)

environment = dict(os.environ)
handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)}

def worker(sessions):
    for number in (1, 2):
        sessions.start(number, "session", str(number), folder="/usr")
        assert sessions.hear() == {"ended": number, "code": 0}
    return 7
""",
        tmp_path,
    )

    for number in (1, 2):
        assert program.read() == {
            "arguments": ["session", str(number)],
            "is_exec": False,
            "mark": [],
            "prepared": [True],
            "folder": os.path.realpath("/usr"),
            "descriptors": [0, 1, 2, 3],
            "input": "",
            "leads": True,
            "blocked": [],
            "handlers": [True] * 4,
            "wakeup": -1,
            "same": True,
            "can_be_inspected": 0,
        }
    assert program.end() == 7


def test_a_killed_worker_takes_its_sessions_along_and_another_one_takes_its_place(tmp_path: Path) -> None:
    program = Program(
        """
def session(arguments, is_exec):
    say(session=os.getpid())
    signal.pause()

def worker(sessions):
    say(worker=os.getpid(), server_id=end.server_id)
    if not os.path.exists("second"):
        open("second", "w").close()
        sessions.start(1)
        signal.pause()
    return 0
""",
        tmp_path,
    )
    first, session = program.read(), program.read()["session"]

    os.kill(first["worker"], signal.SIGKILL)

    second = program.read()
    assert second["worker"] != first["worker"]
    assert second["server_id"] == first["server_id"]
    assert not Path(f"/proc/{session}").exists()
    assert program.end() == 0


def test_a_parent_that_is_killed_is_seen_by_its_worker_and_the_owner_of_its_sessions_is_gone(
    tmp_path: Path,
) -> None:
    program = Program(
        """
def session(arguments, is_exec):
    say(begun=True)
    os.read(OWNER, 1)
    say(owner="gone")

def worker(sessions):
    sessions.start(1)
    sessions.hear()
""",
        tmp_path,
    )
    assert program.read() == {"begun": True}

    program.process.kill()

    assert program.read() == {"owner": "gone"}
    assert program.end() == -signal.SIGKILL


@pytest.mark.parametrize(("ready", "code", "workers"), [(True, 0, 2), (True, 3, 2), (False, 2, 1)], ids=str)
def test_a_worker_that_ends_ends_the_parent_unless_one_before_it_got_farther(
    ready: bool, code: int, workers: int, tmp_path: Path
) -> None:
    """The first is killed once it is ready, the second cannot begin, the third ends with the code."""
    program = Program(
        f"""
def worker(sessions):
    number = len(os.listdir("."))
    open(str(number), "w").close()
    say(worker=number)
    if number == 0 and {ready}:
        ask(sessions.parent, {{"ready": True, "modules": []}})
        sessions.start(1)
        sessions.hear()
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 1 and {ready}:
        return 2
    if {ready}:
        ask(sessions.parent, {{"ready": True, "modules": []}})
    return {code}

def session(arguments, is_exec):
    return 0
""",
        tmp_path,
    )

    for number in range(workers + ready):
        assert program.read() == {"worker": number}
    assert program.end() == code


def test_each_signal_to_stop_is_told_to_the_worker_once_though_a_terminal_sends_it_to_all(
    tmp_path: Path,
) -> None:
    program = Program(
        """
def worker(sessions):
    say(worker=os.getpid())
    assert sessions.hear() == {"stop": True}
    say(stopped=1)
    assert sessions.hear() == {"stop": True}
    return 5
""",
        tmp_path,
    )
    worker = program.read()["worker"]

    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(worker, number)
        program.process.send_signal(number)
        if number == signal.SIGINT:
            assert program.read() == {"stopped": 1}

    assert program.end() == 5


@pytest.mark.parametrize(
    "change",
    [
        "modules = ('threaded',)",
        "import quorum.fleet.fork_server as s; s._identify_program = lambda: time.time()",
    ],
    ids=["another thread", "another version"],
)
def test_where_a_fork_is_not_safe_a_session_is_to_load_all_itself(change: str, tmp_path: Path) -> None:
    (tmp_path / "threaded.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    program = Program(
        f"""
def session(arguments, is_exec):
    say(is_exec=is_exec)

def worker(sessions):
    sessions.start(1)
    return sessions.hear()["code"]
{change}
""",
        tmp_path,
    )

    assert program.read() == {"is_exec": True}
    assert program.end() == 0


@pytest.mark.long
async def test_a_session_finds_all_that_it_needs_for_a_command_imported(tmp_path: Path) -> None:
    script = """
import atexit, sys
from importlib import import_module
from quorum.fleet.work import OF_SESSIONS, OF_WORKERS, list_first_uses
for name in (*OF_WORKERS, *OF_SESSIONS, *list_first_uses({"openai-chat"}, uses_bucket=False)):
    import_module(name)
known = set(sys.modules)
atexit.register(lambda: print("NEW", *sorted(set(sys.modules) - known)))
from quorum.__main__ import main
main()
"""
    command = ScriptedCall("c1", "run_command", json.dumps({"command": "echo done > file"}))
    edit = ScriptedCall("c2", "write_file", json.dumps({"path": "other", "content": "text"}))
    async with SseServer("openai-chat") as server:
        server.script = [Say(calls=(command, edit), stop="tool_use"), Say(pieces=("done",))]
        configure_for(tmp_path / "home", server)
        (tmp_path / "work").mkdir()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-c", script, "run", "--mode", "auto", "write it"),
            cwd=tmp_path / "work",
            env=environment(tmp_path / "home", PYTHONPATH=str(ROOT)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()

    assert (tmp_path / "work/file").exists(), err.decode()
    new = out.decode().partition("NEW")[2].split()
    inner = [name for name in new if name.startswith(("quorum.domain", "quorum.application", "quorum.infra"))]
    # but for the ledger in a file, which a fleet has not
    assert [name for name in inner if not name.startswith("quorum.infrastructure.store.ledger")] == []


@pytest.mark.long
def test_what_the_parent_imports_leaves_no_thread_no_descriptor_and_no_variable() -> None:
    script = """
import os, sys
before = dict(os.environ), os.listdir("/proc/self/fd"), os.getcwd()
from importlib import import_module
from quorum.fleet.work import OF_PROVIDERS, OF_SESSIONS, OF_WORKERS, list_first_uses, prepare_sessions
for name in (*OF_WORKERS, *OF_SESSIONS, *list_first_uses(OF_PROVIDERS, uses_bucket=True)):
    import_module(name)
prepare_sessions()
assert len(os.listdir("/proc/self/task")) == 1, os.listdir("/proc/self/task")
assert before == (dict(os.environ), os.listdir("/proc/self/fd"), os.getcwd())
"""
    subprocess.run(
        [sys.executable, "-P", "-c", script], cwd=ROOT, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
