import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.domain.review.guards import GuardSettings
from quorum.domain.review.mode import Mode
from quorum.domain.sessions.trust import Standing
from quorum.domain.settings import ProjectRule
from quorum.infrastructure.config.keys import find_key, list_keys
from quorum.infrastructure.config.loading import LoadedSettings, list_setting_values
from quorum.infrastructure.config.model_choice import choose_model
from quorum.infrastructure.config.policy_file import (
    PATHS,
    POLICY_PLACE,
    RAISED,
    RULE,
    SWITCHES,
    PolicyPlace,
    read_policy,
)
from quorum.infrastructure.config.report import check, show
from quorum.infrastructure.config.toml_text import format_key, parse_key_path
from quorum.infrastructure.permissions.in_force import build_guard_settings
from tests.support.settings_machine import Machine


def _user(machine: Machine, key: str, value: object) -> LoadedSettings:
    machine.user(_line(key, value))
    return machine.load()


def _project(machine: Machine, key: str, value: object) -> LoadedSettings:
    machine.standing = Standing.TRUSTED
    machine.project(_line(key, value))
    return machine.load()


def _environment(machine: Machine, key: str, value: object) -> LoadedSettings:
    machine.environ["QUORUM_" + key.replace(".", "__").upper()] = (
        value if isinstance(value, str) else json.dumps(value)
    )
    return machine.load()


def _flag(machine: Machine, key: str, value: object) -> LoadedSettings:
    return machine.load(overrides={key: value})


def _config_file(machine: Machine, key: str, value: object) -> LoadedSettings:
    file = machine.home / "other.toml"
    file.write_text(_line(key, value))
    return machine.load(config_file=file)


_LAYERS: Mapping[str, Callable[[Machine, str, object], LoadedSettings]] = {
    "user": _user,
    "project": _project,
    "environment": _environment,
    "flag": _flag,
    "config file": _config_file,
}


def _line(key: str, value: object) -> str:
    return f"{key} = {json.dumps(value)}\n"


_REVIEWERS = 'models.review = ["anthropic/claude-a", "openai/gpt-b"]\n'

