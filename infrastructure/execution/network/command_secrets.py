"""Secrets that commands use without having them.

A command has a random placeholder in its environment. The proxy puts the secret in its place, in headers of
requests to the hosts that it is for, and nowhere else.
"""

from __future__ import annotations

import base64
import binascii
import math
import os
import secrets
import ssl
import string
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from quorum.application.program_lookup import explain_missing, filter_environment, find_program
from quorum.domain.replacing import replace
from quorum.domain.shell.network_hosts import HostPattern
from quorum.infrastructure.extras import is_installed, render_install_command

if TYPE_CHECKING:  # loaded where one is made
    from quorum.infrastructure.execution.network.session_authority import SessionAuthority

_COMMAND_SECS = 30
_RESTS_SECS = 60  # what could not be had is not asked for with each command
_SHORTEST, _LONGEST = 8, 4096  # shorter ones are not hidden in outputs
_LEAST_RANDOM = 16
_VISIBLE = frozenset(string.ascii_letters + string.digits + string.punctuation)
# What programs look at before they use a key. No more of the secret is in its placeholder.
_BEGINNINGS = (
    *("github_pat_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "glpat-", "sk-ant-api03-", "sk-ant-", "sk-proj-"),
    *("sk-", "sk_live_", "sk_test_", "xoxb-", "xoxp-", "npm_", "pypi-", "hf_", "dop_v1_", "lin_api_"),
)
_CLASSES = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
_SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
CERTIFICATES_IN_SANDBOX = "/run/quorum-certificates.pem"
# How programs are told whom to trust. Each replaces what they trust otherwise, but for Node's.
CERTIFICATE_VARIABLES = (
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"),
    *("PIP_CERT", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "npm_config_cafile", "DENO_CERT", "HEX_CACERTS_PATH"),
    *("CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"),
)


class SecretTable(Protocol):
    """Which secret it is, as the settings say."""

    @property
    def hosts(self) -> Sequence[str]: ...
    @property
    def command(self) -> Sequence[str]: ...


class CommandSecret(Struct, frozen=True, kw_only=True):
    """A secret, what commands have in its place, and for whom it is."""

    name: str
    value: str
    placeholder: str
    hosts: tuple[HostPattern, ...]

    def is_for(self, host: str, port: int) -> bool:
        return any(each.covers(host, port) for each in self.hosts)

    def __repr__(self) -> str:
        return f"CommandSecret(name={self.name!r})"


class HandedSecrets(Struct, frozen=True, kw_only=True):
    """What one command is handed: `file` holds the certificates that it is to trust, and `gaps` are sentences
    about secrets that could not be had."""

    secrets: tuple[CommandSecret, ...] = ()
    gaps: tuple[str, ...] = ()
    authority: SessionAuthority | None = None
    file: str = ""

    @property
    def variables(self) -> Iterator[tuple[str, str]]:
        """What is set in its environment."""
        if self.secrets:
            yield from ((name, CERTIFICATES_IN_SANDBOX) for name in CERTIFICATE_VARIABLES)
            yield from ((each.name, each.placeholder) for each in self.secrets)

    @property
    def mounts(self) -> tuple[str, ...]:
        return ("--ro-bind", self.file, CERTIFICATES_IN_SANDBOX) if self.secrets else ()

    def list_for(self, host: str, port: int) -> tuple[CommandSecret, ...]:
        """Those of this host: where there are any, TLS to it is opened."""
        return tuple(each for each in self.secrets if each.is_for(host, port))

    def put_in(self, value: bytes, host: str, port: int) -> tuple[bytes, tuple[str, ...]]:
        """The value of a header to this host, and the names of the secrets that stand in it now."""
        changed, names = self._replace(value, host, port)
        scheme, blank, encoded = value.partition(b" ")
        if blank and scheme.lower() == b"basic" and (login := _decode(encoded)) is not None:
            new, more = self._replace(login, host, port)
            if more:
                return scheme + b" " + base64.b64encode(new), more
        return changed, names

    def find_held(self, values: Iterable[bytes]) -> str | None:
        """The name of a secret whose placeholder is in one of these values or lines, or in a login there."""
        for value in values:
            logins = [login for each in value.split() if (login := _decode(each)) is not None]
            for each in self.secrets:
                word = each.placeholder.encode()
                if any(word in text for text in (value, *logins)):
                    return each.name
        return None

    def _replace(self, value: bytes, host: str, port: int) -> tuple[bytes, tuple[str, ...]]:
        names = []
        for each in self.secrets:
            word = each.placeholder.encode()
            if word in value and each.is_for(host, port):
                value = value.replace(word, each.value.encode())
                names.append(each.name)
        return value, tuple(names)


NOTHING_HANDED = HandedSecrets()


class CommandSecrets:
    """Those of one session, each read when a command first needs it. May be called from any thread, blocks.

    `learn` is told each value and placeholder, to be hidden from then on; `clock` counts seconds.
    """

    def __init__(
        self,
        tables: Mapping[str, SecretTable],
        environ: Mapping[str, str] = os.environ,
        learn: Callable[[str, str], object] = lambda _name, _value: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tables = tables
        self._environ = environ
        self._learn = learn
        self._clock = clock
        self._missing: dict[str, tuple[float, str]] = {}
        self._alone = Lock()
        self._read: dict[str, CommandSecret] = {}
        self._file = ""

    @property
    def descriptions(self) -> tuple[str, ...]:
        """Which secret is put in for whom, a clause each."""
        return tuple(f"{name} put in for {', '.join(table.hosts)}" for name, table in self._tables.items())

    def list_gaps(self) -> tuple[str, ...]:
        """Why a command without the proxy has none of them, a sentence; nothing where there are none."""
        if not self._tables:
            return ()
        return (
            f"{', '.join(self._tables)} is not handed over: that takes the sandbox, and a list of hosts in "
            "tools.run_command.network",
        )

    def hand_over(self, make_folder: Callable[[], str | None]) -> HandedSecrets:
        """What a command with the proxy gets. `make_folder` makes one that lasts as long as the session."""
        if not self._tables:
            return NOTHING_HANDED
        with self._alone:
            if not is_installed("cryptography"):
                names = ", ".join(self._tables)
                return HandedSecrets(
                    gaps=(f"{names} is not handed over: install {render_install_command('serve')}",)
                )
            gaps = [gap for name in self._tables if (gap := self._find_gap(name)) is not None]
            handed = HandedSecrets(secrets=tuple(self._read.values()), gaps=tuple(gaps))
            if not handed.secrets:
                return handed
            try:
                file = self._file = self._file or self._write_certificates(make_folder)
            except (OSError, ValueError) as error:
                return HandedSecrets(gaps=(*gaps, f"no secret is handed over: {error}"))
            return replace(handed, authority=self._authority, file=file)

    @cached_property
    def _authority(self) -> SessionAuthority:
        from quorum.infrastructure.execution.network.session_authority import SessionAuthority

        return SessionAuthority()

    def _find_gap(self, name: str) -> str | None:
        """Read a secret that was not read; a sentence where it cannot be had."""
        if name in self._read:
            return None
        since, gap = self._missing.get(name, (-math.inf, ""))
        if self._clock() - since < _RESTS_SECS:
            return gap
        if (why := self._read_secret(name)) is not None:
            self._missing[name] = self._clock(), why
        return why

    def _read_secret(self, name: str) -> str | None:
        table = self._tables[name]
        try:
            value = _run(table.command, self._environ) if table.command else self._environ.get(name, "").strip()
            if not value:
                raise ValueError("it is empty" if table.command else f"set the variable {name} for quorum")
            if not _SHORTEST <= len(value) <= _LONGEST or not _VISIBLE.issuperset(value):
                raise ValueError(
                    f"it must be one word of {_SHORTEST} to {_LONGEST} visible characters of ASCII"
                )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return f"{name} is not handed over: {_explain(error)} (tools.run_command.secrets.{name})"
        placeholder = make_placeholder(value)
        for each in (value, placeholder):
            self._learn(name, each)
        self._read[name] = CommandSecret(
            name=name,
            value=value,
            placeholder=placeholder,
            hosts=tuple(map(HostPattern.parse, table.hosts)),
        )
        return None

    def _write_certificates(self, make_folder: Callable[[], str | None]) -> str:
        """Raises ValueError, with a remedy, and OSError."""
        folder = make_folder()
        if folder is None:
            raise ValueError("there is no folder for the certificates")
        file = Path(folder) / "certificates.pem"
        file.write_bytes(b"\n".join([*_read_bundles(self._environ), self._authority.pem]))
        return str(file)


def make_placeholder(value: str) -> str:
    """Random, and in the form of the secret, which some programs look at: as long, with the same beginning."""
    beginning = next((each for each in _BEGINNINGS if value.startswith(each)), "")
    rest = [_choose_like(character) for character in value[len(beginning) :]]
    if sum(character.isalnum() for character in rest) < _LEAST_RANDOM:
        return f"placeholder-{secrets.token_hex(16)}"
    return beginning + "".join(rest)


def _choose_like(character: str) -> str:
    return next((secrets.choice(each) for each in _CLASSES if character in each), character)


def _decode(encoded: bytes) -> bytes | None:
    try:
        return base64.b64decode(encoded.strip(), validate=True)
    except binascii.Error:
        return None


def _run(words: Sequence[str], environ: Mapping[str, str]) -> str:
    """What a program prints. Raises ValueError, OSError and subprocess.SubprocessError."""
    environment = filter_environment(environ)
    program = find_program(words[0], environment.get("PATH"))
    if program is None:
        raise ValueError(explain_missing(words[0], environ.get("PATH")))
    done = subprocess.run(
        (program, *words[1:]),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment,
        cwd="/",
        timeout=_COMMAND_SECS,
        check=True,
    )
    return done.stdout.decode("utf-8", "replace").strip()


def _explain(error: Exception) -> str:
    """Without what a program printed."""
    match error:
        case subprocess.CalledProcessError(returncode=code):
            return f"its command exited with {code}"
        case subprocess.TimeoutExpired():
            return f"its command took longer than {_COMMAND_SECS} s"
        case _:
            return str(error)


def _read_bundles(environ: Mapping[str, str]) -> Iterator[bytes]:
    """Whom commands trust beside the authority: as the person's own variables say, and as the system does.

    Raises ValueError where that is nobody.
    """
    given = [environ[name] for name in CERTIFICATE_VARIABLES if name in environ]
    if "SSL_CERT_FILE" not in environ:
        usual = ssl.get_default_verify_paths().cafile
        places = (*((usual,) if usual is not None else ()), *_SYSTEM_BUNDLES)
        given += [each for each in places if os.path.isfile(each)][:1]
    found = [file for file in map(Path, given) if file.is_file()]
    if not found:
        raise ValueError(
            "the system has no file of certificates: install ca-certificates, or set SSL_CERT_FILE"
        )
    yield from dict.fromkeys(file.read_bytes() for file in found)
