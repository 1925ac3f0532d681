"""Which resident gate a process may ask: one that runs the same program, with the same settings.

What quorum and its libraries read of the environment is in the key, so that a resident never has to learn of
it: the two processes have it in common, or they have nothing to do with each other. All other variables go with
each call: agents set some anew for each prompt or hook. Imports next to nothing.
"""

from __future__ import annotations

import hashlib
import os
import resource
import sys
from collections.abc import Mapping
from typing import NamedTuple

from quorum.version import __file__ as _VERSION_FILE
from quorum.version import __version__

_READ_NAMES = frozenset(
    ("HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TEMP", "TMP", "TMPDIR", "TZ", "USER")
)
_READ_STARTS = (
    *("QUORUM_", "XDG_", "LC_", "LD_", "DYLD_", "PYTHON", "VIRTUAL_ENV", "GIT_", "SSH_", "DBUS_", "PG"),
    *("SSL_", "REQUESTS_", "CURL_", "OPENSSL_", "OTEL_"),
    *("ANTHROPIC_", "AWS_", "AZURE_", "CLOUD_", "GOOGLE_", "OLLAMA_", "OPENAI_"),
)
_READ_ENDS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PROXY", "_BASE_URL", "_ENDPOINT")
_LIMITS = tuple(sorted(name for name in dir(resource) if name.startswith("RLIMIT_")))
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


class ResidentKey(NamedTuple):
    """Who may ask whom. `socket` is where the resident listens, in a folder of the person's own."""

    digest: str
    socket: str


def identify_resident(environ: Mapping[str, str]) -> ResidentKey | None:
    """The key of this process; None where it has no place for a socket, or where its folder would count.

    With a relative entry in PATH, which program a command means depends on the folder of the process.
    """
    state = environ.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):
        home = environ.get("HOME", "")
        state = f"{home}/.local/state" if home.startswith("/") else ""
    if not state or not all(entry.startswith("/") for entry in environ.get("PATH", "").split(":")):
        return None
    try:
        facts = [*_describe_program(), *_describe_process()]
    except OSError:
        return None
    facts += [f"{name}={value}" for name, value in sorted(select_common(environ).items())]
    digest = hashlib.sha256("\0".join(facts).encode("utf-8", "surrogateescape")).hexdigest()
    return ResidentKey(digest, f"{state}/quorum/gate/{digest[:16]}")


def select_common(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that a resident and those who ask it have in common."""
    return {name: value for name, value in environ.items() if _is_read(name)}


def _is_read(name: str) -> bool:
    upper = name.upper()  # those of proxies are in small letters too
    return upper in _READ_NAMES or upper.startswith(_READ_STARTS) or upper.endswith(_READ_ENDS)


def _describe_program() -> list[str]:
    """What a newer quorum in the same place, or another interpreter, has differently."""
    file = os.stat(_VERSION_FILE)
    return [__version__, _VERSION_FILE, f"{file.st_ino} {file.st_mtime_ns}", sys.executable, sys.version]


def _describe_process() -> list[str]:
    """What a process sees of the machine, and may take of it.

    A container may show it other files under the same names, and a resident inherits limits of its starter.
    """
    top = os.stat("/")
    facts = [f"{os.getuid()} {os.geteuid()} {os.getgid()} {os.getegid()}", f"{top.st_dev} {top.st_ino}"]
    facts += [str(resource.getrlimit(getattr(resource, limit))) for limit in _LIMITS]
    if sys.platform == "linux":
        facts += [os.readlink(f"/proc/self/ns/{name}") for name in _NAMESPACES]
    return facts
