"""Settings for a local server of models: read off a real server, shown, and written after a yes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from quorum.app.settings_service import LocalServerSettings
from quorum.command_line.options import StartOptions
from quorum.domain.errors import ConfigError, ProviderError, QuorumError
from tests.support.model_list_server import OwnFile, list_models_on_loopback

MODELS = b'{"object": "list", "data": [{"id": "qwen3:8b"}, {"id": "gpt-oss:20b"}]}'


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnFile:
    """The person's own file, which is not there yet."""
    for name in [name for name in os.environ if name.startswith(("QUORUM_", "XDG_", "OPENAI_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return OwnFile(tmp_path / "home" / ".config" / "quorum" / "quorum.toml")


@pytest.fixture
def servers(own: OwnFile, tmp_path: Path) -> LocalServerSettings:
    root = tmp_path / "project"
    root.mkdir()
    return LocalServerSettings(StartOptions(), root)


async def test_what_a_server_lists_is_proposed_and_written_after_a_yes(
    servers: LocalServerSettings, own: OwnFile
) -> None:
    async with list_models_on_loopback(MODELS) as port:
        assert await servers.list_models(port) == ("qwen3:8b", "gpt-oss:20b")

    proposal = await servers.propose(11434, "Ollama", "qwen3:8b")

    assert not own.exists
    assert (proposal.model, proposal.file, proposal.is_new) == ("ollama/qwen3:8b", str(own.path), True)
    assert [line for line in proposal.lines if line != "+"] == [
        "+[providers.ollama]",
        '+type = "openai-chat"',
        '+base_url = "http://127.0.0.1:11434/v1"',
        "+[models]",
        '+decision = "ollama/qwen3:8b"',
    ]
    assert await servers.accept(proposal) == ""
    assert own.text.splitlines() == [line[1:] for line in proposal.lines]


async def test_models_that_do_not_chat_come_last(servers: LocalServerSettings) -> None:
    others = (
        "text-embedding-nomic-embed-text-v1.5",
        "nomic-embed-text:latest",
        "mxbai-embed-large",
        "bge-m3:567m",
        "BAAI/bge-reranker-v2-m3",
        "intfloat/e5-mistral-7b-instruct",
        "all-minilm:latest",
        "openai/whisper-large-v3",
    )
    chat = ("qwen/qwen3-coder-30b", "gemma3:4b", "mistral:7b-instruct", "phi-4", "tiny-e5b")
    answer = json.dumps({"data": [{"id": name} for name in (*others, *chat)]}).encode()

    async with list_models_on_loopback(answer) as port:
        assert await servers.list_models(port) == (*chat, *others)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"<html>hello</html>", "not a list of models"),
        (b'{"data": 7}', "not a list of models"),
        (b"", "not a list of models"),
    ],
)
async def test_rubbish_is_a_sentence(servers: LocalServerSettings, answer: bytes, problem: str) -> None:
    async with list_models_on_loopback(answer) as port:
        with pytest.raises(ProviderError, match=problem):
            await servers.list_models(port)


async def test_a_server_that_vanished_or_lists_nothing_is_told_apart(servers: LocalServerSettings) -> None:
    async with list_models_on_loopback(b'{"data": null}') as port:
        assert await servers.list_models(port) == ()
    with pytest.raises(QuorumError, match=f"127.0.0.1:{port}"):
        await servers.list_models(port)


async def test_a_table_of_that_name_is_never_overwritten(servers: LocalServerSettings, own: OwnFile) -> None:
    own.write(
        '# mine\n[providers.ollama]\ntype = "openai-chat"\nbase_url = "http://gpu:1/v1"\n\n'
        '[models]\ndecision = "a/b"\n'
    )

    proposal = await servers.propose(11434, "Ollama", "m")
    await servers.accept(proposal)

    assert proposal.model == "ollama-2/m"
    assert '-decision = "a/b"' in proposal.lines
    assert '+decision = "ollama-2/m"' in proposal.lines
    assert 'base_url = "http://gpu:1/v1"' in own.text
    assert "# mine\n" in own.text


async def test_a_table_that_leads_there_already_is_used(servers: LocalServerSettings, own: OwnFile) -> None:
    own.write('[providers.mine]\ntype = "openai-chat"\nbase_url = "http://localhost:11434/v1/"\n')

    proposal = await servers.propose(11434, "Ollama", "m")

    assert [line for line in proposal.lines if line != "+"] == ["+[models]", '+decision = "mine/m"']


async def test_what_was_changed_since_it_was_shown_is_not_written(
    servers: LocalServerSettings, own: OwnFile
) -> None:
    proposal = await servers.propose(1234, "LM Studio", "m")
    own.write('[tui]\ntheme = "nord"\n')

    with pytest.raises(ConfigError, match="changed meanwhile"):
        await servers.accept(proposal)

    assert own.text == '[tui]\ntheme = "nord"\n'


async def test_a_name_of_a_model_can_be_nothing_but_a_name(servers: LocalServerSettings, own: OwnFile) -> None:
    name = json.dumps('x"\n[hooks]')[1:-1]

    try:
        await servers.accept(await servers.propose(8080, "llama.cpp", name))
    except ConfigError:
        assert not own.exists
    else:
        assert "\n[hooks]" not in own.text


async def test_what_counts_more_is_said(own: OwnFile, tmp_path: Path) -> None:
    options = StartOptions(overrides={"models.decision": "offline/offline"})
    servers = LocalServerSettings(options, tmp_path)

    said = await servers.accept(await servers.propose(8000, "vLLM", "m"))

    assert "counts more: the model is offline/offline" in said
