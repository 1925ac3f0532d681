"""Which secrets a session knows of, so that they are hidden exactly: gathered here for its mask.

What is hidden in packets of other sessions is looked for in the environment and the files of their folders.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.events.masking import MaskedPacket, SecretMask
from quorum.domain.review.path_policy import PathPolicy, extract_last_names
from quorum.domain.secrets.known import NamedSecret
from quorum.domain.secrets.patterns import CLOUD_KEYS, holds_a_secret
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.files.opened_path import refuse_held
from quorum.infrastructure.files.workspace import SYSTEM_FOLDERS
from quorum.infrastructure.secrets.file_values import (
    find_assigned_secrets,
    find_passwords,
    find_secrets,
    is_placeholder,
    is_worth_hiding,
)
from quorum.infrastructure.storage import build_path_policy

_MOST_BYTES = 1 << 18
_MOST_ENTRIES = 50_000
_MOST_FILES = 300
_MOST_SECRETS = 5_000
_LONGEST_SECS = 2.0
_LONGEST_COMMAND = 10_000
_WORD = re.compile(r"[^\s\"'`;&|<>()]++")
_PASSED_BY = frozenset(
    {".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", "site-packages", ".tox", ".nox",
     ".mypy_cache", ".ruff_cache", ".pytest_cache", "target", "vendor"}
)  # fmt: skip
_OPENING = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class SessionSecrets:
    """Tells a mask the secrets of a session. May be called from any thread, blocks, and never raises."""

    def __init__(
        self, mask: SecretMask, *, settings: Settings, environ: Mapping[str, str], policy: PathPolicy
    ) -> None:
        self._mask = mask
        self._settings = settings
        self._environ = environ
        self._policy = policy

    def gather(self) -> None:
        """Learn all that can be known at the start. Takes two seconds at most, for files of the workspace."""
        self.learn_surroundings()
        self.learn_workspace()

    def learn_surroundings(self) -> None:
        """Learn what the environment and the settings hold: at once, for nothing may be written before."""
        tables = self._settings.providers
        servers = self._settings.mcp.servers.values()
        configured = {
            self._settings.tools.web.search_key_env,
            *self._settings.tools.run_command.secrets,
            *(table.api_key_env for table in tables.values()),
            *(name for table in servers for name in (table.bearer_token_env, table.oauth_client_secret_env)),
        }
        for name, value in self._environ.items():
            is_key = (name in configured or name in CLOUD_KEYS) and not is_placeholder(value)
            is_one = is_key or holds_a_secret(name, value)
            if is_key or (is_one and is_worth_hiding(value)):
                self._mask.learn(name, value)
            if is_one and value.lstrip().startswith(("{", "[")):
                self._mask.learn_all(find_secrets(value, name))
            if "://" in value:
                self._learn_address(name, value)
        for provider, table in tables.items():
            self._learn_address(f"providers.{provider}.base_url", table.base_url)
            for header, value in table.headers.items():
                self._mask.learn_all(find_header_secrets(f"providers.{provider}.headers.{header}", value))
        self._learn_address("storage.url", self._settings.storage.url)
        self._learn_address("tools.web.search_url", self._settings.tools.web.search_url)

    def learn_workspace(self) -> None:
        """Learn what the sensitive files of the workspace hold, as far as they are found in bounded time."""
        until = time.monotonic() + _LONGEST_SECS
        found: list[NamedSecret] = []
        for number, file in enumerate(self._find_sensitive_files(until)):
            if number == _MOST_FILES or len(found) >= _MOST_SECRETS:
                break
            found += islice(_find_secrets(file), _MOST_SECRETS)
        self._learn_claimed(found)

    def learn_from_file(self, path: str | Path) -> bool:
        """Learn what a sensitive file holds now; whether that was news. Files above 256 kB are not read."""
        return self._learn_claimed(_find_secrets(path))

    def learn_if_sensitive(self, path: str | Path) -> bool:
        """Learn what a file holds if the settings call it sensitive; whether that was news."""
        return self._policy.is_sensitive(str(path)) and self.learn_from_file(path)

    def learn_from_call(self, arguments: JsonObject) -> bool:
        """Learn what a call is about to put into a sensitive file; whether that was news."""
        texts = [text for text in arguments.values() if isinstance(text, str) and len(text) <= _MOST_BYTES]
        found: list[NamedSecret] = []
        for text in texts:
            words = _WORD.findall(text[:_LONGEST_COMMAND])
            if words == [text] and self._policy.is_sensitive(text):
                others = (other for other in texts if other is not text)
                found += (secret for other in others for secret in find_secrets(other, os.path.basename(text)))
            elif any(map(self._policy.is_sensitive, words)):
                found += find_assigned_secrets(text)
        return self._learn_claimed(found)

    def _learn_claimed(self, found: Iterable[NamedSecret]) -> bool:
        """Learn what is called a secret by a file or a call, and may be an option or a path all the same."""
        return self._mask.learn_all(one._replace(is_claimed=True) for one in islice(found, _MOST_SECRETS))

    def _learn_address(self, name: str, address: str) -> None:
        for password in find_passwords(address):
            self._mask.learn(name, password)

    def _find_sensitive_files(self, until: float) -> Iterator[str]:
        """Breadth first: what lies near the top is found even where there is no time for all."""
        candidate = extract_last_names(self._policy.sensitive, copies=True)
        folders = deque((root, False) for root in self._policy.roots)
        left = _MOST_ENTRIES
        while folders and left > 0 and time.monotonic() < until:
            folder, inside = folders.popleft()
            for entry in _list_entries(folder):
                left -= 1
                sensitive = inside or bool(
                    candidate.covers(entry.name) and self._policy.is_sensitive(entry.path)
                )
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _PASSED_BY and entry.path not in SYSTEM_FOLDERS:
                        folders.append((entry.path, sensitive))
                elif sensitive:
                    yield entry.path


def find_header_secrets(name: str, value: str) -> Iterator[NamedSecret]:
    """A header's value, whole and without the word that says how to read it."""
    scheme, blank, rest = value.partition(" ")
    for secret in (value, rest if blank and scheme.isalpha() else ""):
        if is_worth_hiding(secret):
            yield NamedSecret(name, secret)


