"""Anchors of sessions, and signed exports, as the commands make and compare them."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from quorum.cli.sessions import COMMAND
from quorum.cli.sessions.actions import BROKEN, NEWER
from quorum.domain.errors import ConfigError, LedgerError
from quorum.domain.events.event import SessionStarted, TurnStarted
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.session_ids import build_subagent_id
from quorum.domain.sessions.session_summary import ContinuedSession, NewSession, SessionChoice
from quorum.errors import UsageError
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage
from tests.support.headless_run import configure, environment

VERIFIER = Path(__file__).parents[2] / "docs" / "verify_audit_export.py"


class Desk:
    """A person's home with one recorded session, and the commands on it."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.home, self.root = folder / "home", folder / "work"
        self.home.mkdir()
        self.root.mkdir()
        configure(self.home, "")
        for name, value in environment(self.home).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
        monkeypatch.delenv("KEYRING_PROPERTY_APPNAME", raising=False)
        self.session = asyncio.run(self.record())
        self._capsys = capsys

    async def record(self, choice: SessionChoice | None = None) -> str:
        storage = open_storage(StorageTable(), environment(self.home))
        opened = storage.open_session(choice or NewSession(), cwd=str(self.root))
        assert opened.ledger is not None
        await opened.ledger.append(
            SessionStarted(session_id=opened.session_id, model="p/m", mode=Mode.ASK, cwd=str(self.root))
        )
        for prompt in ("one", "two"):
            await opened.ledger.append(TurnStarted(prompt=prompt))
        await opened.ledger.aclose()
        storage.close()
        return opened.session_id

    @property
    def ledger(self) -> Path:
        return self.home / "state" / "quorum" / "ledger.sqlite"

    def __call__(self, action: str, **wish: object) -> tuple[int, str]:
        """The exit code, and what is printed on stdout."""
        self._capsys.readouterr()
        command = COMMAND.actions[action]
        assert command.run is not None
        code = command.run(command.options(**wish), self.root)
        return code, self._capsys.readouterr().out

    def record_subagent(self) -> str:
        """Record a session of a subagent, which worked for the session; its id."""
        return asyncio.run(self.record(ContinuedSession(build_subagent_id(self.session, 1))))

    def write_newer(self) -> None:
        """Make the last record one of a version that knows other events, modes and links."""
        with closing(sqlite3.connect(self.ledger)) as connection, connection:
            (salt,) = connection.execute("SELECT salt FROM records WHERE seq = 2").fetchone()
            payload = b'{"type":"turn_started","v":9,"prompt":{"spoken":true},"link_format":9}'
            values = (payload, sha256(salt + payload).digest(), sha256(b"in another way").digest())
            connection.execute("UPDATE records SET payload = ?, digest = ?, link = ? WHERE seq = 2", values)
            connection.execute("UPDATE sessions SET head = ?", values[2:])

    def cut(self) -> None:
        """Take the last record away, and make the list of sessions tell of that many."""
        with closing(sqlite3.connect(self.ledger)) as connection, connection:
            last = connection.execute("SELECT max(seq) FROM records").fetchone()[0]
            connection.execute("DELETE FROM records WHERE seq = ?", (last,))
            head = connection.execute("SELECT link FROM records WHERE seq = ?", (last - 1,)).fetchone()[0]
            connection.execute("UPDATE sessions SET records = ?, head = ?", (last, head))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path.resolve(), monkeypatch, capsys)


