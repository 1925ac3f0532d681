"""Places of a machine that matter to a sandbox: what is hidden, what programs need of it, what stays secret.

`KnownPlaces` tells decisions about tools that read or write files what is guarded in a workspace whatever its
name.
"""

from __future__ import annotations

import os
import pwd
import re
import stat
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from quorum.domain.review.path_policy import GuardedPlaces
from quorum.domain.text.paths import is_below_any, lies_in
from quorum.infrastructure.blocking import look_where_we_work
from quorum.infrastructure.execution.sandbox.repository_places import find_marker, list_obeyed_places

# Decisions about the paths of one call, and of the files of one manifest, use the same list.
_FRESH_SECS = 0.2


class KnownPlaces(GuardedPlaces):
    """What the searches of the sandbox found, and what git obeys in the workspace of these `roots`.

    The latter is read anew where it may have changed, so that it is known before the first search has ended.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots
        self._protected: frozenset[str] = frozenset()
        self._sensitive: frozenset[str] = frozenset()
        self._obeyed: frozenset[str] = frozenset()
        self._read_at: float | None = None

    def replace(self, *, protected: Iterable[str], sensitive: Iterable[str]) -> None:
        """Have these be what the last search found. Several threads may call it."""
        self._protected, self._sensitive = frozenset(protected), frozenset(sensitive)

    def is_protected(self, path: str) -> bool:
        return lies_in(self._protected, path) or lies_in(self._list_obeyed(), path)

    def is_sensitive(self, path: str) -> bool:
        return lies_in(self._sensitive, path)

    def _list_obeyed(self) -> frozenset[str]:
        if self._read_at is None or time.monotonic() > self._read_at + _FRESH_SECS:
            self._obeyed = look_where_we_work(self._find_obeyed)
            self._read_at = time.monotonic()
        return self._obeyed

    def _find_obeyed(self) -> frozenset[str]:
        roots = [os.path.realpath(root) for root in self._roots]
        places = (p for marker in map(find_marker, roots) if marker for p in list_obeyed_places(marker))
        return frozenset(p for p in places if p not in roots and is_below_any(p, roots))


# Private to each command: empty at its start, gone with it. /run has the sockets of the system's services.
PRIVATE = ("/tmp", "/var/tmp", "/run", "/var/run")

# Of a home, readable: what programs are installed in, and what they cannot work without. Nothing else is seen.
TOOLCHAINS = (
    ".asdf",
    ".bun",
    ".cabal",
    ".cache/Cypress",
    ".cache/ms-playwright",
    ".cache/puppeteer",
    ".cache/pypoetry/virtualenvs",
    ".cargo",
    ".composer/vendor",
    ".conda/envs",
    ".deno",
    ".dotnet",
    ".elan",
    ".fnm",
    ".gem",
    ".ghcup",
    ".goenv",
    ".jenv",
    ".juliaup",
    ".julia",
    ".linuxbrew",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/rtx",
    ".local/share/uv",
    ".local/share/virtualenvs",
    ".m2",
    ".nix-profile",
    ".nodenv",
    ".npm-global",
    ".nvm",
    ".nuget/packages",
    ".opam",
    ".pub-cache",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".rye",
    ".sdkman",
    ".stack",
    ".swiftly",
    ".virtualenvs",
    ".volta",
    ".yarn",
    "anaconda3",
    "bin",
    "go",
    "mambaforge",
    "miniconda3",
    "miniforge3",
    # how the person's git signs and behaves, and what it ignores
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".gitconfig",
)
# Variables that name a folder of tools, or several as PATH does.
TOOL_VARIABLES = (
    "PATH",
    "ASDF_DATA_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CONDA_PREFIX",
    "DENO_INSTALL",
    "DOTNET_ROOT",
    "FNM_DIR",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "MISE_DATA_DIR",
    "NODE_PATH",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "PYTHONPATH",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "SDKMAN_DIR",
    "UV_PYTHON_INSTALL_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
)
# Of a home, never seen, also where the workspace or a folder of tools holds it.
SECRETS = (
    ".aws",
    ".azure",
    ".bash_history",
    ".bundle/config",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".composer/auth.json",
    ".config/BraveSoftware",
    ".config/chromium",
    ".config/configstore",
    ".config/doctl",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/github-copilot",
    ".config/google-chrome",
    ".config/heroku",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".copilot",
    ".docker",
    ".gem/credentials",
    ".git-credentials",
    ".gnupg",
    ".gradle/gradle.properties",
    ".huggingface",
    ".kube",
    ".local/share/keyrings",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".mozilla",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".password-store",
    ".pypirc",
    ".python_history",
    ".ssh",
    ".terraform.d",
    ".vault-token",
    ".yarnrc",
    ".yarnrc.yml",
    ".zsh_history",
)
# Addresses of sockets that are hidden: a program that believes them only fails later and less plainly.
SOCKET_VARIABLES = (
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_HOST",
    "GPG_AGENT_INFO",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
)
# Such sockets outside the folders that are private anyway: a read-only mount does not keep one from connecting.
_SOCKETS = (
    "/var/lib/incus/unix.socket",
    "/var/lib/lxd/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
    "/mnt/wslg",
)
_SOCKET_PATH = re.compile(r"(?:unix:(?://|path=)?)?(?P<path>/[^,;]*)")
TEMPORARY_VARIABLES = ("TMPDIR", "TMP", "TEMP")
_BOUND_SOCKETS = "/proc/net/unix"
_RESOLVER = "/etc/resolv.conf"


def list_homes(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The person's home folders, canonical: that of the environment and that of the account."""
    named = [environ.get("HOME", "")]
    try:
        named.append(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:  # an account without an entry, as in some containers
        named = named[:1]
    real = (os.path.realpath(home) for home in named if os.path.isabs(home))
    return tuple(dict.fromkeys(home for home in real if os.path.isdir(home)))


def list_private_folders() -> tuple[str, ...]:
    """The folders that each command gets empty and for itself, canonical."""
    real = (os.path.realpath(folder) for folder in PRIVATE)
    return tuple(dict.fromkeys(folder for folder in real if os.path.isdir(folder)))


def list_tool_folders(environ: Mapping[str, str], home_folders: tuple[str, ...]) -> tuple[str, ...]:
    """Where programs and what they need may lie in hidden places; whether it exists is not looked at."""
    named = [entry for name in TOOL_VARIABLES for entry in environ.get(name, "").split(os.pathsep)]
    found = [os.path.join(home, each) for home in home_folders for each in TOOLCHAINS]
    found += [os.path.normpath(entry) for entry in named if os.path.isabs(entry)]
    # DNS works only if the file behind this link is there, and it is kept under /run.
    found.append(os.path.realpath(_RESOLVER))
    return tuple(dict.fromkeys(found))


# Only root can read these, and root's commands are held to the sandbox as well.
_OF_ROOT = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssl/private")


def list_secret_places(home_folders: tuple[str, ...]) -> tuple[str, ...]:
    """What of the homes and of the machine nobody may read; whether it exists is not looked at."""
    return (*(os.path.join(home, each) for home in home_folders for each in SECRETS), *_OF_ROOT)


def list_socket_places(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Sockets that act for the person: where the environment names them, and some with a fixed place."""
    matches = (_SOCKET_PATH.match(environ.get(name, "")) for name in SOCKET_VARIABLES)
    named = (os.path.normpath(found["path"]) for found in matches if found)
    # A folder so named may hold anything, the workspace too.
    return (*(path for path in named if not os.path.isdir(path)), *_SOCKETS)


def list_bound_sockets() -> tuple[str, ...]:
    """The sockets in the file system that programs have open now, canonical: those that were named by a whole
    path, and none of containers.
    """
    try:
        with open(_BOUND_SOCKETS, "rb") as table:
            parts = (line.rstrip(b"\n").partition(b" /") for line in table)
            found = dict.fromkeys(os.path.realpath(b"/" + path) for _, _, path in parts if path)
    except OSError:  # not Linux; there is no sandbox then
        return ()
    return tuple(os.fsdecode(path) for path in found if _is_socket(path))


def _is_socket(path: bytes) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:  # gone, or in a folder that is closed to us
        return False


def expand_path(path: str, environ: Mapping[str, str], root: Path) -> str:
    """A path of the settings: `~/` is the home, a relative path begins at the workspace's first root."""
    if path == "~" or path.startswith("~/"):
        path = environ.get("HOME", "") + path[1:]
    return os.path.normpath(os.path.join(root, path))
