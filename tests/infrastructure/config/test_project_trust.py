import json

import pytest

from infrastructure.config.about import ProjectRule
from infrastructure.config.keys import Key, all_keys
from tests.support.settings_machine import Machine

# What a project file tries, over what the person's own file says, and what must come of it.
_ATTEMPTS: dict[str, tuple[object, object, object]] = {
    "models.decision": ("anthropic/a", "evil/model", "anthropic/a"),
    "models.exploration": ("anthropic/a", "evil/model", "anthropic/a"),
    "models.ask": ("anthropic/a", "evil/model", "anthropic/a"),
    "models.moderator": ("anthropic/a", "evil/model", "anthropic/a"),
    "models.review": (["anthropic/a"], [], ["anthropic/a"]),
    "models.participants": (["anthropic/a"], ["evil/model"], ["anthropic/a"]),
    "providers.*.type": ("openai-chat", "anthropic", "openai-chat"),
    "providers.*.client": ("azure", "", "azure"),
    "providers.*.region": ("eu-central-1", "evil-1", "eu-central-1"),
    "providers.*.project": ("own", "evil", "own"),
    "providers.*.api_version": ("2026-10-01", "2020-01-01", "2026-10-01"),
    "providers.*.program": ("/own/copilot", "./evil", "/own/copilot"),
    "providers.*.base_url": ("http://own", "http://evil", "http://own"),
    "providers.*.api_key_env": ("OWN_KEY", "AWS_SECRET_ACCESS_KEY", "OWN_KEY"),
    "providers.*.timeout_secs": (9.0, 1.0, 9.0),
    "providers.*.max_retries": (3, 1, 3),
    "providers.*.max_output_tokens": (100, 1, 100),
    "providers.*.headers.*": ("own", "evil", "own"),
    "prices.*.input": (2.0, 0.0, 2.0),
    "prices.*.output": (2.0, 0.0, 2.0),
    "prices.*.cache_read": (2.0, 0.0, 2.0),
    "prices.*.cache_write": (2.0, 0.0, 2.0),
    "agent.max_tool_turns": (10, 11, 10),
    "agent.max_turn_end_retries": (3, 4, 3),
    "review.mode": ("ask", "auto", "ask"),
    "permissions.allow": (["own"], ["evil"], ["own"]),
    "permissions.ask": (["own"], ["more"], ["own", "more"]),
    "permissions.deny": (["own"], ["more"], ["own", "more"]),
    "quorum.rule": ("unanimous", "majority", "unanimous"),
    "quorum.min_votes": (3, 1, 3),
    "quorum.vote_timeout_secs": (9.0, 1.0, 9.0),
    "guards.*.name": ("path", "size", "path"),
    "guards.*.enabled": (True, False, True),
    "guards.*.commands": (["own"], [], ["own"]),
    "guards.*.max_bytes": (10, 20, 10),
    "guards.*.max_lines": (10, 20, 10),
    "review.protected": (["own"], ["more"], ["own", "more"]),
    "review.sensitive": (["own"], ["more"], ["own", "more"]),
    "tools.planner": ("serializable", "serializable", "serializable"),
    "tools.enabled": (["read_file"], ["read_file", "run_command"], ["read_file"]),
    "tools.disabled": (["read_file"], ["grep_search"], ["read_file", "grep_search"]),
    "tools.output.store": (True, False, True),
    "tools.output.inline_bytes": (800, 1, 800),
    "tools.output.summary_bytes": (400, 100, 400),
    "tools.output.head_lines": (5, 1, 5),
    "tools.output.tail_lines": (3, 1, 3),
    "storage.blobs": ("/mine", "/theirs", "/mine"),
    "tools.run_command.timeout_secs": (60, 61, 60),
    "tools.run_command.max_output_bytes": (2048, 2049, 2048),
    "tools.run_command.sandbox": ("auto", "off", "auto"),
    "tools.run_command.network": ("auto", "on", "auto"),
    "tools.run_command.sandbox_readable": (["~/own"], ["~/.ssh"], ["~/own"]),
    "tools.run_command.sandbox_writable": (["~/own"], ["~"], ["~/own"]),
    "tools.web.fetch": (False, True, False),
    "tools.web.search": ("brave", "searxng", "brave"),
    "tools.web.search_url": ("http://localhost:1", "http://evil.example/", "http://localhost:1"),
    "tools.web.search_key_env": ("MY_KEY", "ANTHROPIC_API_KEY", "MY_KEY"),
    "tools.web.max_bytes": (2048, 1024, 2048),
    "tools.web.timeout_secs": (9.0, 1.0, 9.0),
    "tools.custom.*.description": ("own", "evil", "own"),
    "tools.custom.*.command": (["own", "{p}"], ["evil", "{p}"], ["own", "{p}"]),
    "tools.custom.*.risk": ("high", "low", "high"),
    "tools.custom.*.timeout_secs": (60, 1, 60),
    "tools.custom.*.sandbox": (True, False, True),
    "tools.custom.*.parameters.*.description": ("own", "evil", "own"),
    "tools.custom.*.parameters.*.type": ("path", "string", "path"),
    "tools.custom.*.parameters.*.required": (True, False, True),
    "tools.custom.*.parameters.*.allow_dash": (False, True, False),
    "tui.theme": ("nord", "dracula", "dracula"),
    "tui.notifications": (False, True, True),
    "hooks.*.event": ("before_tool_call", "on_turn_end", "before_tool_call"),
    "hooks.*.command": (["own"], ["evil"], ["own"]),
    "hooks.*.python": ("own:Hook", "evil:Hook", "own:Hook"),
    "hooks.*.settings.*": ("own", "evil", "own"),
    "hooks.*.name": ("own", "evil", "own"),
    "hooks.*.tools": (["run_command"], ["no_such_tool"], ["run_command"]),
    "hooks.*.risk": ("", "low", ""),
    "hooks.*.paths": ([], ["/nowhere"], []),
    "hooks.*.priority": (0, 1, 0),
    "hooks.*.timeout_secs": (30.0, 0.001, 30.0),
    "hooks.*.on_error": ("closed", "open", "closed"),
    "hooks.*.sandbox": (True, False, True),
    "hooks.*.enabled": (True, False, True),
}
_TIGHTER: dict[str, tuple[object, object, object]] = {
    "agent.max_tool_turns": (10, 9, 9),
    "agent.max_turn_end_retries": (3, 0, 0),
    "review.mode": ("accept-edits", "read-only", "read-only"),
    "tools.enabled": ([], ["read_file"], ["read_file"]),
    "tools.run_command.timeout_secs": (60, 59, 59),
    "tools.run_command.max_output_bytes": (2048, 2047, 2047),
    "tools.run_command.sandbox": ("auto", "require", "require"),
    "tools.run_command.network": ("on", "off", "off"),
}
# An array of tables is set whole: what is tried with it is tried with the keys of its tables.
_SINGLE_KEYS = [key for key in all_keys() if key.element is None]


