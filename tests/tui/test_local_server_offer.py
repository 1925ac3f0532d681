"""A local server of models that an empty session names: chosen, shown what is written, and used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quorum.app.settings_service import LocalServerSettings
from quorum.command_line.options import StartOptions
from quorum.tui.app.app import QuorumApp
from quorum.tui.chat import welcome
from quorum.tui.chat.controllers import local_servers
from quorum.tui.screens.local_server import LocalServerDialog
from tests.support.app_stage import Stage, on_stage
from tests.support.model_list_server import OwnFile, list_models_on_loopback

MODELS = b'{"data": [{"id": "qwen3:8b"}, {"id": "evil\\u001b[2J"}, {"id": "gpt-oss:20b"}]}'


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnFile:
    """The person's own file, which is not there yet."""
    for name in [name for name in os.environ if name.startswith(("QUORUM_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return OwnFile(tmp_path / ".config" / "quorum" / "quorum.toml")


def use_ports(monkeypatch: pytest.MonkeyPatch, *ports: int) -> None:
    names = dict(zip(ports, ("Ollama", "vLLM"), strict=False))
    for module in (welcome, local_servers):
        monkeypatch.setattr(module, "LOCAL_SERVERS", names)


async def dialog_of(stage: Stage) -> LocalServerDialog:
    def is_awake() -> bool:
        return isinstance(stage.app.screen, LocalServerDialog) and stage.app.screen.is_awake

    await stage.until(is_awake)
    assert isinstance(stage.app.screen, LocalServerDialog)
    return stage.app.screen


@pytest.mark.long
async def test_enter_shows_what_would_be_written_and_a_yes_writes_it_and_begins_with_it(
    tmp_path, monkeypatch, own
):
    async with list_models_on_loopback(MODELS) as port:
        use_ports(monkeypatch, port)
        async with on_stage(tmp_path, size=(80, 24), model="offline/offline") as stage:
            stage.app.open_local_servers = lambda: LocalServerSettings(StartOptions(), tmp_path)
            await stage.shows(f"Ollama on 127.0.0.1:{port}: Enter uses it")
            await stage.pilot.press("enter")
            await dialog_of(stage)
            await stage.shows('decision = "ollama/qwen3:8b"')
            await stage.shows("[providers.ollama]")
            assert not own.exists
            await stage.pilot.press("m")
            await stage.shows('decision = "ollama/gpt-oss:20b"')
            await dialog_of(stage)
            await stage.pilot.press("y")
            await stage.until(lambda: len(stage.agents) == 2)

    assert 'decision = "ollama/gpt-oss:20b"' in own.text


@pytest.mark.long
@pytest.mark.parametrize(("answer", "prompts"), [("y", [[], ["do it"]]), ("n", [["do it"]])])
async def test_a_first_prompt_waits_for_the_offer_of_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: OwnFile, answer: str, prompts: list[list[str]]
) -> None:
    monkeypatch.setattr(QuorumApp, "offers_server_first", True)
    monkeypatch.setattr(
        QuorumApp, "open_local_servers", staticmethod(lambda: LocalServerSettings(StartOptions(), tmp_path))
    )
    async with list_models_on_loopback(MODELS) as port:
        use_ports(monkeypatch, port)
        async with on_stage(tmp_path, model="offline/offline", initial_prompt="do it", ready=False) as stage:
            await dialog_of(stage)
            assert stage.agents[0].prompts == []
            await stage.pilot.press(answer)
            await stage.until(lambda: [agent.prompts for agent in stage.agents] == prompts)

    assert own.exists is (answer == "y")


@pytest.mark.long
async def test_a_first_prompt_waits_for_nothing_where_no_server_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QuorumApp, "offers_server_first", True)
    use_ports(monkeypatch)
    async with on_stage(tmp_path, model="offline/offline", initial_prompt="do it", ready=False) as stage:
        await stage.until(lambda: bool(stage.agents) and stage.agents[0].prompts == ["do it"])


@pytest.mark.long
async def test_a_number_chooses_another_server_and_a_no_writes_nothing(tmp_path, monkeypatch, own):
    async with list_models_on_loopback(b"rubbish") as port, list_models_on_loopback(MODELS) as other:
        use_ports(monkeypatch, port, other)
        async with on_stage(tmp_path, model="offline/offline") as stage:
            stage.app.open_local_servers = lambda: LocalServerSettings(StartOptions(), tmp_path)
            await stage.shows("2 and Enter uses it")
            await stage.send("1")
            await stage.shows("not a list of models")
            await stage.send("2")
            await dialog_of(stage)
            await stage.pilot.press("escape")
            await stage.shows("nothing was written")
            await stage.send("3")
            await stage.until(lambda: stage.agent.prompts == ["3"])

    assert not own.exists


async def test_a_server_without_a_model_is_a_sentence(tmp_path, monkeypatch, own):
    async with list_models_on_loopback(b'{"data": []}') as port:
        use_ports(monkeypatch, port)
        async with on_stage(tmp_path, model="offline/offline") as stage:
            stage.app.open_local_servers = lambda: LocalServerSettings(StartOptions(), tmp_path)
            await stage.shows("Enter uses it")
            await stage.pilot.press("enter")
            await stage.shows("has no model yet")

    assert not own.exists


@pytest.mark.long
@pytest.mark.parametrize(("answer", "prompts"), [("y", [[], ["do it"]]), ("n", [["do it", "more"]])])
async def test_a_typed_first_prompt_waits_for_the_offer_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: OwnFile, answer: str, prompts: list[list[str]]
) -> None:
    monkeypatch.setattr(QuorumApp, "offers_server_first", True)
    async with list_models_on_loopback(MODELS) as port:
        use_ports(monkeypatch, port)
        async with on_stage(tmp_path, model="offline/offline") as stage:
            stage.app.open_local_servers = lambda: LocalServerSettings(StartOptions(), tmp_path)
            await stage.shows("Enter uses it")
            await stage.send("do it")
            await dialog_of(stage)
            assert stage.agent.prompts == []
            await stage.pilot.press(answer)
            await stage.until(lambda: stage.agents[-1].prompts == ["do it"])
            if answer == "n":
                await stage.send("more")
            await stage.until(lambda: [agent.prompts for agent in stage.agents] == prompts)

    assert own.exists is (answer == "y")


async def test_a_first_prompt_is_sent_where_the_server_has_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: OwnFile
) -> None:
    monkeypatch.setattr(QuorumApp, "offers_server_first", True)
    async with list_models_on_loopback(b'{"data": []}') as port:
        use_ports(monkeypatch, port)
        async with on_stage(tmp_path, model="offline/offline") as stage:
            stage.app.open_local_servers = lambda: LocalServerSettings(StartOptions(), tmp_path)
            await stage.shows("Enter uses it")
            await stage.send("do it")
            await stage.until(lambda: stage.agent.prompts == ["do it"])

    assert not own.exists


async def test_a_prompt_waits_for_no_offer_where_a_model_was_chosen_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: OwnFile
) -> None:
    async with list_models_on_loopback(MODELS) as port:
        use_ports(monkeypatch, port)
        async with on_stage(tmp_path, model="offline/offline") as stage:
            stage.app.open_local_servers = lambda: LocalServerSettings(StartOptions(), tmp_path)
            await stage.shows("Enter uses it")
            await stage.send("do it")
            await stage.until(lambda: stage.agent.prompts == ["do it"])

    assert not own.exists
