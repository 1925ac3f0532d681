"""Proves the sandbox on this machine: each attempt is made without what should hold it, then with it."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import select
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from enum import Enum
from functools import partial
from pathlib import Path

from msgspec import Struct

from quorum.domain.errors import ToolError
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.shell.network_hosts import PROXY_PORT, HostList, sort_entries
from quorum.domain.shell.sandbox import SandboxOff
from quorum.infrastructure.doctor.finding import Finding, fail, report_ok, warn
from quorum.infrastructure.execution.commands.environment import build_command_environment
from quorum.infrastructure.execution.commands.process import SupervisedProcess
from quorum.infrastructure.execution.sandbox.confinement import Launch
from quorum.infrastructure.execution.sandbox.preflight import keep_proof
from quorum.infrastructure.execution.sandbox.sandbox import Sandbox

BEGAN = "began"
# Every attempt prints that it began: one that could not be run would seem to be held.
PREAMBLE = f"""
import json, os, socket, sys
stage = json.loads(sys.argv[1])
print({BEGAN!r}, flush=True)
def write(path):
    with open(path, "w") as file:
        file.write("changed")
def read(path):
    with open(path, "rb") as file:
        print(file.read().decode("utf-8", "replace"))
"""


class Without(Enum):
    """What an attempt is tried without first, so that it is known to do something.

    SANDBOX: it runs as any program. HOSTS: it runs in the sandbox, and the list of hosts lets it through.
    """

    SANDBOX = "sandbox"
    HOSTS = "hosts"


class Trace(Struct, frozen=True, kw_only=True):
    """What an attempt left behind: what it printed, and what arrived at the servers of the stage."""

    output: str
    arrived: str
    is_victim_alive: bool


class Attempt(Struct, frozen=True, kw_only=True):
    """`code` is Python. `did_harm` looks at what is left of it, from outside. `only_on` names the system whose
    means it uses, where others have none. `may_be_shut`: the system may keep it from everybody."""

    name: str
    code: str
    did_harm: Callable[[Stage, Trace], bool]
    without: Without = Without.SANDBOX
    only_on: str = ""
    may_be_shut: bool = False


class Stage(Struct, frozen=True, kw_only=True):
    """A home with secrets, a workspace in it, and what lies beside both. `token` stands in all that is
    secret."""

    folder: Path
    token: str

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def root(self) -> Path:
        return self.home / "project"

    @property
    def beside(self) -> Path:
        return self.folder / "beside"

    @property
    def own(self) -> Path:
        return self.folder / "state"

    def make(self) -> None:
        """Raises OSError."""
        for file, text in (
            (self.home / ".ssh" / "id_ed25519", self.token),
            (self.home / ".profile", "as it was"),
            (self.root / ".git" / "config", "as it was"),
            (self.root / ".git" / "hooks" / "pre-commit", "as it was"),
            (self.root / "AGENTS.md", "as it was"),
            (self.root / ".env", self.token),
            (self.root / "source.txt", "as it was"),
            (self.beside / "file", "as it was"),
            (self.own / "ledger", self.token),
        ):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (self.root / "to-secret").symlink_to(self.home / ".ssh" / "id_ed25519")
        (self.root / "to-beside").symlink_to(self.beside)

    def is_changed(self, *paths: Path) -> bool:
        """Whether one of these files holds something else than at the beginning, or is gone."""
        return any(not path.is_file() or path.read_text(errors="replace") != "as it was" for path in paths)


def _shows(stage: Stage, trace: Trace) -> bool:
    return stage.token in trace.output


def _arrives(stage: Stage, trace: Trace) -> bool:
    return stage.token in trace.arrived


def _kills(_stage: Stage, trace: Trace) -> bool:
    return not trace.is_victim_alive


ATTEMPTS = (
    Attempt(
        name="write beside the workspace",
        code='write(stage["beside"] + "/file")',
        did_harm=lambda stage, _: stage.is_changed(stage.beside / "file"),
    ),
    Attempt(
        name="write through a link in the workspace",
        code='write("to-beside/file")',
        did_harm=lambda stage, _: stage.is_changed(stage.beside / "file"),
    ),
    Attempt(
        name="replace a folder beside the workspace",
        code='os.rename(stage["beside"], stage["beside"] + ".old")',
        did_harm=lambda stage, _: not stage.beside.exists(),
    ),
    Attempt(
        name="write in the home",
        code='write(stage["home"] + "/.profile")',
        did_harm=lambda stage, _: stage.is_changed(stage.home / ".profile"),
    ),
    Attempt(
        name="write a protected path",
        code='write(".git/hooks/pre-commit")',
        did_harm=lambda stage, _: stage.is_changed(stage.root / ".git/hooks/pre-commit"),
    ),
    Attempt(
        name="replace a protected path",
        code='os.unlink("AGENTS.md"); write("AGENTS.md")',
        did_harm=lambda stage, _: stage.is_changed(stage.root / "AGENTS.md"),
    ),
    Attempt(
        name="move a protected folder away and make another",
        code='os.rename(".git", "x"); os.makedirs(".git/hooks"); write(".git/config")',
        did_harm=lambda stage, _: stage.is_changed(stage.root / ".git/config"),
    ),
    Attempt(
        name="write a protected path by another name of it",
        code='os.link(".git/config", "alias"); write("alias")',
        did_harm=lambda stage, _: stage.is_changed(stage.root / ".git/config"),
    ),
    Attempt(
        name="read a secret of the home",
        code='read(stage["home"] + "/.ssh/id_ed25519")',
        did_harm=_shows,
    ),
    Attempt(name="read a secret through a link in the workspace", code='read("to-secret")', did_harm=_shows),
    Attempt(
        name="read a secret by another name of it",
        code='os.link(stage["home"] + "/.ssh/id_ed25519", "alias"); read("alias")',
        did_harm=_shows,
    ),
    Attempt(name="read a sensitive file of the workspace", code='read(".env")', did_harm=_shows),
    Attempt(
        name="read a sensitive file once it has another name",
        code='os.rename(".env", "plain"); read("plain")',
        did_harm=_shows,
    ),
    Attempt(name="read what quorum keeps", code='read(stage["own"] + "/ledger")', did_harm=_shows),
    Attempt(
        name="read a key in the environment",
        code='print(os.environ.get("PROOF_API_KEY"))',
        did_harm=_shows,
    ),
    Attempt(
        name="use a descriptor that quorum has open",
        code='print(os.pread(stage["descriptor"], 100, 0))',
        did_harm=_shows,
    ),
    Attempt(
        name="end another process",
        code='os.kill(stage["victim"], 9)',
        did_harm=_kills,
    ),
    Attempt(
        name="read the environment of another process",
        code='read("/proc/%d/environ" % stage["victim"])',
        did_harm=_shows,
        only_on="linux",
        may_be_shut=True,
    ),
    Attempt(
        name="trace another process",
        code="""