def _outcome(machine: Machine, pattern: str, own: object, wanted: object) -> tuple[object, tuple[str, ...]]:
    """What a key becomes when both files set it, and the warnings."""
    path = pattern.replace("providers.*", "providers.local").replace("headers.*", "headers.X-Key")
    declared = "providers.local.type = 'openai-chat'\n" if "local" in path and "type" not in path else ""
    machine.user(f"{declared}{path} = {json.dumps(own)}")
    machine.project(f"{path} = {json.dumps(wanted)}")
    loaded = machine.load()
    return _plain_value(loaded.settings, path), loaded.warnings


def _outcome_for_a_hook(
    machine: Machine, pattern: str, own: object, wanted: object
) -> tuple[object, tuple[str, ...]]:
    """The same for a key of a hook, of which both files have one."""
    path = pattern.removeprefix("hooks.*.").replace("settings.*", "settings.x")
    for write, value in ((machine.user, own), (machine.project, wanted)):
        given = {"event": '"on_turn_end"', path: json.dumps(value)}
        if path == "sandbox":
            given["command"] = '["any"]'
        elif path != "command":
            given.setdefault("python", '"any:Hook"')
        write("\n".join(("[[hooks]]", *(f"{key} = {text}" for key, text in given.items()))))
    loaded = machine.load()
    assert len(loaded.settings.hooks) == 1
    return _plain_value(loaded.settings.hooks[0], path), loaded.warnings


