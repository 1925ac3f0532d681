from pathlib import Path

import pytest

from quorum.domain.review.mode import Mode
from quorum.infrastructure.config.schema import Settings
from tests.support.settings_machine import Machine


def test_without_any_source_everything_is_at_its_default(machine: Machine):
    loaded = machine.load()

    assert loaded.settings == Settings()
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.files == ()
    assert loaded.warnings == ()


@pytest.mark.requirement("E07")
@pytest.mark.requirement("E16")
def test_each_source_wins_over_the_one_before(machine: Machine):
    turns = "agent.max_tool_turns"
    seen = [machine.load()]
    machine.user("agent.max_tool_turns = 9")
    seen.append(machine.load())
    machine.project("agent.max_tool_turns = 8")
    seen.append(machine.load())
    machine.environ["QUORUM_AGENT__MAX_TOOL_TURNS"] = "70"
    seen.append(machine.load())
    seen.append(machine.load(overrides={turns: 60}))

    assert [loaded.settings.agent.max_tool_turns for loaded in seen] == [100, 9, 8, 70, 60]
    assert [loaded.origins[turns] for loaded in seen] == [
        "default",
        str(machine.user_file),
        str(machine.project_file),
        "environment QUORUM_AGENT__MAX_TOOL_TURNS",
        "flag",
    ]


def test_a_named_file_replaces_the_others_and_may_do_what_a_project_file_may_not(machine: Machine):
    machine.user("agent.max_tool_turns = 3")
    machine.project("tui.theme = 'nord'")
    named = machine.home / "other.toml"
    named.write_text('review.mode = "auto"')

    loaded = machine.load(config_file=named)

    assert loaded.settings.review.mode is Mode.AUTO
    assert loaded.settings.agent.max_tool_turns == 100
    assert loaded.settings.tui.theme == "quorum"
    assert loaded.files == (named,)


def test_a_file_can_be_named_by_the_environment_but_the_flag_is_stronger(machine: Machine):
    for name, turns in (("a.toml", 1), ("b.toml", 2)):
        (machine.home / name).write_text(f"agent.max_tool_turns = {turns}")
    machine.environ["QUORUM_CONFIG"] = "~/a.toml"

    by_environment = machine.load()
    by_flag = machine.load(config_file=machine.home / "b.toml")

    assert by_environment.settings.agent.max_tool_turns == 1
    assert by_flag.settings.agent.max_tool_turns == 2


@pytest.mark.parametrize("path", ["quorum.toml", "./ci/quorum.toml", "../quorum.toml"])
def test_a_variable_that_names_another_file_in_every_folder_is_refused(path: str, machine: Machine):
    machine.project("review.mode = 'auto'")
    machine.environ["QUORUM_CONFIG"] = path

    assert machine.refusal() == (
        f"QUORUM_CONFIG is {path}, which names another file in every folder; give its absolute path, or one "
        "that begins with ~/"
    )


def test_the_project_file_nearest_to_the_working_directory_is_read(machine: Machine):
    inner = machine.repository / "packages/one"
    inner.mkdir(parents=True)
    machine.project("agent.max_tool_turns = 5")

    from_root = machine.load(cwd=inner)
    (machine.repository / "packages/quorum.toml").write_text("agent.max_tool_turns = 4")
    from_between = machine.load(cwd=inner)

    assert from_root.settings.agent.max_tool_turns == 5
    assert from_between.settings.agent.max_tool_turns == 4


def test_a_file_above_the_repository_is_not_the_projects(machine: Machine):
    (machine.repository.parent / "quorum.toml").write_text("agent.max_tool_turns = 1")

    assert machine.load().settings.agent.max_tool_turns == 100


def test_outside_a_repository_only_the_working_directory_itself_is_looked_at(machine: Machine):
    (machine.repository / ".git").rmdir()
    inner = machine.repository / "inner"
    inner.mkdir()
    machine.project("agent.max_tool_turns = 5")

    assert machine.load(cwd=inner).settings.agent.max_tool_turns == 100
    assert machine.load().settings.agent.max_tool_turns == 5


def test_the_persons_own_file_is_not_held_for_a_projects_in_its_own_folder(machine: Machine):
    machine.user("agent.max_tool_turns = 50")

    loaded = machine.load(cwd=machine.user_file.parent)

    assert loaded.settings.agent.max_tool_turns == 50
    assert loaded.warnings == ()
    assert loaded.files == (machine.user_file,)


