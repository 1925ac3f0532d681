"""Whether bubblewrap is here and works: it is tried, since containers and distributions may forbid it.

It speaks of this machine, this version of its system and this code of ours, and of no other.
"""

from __future__ import annotations

import hashlib
import os
import platform
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from quorum.application.program_lookup import (
    explain_missing,
    find_as_shell_does,
    find_program,
    select_loader_environment,
)
from quorum.application.whole_file import write_whole_file
from quorum.domain.shell.sandbox import Keys, SandboxOff, SandboxOn, SandboxState
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.execution.program import find_compiled_form
from quorum.infrastructure.execution.sandbox import seatbelt

PROGRAM = "bwrap"
_ELSEWHERE = "run quorum on Linux, or in a virtual machine or container of its own"
# What commands are started by.
_SUPERVISOR = str(Path(__file__).parents[1] / "commands" / "supervisor.py")
LIMIT_SECS = 10.0
# Everything that a command is later run with and that a kernel may refuse.
NAMESPACES = (
    "--unshare-user-try",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--cap-drop",
    "ALL",
    "--new-session",
    "--seccomp",
    "6",  # the descriptor at which the supervisor hands over the filter
)
# Without capabilities root still may write what belongs to it, settings of the kernel among it.
_KERNEL = (
    *("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi"),
    *("/proc/driver", "/proc/dynamic_debug", "/proc/mtrr", "/proc/asound", "/proc/pressure"),
)
# What every command sees, before anything is hidden or opened.
GROUND = (
    *("--ro-bind", "/", "/"),
    *("--dev", "/dev"),
    *("--proc", "/proc"),
    *(word for path in _KERNEL for word in ("--ro-bind-try", path, path)),
    # The names of the kernel's keys; their contents are closed by the supervisor.
    *(("--ro-bind", "/dev/null", "/proc/keys") if os.path.exists("/proc/keys") else ()),
)
_TRIAL = (
    *NAMESPACES,
    "--unshare-net",
    "--die-with-parent",
    *GROUND,
    *("--tmpfs", "/tmp"),
)
_INSTALL = "install bubblewrap, for example with `apt install bubblewrap` or `dnf install bubblewrap`"
_PERMIT = "allow user namespaces on this machine (docs/sandbox.md says how)"


def look_for_sandbox(
    path: str | None,
    *,
    untrusted: Sequence[Path] = (),
    limit_secs: float = LIMIT_SECS,
    explain_missing_proof: Callable[[], str] = str,
) -> SandboxState:
    """Find bubblewrap on `path` (as PATH is written) and try it, for `limit_secs` a trial at most.

    Programs below `untrusted` folders do not count: a workspace must not bring its own. `explain_missing_proof`
    says why the sandbox of macOS was not proven here, empty where it was. Starts processes and
    waits for them; call it off the event loop.
    """
    if sys.platform == "darwin":
        return look_for_seatbelt(explain_missing_proof, limit_secs)
    if sys.platform != "linux":
        return SandboxOff(
            why="there is no sandbox for this system",
            remedy=_ELSEWHERE,
        )
    path, closed = path or os.defpath, tuple(map(str, untrusted))
    program = find_program(PROGRAM, path, closed)
    if program is None and find_as_shell_does(PROGRAM, path) is not None:
        return SandboxOff(why=explain_missing(PROGRAM, path, closed), remedy=_INSTALL)
    if program is None:
        return SandboxOff(why=f"bubblewrap is not installed ({PROGRAM} is not on PATH)", remedy=_INSTALL)
    try:
        version = _run_trial([program, "--version"], limit_secs)
        if not version.startswith("bubblewrap "):
            raise _Failed(f"{program} does not say that it is bubblewrap")
        true = find_program("true", os.defpath) or "/bin/true"
        guarded = [sys.executable, "-I", "-S", find_compiled_form(_SUPERVISOR), "try", choose_keys(program)]
        _run_trial([*guarded, program, *_TRIAL, "--", true], limit_secs)
    except _Failed as failure:
        return SandboxOff(why=f"bubblewrap does not work here: {failure}", remedy=_PERMIT)
    return SandboxOn(program=program, version=version)


