"""The browsers that want to be told, and the key of the server: a file of the person's alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct, field

from quorum.domain.errors import ConfigError
from quorum.domain.replacing import replace
from quorum.infrastructure.config.paths import locate_state_folder
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.files.private_file import OwnFile
from quorum.infrastructure.web_push.encryption import ServerKey, check_browser_keys

FILE_NAME = "web-push.json"
_MOST_BROWSERS = 20
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Browser(Struct, frozen=True, kw_only=True):
    """The subscription of a browser. `endpoint` is an address at its push service; whoever knows it and the
    keys can send to it. `origin` is where the person subscribed."""

    endpoint: Annotated[str, Meta(max_length=2000)]
    p256dh: Annotated[str, Meta(max_length=200)]
    auth: Annotated[str, Meta(max_length=100)]
    origin: str = ""

    @property
    def service(self) -> str:
        """The origin of the push service."""
        parts = urlsplit(self.endpoint)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def contact(self) -> str:
        """What a push service may be told about whoever sends."""
        return self.origin if self.origin.startswith("https://") else ""

    def find_problem(self) -> str:
        """Why nothing can be sent to it, as a clause; empty where it can."""
        try:
            msgspec.convert(msgspec.to_builtins(self), Browser)  # else it could be kept, but not read again
            parts = urlsplit(self.endpoint)
            is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
            check_browser_keys(self.p256dh, self.auth)
        except ValueError:
            return "its address or its keys cannot be read"
        return "" if is_safe and parts.hostname else "its push service is not reached over https"


class _KeptBrowsers(Struct, frozen=True, kw_only=True):
    key: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] = field(default_factory=ServerKey.generate)
    browsers: tuple[Browser, ...] = ()


class PushBrowsers:
    """Keeps them. All methods block, and raise ConfigError."""

    def __init__(self, file: Path) -> None:
        self._file = OwnFile(file)

    def find_key(self) -> ServerKey:
        """The key of the server, made where there is none."""
        if not os.path.lexists(self._file.path):
            self._change(lambda content: content)
        return ServerKey(self._read().key)

    def list(self) -> tuple[Browser, ...]:
        """Those that are subscribed."""
        return self._read().browsers if os.path.lexists(self._file.path) else ()

    def add(self, browser: Browser) -> None:
        """Have it told; the oldest of too many gives way."""
        if problem := browser.find_problem():
            raise ConfigError(f"this browser cannot be told: {problem}")

        def add(content: _KeptBrowsers) -> _KeptBrowsers:
            others = [each for each in content.browsers if each.endpoint != browser.endpoint]
            return replace(content, browsers=(*others, browser)[-_MOST_BROWSERS:])

        self._change(add)

    def remove(self, endpoint: str) -> None:
        """Have it told no more."""

        def remove(content: _KeptBrowsers) -> _KeptBrowsers:
            return replace(
                content, browsers=tuple(each for each in content.browsers if each.endpoint != endpoint)
            )

        self._change(remove)

    def _change(self, change: Callable[[_KeptBrowsers], _KeptBrowsers]) -> None:
        def encode() -> str:
            content = self._read() if os.path.lexists(self._file.path) else _KeptBrowsers()
            return msgspec.json.format(msgspec.json.encode(change(content))).decode() + "\n"

        self._file.change(encode)

    def _read(self) -> _KeptBrowsers:
        try:
            return msgspec.json.decode(self._file.path.read_bytes(), type=_KeptBrowsers)
        except OSError as error:
            raise ConfigError(f"{escape_path(self._file.path)} cannot be read: {error.strerror}") from error
        except msgspec.DecodeError as error:
            raise ConfigError(
                f"{escape_path(self._file.path)} is damaged: {error}; remove it, and subscribe browsers again"
            ) from error


def open_push_browsers(environ: Mapping[str, str]) -> PushBrowsers | None:
    """Those of this person; None where there is no home folder."""
    state = locate_state_folder(environ)
    return PushBrowsers(state / FILE_NAME) if state is not None else None