def test_xdg_config_home_moves_the_persons_file_unless_it_is_relative(machine: Machine, tmp_path: Path):
    (tmp_path / "xdg/quorum").mkdir(parents=True)
    (tmp_path / "xdg/quorum/quorum.toml").write_text("agent.max_tool_turns = 6")
    machine.user("agent.max_tool_turns = 7")
    machine.environ["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    absolute = machine.load()
    machine.environ["XDG_CONFIG_HOME"] = "xdg"
    relative = machine.load()

    assert absolute.settings.agent.max_tool_turns == 6
    assert relative.settings.agent.max_tool_turns == 7


def test_tables_are_merged_and_lists_replaced(machine: Machine):
    machine.user('[review]\nprotected = ["only/"]\n[tools.run_command]\ntimeout_secs = 30\n')
    machine.environ["QUORUM_TOOLS__RUN_COMMAND__MAX_OUTPUT_BYTES"] = "2048"

    settings = machine.load().settings

    assert settings.review.protected == ("only/",)
    assert settings.tools.run_command.timeout_secs == 30
    assert settings.tools.run_command.max_output_bytes == 2048


def test_a_built_in_provider_keeps_what_a_table_of_its_name_does_not_set(machine: Machine):
    machine.user("[providers.anthropic]\nmax_retries = 5\n")

    anthropic = machine.load().settings.providers["anthropic"]

    assert anthropic.max_retries == 5
    assert anthropic.api_key_env == "ANTHROPIC_API_KEY"
    assert anthropic.type == "anthropic"


def test_a_declared_provider_has_defaults_for_what_it_leaves_out(machine: Machine):
    machine.user('[providers.local]\ntype = "openai-chat"\nbase_url = "http://localhost:1/v1"\n')

    loaded = machine.load()

    assert loaded.settings.providers["local"].timeout_secs == 120.0
    assert loaded.settings.providers["local"].api_key_env == ""
    assert loaded.origins["providers.local.timeout_secs"] == "default"


def test_the_sdks_own_address_variables_count_less_than_a_file(machine: Machine):
    machine.environ |= {"OPENAI_BASE_URL": "http://a/v1", "ANTHROPIC_BASE_URL": "http://b"}
    machine.user('providers.anthropic.base_url = "http://c"')

    loaded = machine.load()

    assert loaded.settings.providers["openai"].base_url == "http://a/v1"
    assert loaded.origins["providers.openai.base_url"] == "environment OPENAI_BASE_URL"
    assert loaded.settings.providers["anthropic"].base_url == "http://c"


def test_variables_are_toml_values_and_a_bare_word_is_a_string(machine: Machine):
    machine.environ |= {
        "QUORUM_REVIEW__MODE": "read-only",
        "QUORUM_TUI__THEME": '"nord"',
        "QUORUM_TUI__NOTIFICATIONS": "false",
        "QUORUM_TOOLS__DISABLED": '["run_command"]',
        "QUORUM_PROVIDERS__ANTHROPIC__TIMEOUT_SECS": "5",
        "QUORUM_PROVIDERS__ANTHROPIC__HEADERS": '{ "X-Team" = "tools" }',
    }

    settings = machine.load().settings

    assert settings.review.mode is Mode.READ_ONLY
    assert settings.tui.theme == "nord"
    assert settings.tui.notifications is False
    assert settings.tools.disabled == ("run_command",)
    assert settings.providers["anthropic"].timeout_secs == 5.0
    assert settings.providers["anthropic"].headers == {"X-Team": "tools"}


def test_a_variable_finds_a_name_that_it_cannot_spell(machine: Machine):
    machine.user('[providers.My-Server]\ntype = "openai-chat"\n')
    machine.environ["QUORUM_PROVIDERS__MY_SERVER__MAX_RETRIES"] = "7"

    assert machine.load().settings.providers["My-Server"].max_retries == 7


def test_a_variable_cannot_smuggle_in_a_second_setting(machine: Machine):
    machine.environ["QUORUM_REVIEW__MODE"] = '"ask"\nother = 1'

    assert "review.mode must be one of" in machine.refusal()


def test_variables_that_are_no_settings_are_left_alone(machine: Machine):
    machine.environ |= {"QUORUM_WIRE": "/x", "QUORUM_HOME": "/y", "OTHER__KEY": "1"}

    assert machine.load().settings == Settings()


def test_an_entry_of_a_list_of_paths_stands_for_the_default(machine: Machine):
    machine.environ["QUORUM_REVIEW__SENSITIVE"] = '["...", "notes"]'

    assert machine.load().settings.review.sensitive == (*Settings().review.sensitive, "notes")
