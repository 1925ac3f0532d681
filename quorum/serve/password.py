"""The password of a server that other machines can reach: where it comes from, and how it is compared."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
import sys
from collections.abc import Mapping, MutableMapping
from getpass import getpass
from pathlib import Path

from quorum.errors import UsageError
from quorum.infrastructure.secrets.key_ring import KeyRing

VARIABLE = "QUORUM_SERVE_PASSWORD"
KEYRING_ENTRY = "serve-password"
FEWEST_CHARACTERS = 12
MOST_CHARACTERS = 1024

# 32 MB and about a tenth of a second for each try, of which there are few.
_N, _R, _P = 1 << 15, 8, 1
_MEMORY_BYTES = 64 << 20
_REMEDY = (
    f"give it with --password-file FILE, in the environment as {VARIABLE}, in the keyring as the entry "
    f"{KEYRING_ENTRY!r} of the service 'quorum', or at a prompt on a terminal"
)


class PasswordHash:
    """A password as its scrypt hash; the text is not kept."""

    def __init__(self, password: str) -> None:
        self._salt = secrets.token_bytes(16)
        self._hash = self._derive(password)

    def matches(self, password: str) -> bool:
        """Whether this is the password, in time that does not depend on how much of it is right. It blocks."""
        if len(password) > MOST_CHARACTERS:
            return False
        return hmac.compare_digest(self._hash, self._derive(password))

    def _derive(self, password: str) -> bytes:
        text = password.encode("utf-8", "surrogatepass")
        return hashlib.scrypt(text, salt=self._salt, n=_N, r=_R, p=_P, maxmem=_MEMORY_BYTES)


def find_password(file: Path | None, environment: Mapping[str, str]) -> PasswordHash:
    """The password from its file, the environment, the keyring or a prompt, the first that has one.

    Raises UsageError.
    """
    if file is not None:
        password = _read(file)
    else:
        password = environment.get(VARIABLE) or KeyRing().get_key(KEYRING_ENTRY) or _ask()
    if not FEWEST_CHARACTERS <= len(password) <= MOST_CHARACTERS:
        raise UsageError(
            f"the password needs {FEWEST_CHARACTERS} to {MOST_CHARACTERS} characters, because the server can "
            f"be reached from other machines; {_REMEDY}"
        )
    return PasswordHash(password)


def forget_password(environment: MutableMapping[str, str]) -> None:
    """Take the password out of the environment, also where it is not asked for: children inherit it."""
    environment.pop(VARIABLE, None)


def _read(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            if stat.S_ISREG(mode) and mode & 0o077:
                raise UsageError(f"other users may open {file}; take that away: chmod 600 {file}")
            return opened.readline(MOST_CHARACTERS + 2).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the password cannot be read from {file}: {error}") from error


def _ask() -> str:
    if not (sys.stdin and sys.stdin.isatty()):
        raise UsageError(f"a server that other machines can reach needs a password; {_REMEDY}")
    try:
        return getpass("Password for this server (not shown): ", stream=sys.stderr)
    except EOFError:
        return ""