def test_an_anchor_is_printed_and_noted(desk: Desk, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "anchors.jsonl"

    code, printed = desk("anchor", session="latest", file=elsewhere)

    anchor = json.loads(printed)
    own = desk.home / "state" / "quorum" / "anchors.jsonl"
    assert (code, anchor["session"], anchor["records"], len(anchor["head"])) == (0, desk.session, 3, 64)
    assert own.read_text() == elsewhere.read_text() == printed
    assert own.stat().st_mode & 0o777 == 0o600


def test_verify_sees_a_cut_tail_once_there_is_an_anchor(desk: Desk) -> None:
    desk("anchor", all=True)
    assert "it holds all that 1 anchor of it noted" in desk("verify", session="latest")[1]

    desk.cut()

    code, printed = desk("verify", all=True)
    assert (code, "its tail was cut" in printed) == (BROKEN, True)


def test_sessions_of_subagents_are_anchored_and_verified_with_all(desk: Desk, tmp_path: Path) -> None:
    subagent = desk.record_subagent()

    anchored = [json.loads(line)["session"] for line in desk("anchor", all=True)[1].splitlines()]
    holds = desk("verify", all=True)
    with closing(sqlite3.connect(desk.ledger)) as connection, connection:
        where = "session_id = ? AND seq = 2"
        connection.execute(f"DELETE FROM records WHERE {where}", (subagent,))
        head = connection.execute("SELECT link FROM records WHERE session_id = ? AND seq = 1", (subagent,))
        connection.execute(
            "UPDATE sessions SET records = 2, head = ? WHERE id = ?", (*head.fetchone(), subagent)
        )
    cut = desk("verify", all=True)

    assert sorted(anchored) == sorted([desk.session, subagent])
    assert (holds[0], holds[1].count("it holds all that 1 anchor of it noted")) == (0, 2)
    assert cut[0] == BROKEN
    assert f"{subagent}: BROKEN" in cut[1]


def test_without_an_anchor_a_cut_tail_is_not_seen(desk: Desk) -> None:
    desk.cut()

    assert desk("verify", all=True)[0] == 0


def test_anchors_kept_elsewhere_count_where_those_of_the_machine_are_gone(desk: Desk, tmp_path: Path) -> None:
    elsewhere = tmp_path / "anchors.jsonl"
    desk("anchor", all=True, file=elsewhere)
    (desk.home / "state" / "quorum" / "anchors.jsonl").unlink()
    desk.cut()

    assert desk("verify", all=True)[0] == 0
    assert desk("verify", all=True, anchors=elsewhere)[0] == BROKEN


def test_a_session_that_is_gone_is_seen_with_anchors_kept_elsewhere(desk: Desk, tmp_path: Path) -> None:
    elsewhere = tmp_path / "anchors.jsonl"
    desk("anchor", all=True, file=elsewhere)
    desk("prune", all=True, keep=0, yes=True)

    code, printed = desk("verify", all=True, anchors=elsewhere)

    assert (code, f"{desk.session}: BROKEN: it was anchored" in printed) == (BROKEN, True)
    assert desk("verify", all=True)[0] == 0  # whoever prunes on purpose is not told so for ever


def test_a_file_that_holds_no_anchors_is_an_error(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "anchors.jsonl"
    with pytest.raises(UsageError, match="does not exist"):
        desk("verify", session="latest", anchors=file)
    for text in ("rubbish", "{}", '{"session": "a", "records": 3, "head": "", "redactions": 0}', "[" * 9_999):
        file.write_text(text)
        with pytest.raises(ConfigError, match="jsonl:1: this is no anchor"):
            desk("verify", session="latest", anchors=file)


def test_a_signed_export_is_checked_without_quorum(desk: Desk, tmp_path: Path) -> None:
    export, anchors = tmp_path / "session.cose", tmp_path / "anchors.jsonl"
    _, key = desk("export", session="latest", signed=True, file=export)
    desk("anchor", all=True, file=anchors)

    command = [sys.executable, "-I", VERIFIER, export, "--key", key.strip(), "--anchors", anchors]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    assert (checked.returncode, checked.stderr) == (0, "")
    assert f"session {desk.session}, 3 records, every one fits" in checked.stdout
    assert (desk.home / "state" / "quorum" / "audit-signing-key").stat().st_mode & 0o777 == 0o600


def test_a_broken_session_is_neither_signed_nor_anchored(desk: Desk, tmp_path: Path) -> None:
    with closing(sqlite3.connect(desk.ledger)) as connection, connection:
        connection.execute("UPDATE records SET at_ms = 1 WHERE seq = 1")

    with pytest.raises(LedgerError, match="broken at record 1"):
        desk("anchor", session="latest")
    with pytest.raises(LedgerError, match="what does not hold is not signed"):
        desk("export", session="latest", signed=True, file=tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_broken_sessions_do_not_keep_the_others_from_being_anchored_and_are_named(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    broken, whole = [desk.session, desk.record_subagent()], asyncio.run(desk.record())
    with closing(sqlite3.connect(desk.ledger)) as connection, connection:
        for session in broken:
            connection.execute("UPDATE records SET at_ms = 1 WHERE seq = 1 AND session_id = ?", (session,))
    capsys.readouterr()

    with pytest.raises(LedgerError) as refused:
        desk("anchor", all=True)

    printed = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["session"] for line in printed] == [whole]
    assert (desk.home / "state" / "quorum" / "anchors.jsonl").read_text().splitlines() == printed
    for session in broken:
        assert f"the session {session} is broken at record 1" in str(refused.value)


def test_a_session_of_a_newer_version_is_shown_as_far_as_it_is_known_and_not_called_broken(
    desk: Desk, tmp_path: Path
) -> None:
    desk.write_newer()
    newer = "record 2 was written by a newer quorum (ledger format 9, this one knows 3); update quorum"

    assert desk("verify", session="latest") == (NEWER, f"{desk.session}: 3 records, not verified: {newer}\n")
    assert desk("list")[0] == 0
    code, shown = desk("show", session="latest")
    assert (
        code,
        "1 cannot be understood: a newer quorum may have written them, or they are damaged" in shown,
    ) == (
        0,
        True,
    )
    code, exported = desk("export", session="latest", format="json")
    assert (code, [each["event"] is None for each in json.loads(exported)["records"]]) == (
        0,
        [False, False, True],
    )
    with pytest.raises(LedgerError, match=r"cannot be verified: record 2 was written by a newer quorum"):
        desk("export", session="latest", signed=True, file=tmp_path / "x")


def test_a_changed_record_is_broken_whatever_a_newer_version_wrote_after_it(desk: Desk) -> None:
    desk.write_newer()
    with closing(sqlite3.connect(desk.ledger)) as connection, connection:
        connection.execute("UPDATE records SET at_ms = 1 WHERE seq = 1")

    code, printed = desk("verify", all=True)

    assert (code, "BROKEN at record 1 of 3 records" in printed) == (BROKEN, True)