# What the policy says, what somebody sets, and what counts.
_TIGHTENED: Mapping[str, tuple[str, object, object]] = {
    "review.mode": ('review.modes = ["ask", "quorum"]', "auto", "quorum"),
    "quorum.min_votes": ("quorum.min_reviewers = 2", 1, 2),
    "quorum.escalate": ("quorum.min_reviewers = 2", True, False),
    "quorum.rule": ('quorum.rule = "unanimous"', "atleast:1", "unanimous"),
    "tools.run_command.sandbox": ('tools.run_command.sandbox = "require"', "off", "require"),
    "tools.run_command.network": ('tools.run_command.network = "off"', "on", "off"),
    "tools.run_command.sandbox_writable": (
        'tools.run_command.sandbox_writable = ["~/.cache"]',
        ["~/.cache/uv", "~", ".git", "~/.cache/../.ssh", "/root/.cache/x"],
        ["~/.cache/uv"],
    ),
    "tools.run_command.sandbox_readable": ("tools.run_command.sandbox_readable = []", ["~/data"], []),
    "tools.run_command.max_jobs": ("tools.run_command.max_jobs = 0", 9, 0),
    "tools.web.fetch": ("tools.web.fetch = false", True, False),
    "tools.web.search": ('tools.web.search = ""', "brave", ""),
    "tools.references": ("tools.references = false", True, False),
    "tools.enabled": ('tools.enabled = ["read_file"]', ["read_file", "run_command"], ["read_file"]),
    "tools.disabled": ('tools.disabled = ["run_command"]', [], ["run_command"]),
    "models.decision": ('models.allowed = ["anthropic/*", "openai/*"]', "copilot/x", ""),
    "models.ask": ('models.allowed = ["anthropic/*", "openai/*"]', "copilot/x", ""),
    "models.participants": (
        'models.allowed = ["anthropic/*", "openai/*"]',
        ["copilot/x", "openai/y"],
        ["openai/y"],
    ),
    "models.exploration": ('models.allowed = ["anthropic/*", "openai/*"]', "copilot/x", ""),
    "models.moderator": ('models.allowed = ["anthropic/*", "openai/*"]', "copilot/x", ""),
    "models.decision_fallback": (
        'models.allowed = ["anthropic/*", "openai/*"]',
        ["copilot/x", "openai/y"],
        ["openai/y"],
    ),
    "models.review": (
        'models.allowed = ["anthropic/*", "openai/*"]',
        ["copilot/x", "openai/y"],
        ["openai/y"],
    ),
    "debate.models": (
        'models.allowed = ["anthropic/*", "openai/*"]',
        ["copilot/x", "openai/y"],
        ["openai/y"],
    ),
    "agent.max_cost_usd": ("agent.max_cost_usd = 5.0", 0.0, 5.0),
    "agent.max_cost_usd_per_turn": ("agent.max_cost_usd_per_turn = 1.0", 2.5, 1.0),
    "agent.max_tokens": ("agent.max_tokens = 1000", 1001, 1000),
    "agent.max_time_secs": ("agent.max_time_secs = 60", 0, 60),
    "agent.max_tokens_per_turn": ("agent.max_tokens_per_turn = 1000", 0, 1000),
    "agent.max_tool_turns": ("agent.max_tool_turns = 5", 100, 5),
    "agent.instructions_max_bytes": ("agent.instructions_max_bytes = 4096", 9000, 4096),
    "agent.max_plan_revisions": ("agent.max_plan_revisions = 1", 3, 1),
    "agent.max_turn_end_retries": ("agent.max_turn_end_retries = 1", 3, 1),
    "agent.max_goal_attempts": ("agent.max_goal_attempts = 2", 10, 2),
    "agent.check_timeout_secs": ("agent.check_timeout_secs = 30", 900, 30),
    "tools.run_command.timeout_secs": ("tools.run_command.timeout_secs = 30", 900, 30),
    "tools.run_command.max_output_bytes": ("tools.run_command.max_output_bytes = 5000", 9000, 5000),
    "tools.run_command.inline_bytes": ("tools.run_command.inline_bytes = 2000", 3000, 2000),
    "tools.run_command.summary_bytes": ("tools.run_command.summary_bytes = 1000", 2000, 1000),
    "tools.task.max_tool_turns": ("tools.task.max_tool_turns = 2", 9, 2),
    "tools.task.max_parallel": ("tools.task.max_parallel = 1", 3, 1),
    "permissions.deny": ('permissions.deny = ["run_command(curl *)"]', [], ["run_command(curl *)"]),
    "permissions.ask": ('permissions.ask = ["write_file(deploy/**)"]', [], ["write_file(deploy/**)"]),
    "review.protected": ('review.protected = ["deploy/"]', [], ["deploy/"]),
    "review.sensitive": ('review.sensitive = ["*.customers"]', [], ["*.customers"]),
}


@pytest.mark.long(after=23)
@pytest.mark.parametrize("layer", _LAYERS)
@pytest.mark.parametrize("key", _TIGHTENED)
def test_no_layer_of_settings_goes_beyond_the_policy(tmp_path: Path, key: str, layer: str) -> None:
    said, wanted, counts = _TIGHTENED[key]
    machine = Machine(tmp_path)
    if key != "models.review":
        machine.environ["QUORUM_MODELS__REVIEW"] = '["anthropic/claude-a", "openai/gpt-b"]'
    machine.policy(said)

    loaded = _LAYERS[layer](machine, key, wanted)

    values = dict(list_setting_values(loaded.settings))
    found = values[parse_key_path(key)]
    assert str(machine.policy_file) in loaded.origins[key]
    assert f"# {loaded.origins[key]}" in show(loaded)
    if find_key(parse_key_path(key)).project is ProjectRule.ADD:  # nothing is refused of it
        assert isinstance(found, tuple)
        assert isinstance(counts, list)
        assert set(counts) <= set(found)
        return
    assert (list(found) if isinstance(found, tuple) else found) == counts
    assert any(f"{machine.policy_file}:1" in notice and key in notice for notice in loaded.warnings)


def test_each_setting_that_a_policy_can_bound_is_tried_from_each_layer() -> None:
    """Also those that come later: a setting that an untrusted project may tighten can be bounded."""
    tightening = set(ProjectRule) - {ProjectRule.OWN, ProjectRule.NEVER, ProjectRule.FREE}
    bounded = (
        {key.path for key in list_keys() if key.project in tightening} | {RAISED, RULE} | set(SWITCHES) | PATHS
    )

    assert {format_key(path) for path in bounded} <= set(_TIGHTENED)