def _list_entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []


def _find_secrets(path: str | Path) -> Iterator[NamedSecret]:
    text = _read_text(path)
    return iter(()) if text is None else find_secrets(text, os.path.basename(path))


def _read_text(path: str | Path) -> str | None:
    """The text of a regular file, or None where there is none, it is not text, or it is too long."""
    try:
        refuse_held(path)
        with os.fdopen(os.open(path, _OPENING), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read(_MOST_BYTES + 1)
    except OSError:
        return None
    if len(data) > _MOST_BYTES or b"\0" in data:
        return None
    return data.decode("utf-8-sig", "replace")


def build_secret_test(mask: SecretMask) -> Callable[[bytes], bool]:
    """Tells contents that hold a known secret, and so must not be stored; also in two bytes a character."""

    def holds_secret(content: bytes) -> bool:
        forms = (content, content.replace(b"\0", b"")) if b"\0" in content else (content,)
        texts = (form.decode("utf-8", "replace") for form in forms if mask.may_hold_known(form))
        return any(mask.mask_known(text) is not text for text in texts)

    return holds_secret


class PacketRestorer:
    """Remembers each packet it was asked about, whether it could be restored or not."""

    def __init__(self, settings: Settings, environ: Mapping[str, str] = os.environ) -> None:
        self._settings = settings
        self._environ = environ
        self._shown: dict[str, ReviewPacket] = {}

    def restore(self, packet: MaskedPacket, cwd: str) -> ReviewPacket:
        """The packet of a session in this folder as the person may see it, with its original; itself where that
        is not known here. Blocks for up to two seconds."""
        if (shown := self._shown.get(packet.digest)) is None:
            shown = self._shown[packet.digest] = self._restore(packet, cwd)
        return shown

    def _restore(self, packet: MaskedPacket, cwd: str) -> ReviewPacket:
        from quorum.domain.events.unmasking import restore_packet

        mask = SecretMask()
        policy = build_path_policy(self._settings, (Path(cwd),))
        SessionSecrets(mask, settings=self._settings, environ=self._environ, policy=policy).gather()
        original = restore_packet(packet, mask.list_values)
        return packet if original is None else mask.mask_packet(original)


_Maker = Callable[..., logging.LogRecord]


def mask_logs(hide: Callable[[str], str]) -> Callable[[], None]:
    """From now on no log record of any library holds a secret, whoever handles it. The answer ends that.

    Records are masked when they are made: a filter would only see those of its own logger or handler.
    """
    make: _Maker = logging.getLogRecordFactory()
    make = getattr(make, "unmasked", make)  # one mask at a time: that of the session opened last

    def make_masked(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        try:
            said = record.getMessage()
        except Exception:  # noqa: BLE001 - logging reports a message that does not fit its arguments in its own way
            return record
        record.msg, record.args = hide(said), None
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = hide("".join(traceback.format_exception(record.exc_info[1])).rstrip("\n"))
            record.exc_info = None
        return record

    make_masked.unmasked = make  # type: ignore[attr-defined]
    logging.setLogRecordFactory(make_masked)
    return lambda: logging.setLogRecordFactory(make)


def mask_crashes(hide: Callable[[str], str]) -> Callable[[], None]:
    """From now on the account of an error that nobody caught holds no secret. The answer ends that."""
    in_main, in_thread, in_finalizer = sys.excepthook, threading.excepthook, sys.unraisablehook

    def tell(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
        lines = traceback.format_exception(kind, error, trace)
        if sys.stderr is not None:
            sys.stderr.write(hide("".join(lines)))

    def tell_of_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_type is not SystemExit:
            tell(args.exc_type, args.exc_value, args.exc_traceback)

    def tell_of_finalizer(args: sys.UnraisableHookArgs) -> None:
        tell(args.exc_type, args.exc_value, args.exc_traceback)

    sys.excepthook, threading.excepthook, sys.unraisablehook = tell, tell_of_thread, tell_of_finalizer

    def restore() -> None:
        sys.excepthook, threading.excepthook, sys.unraisablehook = in_main, in_thread, in_finalizer

    return restore
