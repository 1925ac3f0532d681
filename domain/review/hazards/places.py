"""Places of a machine: where credentials stand, what runs on its own, and what belongs to the system."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from quorum.domain.text.paths import is_below_any

_HOME = re.compile(r"^(?:\$HOME|\$\{HOME\}|~[a-z_][a-z0-9_-]*|~|/root|/home/[^/]+|/Users/[^/]+)(?=/|$)")
_BASE_FOLDER = re.compile(
    r"^\$(?:XDG_(CONFIG|STATE|DATA)_HOME|\{XDG_(CONFIG|STATE|DATA)_HOME(?::?[-=][^}]*)?\})(?=/|$)"
)
_BASE_FOLDERS = {"CONFIG": "~/.config", "STATE": "~/.local/state", "DATA": "~/.local/share"}

# Paths below a home folder begin with `~`. Each pattern is matched from the beginning of the path.
_CREDENTIALS = re.compile(
    r"""
      /etc/(g?shadow-?|security/opasswd|sudoers|ssh/ssh_host_\w+_key|krb5\.keytab|master\.passwd)$
    | /proc/[^/]+/environ$
    | /var/lib/(docker|kubelet)/.*(secret|token)
    | /(var/)?run/secrets/
    | /private/etc/master\.passwd$ | /var/db/dslocal/
    | ~/\.ssh/(?!known_hosts|config$|.*\.pub$|authorized_keys).+
    | ~/\.ssh/?$ | ~/\.gnupg(/|$) | ~/\.aws(/|$) | ~/\.azure(/|$) | ~/\.config/gcloud(/|$)
    | ~/\.(netrc|pgpass|my\.cnf|git-credentials|npmrc|pypirc|vault-token|boto|s3cfg)$
    | ~/\.docker/config\.json$ | ~/\.kube/config$ | ~/\.config/gh/hosts\.yml$
    | ~/\.(bash|zsh|python|psql|mysql)_history$
    | ~/\.password-store(/|$) | ~/\.local/share/keyrings(/|$) | ~/Library/Keychains(/|$)
    | ~/.*(Login\ Data|Cookies|logins\.json|key4\.db|cookies\.sqlite|wallet\.dat)$
    """,
    re.VERBOSE,
)
_RUNS_ON_ITS_OWN = re.compile(
    r"""
      (/private)?/etc/(cron\.?\w*|anacrontab|systemd|init(\.d|tab)?|rc\w*(\.\w+)?|profile(\.d)?|bash\.?\w*|zsh\w*
           |zprofile|pam\.d|ld\.so\.(preload|conf\S*)|sudoers(\.d)?|udev|update-motd\.d|xdg/autostart
           |environment|passwd|group|g?shadow|ssh/sshd_config(\.d)?|modules(-load\.d)?|NetworkManager/dispatcher\.d
           |logrotate\.d|apt/apt\.conf\.d|launchd\.conf|emond\.d)(/|$)
    | /var/spool/(cron|at)(/|$) | /var/at/ | /(usr/)?lib/systemd/ | /run/systemd/ | /usr/share/xsessions/
    | (/System|~)?/Library/(LaunchAgents|LaunchDaemons|StartupItems)(/|$)
    | ~/\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout
           |kshrc|cshrc|tcshrc|login|logout|xinitrc|xprofile|xsession|inputrc|gdbinit|vimrc|selected_editor)$
    | ~/\.ssh/(authorized_keys2?|rc|config|environment)$
    | ~/\.config/(systemd|autostart|fish|environment\.d)(/|$) | ~/\.local/share/systemd/
    | ~/\.gitconfig$ | ~/\.config/git/config$
    | (.*/)?\.git/hooks/
    """,
    re.VERBOSE,
)
_GOVERNS_AGENTS = re.compile(
    r"""
      ~/\.(config|local/state|local/share)/quorum(?!/worktrees/)(/|$) | (.*/)?quorum/(quorum|permissions)\.toml$
    | ~/\.(claude|codex|gemini|cursor)/(settings|config|hooks|mcp)[\w.]*(/|$) | ~/\.claude\.json$
    """,
    re.VERBOSE,
)
_SYSTEM = re.compile(r"/(etc|usr|bin|sbin|lib\w*|boot|sys|proc|dev|var|System|Library|Windows)(/|$)")
_OPEN_TO_ALL = re.compile(r"/dev/(null|stdout|stderr|stdin|tty|fd/\d+|zero|full|shm(/.*)?)$|/var/tmp(/|$)")
_PUBLIC_KEY = re.compile(r"~/\.ssh/[\w.-]+\.pub")
_DEVICE = re.compile(r"/dev/(sd|nvme|hd|vd|xvd|mmcblk|mapper/|disk|rdisk|mem$|kmem$|md\d|loop\d|port$)")
_LOGS = re.compile(r"/var/(log|audit)(/|$)|/private/var/log(/|$)|~/Library/Logs(/|$)")
_TEMPORARY = re.compile(r"/(var/)?tmp/[^.*?\[{$`/][^*?\[{$`/]*(/[^*?\[{$`]*)?$")
_NEW_TEMPORARY = re.compile(r"\"?\$\(mktemp( -d| -q| --directory| -t [\w.-]+)*( [\w.-]+)?\)\"?")
# What programs make anew from other files.
_REMADE = re.compile(
    r"(.*/)?(__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.hypothesis|\.tox|\.eggs|\.cache/pytest"
    r"|\*\.py[co]|\*\*/\*\.pyc|\.coverage|coverage\.xml|htmlcov|\.next|\.nuxt|\.turbo|\.parcel-cache|\.DS_Store)/?$"
)


_FAR = ("/", "~", "$", "f")
"""How a path begins that does not hang on the folder; `f` is that of `file://`."""


def normalize(word: str) -> str:
    """A path in one spelling; a home folder, whosever it is, is `~`. Names of variables stay."""
    path = word.partition("file://")[2] if word.startswith("file://") else word
    if "//" in path:
        path = re.sub(r"/{2,}", "/", path)
    if ".." in path or "/./" in path:
        path = posixpath.normpath(path)
    if path[:1] not in ("$", "~", "/"):
        return path
    path = _BASE_FOLDER.sub(lambda found: _BASE_FOLDERS[found[1] or found[2]], path, count=1)
    return _HOME.sub("~", path, count=1)


def holds_credentials(word: str) -> bool:
    """Whether a path is known to hold credentials or what somebody typed."""
    return word[:1] in _FAR and bool(_CREDENTIALS.match(normalize(word)))


def is_public_key(word: str) -> bool:
    """Whether a path is that of the public half of a key, named in full."""
    return bool(_PUBLIC_KEY.fullmatch(normalize(word)))


def runs_on_its_own(word: str) -> bool:
    """Whether what stands at a path runs, or lets somebody in, without being asked for again."""
    return bool(_RUNS_ON_ITS_OWN.match(normalize(word)))


def governs_agents(word: str) -> bool:
    """Whether a path is that of the settings, rules or records by which a coding agent is held to asking."""
    return bool(_GOVERNS_AGENTS.match(normalize(word)))


def belongs_to_system(word: str) -> bool:
    """Whether a path is part of the system, or of the machine's settings and logs."""
    if word[:1] not in _FAR:
        return False
    path = normalize(word)
    return bool(_SYSTEM.match(path)) and not _OPEN_TO_ALL.match(path)


def is_device(word: str) -> bool:
    """Whether a path is that of a disk, or of the memory."""
    return word[:1] in _FAR and bool(_DEVICE.match(normalize(word)))


def is_log(word: str) -> bool:
    """Whether a path is that of the system's logs."""
    return bool(_LOGS.match(normalize(word)))


def is_remade(word: str) -> bool:
    """Whether a path is that of a cache that programs make anew."""
    return bool(_REMADE.fullmatch(word))


def is_temporary(word: str, roots: Iterable[str] = ()) -> bool:
    """Whether a path is one named thing below the folder for temporary files, and in none of the workspaces."""
    return ".." not in word and bool(_TEMPORARY.fullmatch(word)) and not is_below_any(word, roots)


def find_new_temporary(value: str) -> str | None:
    """A path that stands for the new file or folder, if a value is the name that `mktemp` gives it."""
    return "/tmp/mktemp" if _NEW_TEMPORARY.fullmatch(value) else None