@pytest.mark.parametrize("layer", _LAYERS)
def test_what_is_tighter_than_the_policy_counts(tmp_path: Path, layer: str) -> None:
    machine = Machine(tmp_path)
    machine.policy(
        'agent.max_tokens = 1000\nreview.modes = ["ask", "auto"]\ntools.run_command.network = "auto"'
    )

    for key, value in {
        "agent.max_tokens": 10,
        "review.mode": "read-only",
        "tools.run_command.network": "off",
    }.items():
        loaded = _LAYERS[layer](machine, key, value)
        assert dict(list_setting_values(loaded.settings))[parse_key_path(key)] == value
        assert str(machine.policy_file) not in loaded.origins[key]
        assert not any(key in warning for warning in loaded.warnings)


def test_without_a_policy_nothing_is_held(machine: Machine) -> None:
    loaded = machine.load(overrides={"review.mode": "auto"})

    assert (loaded.settings.review.mode, loaded.policy.file, loaded.warnings) == (Mode.AUTO, None, ())


def test_the_place_is_named_by_nothing_that_a_person_sets(machine: Machine) -> None:
    assert PolicyPlace(Path("/etc/quorum/requirements.toml"), owner=0) == POLICY_PLACE
    machine.policy("agent.max_tokens = 1")
    machine.environ |= {
        "QUORUM_POLICY": "/nowhere",
        "QUORUM_REQUIREMENTS": "/nowhere",
        "XDG_CONFIG_DIRS": "/nowhere",
    }

    assert machine.load().settings.agent.max_tokens == 1


def test_where_it_bounds_what_commands_may_read_no_folder_is_linked_in_a_worktree(machine: Machine) -> None:
    machine.policy("tools.run_command.sandbox_writable = []")
    assert machine.load().policy.explain_no_links() is None

    machine.policy('tools.run_command.sandbox_readable = ["~/data"]')

    why = machine.load().policy.explain_no_links()
    assert why == f"{machine.policy_file}:1 bounds what commands may read"


# ---------------------------------------------------------------- modes and reviewers


@pytest.mark.parametrize(
    ("allowed", "wanted", "counts"),
    [
        (["ask"], "auto", "ask"),
        (["quorum"], "ask", "read-only"),
        (["ask", "accept-edits"], "sandboxed", "ask"),
        (["auto"], "ask", "read-only"),
        ([], "quorum", "read-only"),
        (["ask", "accept-edits"], "auto", "accept-edits"),
    ],
)
def test_a_mode_falls_back_to_a_stricter_one_and_never_to_a_looser(
    machine: Machine, allowed: list[str], wanted: str, counts: str
) -> None:
    machine.policy(f"review.modes = {json.dumps(allowed)}")

    assert machine.load(overrides={"review.mode": wanted}).settings.review.mode == counts


@pytest.mark.parametrize(
    ("demand", "reviewers", "counts"),
    [
        ("min_reviewers = 2", ["anthropic/claude-a", "openai/gpt-b"], "quorum"),
        ("min_reviewers = 2", ["anthropic/claude-a"], "ask"),
        ("min_families = 2", ["anthropic/claude-a", "anthropic/claude-b"], "ask"),
        ("min_families = 2", ["anthropic/claude-a", "openai/gpt-b"], "quorum"),
        ("min_families = 2", [], "ask"),
    ],
)
def test_votes_let_nothing_run_without_the_reviewers_that_are_demanded(
    machine: Machine, demand: str, reviewers: list[str], counts: str
) -> None:
    machine.policy(f"[quorum]\n{demand}\n")

    loaded = machine.load(overrides={"review.mode": "quorum", "models.review": reviewers})

    assert loaded.settings.review.mode == counts
    assert bool(loaded.warnings) is (counts != "quorum")


def test_a_reviewer_that_is_not_allowed_does_not_count_as_one(machine: Machine) -> None:
    machine.policy('models.allowed = ["anthropic/*"]\nquorum.min_reviewers = 2')

    loaded = machine.load(
        overrides={"review.mode": "quorum", "models.review": ["anthropic/claude-a", "openai/gpt-b"]}
    )

    assert loaded.settings.models.review == ("anthropic/claude-a",)
    assert loaded.settings.review.mode is Mode.ASK


