from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.domain.events.masking import SecretMask
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.config.model_choice import AskedModels
from quorum.infrastructure.config.tools_table import WebTable
from quorum.infrastructure.container import Container, build_container
from quorum.infrastructure.session_inputs import SessionInputs
from quorum.infrastructure.trust_decisions import open_trust_decisions
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.records import no_record

OFF = {"web_fetch", "web_search"}


def a_container(root: Path, environ: Mapping[str, str] | None = None, **web: object) -> Container:
    overrides: dict[str, object] = {f"tools.{key.replace('__', '.')}": value for key, value in web.items()}
    loaded = load_settings(cwd=root, environ={"HOME": str(root)}, overrides=overrides)
    return build_container(
        SessionInputs(
            record=no_record(),
            mask=SecretMask(),
            loaded=loaded,
            asked=AskedModels(models=("offline/offline",)),
            root=root,
            environ=environ or {},
            approver=FakePerson(),
            observer=RecordingObserver(),
            trust=open_trust_decisions(environ or {}),
        )
    )


def test_neither_tool_exists_unless_asked_for(tmp_path: Path):
    assert not OFF & set(a_container(tmp_path).tools())
    assert WebTable() == WebTable(fetch=False, search="")


def test_each_tool_is_switched_on_by_itself(tmp_path: Path):
    fetch = a_container(tmp_path, web__fetch=True)
    search = a_container(tmp_path, web__search="searxng", web__search_url="http://localhost:8888")

    assert OFF & set(fetch.tools()) == {"web_fetch"}
    assert OFF & set(search.tools()) == {"web_search"}


def test_a_service_without_what_it_needs_is_an_error_with_the_remedy(tmp_path: Path):
    with pytest.raises(ConfigError, match=r'"searxng" needs tools\.web\.search_url'):
        a_container(tmp_path, web__search="searxng").tools()
    with pytest.raises(ConfigError, match=r'"brave" needs tools\.web\.search_key_env'):
        a_container(tmp_path, web__search="brave").tools()
    with pytest.raises(ConfigError, match="the environment variable BRAVE_KEY is not set"):
        a_container(tmp_path, web__search="brave", web__search_key_env="BRAVE_KEY").tools()
    with pytest.raises(ConfigError, match="BRAVE_KEY holds characters that no key has"):
        a_container(
            tmp_path, {"BRAVE_KEY": "a\nb"}, web__search="brave", web__search_key_env="BRAVE_KEY"
        ).tools()


def test_the_key_of_the_search_is_kept_from_commands(tmp_path: Path):
    container = a_container(
        tmp_path, {"MY_SEARCH": "key"}, web__search="brave", web__search_key_env="MY_SEARCH"
    )

    assert "web_search" in container.tools()
    assert "MY_SEARCH" in container.parts().shared.secret_names


def test_naming_a_tool_that_is_off_says_how_to_switch_it_on(tmp_path: Path):
    with pytest.raises(ConfigError, match=r'names "web_fetch", which is off; set tools\.web\.fetch = true'):
        a_container(tmp_path, enabled=["read_file", "web_fetch"]).tools()

    assert "read_file" in a_container(tmp_path, disabled=["web_fetch"]).tools()


def test_a_project_file_switches_nothing_on(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "quorum.toml").write_text(
        '[tools.web]\nfetch = true\nsearch = "searxng"\nsearch_url = "http://a/"\n'
    )

    loaded = load_settings(cwd=tmp_path, environ={"HOME": str(tmp_path / "home")})

    assert loaded.settings.tools.web == WebTable()
    assert any("tools.web.fetch" in warning for warning in loaded.warnings)
