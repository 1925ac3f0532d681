from __future__ import annotations

from pathlib import Path

import pytest
from dependency_injector import providers

from domain.errors import ConfigError
from infrastructure.config.loading import load_settings
from infrastructure.container import Container
from tests.support.fake_ports import FakePerson, RecordingObserver


def a_container(root: Path, **overrides: object) -> Container:
    loaded = load_settings(
        cwd=root,
        environ={"HOME": str(root)},
        overrides={key.replace("__", "."): value for key, value in overrides.items()},
    )
    return Container(
        settings=loaded.settings,
        model="offline/offline",
        root=root,
        environ={"HOME": str(root)},
        person=FakePerson(),
        observer=RecordingObserver(),
    )


def test_every_provider_can_be_called(tmp_path: Path) -> None:
    container = a_container(tmp_path)
    container.check_dependencies()

    for provider in container.providers.values():
        assert isinstance(provider, providers.Provider)
        assert provider() is not None


def test_the_agent_is_one_object_and_so_is_its_conversation(tmp_path: Path) -> None:
    container = a_container(tmp_path)

    assert container.run_agent() is container.run_agent()
    assert container.conversation() is container.conversation()


def test_the_tools_are_those_of_the_settings(tmp_path: Path) -> None:
    everything = a_container(tmp_path).tools()
    few = a_container(tmp_path, tools__enabled=["read_file", "grep_search"], tools__disabled=["grep_search"])

    assert set(everything) == {
        "read_file",
        "list_directory",
        "glob_search",
        "grep_search",
        "write_file",
        "edit_file",
        "run_command",
        "update_plan",
        "inspect",
    }
    assert set(few.tools()) == {"read_file"}


def test_D11_inspect_is_there_exactly_where_there_is_a_store(tmp_path: Path) -> None:
    assert "inspect" in a_container(tmp_path).tools()
    assert "inspect" not in a_container(tmp_path, tools__output__store=False).tools()


def test_a_tool_that_does_not_exist_is_an_error_with_the_nearest_name(tmp_path: Path) -> None:
    container = a_container(tmp_path, tools__disabled=["run_comand"])

    with pytest.raises(ConfigError, match=r"run_comand.*did you mean run_command"):
        container.tools()
