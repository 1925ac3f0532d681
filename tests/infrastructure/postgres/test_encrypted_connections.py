"""PostgreSQL over TCP with TLS and a password: what does not fit is named, and the password is not shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from quorum.domain.errors import LedgerError, LostConnection
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage
from quorum.infrastructure.store.postgres.server import translate_postgres_errors
from tests.support.certificates import Authority
from tests.support.postgres_server import PostgresForTests, remove_postgres, start_postgres

ENVIRON = {"HOME": "/nonexistent", "PGPASSWORD": "right-one"}


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("SSL error: certificate verify failed", "signed by somebody else; name the file of the authority"),
        ('server certificate for "a" does not match host name "b"', "is for another name; put the name"),
        ('root certificate file "/x.crt" does not exist', "no certificate is at hand"),
        ("server does not support SSL, but SSL was required", r"has no TLS, .*switch it on there"),
        ('invalid sslmode value: "bogus"', "a value that libpq does not know"),
        (
            'no pg_hba.conf entry for host "::1", user "a", database "b", no encryption',
            "over TLS alone, if at all",
        ),
        ('password authentication failed for user "a"', "refuses the password; put the right one"),
    ],
)
def test_what_does_not_pass_by_waiting_is_named_with_the_remedy(said, sentence):
    with pytest.raises(LedgerError, match=f"the session ledger place cannot be opened: .*{sentence}") as caught:  # noqa: SIM117
        with translate_postgres_errors("cannot be opened", "place"):
            raise psycopg.OperationalError(f"connection failed: {said}")

    assert not isinstance(caught.value, LostConnection)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("FATAL:  sorry, too many clients already", "too many connections; end some, or raise its max_connect"),
        ("FATAL:  remaining connection slots are reserved for roles with SUPERUSER", "too many connections"),
        ("FATAL:  the database system is starting up", "is just starting or stopping; try again"),
        ("server closed the connection unexpectedly", "does not answer; start it, or correct"),
    ],
)
def test_what_may_pass_is_tried_again_and_named(said, sentence):
    with pytest.raises(LostConnection, match=sentence), translate_postgres_errors("cannot be opened", "place"):
        raise psycopg.OperationalError(f"connection failed: {said}")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def server(authority: Authority) -> Iterator[PostgresForTests]:
    """A server that listens on loopback, over TLS, with a certificate for `localhost`."""
    started = start_postgres()
    started.new_database()
    with started.connect("postgres") as connection:
        connection.execute("CREATE ROLE someone LOGIN SUPERUSER PASSWORD 'right-one'")
    started.listen(authority.sign("localhost"))
    yield started
    remove_postgres(started)


def opening(
    server: PostgresForTests, host: str = "localhost", *, password: str = "right-one", **more: str
) -> None:
    parameters = "&".join(f"{name}={value}" for name, value in more.items())
    url = f"postgresql+psycopg://someone@{host}:{server.port}/test_0?{parameters}"
    open_storage(StorageTable(url=url), {**ENVIRON, "PGPASSWORD": password}).close()


@pytest.mark.long
def test_a_server_is_reached_by_tcp_with_a_password_and_a_certificate_that_is_checked(server, authority):
    opening(server, sslmode="verify-full", sslrootcert=str(authority.file), require_auth="scram-sha-256")


@pytest.mark.long
def test_what_does_not_fit_is_named_and_the_password_is_not_shown(server, authority, tmp_path):
    full = {"sslmode": "verify-full", "sslrootcert": str(authority.file)}
    other = Authority(tmp_path, "other")
    for sentence, attempt in (
        ("signed by somebody else", {**full, "sslrootcert": str(other.file)}),
        ("is for another name", {**full, "host": "127.0.0.1"}),
        ("refuses the password", {**full, "password": "hunter2"}),
        ("refuses the password", {**full, "password": ""}),
        ("no certificate is at hand", {**full, "sslrootcert": "/nonexistent.pem"}),
        ("over TLS alone", {"sslmode": "disable"}),
    ):
        with pytest.raises(LedgerError, match=sentence) as caught:
            opening(server, **attempt)
        assert "hunter2" not in str(caught.value)
        assert "right-one" not in str(caught.value)


@pytest.mark.long
def test_a_password_in_a_file_is_used_and_one_of_another_server_is_not(server, authority, tmp_path: Path):
    file = tmp_path / "passwords"
    url = (
        f"postgresql+psycopg://someone@localhost:{server.port}/test_0"
        f"?sslmode=verify-full&sslrootcert={authority.file}"
    )

    for host, fits in (("localhost", True), ("db.example.com", False)):
        file.write_text(f"{host}:{server.port}:*:someone:right-one\n")
        file.chmod(0o600)
        environ = {"HOME": "/nonexistent", "PGPASSFILE": str(file)}
        if fits:
            open_storage(StorageTable(url=url), environ).close()
        else:
            with pytest.raises(LedgerError, match="refuses the password"):
                open_storage(StorageTable(url=url), environ)