def look_for_seatbelt(explain_missing_proof: Callable[[], str], limit_secs: float = LIMIT_SECS) -> SandboxState:
    """Try the sandbox of macOS, which counts once it was proven on this machine."""
    try:
        _run_trial([seatbelt.PROGRAM, "-p", "(version 1)(allow default)", "/usr/bin/true"], limit_secs)
    except _Failed as failure:
        return SandboxOff(why=f"sandbox-exec does not work here: {failure}", remedy=_ELSEWHERE)
    if why := explain_missing_proof():
        return SandboxOff(why=why, remedy=REMEDY)
    return SandboxOn(program=seatbelt.PROGRAM, version="sandbox-exec")


def choose_keys(program: str) -> Keys:
    """Which of the kernel's keys commands reach: with bubblewrap as a setuid program, which could not gain its
    rights once system calls are refused, those of a session keyring of their own. macOS has no such keys.
    """
    if program == seatbelt.PROGRAM:
        return "all"
    return "own" if os.stat(program).st_mode & stat.S_ISUID else "none"


class _Failed(Exception):
    """A trial did not end well; the text says how, in one line."""


def _run_trial(argv: Sequence[str], limit_secs: float) -> str:
    """What a trial printed. Raises _Failed where it could not be run, failed, or took too long."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit_secs,
            check=False,
            env={**select_loader_environment(os.environ), "PATH": os.defpath, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired as error:
        raise _Failed(f"it did not answer within {limit_secs:g} s") from error
    except OSError as error:
        raise _Failed(error.strerror or str(error)) from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()
        first = said.split("\n", 1)[0].removeprefix(f"{PROGRAM}: ")[:300]
        raise _Failed(first or f"it exited with {done.returncode}")
    return done.stdout.decode("utf-8", "replace").strip()[:100]


_FILE = "sandbox-proof.json"
REMEDY = "run `quorum doctor --prove`"


class ProofRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`broken` are the names of what did not hold or was not shown; `code` is a digest of what makes the
    sandbox."""

    machine: str
    system: str
    code: str
    broken: tuple[str, ...] = ()

    @classmethod
    def of_now(cls, broken: Sequence[str] = ()) -> ProofRecord:
        """One that speaks of this machine as it is."""
        system = " ".join((platform.system(), platform.release(), platform.version(), platform.mac_ver()[0]))
        return cls(machine=platform.node(), system=system.strip(), code=_compute_digest(), broken=tuple(broken))


def keep_proof(broken: Sequence[str], environ: Mapping[str, str]) -> bool:
    """In place of what was found before; False where there is no place for it. Raises OSError."""
    if (path := _locate(environ)) is None:
        return False
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_whole_file(path, msgspec.json.encode(ProofRecord.of_now(broken)) + b"\n", replaces=True)
    return True


def find_proof(environ: Mapping[str, str]) -> ProofRecord | None:
    """What was found here; None where nothing was, or nothing that speaks of this machine as it is."""
    path = _locate(environ)
    try:
        record = msgspec.json.decode(path.read_bytes(), type=ProofRecord) if path is not None else None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):  # it is made anew
        return None
    return record if record is not None and record == ProofRecord.of_now(record.broken) else None


def explain_missing_proof(environ: Mapping[str, str]) -> str:
    """Why the sandbox is not known to hold on this machine, a clause; empty where it is."""
    if (record := find_proof(environ)) is None:
        return "the sandbox was not proven on this machine, in this version of it and of quorum"
    if record.broken:
        return f"the sandbox does not hold on this machine: {', '.join(record.broken)}"
    return ""


def _locate(environ: Mapping[str, str]) -> Path | None:
    state = locate_state_folder(environ)
    return state / _FILE if state is not None else None


def _compute_digest() -> str:
    """Over the code that starts and confines commands."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{os.path.relpath(path, Path(__file__).parents[1])} {len(content)}\n".encode() + content)
    return digest.hexdigest()
