"""The address of a database of PostgreSQL, as the settings name it. Loads nothing of the database itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from quorum.domain.errors import ConfigError

SCHEME = "postgresql+psycopg"
_EXAMPLE = f"{SCHEME}://quorum@db.example.com/quorum"
# Of libpq's parameters those that say where and how safely to connect; none of them holds a secret.
_PARAMETERS = frozenset(
    {"host", "port", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "gssencmode", "channel_binding",
     "require_auth", "target_session_attrs", "connect_timeout"}
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresAddress:
    """Where a database is. `host` is a name or, with a slash at its beginning, the folder of a socket.

    An empty part is left to libpq, which looks at its own variables and has its own defaults.
    """

    user: str
    host: str
    port: int | None
    database: str
    parameters: tuple[tuple[str, str], ...]

    @property
    def place(self) -> str:
        """The address as people read it; there is no password in it."""
        user = f"{self.user}@" if self.user else ""
        port = f":{self.port}" if self.port else ""
        return f"{SCHEME}://{user}{self.host}{port}/{self.database}"


def parse_address(url: str) -> PostgresAddress:
    """The parts of `[storage] url`. Raises ConfigError, which shows no password that stands in it."""
    try:
        parts = urlsplit(url)
        port = parts.port
        found = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        host = found.pop("host", "") or unquote(parts.hostname or "")
        port = int(found.pop("port", "") or 0) or port
    except ValueError:
        raise ConfigError(f"storage.url is no address of a database; expected one such as {_EXAMPLE}") from None
    if parts.password is not None or "password" in found:
        raise ConfigError(
            "storage.url holds a password; take it out, and put it in the variable PGPASSWORD or in ~/.pgpass"
        )
    database = unquote(parts.path.removeprefix("/"))
    if parts.scheme != SCHEME or not database or "/" in database or parts.fragment:
        raise ConfigError(f"storage.url names no database of PostgreSQL; expected one such as {_EXAMPLE}")
    if unknown := sorted(found.keys() - _PARAMETERS):
        raise ConfigError(
            f"storage.url has the parameter {unknown[0][:40]!a}; it can have: {', '.join(sorted(_PARAMETERS))}"
        )
    return PostgresAddress(
        user=unquote(parts.username or ""),
        host=host,
        port=port,
        database=database,
        parameters=tuple(sorted(found.items())),
    )


def list_password_files(environ: Mapping[str, str]) -> list[Path]:
    """The file in which libpq looks for the password."""
    if named := environ.get("PGPASSFILE"):
        return [Path(named).expanduser()]
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    return [home / ".pgpass"] if home.is_absolute() else []


def build_parameters(address: PostgresAddress, environ: Mapping[str, str]) -> dict[str, str]:
    """What libpq is given beside the user, the password, the port and the name of the database.

    A host that is a name is not among it; the folder of a socket is.
    """
    parameters = {"connect_timeout": "5", **dict(address.parameters)}
    # A file that is not there is passed over; libpq would look for it under the home of the process.
    for file in list_password_files(environ):
        parameters["passfile"] = os.fspath(file)
    if address.host.startswith("/"):
        parameters["host"] = address.host
    return parameters