import ctypes
kernel = ctypes.CDLL(None, use_errno=True)
if kernel.ptrace(0x4206, stage["victim"], None, None) == 0:  # it is not stopped, and free when this ends
    print(stage["mark"])
""",
        did_harm=lambda stage, trace: f"traced {stage.token}" in trace.output,
        only_on="linux",
        may_be_shut=True,
    ),
    Attempt(
        name="make a user namespace",
        code="""
import ctypes
if ctypes.CDLL(None, use_errno=True).unshare(0x10000000) == 0:
    print(stage["mark"])
""",
        did_harm=lambda stage, trace: f"traced {stage.token}" in trace.output,
        only_on="linux",
        may_be_shut=True,
    ),
    Attempt(
        name="connect to the network",
        code='socket.create_connection(("127.0.0.1", stage["tcp"]), 5).sendall(stage["token"].encode())',
        did_harm=_arrives,
    ),
    Attempt(
        name="send a datagram",
        code="""
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.sendto(stage["token"].encode(), ("127.0.0.1", stage["udp"]))
""",
        did_harm=_arrives,
    ),
    Attempt(
        name="connect to a socket of another program",
        code="""
connection = socket.socket(socket.AF_UNIX)
connection.connect(stage["socket"])
connection.sendall(stage["token"].encode())
""",
        did_harm=_arrives,
    ),
    Attempt(
        name="have the system start a program",
        code="""
