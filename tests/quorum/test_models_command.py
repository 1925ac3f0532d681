"""`quorum models`: what a key can use, from the lists of real servers on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from quorum.errors import UsageError
from tests.support.command_line import run_command


class _Lists(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if "/down/" in self.path:
            self.send_error(401)
            return
        body = json.dumps({"object": "list", "data": [{"id": "own-model", "object": "model"}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Lists)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "QUORUM_CONFIG", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # no agent program that would be asked too
    (tmp_path / ".config/quorum").mkdir(parents=True)
    return tmp_path


def _configure(home: Path, address: str, *more: str) -> None:
    text = f"""
[providers.local]
type = "openai-chat"
base_url = "{address}/v1"
[models]
decision = "local/own-model"
[context_budget.models."local/own-model"]
window = 32000
[prices."local/own-model"]
input = 0.5
output = 1.5
cache_read = 0.1
cache_write = 0.5
"""
    (home / ".config/quorum/quorum.toml").write_text("\n".join((text, *more)), encoding="utf-8")


def test_each_model_has_its_window_its_prices_and_its_roles(
    home: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _configure(home, address)

    assert run_command(["models", "local"], home) == 0

    head, row, legend = capsys.readouterr().out.splitlines()
    assert head.split() == ["MODEL", "WINDOW", "IN", "OUT"]
    assert row.split()[:4] == ["local/own-model", "32,000", "0.5", "1.5"]
    assert "decision" in row
    assert legend == "IN and OUT are USD per million tokens"


def test_json_has_the_same(home: Path, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    _configure(home, address)

    assert run_command(["models", "--json", "local"], home) == 0

    printed = json.loads(capsys.readouterr().out)
    (model,) = printed["models"]
    assert (model["model"], model["window"], model["input_usd"]) == ("local/own-model", 32_000, "0.5")
    assert "decision" in model["roles"]
    assert printed["errors"] == {}


def test_one_that_cannot_be_asked_is_named_and_the_others_are_listed(
    home: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _configure(home, address, f'[providers.other]\ntype = "openai-chat"\nbase_url = "{address}/down/v1"\n')

    assert run_command(["models", "local", "other"], home) == 1

    said = capsys.readouterr()
    assert "local/own-model" in said.out
    assert "other: " in said.err


def test_a_provider_that_there_is_not_is_an_error_that_names_those_there_are(home: Path, address: str) -> None:
    _configure(home, address)

    with pytest.raises(UsageError, match=r"there is no provider nowhere; the providers are .*local"):
        run_command(["models", "nowhere"], home)


def test_without_a_key_it_says_how_to_have_one(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["models"], home) == 1

    assert "`quorum keys set anthropic`" in capsys.readouterr().err
