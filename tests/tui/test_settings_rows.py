from __future__ import annotations

from pathlib import Path

import pytest

from quorum.app.settings_service import FileSettingsService
from quorum.command_line.options import StartOptions
from quorum.command_line.reading import parse
from quorum.domain.errors import ConfigError
from quorum.tui.agent.services import Setting, Target
from tests.support.command_line import run_command
from tests.support.settings_machine import Machine


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "QUORUM_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return made


def service(machine: Machine) -> FileSettingsService:
    return FileSettingsService(StartOptions(), machine.repository)


async def found(machine: Machine, key: str) -> Setting:
    (one,) = [setting for setting in await service(machine).list_settings() if setting.key == key]
    return one


def own(machine: Machine) -> Target:
    return service(machine).targets[0]


async def test_a_setting_has_its_value_default_meaning_and_the_line_it_comes_from(machine: Machine) -> None:
    machine.user("# mine\n[agent]\nmax_tool_turns = 3\n")

    setting = await found(machine, "agent.max_tool_turns")

    assert (setting.table, setting.name, setting.value, setting.default) == (
        "agent",
        "max_tool_turns",
        "3",
        "100",
    )
    assert setting.origin == f"{machine.user_file}:3"
    assert "maximum number of rounds" in setting.description
    assert setting.expected == "a whole number from 1 to 10000"


async def test_every_setting_of_the_reference_is_there_and_every_action_with_its_keys(machine: Machine) -> None:
    keys = {setting.key for setting in await service(machine).list_settings()}

    assert {"review.mode", "providers.anthropic.base_url", "tools.run_command.sandbox", "hooks"} <= keys
    assert {"tui.keys.redraw", "tui.keys.review_approve"} <= keys
    assert "tui.keys.review_widen" not in keys  # it keeps its key


async def test_secrets_passwords_and_lists_of_tables_are_hidden_or_left_to_their_file(machine: Machine) -> None:
    machine.user(
        '[providers.own]\ntype = "openai-chat"\nbase_url = "http://me:hunter2@localhost:1"\n'
        'headers = { X-Key = "hunter2" }\n'
    )

    header = await found(machine, "providers.own.headers.X-Key")
    address = await found(machine, "providers.own.base_url")

    assert "hunter2" not in header.value + address.value
    assert header.fixed
    assert address.fixed
    assert (await found(machine, "hooks")).fixed
    with pytest.raises(ConfigError, match="is secret"):
        await service(machine).change(header.key, "new", own(machine))


@pytest.mark.parametrize(
    ("key", "typed", "line"),
    [
        ("tui.theme", "nord", 'theme = "nord"'),
        ("tui.theme", '"nord"', 'theme = "nord"'),
        ("models.decision", "own/7", 'decision = "own/7"'),
        ("agent.max_tool_turns", " 7 ", "max_tool_turns = 7"),
        ("tui.notifications", "false", "notifications = false"),
        ("tools.disabled", '["run_command"]', 'disabled = ["run_command"]'),
        ("tui.keys.redraw", "f5", 'redraw = "f5"'),
        ("tui.keys.redraw", '["f5", "f6"]', 'redraw = ["f5", "f6"]'),
        ("providers.openai.base_url", "http://localhost:1", 'base_url = "http://localhost:1"'),
    ],
)
async def test_what_is_typed_is_written_as_its_setting_takes_it(
    machine: Machine, key: str, typed: str, line: str
) -> None:
    written = await service(machine).change(key, typed, own(machine))

    assert line in machine.user_file.read_text().splitlines()
    assert written.counts