@pytest.mark.parametrize(
    ("own", "demanded", "counts"),
    [
        ("majority", "unanimous", "unanimous"),
        ("unanimous", "majority", "unanimous"),
        ("atleast:1", "majority", "majority"),
        ("1%", "67%", "67%"),
        ("90%", "67%", "90%"),
    ],
)
def test_the_rule_that_needs_more_approvals_counts(
    machine: Machine, own: str, demanded: str, counts: str
) -> None:
    machine.user(f'models.review = ["a/x", "b/y", "c/z"]\nquorum.rule = "{own}"')
    machine.policy(f'quorum.rule = "{demanded}"')

    assert machine.load().settings.quorum.rule == counts


# ---------------------------------------------------------------- servers


_SERVERS = """
[mcp.servers.git]
command = ["/usr/bin/git-server", "--read-only"]
[mcp.servers.docs]
url = "https://docs.example.com/mcp"
"""


@pytest.mark.parametrize(
    ("settings", "stays"),
    [
        ('[mcp.servers.git]\ncommand = ["/usr/bin/git-server", "--read-only"]', True),
        ('[mcp.servers.git]\ncommand = ["/usr/bin/git-server"]', False),
        ('[mcp.servers.git]\ncommand = ["/home/me/git-server", "--read-only"]', False),
        ('[mcp.servers.git]\nurl = "https://docs.example.com/mcp"', False),
        ('[mcp.servers.docs]\nurl = "https://docs.example.com/mcp"', True),
        ('[mcp.servers.docs]\nurl = "https://docs.example.com.evil.example/mcp"', False),
        ('[mcp.servers.other]\ncommand = ["/usr/bin/git-server", "--read-only"]', False),
    ],
)
def test_a_server_is_used_only_by_its_name_and_as_what_it_is(
    machine: Machine, settings: str, stays: bool
) -> None:
    machine.user(settings)
    machine.policy(_SERVERS)

    loaded = machine.load()

    assert bool(loaded.settings.mcp.servers) is stays
    assert any("is left out" in warning for warning in loaded.warnings) is not stays


@pytest.mark.parametrize(
    ("command", "listed", "stays"),
    [
        ('["/usr/bin/pylsp"]', '[lsp.python]\ncommand = ["/usr/bin/pylsp"]', True),
        ('["/usr/bin/pylsp", "-v"]', '[lsp.python]\ncommand = ["/usr/bin/pylsp"]', False),
        ('["/home/me/pylsp"]', '[lsp.python]\ncommand = ["/usr/bin/pylsp"]', False),
        ('["/usr/bin/pylsp"]', '[lsp.other]\ncommand = ["/usr/bin/pylsp"]', False),
        ('["/usr/bin/pylsp"]', "[lsp]", False),
        ('["/usr/bin/pylsp"]', "", True),
    ],
)
def test_a_language_server_is_used_only_by_its_name_and_as_what_it_is(
    machine: Machine, command: str, listed: str, stays: bool
) -> None:
    machine.user(f'[lsp.python]\ncommand = {command}\nlanguages = ["python"]\n')
    machine.policy(listed)

    loaded = machine.load()

    assert bool(loaded.settings.lsp) is stays
    left_out = [each for each in loaded.warnings if "the language server python is left out" in each]
    assert bool(left_out) is not stays
    assert all(f"{machine.policy_file}:1: lsp" in each for each in left_out)


def test_servers_of_a_flag_are_held_to_the_policy_too(machine: Machine) -> None:
    machine.policy("[mcp.servers]\n")

    loaded = machine.load(overrides={"mcp.servers.mine.command": ["/bin/true"]})

    assert not loaded.settings.mcp.servers
    assert any("does not list it, only: none" in warning for warning in loaded.warnings)


# ---------------------------------------------------------------- models and prices


@pytest.mark.parametrize(
    ("settings", "is_allowed"),
    [
        ("", True),
        ('[providers.anthropic]\nbase_url = "https://elsewhere.example.com"', False),
        ('[providers.anthropic]\nclient = "bedrock"', False),
        ("[providers.anthropic]\ntimeout_secs = 5", True),
        ('[providers.anthropic]\ntype = "openai-chat"', False),
    ],
)
def test_an_allowed_provider_is_the_one_that_its_name_stands_for(
    machine: Machine, settings: str, is_allowed: bool
) -> None:
    machine.user(settings)
    machine.policy('models.allowed = ["anthropic/claude-*"]')

    loaded = machine.load(overrides={"models.decision": "anthropic/claude-a"})

    assert bool(loaded.settings.models.decision) is is_allowed


