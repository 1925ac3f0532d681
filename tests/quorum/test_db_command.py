"""`quorum db` with addresses that cannot be used: what is wrong and what to do, and never a password."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from quorum.__main__ import main
from tests.support.headless_run import environment

Run = Callable[..., tuple[object, str]]
UNUSABLE = {
    "postgresql+psycopg://me:hunter2@host/ledger": "holds a password; take it out, and put it",
    "postgresql+psycopg://host/ledger?password=hunter2": "holds a password; take it out",
    "postgresql+psycopg://host:hunter2/ledger": "is no address of a database; expected one such as",
    "postgresql+psycopg://host/ledger?options=hunter2": "has the parameter 'options'; it can have:",
    "postgresql+psycopg://me@host/": "names no database of PostgreSQL; expected one such as",
    "sqlite:///ledger.sqlite?key=hunter2": "names no file of SQLite; expected one such as sqlite:////home/me/",
    "postgresql://me:hunter2@host/ledger": "the address of a PostgreSQL database, postgresql+psycopg://USER@HOST/NAME",
    "postgresql://host/ledger?password=hunter2": "the address of a PostgreSQL database, postgresql+psycopg://USER@",
    "host=db user=me password=hunter2": "the address of a PostgreSQL database, postgresql+psycopg://USER@HOST/NAME",
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """The exit code and all that is printed."""

    def runs(*arguments: str, **environ: str) -> tuple[object, str]:
        for name, value in environment(tmp_path, **environ).items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main(["db", *arguments, "-C", str(tmp_path)])
        printed = capfd.readouterr()
        return ended.value.code, printed.out + printed.err

    return runs


@pytest.mark.parametrize("url", UNUSABLE)
def test_an_address_that_cannot_be_used_is_refused_with_the_remedy(run: Run, url: str) -> None:
    for action in ("status", "upgrade"):
        code, printed = run(action, QUORUM_STORAGE__URL=url)

        assert (code, printed.count("\n")) == (2, 1)
        assert "storage.url" in printed
        assert UNUSABLE[url] in printed
        assert "hunter2" not in printed


@pytest.mark.parametrize("url", UNUSABLE)
def test_an_address_of_an_option_is_refused_in_the_name_of_the_option(
    run: Run, url: str, tmp_path: Path
) -> None:
    for option, other in (("--to", ()), ("--from", ("--to", f"sqlite:///{tmp_path}/other.sqlite"))):
        code, printed = run("copy", option, url, *other)

        assert (code, printed.count("\n")) == (2, 1)
        assert option in printed
        assert UNUSABLE[url] in printed
        assert "storage.url" not in printed
        assert "hunter2" not in printed
    assert not (tmp_path / "other.sqlite").exists()


@pytest.mark.parametrize("action", ["status", "upgrade"])
def test_a_server_that_is_away_is_named_with_the_remedy(run: Run, action: str) -> None:
    code, printed = run(
        action, QUORUM_STORAGE__URL="postgresql+psycopg://127.0.0.1:1/ledger", PGPASSWORD="hunter2"
    )

    assert code == 2
    assert "postgresql+psycopg://127.0.0.1:1/ledger cannot be" in printed
    assert "the server does not answer; start it, or correct [storage] url" in printed
    assert "hunter2" not in printed


@pytest.mark.parametrize("option", ["--from", "--to"])
def test_a_server_that_is_away_is_named_with_the_option_that_named_it(
    run: Run, option: str, tmp_path: Path
) -> None:
    away = "postgresql+psycopg://127.0.0.1:1/ledger"
    other = ("--to", f"sqlite:///{tmp_path}/other.sqlite") if option == "--from" else ()
    code, printed = run("copy", option, away, *other)

    assert code == 2
    assert f"{away} cannot be" in printed
    assert f"the server does not answer; start it, or correct {option} (" in printed
    assert "[storage] url" not in printed


def test_a_folder_that_is_no_database_is_named_with_the_option_that_named_it(run: Run, tmp_path: Path) -> None:
    code, printed = run("copy", "--to", f"sqlite:///{tmp_path}")

    assert code == 2
    assert "or name another file with --to" in printed