@pytest.mark.parametrize(
    ("key", "typed", "problem"),
    [
        ("agent.max_tool_turns", "many", "must be a whole number"),
        ("tui.notifications", "yes", "must be true or false"),
        ("tools.disabled", "run_command", "must be a list of strings"),
        ("tui.keys.redrw", "f5", "nothing is called 'redrw'; did you mean redraw"),
        ("tui.keys.redraw", "escape", "esc always does what it does"),
        ("permissions.allow", '["x("]', "is not a rule"),
        ("no.such", "1", "there is no setting no.such"),
        ("agent", "1", "agent is a table of settings"),
        ("review.mode", "aks", 'did you mean "ask"'),
    ],
)
async def test_what_does_not_fit_is_shown_as_the_loader_tells_it_and_not_written(
    machine: Machine, key: str, typed: str, problem: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        await service(machine).change(key, typed, own(machine))

    assert problem in str(refused.value)
    assert not machine.user_file.exists()


async def test_what_counts_more_is_shown(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORUM_TUI__THEME", "dracula")

    written = await service(machine).change("tui.theme", "nord", own(machine))

    assert not written.counts
    assert written.value == "dracula"
    assert "environment QUORUM_TUI__THEME counts more" in written.message


async def test_the_projects_file_has_to_be_trusted_for_what_it_may_not_do_by_itself(machine: Machine) -> None:
    project = service(machine).targets[1]

    free = await service(machine).change("tui.theme", "nord", project)
    never = await service(machine).change("models.decision", "own/model", project)

    assert free.counts
    assert not never.counts
    assert "it counts once you trust that file as it is now" in never.message
    with pytest.raises(ConfigError, match=r"no project's file may set tui\.keys\.redraw"):
        await service(machine).change("tui.keys.redraw", "f5", project)


@pytest.mark.parametrize("leads_to", ["the person's own file", "a file of another program", "nothing yet"])
async def test_a_link_in_the_place_of_the_projects_file_leads_no_change_elsewhere(
    machine: Machine, tmp_path: Path, leads_to: str
) -> None:
    machine.user('[tui]\ntheme = "nord"\n')
    other = tmp_path / "other.toml"
    if leads_to == "a file of another program":
        other.write_text("")
    link = machine.user_file if leads_to == "the person's own file" else other
    machine.project_file.symlink_to(link)
    project = service(machine).targets[1]

    with pytest.raises(ConfigError, match="is a link"):
        await service(machine).change("review.mode", "auto", project)
    with pytest.raises(ConfigError, match="is a link"):
        await service(machine).change("tui.theme", None, project)

    assert machine.user_file.read_text() == '[tui]\ntheme = "nord"\n'
    assert not other.exists() or other.read_text() == ""
    assert machine.project_file.is_symlink()


async def test_what_is_taken_out_is_shown_with_what_counts_instead(machine: Machine) -> None:
    machine.user('[tui]\ntheme = "nord"\n')

    written = await service(machine).change("tui.theme", None, own(machine))

    assert written.value == "quorum"
    assert 'it is "quorum" (default)' in written.message


def test_a_file_that_is_named_is_the_one_that_is_written(machine: Machine, tmp_path: Path) -> None:
    named = tmp_path / "mine.toml"
    named.write_text("")
    options = StartOptions(config_file=named)

    assert [target.path for target in FileSettingsService(options, machine.repository).targets] == [str(named)]


def configured(machine: Machine, *words: str) -> int:
    return run_command(["config", *words], machine.repository)


def test_settings_are_set_and_taken_out_from_the_command_line(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert configured(machine, "set", "agent.max_tool_turns", "5") == 0
    assert configured(machine, "set", "--project", "review.mode", "read-only") == 0
    assert machine.user_file.read_text() == "[agent]\nmax_tool_turns = 5\n"
    assert machine.project_file.read_text() == '[review]\nmode = "read-only"\n'
    assert configured(machine, "unset", "agent.max_tool_turns") == 0
    assert machine.user_file.read_text() == "[agent]\n"
    assert "agent.max_tool_turns = 5" in capsys.readouterr().out


def test_the_command_line_lists_all_keys_with_their_names(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.user('[tui.keys]\nredraw = "f5"\n')

    configured(machine, "keys")

    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  redraw ")]
    assert "f5" in line
    assert line.endswith("(usually ctrl+l)")


def test_a_wrong_key_is_an_error_with_its_line(machine: Machine) -> None:
    machine.user('[tui.keys]\nredraw = "f5"\nhelp = "enter"\n')

    with pytest.raises(ConfigError, match=rf"{machine.user_file}:3: tui\.keys\.help: enter always does"):
        configured(machine, "check")


@pytest.mark.parametrize("words", [["set", "a"], ["set"], ["unset"], ["unset", "a", "b"], ["show", "a"]])
def test_words_too_many_or_too_few_are_a_mistake_in_usage(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse(["config", *words])