def test_an_address_from_the_environment_is_another_server(machine: Machine) -> None:
    machine.policy('models.allowed = ["anthropic/*"]')
    machine.environ |= {"ANTHROPIC_BASE_URL": "https://elsewhere.example.com", "ANTHROPIC_API_KEY": "k"}

    loaded = machine.load(overrides={"models.decision": "anthropic/a"})

    assert not loaded.settings.models.decision
    assert 'base_url = "", and providers.anthropic.base_url is "https://elsewhere' in loaded.warnings[0]
    with pytest.raises(ConfigError):
        choose_model(loaded, machine.environ)


def test_an_own_provider_is_allowed_where_the_policy_says_which_server_it_is(machine: Machine) -> None:
    own = '[providers.inside]\ntype = "openai-chat"\nbase_url = "https://llm.example.com/v1"\n'
    machine.user(f'models.decision = "inside/m"\n{own}')

    machine.policy('models.allowed = ["inside/*"]')
    assert "does not say which server that is" in machine.load().warnings[0]
    machine.policy('models.allowed = ["inside/*"]\n[providers.inside]\nbase_url = "https://llm.example.com/v1"')
    assert machine.load().settings.models.decision == "inside/m"
    machine.policy(
        'models.allowed = ["inside/*"]\n[providers.inside]\nbase_url = "https://other.example.com/v1"'
    )
    assert not machine.load().settings.models.decision


def test_the_default_model_is_one_that_is_allowed(machine: Machine) -> None:
    machine.policy('models.allowed = ["openai/*"]')
    machine.environ |= {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b"}

    assert choose_model(machine.load(), machine.environ).model.startswith("openai/")


def test_a_cap_on_the_cost_is_not_talked_down_with_prices(machine: Machine) -> None:
    price = "input = {0}\noutput = {0}\ncache_read = {0}\ncache_write = {0}\n"
    machine.user(f'[prices."anthropic/claude-a"]\n{price.format(0.0)}')
    machine.policy(f'agent.max_cost_usd = 1.0\n[prices."openai/gpt-b"]\n{price.format(3.0)}')

    loaded = machine.load()

    assert {name: table.input for name, table in loaded.settings.prices.items()} == {"openai/gpt-b": 3.0}
    assert any("caps the cost" in warning for warning in loaded.warnings)


_LOOSE = """
[[guards]]
name = "network"
enabled = false
[[guards]]
name = "size"
max_bytes = 100000000
max_lines = 50
[[guards]]
name = "secret"
enabled = false
[[guards]]
name = "destructive"
commands = ["make deploy"]
"""


def test_a_guard_that_the_policy_demands_is_neither_switched_off_nor_loosened(machine: Machine) -> None:
    machine.policy('review.guards = ["network", "size", "destructive", "path"]')
    machine.user(_LOOSE)

    loaded = machine.load()

    guards = build_guard_settings(loaded.settings)
    assert guards == GuardSettings(secret=False, commands=("make deploy",), max_lines=50)
    notices = [warning for warning in loaded.warnings if "review.guards demands the guard" in warning]
    assert [notice.partition("the guard ")[2][:30] for notice in notices] == [
        "network: its enabled is true; ",
        "size: its max_bytes is 100000;",
    ]
    assert all(f"{machine.policy_file}:1" in each and str(machine.user_file) in each for each in notices)
    assert 'review.guards = ["network", "size", "destructive", "path"]' in show(loaded)


def test_a_guard_that_the_policy_does_not_demand_is_switched_off_as_before(machine: Machine) -> None:
    machine.policy('review.modes = ["ask"]')
    machine.user(_LOOSE)

    loaded = machine.load()

    assert not build_guard_settings(loaded.settings).network
    assert not [warning for warning in loaded.warnings if "guard" in warning]


@pytest.mark.parametrize(
    ("allowed", "counts"),
    [
        ([], []),
        (["~"], ["~/.cache/uv/"]),
        (["."], [".git", "build/x"]),
        (["build/"], ["build/x"]),
        (["/srv"], ["/srv/data"]),
        (["/srv/data"], ["/srv/data"]),
        (["/"], ["/srv/data", "/srvother"]),
        (["~", ".", "/"], ["~/.cache/uv/", ".git", "build/x", "/srv/data", "/srvother"]),
        (["../beside"], ["../beside"]),
    ],
)
def test_commands_write_in_addition_only_in_paths_that_the_policy_lists(
    machine: Machine, allowed: list[str], counts: list[str]
) -> None:
    wanted = ["~/.cache/uv/", ".git", "build/x", "/srv/data", "/srvother", "../beside", "build/../../other"]
    machine.policy(_line("tools.run_command.sandbox_writable", allowed))

    loaded = _user(machine, "tools.run_command.sandbox_writable", wanted)

    assert list(loaded.settings.tools.run_command.sandbox_writable) == counts


# ---------------------------------------------------------------- a file that cannot be trusted or read


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("review.modes = [", "is not TOML"),
        ('review.modes = ["lenient"]', "review.modes must be a list of read-only"),
        ('review.mode = "ask"', "say review.modes"),
        ('review.guards = ["all"]', "review.guards must be a list of path, destructive"),
        ('[[guards]]\nname = "size"\nmax_bytes = 5', "cannot bound guards"),
        ("quorum.min_reviewers = 0", "quorum.min_reviewers must be a whole number"),
        ('review.mods = ["ask"]', "there is no setting review.mods"),
        ("tools.web.fetch = true", "can only set tools.web.fetch = false"),
        ('tools.run_command.network = ["pypi.org"]', "reach all hosts or none"),
        ('permissions.allow = ["run_command"]', "cannot bound permissions.allow"),
        ("storage.url = 'x'", "storage.url"),
        ("mcp.servers.git = {}", "needs either command or url"),
        ('mcp.servers.git = {command = ["x"], env = ["y"]}', "mcp.servers must be"),
        ("lsp.python = {command = []}", "lsp must be"),
        ('[prices."a/b"]\ninput = 1.0', "is missing"),
    ],
)
def test_a_policy_that_is_not_wholly_understood_is_an_error(machine: Machine, text: str, says: str) -> None:
    machine.policy(text)

    refusal = machine.refusal()

    assert says in refusal
    assert f"{machine.policy_file}:1" in refusal or f"{machine.policy_file}:2" in refusal
    assert "nothing is started without it" in refusal