import subprocess, time
launched, label = stage["beside"] + "/launched", "proof." + stage["token"]
subprocess.run(["/bin/launchctl", "submit", "-l", label, "--", "/usr/bin/touch", launched])
for _ in range(50):
    if os.path.exists(launched): break
    time.sleep(0.1)
subprocess.run(["/bin/launchctl", "remove", label])
""",
        did_harm=lambda stage, _: (stage.beside / "launched").exists(),
        only_on="darwin",
        may_be_shut=True,
    ),
    Attempt(
        name="reach a host that is not listed by the proxy",
        code="""
connection = socket.create_connection(("127.0.0.1", stage["proxy"]), 5)
connection.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n" % stage["tcp"])
print(connection.recv(1000))
connection.sendall(stage["token"].encode())
connection.shutdown(socket.SHUT_WR)
while connection.recv(1000): pass
""",
        did_harm=_arrives,
        without=Without.HOSTS,
        only_on="linux",
    ),
)


_LIMIT_SECS = 30.0
_STAGE = "quorum-proof-"
# Far longer than a proof takes: what is as old was left by one that was killed.
_ABANDONED_SECS = 3600.0
# It answers as long as it lives.
_VICTIM = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
_AT_ONCE = 4
_ANSWER_SECS = 5.0
_LAST = b"last"
_NO_HOSTS = HostList()
_ALL_HOSTS = HostList(ranges=sort_entries(["127.0.0.1"])[1])


class Held(Enum):
    """HELD: it did harm without, and none with it. BROKEN: it did harm all the same. SHUT: nobody can do it
    here. UNTRIED: it could not be tried, or did nothing without it either, so that nothing is shown."""

    HELD = "held"
    BROKEN = "broken"
    SHUT = "shut"
    UNTRIED = "untried"


class ProofLine(Struct, frozen=True, kw_only=True):
    """What became of one attempt; `said` is what it printed where nothing is shown."""

    name: str
    held: Held
    said: str = ""

    @property
    def finding(self) -> Finding:
        """The line as the doctor prints it."""
        match self.held:
            case Held.HELD:
                return report_ok(self.name, "held")
            case Held.SHUT:
                return report_ok(self.name, "held by the system, also without the sandbox")
            case Held.BROKEN:
                return fail(self.name, "NOT HELD", "do not let commands run unasked on this machine")
            case Held.UNTRIED:
                return warn(self.name, f"not shown: {self.said or 'it printed nothing'}")


Alter = Callable[[Launch], Launch]


async def prove_sandbox(
    environ: Mapping[str, str], *, attempts: Sequence[Attempt] = ATTEMPTS, alter: Alter = lambda launch: launch
) -> tuple[ProofLine, ...]:
    """A line for each attempt that this system knows. `alter` takes a protection away.

    Raises OSError where no stage can be made, and ToolError where there is no sandbox.
    """
    known = [each for each in attempts if each.only_on in ("", sys.platform)]
    room = asyncio.Semaphore(_AT_ONCE)

    async def prove(attempt: Attempt) -> ProofLine:
        async with room:
            return await _prove(attempt, environ, alter)

    return tuple(await asyncio.gather(*map(prove, known)))


def is_proven(lines: Sequence[ProofLine]) -> bool:
    """Whether all of it held."""
    return bool(lines) and all(line.held in (Held.HELD, Held.SHUT) for line in lines)


async def _prove(attempt: Attempt, environ: Mapping[str, str], alter: Alter) -> ProofLine:
    is_without = attempt.without is Without.SANDBOX
    does_harm, before = await _try(attempt, environ, None if is_without else lambda launch: launch, _ALL_HOSTS)
    did_harm, after = await _try(attempt, environ, alter, _NO_HOSTS)
    if did_harm:
        return ProofLine(name=attempt.name, held=Held.BROKEN)
    if BEGAN not in after:
        return ProofLine(name=attempt.name, held=Held.UNTRIED, said=_shorten(after))
    if not does_harm:
        held = Held.SHUT if attempt.may_be_shut and BEGAN in before else Held.UNTRIED
        return ProofLine(name=attempt.name, held=held, said=_shorten(before))
    return ProofLine(name=attempt.name, held=Held.HELD)


def _shorten(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip() and line != BEGAN]
    return lines[-1][:200] if lines else ""


async def _try(
    attempt: Attempt, environ: Mapping[str, str], alter: Alter | None, hosts: HostList
) -> tuple[bool, str]:
    """Make an attempt in a stage of its own; whether it did harm, and what it printed. None: without a
    sandbox."""
    with tempfile.TemporaryDirectory(prefix=_STAGE, ignore_cleanup_errors=True) as folder:
        stage = _make_stage(folder)
        async with _open_surroundings(stage) as surroundings:
            given = surroundings.describe()
            argv = [sys.executable, "-I", "-S", "-c", PREAMBLE + attempt.code, json.dumps(given)]
            inherited = {**environ, "HOME": str(stage.home), "PROOF_API_KEY": stage.token}
            if alter is None:
                output = await _run_plainly(argv, stage, inherited, surroundings.descriptor)
            else:
                output = await _run_confined(argv, stage, inherited, alter, hosts)
            trace = Trace(
                output=output,
                arrived=await surroundings.read_arrived(),
                is_victim_alive=await asyncio.to_thread(_answers, surroundings.victim),
            )
            return attempt.did_harm(stage, trace), output


def _make_stage(folder: str) -> Stage:
    stage = Stage(folder=Path(folder).resolve(), token=secrets.token_hex(16))
    stage.make()
    return stage


def _start_victim(stage: Stage) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _VICTIM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PROOF_TOKEN": stage.token, "PATH": os.defpath},
        cwd=stage.beside,
        start_new_session=True,  # Ctrl+C is ours alone
    )


async def _run_plainly(
    argv: Sequence[str], stage: Stage, environment: Mapping[str, str], descriptor: int
) -> str:
    def run() -> bytes:
        done = subprocess.run(
            argv,
            cwd=stage.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(descriptor,),
            start_new_session=True,
            timeout=_LIMIT_SECS,
            check=False,
        )
        return done.stdout

    return (await asyncio.to_thread(run)).decode("utf-8", "replace")


async def _run_confined(
    argv: Sequence[str], stage: Stage, inherited: Mapping[str, str], alter: Alter, hosts: HostList
) -> str:
    environment = build_command_environment(inherited, ())
    sandbox = Sandbox(
        choice="require",
        needs_proof=False,
        policy=PathPolicy(roots=(str(stage.root),)),
        environ=environment,
        own=[stage.own],
        readable=[sys.prefix, sys.base_prefix],
        network=lambda: False,
        list_hosts=lambda: hosts,
    )

    def build() -> Launch:
        return alter(sandbox.confine().launch(argv, cwd=stage.root, environment=environment))

    launch = await asyncio.to_thread(build)
    printed = bytearray()
    end = launch.begin(was_asked=False)
    try:
        process = SupervisedProcess(
            launch.argv,
            cwd=stage.root,
            environment=environment,
            timeout_secs=_LIMIT_SECS,
            on_output=printed.extend,
            keys=launch.keys,
            guards=launch.guards,
            proxy=launch.proxy,
        )
        ending = await process.wait()
        await asyncio.to_thread(launch.finish, was_asked=False)
    finally:
        end()
    return printed.decode("utf-8", "replace") + (ending.failure or "")


class _Surroundings:
    """What stands beside a command: another process, servers, and an open file of ours."""

    def __init__(self, stage: Stage, victim: subprocess.Popen[bytes], descriptor: int) -> None:
        self._stage = stage
        self.victim = victim
        self.descriptor = descriptor
        self._arrived = bytearray()
        self._open: set[asyncio.Task[None]] = set()
        self._is_told = asyncio.Event()
        self.tcp = self.udp = 0

    def describe(self) -> dict[str, str | int]:
        """What an attempt is told."""
        stage = self._stage
        return {
            "home": str(stage.home),
            "beside": str(stage.beside),
            "own": str(stage.own),
            "token": stage.token,
            "mark": f"traced {stage.token}",
            "victim": self.victim.pid,
            "descriptor": self.descriptor,
            "tcp": self.tcp,
            "udp": self.udp,
            "socket": str(stage.beside / "sock"),
            "proxy": PROXY_PORT,
        }

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._receive(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            self._arrived += await reader.read(1000)
        writer.close()

    def receive_datagrams(self, server: socket.socket) -> None:
        with suppress(BlockingIOError):
            data = server.recv(1000)
            self._arrived += data
            if data == _LAST:
                self._is_told.set()

    async def read_arrived(self) -> str:
        """What the servers got from a command that has ended: all that came before what we send ourselves."""
        for connect in (
            partial(asyncio.open_connection, "127.0.0.1", self.tcp),
            partial(asyncio.open_unix_connection, self._stage.beside / "sock"),
        ):
            with suppress(OSError):  # the attempt may have taken the socket away
                reader, writer = await connect()
                writer.write(_LAST)
                await reader.read()
                writer.close()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(_LAST, ("127.0.0.1", self.udp))
        await asyncio.wait_for(self._is_told.wait(), _LIMIT_SECS)
        if self._open:
            await asyncio.wait(self._open, timeout=_LIMIT_SECS)
        return self._arrived.decode("utf-8", "replace")


def _answers(victim: subprocess.Popen[bytes]) -> bool:
    """Whether a process still does what it is for. Waits for it."""
    assert victim.stdin is not None
    assert victim.stdout is not None
    try:
        victim.stdin.write(b"?\n")
        victim.stdin.flush()
    except BrokenPipeError:
        return False
    ready, _, _ = select.select([victim.stdout], [], [], _ANSWER_SECS)
    return bool(ready) and victim.stdout.readline() == b"?\n"


@asynccontextmanager
async def _open_surroundings(stage: Stage) -> AsyncIterator[_Surroundings]:
    victim = _start_victim(stage)
    descriptor = os.open(stage.own / "ledger", os.O_RDONLY)
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    loop = asyncio.get_running_loop()
    try:
        await asyncio.to_thread(_answers, victim)  # it is up, and its environment is its own
        os.set_inheritable(descriptor, True)
        datagrams.bind(("127.0.0.1", 0))
        datagrams.setblocking(False)
        surroundings = _Surroundings(stage, victim, descriptor)
        loop.add_reader(datagrams, surroundings.receive_datagrams, datagrams)
        tcp = await asyncio.start_server(surroundings.accept, "127.0.0.1", 0)
        local = await asyncio.start_unix_server(surroundings.accept, stage.beside / "sock")
        surroundings.tcp = tcp.sockets[0].getsockname()[1]
        surroundings.udp = datagrams.getsockname()[1]
        async with tcp, local:
            yield surroundings
    finally:
        loop.remove_reader(datagrams)
        datagrams.close()
        os.close(descriptor)
        victim.kill()
        with suppress(BrokenPipeError):
            victim.communicate()


def remove_abandoned_stages(now: float) -> None:
    """Remove what killed proofs have left of their stages, by the time in seconds that it is now."""
    for place in Path(tempfile.gettempdir()).glob(f"{_STAGE}*"):
        with suppress(FileNotFoundError):  # another proof removes it as well
            status = place.lstat()
            is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
            if is_ours and now - status.st_mtime > _ABANDONED_SECS:
                shutil.rmtree(place, ignore_errors=True)


async def report_proof(environ: Mapping[str, str]) -> tuple[Finding, ...]:
    """The proof as findings; what it found is kept for sessions."""
    remove_abandoned_stages(time.time())
    sandbox = Sandbox(
        choice="auto", policy=PathPolicy(roots=(os.getcwd(),)), environ=environ, needs_proof=False
    )
    state = await sandbox.find_state()
    if isinstance(state, SandboxOff):
        return (fail("sandbox", state.why, state.remedy),)
    try:
        lines = await prove_sandbox(environ)
    except OSError as error:
        folder = tempfile.gettempdir()
        remedy = f"it needs a folder in {folder}; TMPDIR can name another, by a short path"
        return (fail("proof", f"it could not be made: {error}", remedy),)
    except ToolError as error:
        return (fail("proof", f"it could not be made: {error}", "try again (docs/sandbox.md)"),)
    broken = [line.name for line in lines if line.held not in (Held.HELD, Held.SHUT)]
    found = [line.finding for line in lines]
    try:
        keep_proof(broken, environ)
    except OSError as error:
        found.append(
            warn("proof", f"it could not be kept: {error}", "see to the state folder (docs/configuration.md)")
        )
    return tuple(found)
