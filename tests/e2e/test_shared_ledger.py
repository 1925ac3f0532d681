"""Two machines on one PostgreSQL, each with its own home: what begins on the one continues on the other."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from tests.support.headless_run import Ended, configure, environment, run_quorum_now
from tests.support.postgres_server import PostgresForTests
from tests.support.terminal import Terminal


def machine(folder: Path, name: str, url: str) -> Path:
    """The home of a machine that shares the database."""
    home = folder / name
    configure(home, f'[storage]\nurl = "{url}"\n')
    return home


def app(project: Path, home: Path, *arguments: str) -> Terminal:
    return Terminal(project, home, rows=30, columns=120, arguments=list(arguments))


def quorum(*arguments: str, cwd: Path, home: Path, **more: str) -> Ended:
    return run_quorum_now(*arguments, cwd=cwd, env=environment(home, **more))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.mark.long
def test_a_session_with_a_pending_review_continues_on_another_machine(
    project: Path, tmp_path: Path, postgres: PostgresForTests
) -> None:
    url = postgres.new_database()
    here, there = machine(tmp_path, "here", url), machine(tmp_path, "there", url)
    with app(project, here) as terminal:
        terminal.wait_until_ready()
        terminal.submit("run echo made > made.txt")
        terminal.wait_for("y yes")
        with app(project, there, "--continue") as reader:
            reader.wait_for("read-only")
        terminal.process.kill(signal.SIGKILL)
        terminal.process.wait()

    assert not (project / "made.txt").exists()
    with app(project, there, "--continue") as terminal:
        terminal.wait_for("y yes")
        terminal.press_when_awake("y", "exit code 0")

    assert (project / "made.txt").read_text() == "made\n"
    verified = quorum("sessions", "verify", "--all", cwd=project, home=here)
    assert verified.code == 0, verified.out + verified.err
    exported = quorum("sessions", "export", "--format", "json", "latest", cwd=project, home=here).out
    asked = re.findall(r'"type": ?"review_requested".*?"digest": ?"(\w+)"', exported, re.DOTALL)
    assert len(asked) == 2
    assert len(set(asked)) == 1


@pytest.mark.long
def test_db_says_and_makes_what_is_missing_and_no_password_is_printed(
    project: Path, tmp_path: Path, postgres: PostgresForTests
) -> None:
    home = machine(tmp_path, "home", postgres.create_database("by_command"))

    before = quorum("db", "status", cwd=project, home=home, PGPASSWORD="hunter2")
    listed = quorum("sessions", "list", cwd=project, home=home, PGPASSWORD="hunter2")
    made = quorum("db", "upgrade", cwd=project, home=home, PGPASSWORD="hunter2")
    after = quorum("db", "status", cwd=project, home=home, PGPASSWORD="hunter2")

    assert (before.code, made.code, after.code) == (1, 0, 0)
    assert "no tables yet; run quorum db upgrade to make them" in before.out
    assert listed.code == 2
    assert "run quorum db upgrade" in listed.err
    assert "made the tables, schema 0005" in made.out
    assert "schema 0005, up to date" in after.out
    assert "hunter2" not in "".join(done.out + done.err for done in (before, listed, made, after))
    assert json.loads(quorum("sessions", "list", "--json", cwd=project, home=home).out) == []


@pytest.mark.long
def test_db_copy_moves_what_was_recorded_here(
    project: Path, tmp_path: Path, postgres: PostgresForTests
) -> None:
    home, url = tmp_path / "home", postgres.new_database()
    (project / "a.py").write_text("print()\n")
    assert quorum("run", "read a.py", cwd=project, home=home).code == 0

    copied = quorum("db", "copy", "--to", url, cwd=project, home=home)
    again = quorum("db", "copy", "--to", url, cwd=project, home=home)
    listed = quorum("sessions", "list", "--json", cwd=project, home=home, QUORUM_STORAGE__URL=url)
    wrong = quorum("db", "copy", "--to", "nowhere", cwd=project, home=home)

    assert "copied and verified 1 session" in copied.out, copied.err
    assert "copied and verified 0 sessions (1 were there already)" in again.out
    assert [session["title"] for session in json.loads(listed.out)] == ["read a.py"]
    assert wrong.code == 2
    assert "--to is no address of a database" in wrong.err


def test_a_project_cannot_name_the_database(project: Path, tmp_path: Path) -> None:
    (project / "quorum.toml").write_text('[storage]\nurl = "postgresql+psycopg://theirs/ledger"\n')
    home = tmp_path / "home"
    home.mkdir()

    done = quorum("db", "status", cwd=project, home=home)

    assert done.code == 0, done.err
    assert "theirs" not in done.out
    assert "ledger.sqlite: no tables yet; the first session makes them" in done.out
