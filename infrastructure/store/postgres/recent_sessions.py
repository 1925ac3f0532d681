"""The sessions used last, read without what works with the database otherwise, which takes long to load."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing, suppress
from threading import Thread

import psycopg

from quorum.infrastructure.store.postgres.address import build_parameters, parse_address

_SELECT = "SELECT id, cwd, title, model FROM sessions ORDER BY updated_ms DESC, id DESC LIMIT %s"
_READ_ONLY = "-c default_transaction_read_only=on -c statement_timeout={0} -c lock_timeout={0}"


def read_recent_sessions(
    url: str, environ: Mapping[str, str], *, most: int, wait_secs: float
) -> list[tuple[str, str, str, str]]:
    """The id, folder, title and model of each, the latest first; none where they cannot be read in time.

    Raises ConfigError for a URL that names no database. Whatever the server does, it returns after `wait_secs`.
    """
    address = parse_address(url)
    options = {
        **build_parameters(address, environ),
        "dbname": address.database,
        "user": address.user,
        "password": environ.get("PGPASSWORD", ""),
        "port": str(address.port or ""),
        "options": _READ_ONLY.format(round(wait_secs * 1000)),
        "application_name": "quorum",
        "client_encoding": "utf8",
    }
    if not address.host.startswith("/"):
        options["host"] = address.host
    given = {name: value for name, value in options.items() if value}
    found: list[tuple[str, str, str, str]] = []

    def read() -> None:
        with suppress(psycopg.Error, OSError), closing(psycopg.connect("", autocommit=True, **given)) as server:  # type: ignore[arg-type]
            rows = server.execute(_SELECT, (most,)).fetchall()
            found.extend((str(id_), str(cwd), str(title), str(model)) for id_, cwd, title, model in rows)

    # A name that is looked up, or a server that takes the connection and is silent, keeps libpq for longer.
    reader = Thread(target=read, name="recent-sessions", daemon=True)
    reader.start()
    reader.join(wait_secs)
    return [] if reader.is_alive() else found
