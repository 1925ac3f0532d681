"""`quorum mcp login` and `logout`, with a browser that follows the address that is printed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.core
import pytest

import quorum.cli.mcp.actions
from quorum.errors import UsageError
from tests.infrastructure.secrets.keyrings import FileKeyring
from tests.support.command_line import run_command
from tests.support.oauth_mcp_server import Authority, browse, oauth_server


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server that wants a login, in the settings as `issues`; served by another thread."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KEYRING_TEST_FILE", str(tmp_path / "entries.json"))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "QUORUM_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    before = keyring.core._keyring_backend
    keyring.set_keyring(FileKeyring())
    found: list[str] = []
    up, down = threading.Event(), threading.Event()

    async def serve() -> None:
        async with oauth_server(Authority()) as url:
            found.append(url)
            up.set()
            await asyncio.to_thread(down.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert up.wait(30)
    mcp("add", "issues", "--url", found[0], root=tmp_path)
    yield found[0]
    down.set()
    thread.join()
    keyring.core._keyring_backend = before


def mcp(*words: str, root: Path) -> int:
    return run_command(["mcp", *words], root)


@pytest.mark.long
def test_a_person_logs_in_uses_the_server_and_logs_out(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def open_here(address: str) -> bool:
        await browse(address)
        return True

    monkeypatch.setattr(quorum.cli.mcp.actions, "open_address", open_here)
    assert mcp("test", "issues", root=tmp_path) == 1
    assert "it wants you to log in (quorum mcp login issues" in capsys.readouterr().err

    assert mcp("login", "issues", root=tmp_path) == 0

    said = capsys.readouterr().out
    assert f"To log in to issues, open this address:\n{server.removesuffix('/mcp')}/authorize?" in said
    assert "It is open in your browser." in said
    assert mcp("test", "issues", root=tmp_path) == 0
    assert "issues (issues" in capsys.readouterr().out
    assert mcp("logout", "issues", root=tmp_path) == 0
    with pytest.raises(UsageError, match="the keyring holds no login to an MCP server issues"):
        mcp("logout", "issues", root=tmp_path)


def test_a_program_has_no_login(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mcp("add", "plain", "--", "true", root=tmp_path)

    assert mcp("login", "plain", root=tmp_path) == 1
    assert "is a program that is started here; it has no login" in capsys.readouterr().err
