"""Whether there is a model to ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.acp_agent.client_session import find_own_folder
from quorum.acp_agent.sign_in import KEY_METHOD, require_provider
from quorum.domain.errors import ProviderError
from tests.support.settings_machine import Machine


def find_no_key(_provider: str) -> None:
    return None


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def test_the_stand_in_for_a_model_is_none(machine: Machine) -> None:
    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY or OPENAI_API_KEY"):
        await require_provider(machine.load(), machine.environ, find_no_key)


async def test_a_missing_key_is_named(machine: Machine) -> None:
    machine.user('models.decision = "work/m"\n[providers.work]\ntype = "openai"\napi_key_env = "WORK_KEY"')

    with pytest.raises(ProviderError, match="WORK_KEY is not set"):
        await require_provider(machine.load(), machine.environ, find_no_key)


@pytest.mark.parametrize(
    ("settings", "keys"),
    [('models.decision = "offline/offline"', {}), ("", {"OPENAI_API_KEY": "k"})],
    ids=["chosen", "a key"],
)
async def test_a_model_that_is_chosen_or_has_a_key_can_be_asked(
    machine: Machine, settings: str, keys: dict[str, str]
) -> None:
    machine.user(settings)
    machine.environ |= keys

    await require_provider(machine.load(), machine.environ, find_no_key)


async def test_a_session_continues_with_its_former_model_where_that_can_be_asked(machine: Machine) -> None:
    machine.user('[providers.mine]\ntype = "openai-chat"\nbase_url = "http://127.0.0.1:9/v1"')
    await require_provider(machine.load(), machine.environ, find_no_key, "mine/model")

    machine.user("")
    for former in ("anthropic/gone", "mine/model", "offline/offline"):
        with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY or OPENAI_API_KEY"):
            await require_provider(machine.load(), machine.environ, find_no_key, former)


def test_the_method_says_what_to_set() -> None:
    assert "ANTHROPIC_API_KEY" in (KEY_METHOD.description or "")


def test_an_editor_that_removed_the_folder_of_the_process_is_still_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    assert find_own_folder() == gone

    gone.rmdir()

    assert find_own_folder() == Path("/")
