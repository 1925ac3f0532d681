"""A project's file that is not TOML, as a cloned folder may bring it: what goes on all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from tests.support.command_line import run_command

RUBBISH = b"this is not [toml\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (home / ".config/quorum", project):
        folder.mkdir(parents=True)
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "QUORUM_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    (home / ".config/quorum/quorum.toml").write_text('tui.theme = "nord"\n', encoding="utf-8")
    (project / "quorum.toml").write_bytes(RUBBISH)
    return project


@pytest.mark.parametrize("words", ["config show", "config keys", "permissions list"])
def test_what_only_looks_says_so_and_goes_on_without_it(
    words: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(words.split(), project) == 0

    printed = capsys.readouterr()
    assert f"{project}/quorum.toml:1: this is not TOML" in printed.err
    assert "the file is left out" in printed.err
    assert printed.out


def test_a_setting_of_ones_own_file_can_be_changed_beside_it(project: Path) -> None:
    run_command(["config", "set", "tui.theme", "gruvbox"], project)

    own = project.parent / "home/.config/quorum/quorum.toml"
    assert own.read_text(encoding="utf-8") == 'tui.theme = "gruvbox"\n'


@pytest.mark.parametrize("words", ["config check", "config set --project tui.theme gruvbox"])
def test_what_is_about_the_file_itself_is_refused(words: str, project: Path) -> None:
    with pytest.raises(ConfigError, match="this is not TOML"):
        run_command(words.split(), project)

    assert (project / "quorum.toml").read_bytes() == RUBBISH


def test_no_answer_about_a_call_is_given_without_it(project: Path) -> None:
    with pytest.raises(ConfigError, match="this is not TOML"):
        run_command(["permissions", "check", "read_file", "path=x"], project)
