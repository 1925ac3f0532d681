import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.config_file import ConfigFile
from quorum.infrastructure.config.loading import load_settings
from tests.support.settings_machine import Machine

TURNS = ("agent", "max_tool_turns")


def own_file(machine: Machine) -> ConfigFile:
    return file_at(machine, machine.user_file)


def file_at(machine: Machine, path) -> ConfigFile:
    def load(instead):
        return load_settings(cwd=machine.repository, environ=machine.environ, instead=instead)

    return ConfigFile(path, load)


@contextmanager
def _no_room() -> Iterator[None]:
    """Every byte that is written to a file meets a full disk."""
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, former)


def test_a_first_setting_makes_the_file_for_its_owner_alone_and_counts(machine: Machine):
    machine.user_file.parent.rmdir()

    loaded = own_file(machine).set(TURNS, 5)

    assert loaded.settings.agent.max_tool_turns == machine.load().settings.agent.max_tool_turns == 5
    assert machine.user_file.stat().st_mode & 0o777 == 0o600
    assert machine.user_file.parent.stat().st_mode & 0o777 == 0o700


def test_what_the_loader_refuses_is_not_written(machine: Machine):
    machine.user("# mine\n")

    with pytest.raises(
        ConfigError, match=r"agent\.max_tool_turns must be a whole number from 1 to 10000, not 0"
    ):
        own_file(machine).set(TURNS, 0)

    assert machine.user_file.read_text() == "# mine\n"


def test_the_line_that_is_wrong_is_reported_as_it_would_be_after_writing(machine: Machine):
    machine.user("# mine\n")

    with pytest.raises(ConfigError, match=rf"{machine.user_file}:4: "):
        own_file(machine).set(TURNS, "many")


def test_the_mode_of_a_file_stays_and_a_link_stays_a_link(machine: Machine, tmp_path):
    real = tmp_path / "dotfiles.toml"
    real.write_text("# mine\n")
    real.chmod(0o640)
    machine.user_file.symlink_to(real)

    own_file(machine).set(TURNS, 5)

    assert machine.user_file.is_symlink()
    assert real.read_text() == "# mine\n\n[agent]\nmax_tool_turns = 5\n"
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "change", [partial(ConfigFile.set, key=TURNS, value=5), partial(ConfigFile.unset, key=TURNS)]
)
def test_on_a_full_disk_the_file_is_as_it_was_and_nothing_is_left_beside_it(machine: Machine, change):
    machine.user("agent.max_tool_turns = 3\nagent.max_turn_end_retries = 1\n")

    with _no_room(), pytest.raises(ConfigError, match=r"cannot be written \(File too large\); it is as it was"):
        change(own_file(machine))

    assert machine.user_file.read_text() == "agent.max_tool_turns = 3\nagent.max_turn_end_retries = 1\n"
    assert os.listdir(machine.user_file.parent) == ["quorum.toml"]


def test_what_somebody_else_wrote_meanwhile_is_left_as_it_is(machine: Machine):
    machine.user("# mine\n")
    file = own_file(machine)

    def load_slowly(instead):
        loaded = file.load(instead)
        machine.user("# theirs\n")
        return loaded

    with pytest.raises(ConfigError, match=r"was changed meanwhile and is left as it is; try again"):
        ConfigFile(machine.user_file, load_slowly).set(TURNS, 5)

    assert machine.user_file.read_text() == "# theirs\n"
    assert os.listdir(machine.user_file.parent) == ["quorum.toml"]


def test_a_mark_of_utf_8_at_the_beginning_stays(machine: Machine):
    machine.user_file.write_bytes(b"\xef\xbb\xbf# mine\r\n")

    own_file(machine).set(TURNS, 5)

    assert machine.user_file.read_bytes() == b"\xef\xbb\xbf# mine\r\n\r\n[agent]\r\nmax_tool_turns = 5\r\n"


def test_what_is_taken_out_has_its_default_again(machine: Machine):
    machine.user("[agent]\nmax_tool_turns = 5 # mine\n")

    loaded = own_file(machine).unset(TURNS)

    assert loaded.settings.agent.max_tool_turns == 100
    assert machine.user_file.read_text() == "[agent]\n# mine\n"


def test_a_file_that_is_not_there_has_nothing_to_take_out(machine: Machine):
    with pytest.raises(ConfigError, match=r"does not exist, and so sets nothing"):
        own_file(machine).unset(TURNS)


def test_a_first_setting_for_the_project_counts_as_a_projects_setting_does(machine: Machine):
    loaded = file_at(machine, machine.project_file).set(("tui", "theme"), "nord")

    assert loaded.settings.tui.theme == "nord"
    assert loaded.locate(("tui", "theme")) == f"{machine.project_file}:2"


def test_the_place_of_a_value_has_its_line_and_all_its_sources(machine: Machine):
    machine.user("\n[permissions]\nask = ['own']\n")
    machine.project("permissions.ask = ['more']\n")
    machine.environ["QUORUM_TUI__THEME"] = "nord"

    loaded = machine.load()

    assert loaded.locate(("permissions", "ask")) == f"{machine.user_file}:3 + {machine.project_file}:1"
    assert loaded.locate(("tui", "theme")) == "environment QUORUM_TUI__THEME"
    assert loaded.locate(TURNS) == "default"
