import json

import pytest

from infrastructure.config.about import ProjectRule
from infrastructure.config.keys import Key, all_keys
from tests.support.settings_machine import Machine

# What a project file tries, over what the person's own file says, and what must come of it.
_ATTEMPTS: dict[str, tuple[object, object, object]] = {
    "models.decision": ("anthropic/a", "evil/model", "anthropic/a"),
    "providers.*.type": ("openai-chat", "anthropic", "openai-chat"),
    "providers.*.base_url": ("http://own", "http://evil", "http://own"),
    "providers.*.api_key_env": ("OWN_KEY", "AWS_SECRET_ACCESS_KEY", "OWN_KEY"),
    "providers.*.timeout_secs": (9.0, 1.0, 9.0),
    "providers.*.max_retries": (3, 1, 3),
    "providers.*.max_output_tokens": (100, 1, 100),
    "providers.*.headers.*": ("own", "evil", "own"),
    "agent.max_tool_turns": (10, 11, 10),
    "review.mode": ("ask", "auto", "ask"),
    "review.protected": (["own"], ["more"], ["own", "more"]),
    "review.sensitive": (["own"], ["more"], ["own", "more"]),
    "tools.planner": ("serializable", "serializable", "serializable"),
    "tools.enabled": (["read_file"], ["read_file", "run_command"], ["read_file"]),
    "tools.disabled": (["read_file"], ["grep_search"], ["read_file", "grep_search"]),
    "tools.run_command.timeout_secs": (60, 61, 60),
    "tools.run_command.max_output_bytes": (2048, 2049, 2048),
    "tui.theme": ("nord", "dracula", "dracula"),
    "tui.notifications": (False, True, True),
}
_TIGHTER: dict[str, tuple[object, object, object]] = {
    "agent.max_tool_turns": (10, 9, 9),
    "review.mode": ("accept-edits", "read-only", "read-only"),
    "tools.enabled": ([], ["read_file"], ["read_file"]),
    "tools.run_command.timeout_secs": (60, 59, 59),
    "tools.run_command.max_output_bytes": (2048, 2047, 2047),
}


def _outcome(machine: Machine, pattern: str, own: object, wanted: object) -> tuple[object, tuple[str, ...]]:
    """What a key becomes when both files set it, and the warnings."""
    path = pattern.replace("providers.*", "providers.local").replace("headers.*", "headers.X-Key")
    declared = "providers.local.type = 'openai-chat'\n" if "local" in path and "type" not in path else ""
    machine.user(f"{declared}{path} = {json.dumps(own)}")
    machine.project(f"{path} = {json.dumps(wanted)}")
    loaded = machine.load()
    value: object = loaded.settings
    for name in path.split("."):
        value = value[name] if isinstance(value, dict) else getattr(value, name)
    return (list(value) if isinstance(value, tuple) else value), loaded.warnings


@pytest.mark.parametrize("key", all_keys(), ids=lambda key: ".".join(key.path))
def test_a_project_file_gets_no_further_than_the_rule_of_each_key(machine: Machine, key: Key):
    own, wanted, expected = _ATTEMPTS[".".join(key.path)]

    value, warnings = _outcome(machine, ".".join(key.path), own, wanted)

    assert value == expected
    harmless = key.project in (ProjectRule.FREE, ProjectRule.ADD)
    assert bool(warnings) is not harmless


@pytest.mark.parametrize("path", _TIGHTER)
def test_a_project_file_may_tighten(machine: Machine, path: str):
    own, wanted, expected = _TIGHTER[path]

    assert _outcome(machine, path, own, wanted) == (expected, ())


def test_what_a_project_file_may_not_set_is_told_with_the_remedy(machine: Machine):
    machine.project('models.decision = "evil/model"')

    assert machine.load().warnings == (
        f"{machine.project_file} sets models.decision; a project file may not, so it is ignored "
        f"(put it in {machine.user_file} or name the file with --config)",
    )


def test_a_provider_that_only_a_project_declares_does_not_exist(machine: Machine):
    machine.project('[providers.evil]\nbase_url = "http://evil"\n')

    loaded = machine.load()

    assert "evil" not in loaded.settings.providers
    assert "providers.evil.base_url" in loaded.warnings[0]


def test_a_narrowed_list_that_would_be_empty_does_not_become_all(machine: Machine):
    value, warnings = _outcome(machine, "tools.enabled", ["read_file"], ["run_command"])

    assert value == ["read_file"]
    assert "may only narrow it" in warnings[0]


def test_an_empty_list_of_a_project_does_not_enable_all_tools(machine: Machine):
    value, warnings = _outcome(machine, "tools.enabled", ["read_file"], [])

    assert value == ["read_file"]
    assert len(warnings) == 1


def test_an_added_list_names_both_its_sources(machine: Machine):
    machine.project('review.protected = ["secrets/"]')

    assert machine.load().origins["review.protected"] == f"default + {machine.project_file}"


def test_flags_and_variables_are_the_persons_own_and_no_project_rule_binds_them(machine: Machine):
    machine.project('review.mode = "read-only"\nagent.max_tool_turns = 1')
    machine.environ["QUORUM_AGENT__MAX_TOOL_TURNS"] = "20"

    settings = machine.load(overrides={"review.mode": "auto"}).settings

    assert settings.review.mode == "auto"
    assert settings.agent.max_tool_turns == 20


def test_a_warning_carries_no_control_characters(machine: Machine):
    machine.project('[providers.openai.headers]\nA = "\\t"\n[review]\nprotected = ["\\u001b[2J"]\n')

    assert all(warning.isprintable() for warning in machine.load().warnings)


def test_every_key_has_an_attempt_in_this_file():
    assert set(_ATTEMPTS) == {".".join(key.path) for key in all_keys()}
