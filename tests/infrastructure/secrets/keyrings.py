"""Keyrings of our own, chosen by PYTHON_KEYRING_BACKEND as a person would choose one."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import ClassVar

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError


class FileKeyring(KeyringBackend):
    """Keeps its entries in the file that KEYRING_TEST_FILE names, in the clear."""

    priority: ClassVar[float] = -2  # below that of none at all: never chosen but by name

    def _entries(self) -> dict[str, str]:
        file = Path(os.environ["KEYRING_TEST_FILE"])
        return dict(json.loads(file.read_text())) if file.exists() else {}

    def _put(self, entries: dict[str, str]) -> None:
        Path(os.environ["KEYRING_TEST_FILE"]).write_text(json.dumps(entries))

    def get_password(self, service: str, username: str) -> str | None:
        return self._entries().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._put({**self._entries(), f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        entries = self._entries()
        if entries.pop(f"{service}/{username}", None) is None:
            raise PasswordDeleteError("no such entry")
        self._put(entries)


class LockedKeyring(FileKeyring):
    """Whose owner declined to unlock it."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("Failed to unlock the collection!")


class BrokenKeyring(FileKeyring):
    """Behind a bus that is not there."""

    def get_password(self, service: str, username: str) -> str | None:
        raise RuntimeError("org.freedesktop.DBus.Error.ServiceUnknown:\nThe name is not activatable")


class SilentKeyring(FileKeyring):
    """That never answers."""

    def get_password(self, service: str, username: str) -> str | None:
        threading.Event().wait()
        return None


class PanickingKeyring(FileKeyring):
    """Whose native part gives up, which Python programs are not meant to catch."""

    def get_password(self, service: str, username: str) -> str | None:
        raise SystemExit("the native library panicked")


class BytesKeyring(FileKeyring):
    """That takes no notice of what type an entry has."""

    def get_password(self, service: str, username: str) -> str | None:
        return b"q7Zrt9vX2m4kPwd3Ls8Y"  # type: ignore[return-value]


class QuotingKeyring(FileKeyring):
    """That quotes what it could not store."""

    def set_password(self, service: str, username: str, password: str) -> None:
        raise ValueError(f"cannot store {password!r} for {username}")
