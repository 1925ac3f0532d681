import tomllib
from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.paths import locate
from quorum.infrastructure.config.report import check, render_config_path, show
from quorum.infrastructure.config.schema import Settings
from tests.support.settings_machine import Machine


def _paths(machine: Machine, config_file: Path | None = None, cwd: Path | None = None) -> list[str]:
    text = render_config_path(
        locate(cwd=cwd or machine.repository, environ=machine.environ, config_file=config_file)
    )
    return text.splitlines()


def test_a_lens_for_a_model_that_does_not_review_is_a_warning(machine: Machine):
    machine.user(
        'models.review = ["openai/a"]\n[quorum]\nlenses = { "openai/a" = "scope", "openai/b" = "safety" }'
    )
    warnings = [line for line in check(machine.load(), machine.environ).splitlines() if "lenses" in line]
    assert warnings == ["warning: quorum.lenses names openai/b, which does not review; did you mean openai/a?"]


def test_every_value_is_shown_with_its_source(machine: Machine):
    machine.user("agent.max_tool_turns = 4")

    lines = {line.split(" = ")[0]: line for line in show(machine.load()).splitlines()}

    assert lines["agent.max_tool_turns"].split("#")[0].rstrip() == "agent.max_tool_turns = 4"
    assert lines["agent.max_tool_turns"].endswith(f"# {machine.user_file}")
    assert lines["tui.theme"].endswith("# default")
    assert set(lines) == set(machine.load().origins)


def test_what_is_shown_is_toml_that_loads_as_the_same_settings(machine: Machine):
    machine.user('tui.theme = "nord"\nreview.protected = ["a\\"b#", "\\u202e"]')
    before = machine.load().settings

    machine.user(show(machine.load()))

    assert machine.load().settings == before
    assert before != Settings()


def test_secrets_are_not_shown(machine: Machine):
    machine.user(
        '[providers.local]\ntype = "openai-chat"\nbase_url = "http://me:hunter2@h"\n'
        'headers = { Authorization = "hunter2" }\n'
    )

    text = show(machine.load())

    assert "hunter2" not in text
    assert tomllib.loads(text)["providers"]["local"]["headers"] == {"Authorization": "********"}


def test_what_is_ignored_is_shown(machine: Machine):
    machine.project('review.mode = "auto"')

    assert "# warning: " in show(machine.load())
    assert "warning: " in check(machine.load(), machine.environ)


def test_a_check_names_files_counts_and_the_model(machine: Machine):
    machine.user("agent.max_tool_turns = 4\ntui.notifications = false")
    machine.environ["QUORUM_TUI__THEME"] = "nord"

    lines = check(machine.load(), machine.environ).splitlines()

    assert lines[0] == f"{machine.user_file}: valid; 2 settings from it count"
    assert lines[1] == "environment QUORUM_TUI__THEME: 1 setting from it counts"
    assert lines[2].startswith("decision: offline/offline, because no key is set")


def test_a_check_names_the_model_of_every_role(machine: Machine):
    machine.user('[models]\ndecision = "openai/d"\nparticipants = ["openai/d", "openai/p"]\n')

    lines = check(machine.load(), machine.environ).splitlines()

    as_decision = "is not set, so that of decision counts"
    assert lines[1:] == [
        f"decision: openai/d, because models.decision says so ({machine.user_file})",
        f"exploration: openai/d, because models.exploration {as_decision}",
        f"ask: openai/d, because models.ask {as_decision}",
        f"moderator: openai/d, because models.moderator {as_decision}",
        "decision_fallback: no model, because models.decision_fallback is not set",
        "review: no model, because models.review is not set",
        f"participants: openai/d, because models.participants says so ({machine.user_file})",
        f"participants: openai/p, because models.participants says so ({machine.user_file})",
    ]


def test_a_check_refuses_settings_from_which_no_model_follows(machine: Machine):
    machine.user('models.decision = "none/model"')

    with pytest.raises(ConfigError, match="names a provider that does not exist"):
        check(machine.load(), machine.environ)


def test_the_paths_say_what_is_read(machine: Machine):
    machine.project("")

    user, project = _paths(machine)

    assert user.split() == ["user", str(machine.user_file), "(not", "there)"]
    assert str(machine.project_file) in project
    assert "(read, as a project's file" in project


def test_the_paths_say_that_a_named_file_replaces_the_others(machine: Machine):
    machine.user("")
    machine.environ["QUORUM_CONFIG"] = str(machine.home / "other.toml")

    user, project, named = _paths(machine)

    assert user.endswith("(there, but not read)")
    assert project.endswith("(not there)")
    assert named.startswith("QUORUM_CONFIG")
    assert named.endswith("(not there, in place of the others)")


def test_the_paths_say_how_far_up_is_looked(machine: Machine):
    inner = machine.repository / "a/b"
    inner.mkdir(parents=True)

    assert f"{inner}/quorum.toml and above, up to {machine.repository}" in _paths(machine, cwd=inner)[1]
