"""What a command could try against the sandbox, as programs that do no harm beyond a folder made for them."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path

from msgspec import Struct

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