def test_a_policy_that_others_could_have_written_is_refused(machine: Machine) -> None:
    machine.policy("agent.max_tokens = 1")

    machine.policy_file.chmod(0o666)
    assert "can be written by others" in machine.refusal()
    machine.policy_file.chmod(0o644)
    machine.policy_file.parent.chmod(0o777)
    assert f"{machine.policy_file.parent} can be written by others" in machine.refusal()
    machine.policy_file.parent.chmod(0o755)
    assert machine.load().settings.agent.max_tokens == 1


def test_a_policy_of_another_owner_than_the_administrator_is_refused(machine: Machine) -> None:
    machine.policy("agent.max_tokens = 1")

    with pytest.raises(ConfigError, match="is not owned by"):
        read_policy(PolicyPlace(machine.policy_file, owner=os.getuid() + 1))


def test_what_is_no_file_or_leads_nowhere_is_refused(machine: Machine) -> None:
    machine.policy("agent.max_tokens = 1")
    machine.policy_file.unlink()
    machine.policy_file.symlink_to(machine.home / "gone")
    assert "nothing is started without it" in machine.refusal()

    machine.policy_file.unlink()
    machine.policy_file.mkdir()
    machine.policy_file.chmod(0o755)
    assert "is a folder" in machine.refusal()

    machine.policy_file.rmdir()
    os.mkfifo(machine.policy_file, 0o644)
    assert "not a regular file" in machine.refusal()


def test_a_link_counts_as_what_it_leads_to(machine: Machine) -> None:
    machine.policy("agent.max_tokens = 1")
    elsewhere = machine.home / "own.toml"
    elsewhere.write_text("agent.max_tokens = 2")
    elsewhere.chmod(0o666)
    machine.policy_file.unlink()
    machine.policy_file.symlink_to(elsewhere)

    assert f"{elsewhere} can be written by others" in machine.refusal()


def test_the_report_names_the_demands_that_bound_no_single_setting(machine: Machine) -> None:
    machine.policy(
        'review.modes = ["ask"]\nquorum.min_families = 2\nmodels.allowed = ["offline/*"]\n'
        + _SERVERS
        + '[lsp.python]\ncommand = ["/usr/bin/pylsp"]\n'
    )

    loaded = machine.load()

    for text in (show(loaded), check(loaded, machine.environ)):
        assert f"{machine.policy_file} holds on this machine" in text
        assert f'review.modes = ["ask"] ({machine.policy_file}:1)' in text
        assert f"quorum.min_families = 2 ({machine.policy_file}:2)" in text
        assert "mcp.servers: git, docs" in text
        assert "lsp: python" in text
