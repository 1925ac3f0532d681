"""`quorum share`: what leaves is listed and asked, secrets stay, and the file is one that verifies."""

from __future__ import annotations

import asyncio
import io
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from quorum.cli.sessions import COMMAND as SESSIONS
from quorum.cli.share import COMMAND, ShareOptions
from quorum.domain.events.event import OutputStored
from quorum.domain.sessions.session_summary import ContinuedSession, NewSession
from quorum.domain.text.output import Text
from quorum.errors import UsageError
from quorum.infrastructure.config.schema import StorageTable
from quorum.infrastructure.storage import open_storage
from tests.support.builders import a_context
from tests.support.headless_run import configure, environment
from tests.support.past_sessions import an_eventful_session

VERIFIER = Path(__file__).parents[2] / "docs" / "verify_audit_export.py"
SECRET = "kV9xTq2mWz7pLr4s"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Desk:
    """A person's home with one recorded session, in which a value stands that is known as a secret since."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.root = folder / "home", folder / "work"
        self.home.mkdir()
        self.root.mkdir()
        configure(self.home, "")
        for name, value in environment(self.home).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
        self.session = asyncio.run(self._record(f"deploy with {SECRET}"))
        monkeypatch.setenv("DEPLOY_API_KEY", SECRET)

    async def _record(self, text: str) -> str:
        storage = open_storage(StorageTable(), environment(self.home))
        opened = storage.open_session(NewSession(), cwd=str(self.root))
        assert opened.ledger is not None
        for record in an_eventful_session(text):
            if record.event is not None:
                await opened.ledger.append(record.event)
        await opened.ledger.aclose()
        storage.close()
        return opened.session_id

    def share(self, **wish: object) -> int:
        assert COMMAND.run is not None
        options = ShareOptions(**{"session": self.session, **wish})  # type: ignore[arg-type]
        return COMMAND.run(options, self.root)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


def test_the_file_holds_no_known_secret_and_verifies_with_its_check_code(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "session.html"

    assert desk.share(file=file, yes=True) == 0

    out, err = capsys.readouterr()
    assert re.fullmatch(r"[0-9a-f]{64}-[0-9a-f]{64}\n", out)
    checked = subprocess.run(
        [sys.executable, VERIFIER, file, "--key", out.strip()], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "its last record is the one that the check code names" in checked.stdout
    assert "taken out on purpose of" in checked.stdout
    assert SECRET not in checked.stdout + err
    assert "[secret:DEPLOY_API_KEY] " in err


def test_what_leaves_is_listed_before_anything_is_written(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "session.html"
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    assert desk.share(file=file) == 1

    err = capsys.readouterr().err
    for part in (
        "1 vote",
        "1 diff",
        "prompt",
        "answer",
        "approved by a person",
        "it names the folder",
        "1 command",
    ):
        assert part in err
    assert "nothing was written" in err
    assert not file.exists()


def test_without_a_terminal_nothing_is_written_unless_that_was_said(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "session.html"

    with pytest.raises(UsageError, match="--yes writes it without asking"):
        desk.share(file=file)

    assert not file.exists()


def test_a_file_that_cannot_be_written_is_named(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name another file with --out"):
        desk.share(file=tmp_path / "missing" / "session.html", yes=True)


def test_outputs_that_their_store_does_not_hold_any_more_are_named_wherever_a_session_is_handed_on(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def keep_outputs() -> tuple[str, str]:
        with closing(open_storage(StorageTable(), environment(desk.home))) as storage:
            outputs = storage.open_blobs()
            opened = storage.open_session(ContinuedSession(desk.session), cwd=str(desk.root))
            assert outputs is not None
            assert opened.ledger is not None
            kept, gone = await outputs.store(Text("kept")), await outputs.store(Text("not kept"))
            for each in (kept, gone, gone):
                stored = OutputStored(context=a_context(), blob_id=each, size_bytes=9, summary="a summary")
                await opened.ledger.append(stored)
            await opened.ledger.aclose()
        return kept, gone

    def hand_on() -> list[str]:
        """What each way of it says."""
        assert desk.share(file=tmp_path / "a.html", yes=True) == 0
        said = [capsys.readouterr().err]
        for name in ("export", "verify"):
            command = SESSIONS.actions[name]
            assert command.run is not None
            assert command.run(command.options(session=desk.session), desk.root) == 0
            out, err = capsys.readouterr()
            said.append(out if name == "verify" else err)
        return said

    kept, gone = asyncio.run(keep_outputs())
    assert not any("nothing is left" in each for each in hand_on())
    for file in (desk.home / "state").rglob(f"{gone}*"):
        file.unlink()

    for said in hand_on():
        assert f"of 1 output stored apart nothing is left but what its records hold: {gone}" in said
        assert kept not in said
