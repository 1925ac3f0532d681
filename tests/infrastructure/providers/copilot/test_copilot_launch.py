from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.copilot.failures import CopilotFailures
from quorum.infrastructure.models.copilot.launch import CliLaunch
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from tests.support.copilot_rig import fake_program


def _launch(folder: Path, environ: dict[str, str] | None = None, **settings: Any) -> CliLaunch:
    fake_program(folder)
    known = {"PATH": str(folder), **(environ or {})}
    return CliLaunch.of("copilot", ProviderSettings(type="copilot", **settings), known)


def _refusal(folder: Path, environ: dict[str, str] | None = None, **settings: Any) -> str:
    with pytest.raises(ProviderError) as caught:
        _launch(folder, environ, **settings)
    assert caught.value.kind is ProviderErrorKind.CONFIGURATION
    return str(caught.value)


def test_the_program_is_looked_up_in_the_path_of_the_given_environment(tmp_path: Path) -> None:
    assert _launch(tmp_path).program == str(tmp_path / "copilot")


def test_a_missing_program_is_reported_with_where_it_was_sought_and_how_to_install_it(tmp_path: Path) -> None:
    text = _refusal(tmp_path, program="copilot-of-tomorrow")
    assert "there is no program copilot-of-tomorrow on PATH" in text
    assert "npm install -g @github/copilot" in text


def test_a_cli_of_another_protocol_is_reported_with_how_to_install_one_that_fits(tmp_path: Path) -> None:
    text = str(CopilotFailures(_launch(tmp_path)).explain_wrong_version("0.9"))
    assert "found 0.9" in text
    assert text.endswith("npm install -g @github/copilot")


def test_a_path_that_is_no_program_is_reported_as_such(tmp_path: Path) -> None:
    assert "there is no program at /nowhere/copilot" in _refusal(tmp_path, program="/nowhere/copilot")


def test_headers_and_clouds_are_refused_by_name(tmp_path: Path) -> None:
    assert "[providers.copilot] sets headers" in _refusal(tmp_path, headers={"X-Team": "tools"})
    assert 'client = "azure"' in _refusal(tmp_path, client="azure")


def test_a_named_variable_without_a_key_is_reported(tmp_path: Path) -> None:
    assert "GH_TOKEN is not set" in _refusal(tmp_path, api_key_env="GH_TOKEN")


def test_an_address_that_is_none_is_reported(tmp_path: Path) -> None:
    assert "base_url of [providers.copilot]" in _refusal(tmp_path, base_url="localhost:11434")


def test_the_keys_of_other_providers_stay_here(tmp_path: Path) -> None:
    others = {
        "OPENAI_API_KEY": "sk-1",
        "ANTHROPIC_API_KEY": "sk-2",
        "AWS_SECRET_ACCESS_KEY": "x",
        "GH_TOKEN": "y",
    }
    launch = _launch(tmp_path, {**others, "HOME": "/home/me", "LC_ALL": "C.UTF-8"})
    assert not others.keys() & launch.environ.keys()
    assert launch.environ.keys() >= {"PATH", "HOME", "LC_ALL"}


def test_the_login_is_passed_on_only_where_it_is_used(tmp_path: Path) -> None:
    login = {"COPILOT_GITHUB_TOKEN": "gho_1", "COPILOT_HOME": "/home/me/.copilot", "K": "k"}
    assert _launch(tmp_path, login).environ.keys() >= {"COPILOT_GITHUB_TOKEN", "COPILOT_HOME"}
    for settings in ({"base_url": "http://localhost:1/v1"}, {"api_key_env": "K"}):
        launch = _launch(tmp_path, login, **settings)
        assert not launch.environ.keys() & {"COPILOT_GITHUB_TOKEN", "COPILOT_HOME"}
        assert not launch.uses_own_login


def test_the_key_belongs_to_github_or_to_the_own_server_never_to_both(tmp_path: Path) -> None:
    environ = {"K": "the-key"}
    github = _launch(tmp_path, environ, api_key_env="K")
    assert (github.token, github.server) == ("the-key", None)
    own = _launch(tmp_path, environ, api_key_env="K", base_url="http://localhost:1/v1/")
    assert own.token == ""
    assert own.server is not None
    assert (own.server.address, own.server.key) == ("http://localhost:1/v1", "the-key")
    assert "the-key" not in repr(own) + repr(github)


def test_a_relative_program_is_found_from_the_folder_we_are_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _launch(tmp_path, program="./copilot").program == str(tmp_path / "copilot")