def _outcome_for_a_guard(
    machine: Machine, pattern: str, own: object, wanted: object
) -> tuple[object, tuple[str, ...]]:
    """The same for a key of a guard, of which both files have a table."""
    key = pattern.removeprefix("guards.*.")
    name = {"commands": "destructive", "max_bytes": "size", "max_lines": "size"}.get(key, "path")
    for write, value in ((machine.user, own), (machine.project, wanted)):
        given = {"name": json.dumps(name), key: json.dumps(value)}
        write("\n".join(("[[guards]]", *(f"{each} = {text}" for each, text in given.items()))))
    loaded = machine.load()
    assert len(loaded.settings.guards) == 1
    return _plain_value(loaded.settings.guards[0], key), loaded.warnings


def _outcome_for_a_custom_tool(
    machine: Machine, pattern: str, own: object, wanted: object
) -> tuple[object, tuple[str, ...]]:
    """The same for a key of a custom tool, which the person's own file declares whole."""
    path = pattern.replace("parameters.*", "parameters.p").replace("custom.*", "custom.mine")
    whole = {"description": "own", "command": ["own", "{p}"], "parameters.p.description": "own"}
    given = {f"tools.custom.mine.{key}": value for key, value in whole.items()} | {path: own}
    machine.user("\n".join(f"{key} = {json.dumps(value)}" for key, value in given.items()))
    machine.project(f"{path} = {json.dumps(wanted)}")
    loaded = machine.load()
    return _plain_value(loaded.settings, path), loaded.warnings


def _outcome_for_a_price(
    machine: Machine, pattern: str, own: object, wanted: object
) -> tuple[object, tuple[str, ...]]:
    """The same for a key of a price, which the person's own file gives whole."""
    key = pattern.removeprefix("prices.*.")
    given = {"input": 1, "output": 1, "cache_read": 1, "cache_write": 1} | {key: own}
    machine.user("\n".join(('[prices."a/b:1.5"]', *(f"{name} = {value}" for name, value in given.items()))))
    machine.project(f'prices."a/b:1.5".{key} = {wanted}')
    loaded = machine.load()
    return getattr(loaded.settings.prices["a/b:1.5"], key), loaded.warnings


def _plain_value(value: object, path: str) -> object:
    for name in path.split("."):
        value = value[name] if isinstance(value, dict) else getattr(value, name)
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("key", _SINGLE_KEYS, ids=lambda key: ".".join(key.path))
def test_a_project_file_gets_no_further_than_the_rule_of_each_key(machine: Machine, key: Key):
    pattern = ".".join(key.path)
    own, wanted, expected = _ATTEMPTS[pattern]

    special = {
        "hooks": _outcome_for_a_hook,
        "guards": _outcome_for_a_guard,
        "tools.custom": _outcome_for_a_custom_tool,
        "prices": _outcome_for_a_price,
    }
    outcome = next((way for table, way in special.items() if pattern.startswith(f"{table}.")), _outcome)
    value, warnings = outcome(machine, pattern, own, wanted)

    assert value == expected
    harmless = key.project in (ProjectRule.FREE, ProjectRule.ADD)
    assert bool(warnings) is not harmless


@pytest.mark.parametrize("path", _TIGHTER)
def test_a_project_file_may_tighten(machine: Machine, path: str):
    own, wanted, expected = _TIGHTER[path]

    assert _outcome(machine, path, own, wanted) == (expected, ())


@pytest.mark.parametrize(("own", "wanted"), [("accept-edits", "quorum"), ("quorum", "accept-edits")])
def test_of_two_modes_that_each_let_run_what_the_other_asks_neither_is_stricter(
    machine: Machine, own: str, wanted: str
):
    value, warnings = _outcome(machine, "review.mode", own, wanted)

    assert value == own
    assert "may only choose a stricter mode" in warnings[0]


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
    assert set(_ATTEMPTS) == {".".join(key.path) for key in _SINGLE_KEYS}


def test_a_project_that_declares_hooks_gets_none_of_them(machine: Machine):
    machine.project('[[hooks]]\nevent = "on_message_send"\ncommand = ["evil"]\n')

    loaded = machine.load()

    assert loaded.settings.hooks == ()
    assert "sets hooks; a project file may not, so it is ignored" in loaded.warnings[0]
