import hashlib
import json
from pathlib import Path

import pytest

from quorum.domain.errors import ConfigError
from quorum.domain.sessions.trust import Standing
from quorum.domain.settings import ProjectRule
from quorum.infrastructure.config.keys import list_keys
from tests.support.settings_machine import Machine

# What a project file tries, over what the person's own file says, and what must come of it.
_ATTEMPTS: dict[str, tuple[object, object, object]] = {
    "models.decision": ("anthropic/a", "evil/model", "anthropic/a"),
    "models.exploration": ("anthropic/a", "evil/model", "anthropic/a"),
    "models.ask": ("anthropic/a", "evil/model", "anthropic/a"),
    "models.moderator": ("anthropic/a", "evil/model", "anthropic/a"),
    "models.decision_fallback": (["anthropic/a"], ["evil/model"], ["anthropic/a"]),
    "models.review": (["anthropic/a"], [], ["anthropic/a"]),
    "models.effort.*": ("high", "none", "high"),
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
    "providers.*.content_timeout_secs": (9.0, 1.0, 9.0),
    "providers.*.max_retries": (3, 1, 3),
    "providers.*.requests_per_minute": (30, 9000, 30),
    "providers.*.max_output_tokens": (100, 1, 100),
    "providers.*.tool_parser": ("hermes", "glm", "hermes"),
    "providers.*.headers.*": ("own", "evil", "own"),
    "prices.*.input": (2.0, 0.0, 2.0),
    "prices.*.output": (2.0, 0.0, 2.0),
    "prices.*.cache_read": (2.0, 0.0, 2.0),
    "prices.*.cache_write": (2.0, 0.0, 2.0),
    "context_budget.compact_at": (0.8, 0.1, 0.8),
    "context_budget.recent_full_count": (3, 0, 3),
    "context_budget.max_entry_bytes": (20_000, 1_000, 20_000),
    "context_budget.max_total_bytes": (60_000, 1_000, 60_000),
    "context_budget.window_tokens": (128_000, 1_000, 128_000),
    "context_budget.models.*.window": (32_768, 1_000, 32_768),
    "agent.max_tool_turns": (100, 101, 100),
    "agent.max_cost_usd": (2.0, 0.0, 2.0),
    "agent.max_cost_usd_per_turn": (2.0, 2.5, 2.0),
    "agent.max_time_secs": (60.0, 0.0, 60.0),
    "agent.max_tokens": (1000, 0, 1000),
    "agent.max_tokens_per_turn": (1000, 1001, 1000),
    "agent.instructions_max_bytes": (32_768, 40_000, 32_768),
    "agent.phase_scope": ("plan-only", "full", "plan-only"),
    "agent.final_review": (True, False, True),
    "agent.max_plan_revisions": (3, 4, 3),
    "agent.max_turn_end_retries": (3, 4, 3),
    "agent.max_goal_attempts": (10, 11, 10),
    "agent.check_timeout_secs": (600, 601, 600),
    "agent.consensus_level": ("solo", "ensemble", "solo"),
    "agent.strategy": ("quorum", "debate", "quorum"),
    "review.mode": ("ask", "auto", "ask"),
    "workspace.directories": (["~/own"], ["~/evil"], ["~/own"]),
    "worktrees.links": ([".venv"], ["evil"], [".venv"]),
    "worktrees.offer_links": (False, True, False),
    "worktrees.setup": ("make setup", "make evil", "make setup"),
    "review.offer_sandboxed": (False, True, False),
    "review.sample_percent": (5.0, 0.0, 5.0),
    "review.max_error_percent": (5.0, 100.0, 5.0),
    "permissions.allow": (["own"], ["evil"], ["own"]),
    "permissions.ask": (["own"], ["more"], ["own", "more"]),
    "permissions.deny": (["own"], ["more"], ["own", "more"]),
    "quorum.rule": ("unanimous", "majority", "unanimous"),
    "quorum.min_votes": (3, 1, 3),
    "quorum.vote_timeout_secs": (9.0, 1.0, 9.0),
    "quorum.lenses.*": ("safety", "overlook harm", "safety"),
    "quorum.escalate": (False, True, False),
    "quorum.escalate_below": (0.9, 0.1, 0.9),
    "quorum.calibration": ("/own", "/evil", "/own"),
    "discussion.answer_timeout_secs": (9.0, 1.0, 9.0),
    "debate.models": (["a/own", "b/own"], ["a/evil"], ["a/own", "b/own"]),
    "debate.max_rounds": (2, 9, 2),
    "debate.intensity": ("mild", "strong", "mild"),
    "debate.allow_interjection": (False, True, False),
    "drafting.answer_timeout_secs": (9.0, 1.0, 9.0),
    "drafting.max_tool_rounds": (5, 1, 5),
    "code_review.answer_timeout_secs": (9.0, 1.0, 9.0),
    "code_review.max_part_bytes": (9_000, 4_000, 9_000),
    "code_review.max_tool_rounds": (5, 1, 5),
    "guards.*.name": ("path", "size", "path"),
    "guards.*.enabled": (True, False, True),
    "guards.*.commands": (["own"], [], ["own"]),
    "guards.*.max_bytes": (10, 20, 10),
    "guards.*.max_lines": (10, 20, 10),
    "review.protected": (["own"], ["more"], ["own", "more"]),
    "review.sensitive": (["own"], ["more"], ["own", "more"]),
    "tools.planner": ("serializable", "serializable", "serializable"),
    "tools.references": (False, True, False),
    "tools.enabled": (["read_file"], ["read_file", "run_command"], ["read_file"]),
    "tools.disabled": (["read_file"], ["grep_search"], ["read_file", "grep_search"]),
    "tools.output.store": (True, False, True),
    "tools.output.inline_bytes": (800, 1, 800),
    "tools.output.summary_bytes": (400, 100, 400),
    "tools.output.head_lines": (5, 1, 5),
    "tools.output.tail_lines": (3, 1, 3),
    "storage.url": ("sqlite:////mine", "sqlite:////theirs", "sqlite:////mine"),
    "storage.blobs": ("/mine", "/theirs", "/mine"),
    "tools.run_command.timeout_secs": (60, 61, 60),
    "tools.run_command.max_output_bytes": (2048, 2049, 2048),
    "tools.run_command.inline_bytes": (2048, 2049, 2048),
    "tools.run_command.summary_bytes": (2048, 2049, 2048),
    "tools.run_command.max_jobs": (4, 5, 4),
    "tools.task.max_parallel": (4, 5, 4),
    "tools.task.max_tool_turns": (20, 30, 20),
    "tools.run_command.sandbox": ("auto", "off", "auto"),
    "tools.run_command.network": ("auto", "on", "auto"),
    "tools.run_command.sandbox_readable": (["~/own"], ["~/.ssh"], ["~/own"]),
    "tools.run_command.sandbox_writable": (["~/own"], ["~"], ["~/own"]),
    "tools.run_command.secrets.*.hosts": (["own.example"], ["evil.example"], ["own.example"]),
    "tools.run_command.secrets.*.command": (["own"], ["evil"], ["own"]),
    "tools.web.fetch": (False, True, False),
    "tools.web.search": ("brave", "searxng", "brave"),
    "tools.web.search_url": ("http://localhost:1", "http://evil.example/", "http://localhost:1"),
    "tools.web.search_key_env": ("MY_KEY", "ANTHROPIC_API_KEY", "MY_KEY"),
    "tools.web.max_bytes": (2048, 1024, 2048),
    "tools.web.timeout_secs": (9.0, 1.0, 9.0),
    "tools.custom.*.inline_bytes": (800, 1, 800),
    "tools.custom.*.summary_bytes": (400, 300, 400),
    "tools.custom.*.output": ("text", "json", "text"),
    "tools.custom.*.description": ("own", "evil", "own"),
    "tools.custom.*.command": (["own", "{p}"], ["evil", "{p}"], ["own", "{p}"]),
    "tools.custom.*.risk": ("high", "low", "high"),
    "tools.custom.*.timeout_secs": (60, 1, 60),
    "tools.custom.*.sandbox": (True, False, True),
    "tools.custom.*.parameters.*.description": ("own", "evil", "own"),
    "tools.custom.*.parameters.*.type": ("path", "string", "path"),
    "tools.custom.*.parameters.*.required": (True, False, True),
    "tools.custom.*.parameters.*.allow_dash": (False, True, False),
    "gate.idle_minutes": (10, 0, 10),
    "telemetry.otlp_endpoint": ("http://localhost:1", "http://evil.example", "http://localhost:1"),
    "telemetry.content": (False, True, False),
    "tui.theme": ("nord", "dracula", "dracula"),
    "tui.layout": ("stacked", "minimal", "minimal"),
    "tui.editing": ("vim", "emacs", "vim"),
    "tui.enter_while_running": ("steer", "queue", "steer"),
    "tui.mark_approve_for_edits": (False, True, False),
    "tui.statusline": (["own"], ["evil"], ["own"]),
    "tui.notifications": (False, True, True),
    "tui.notify_by": ("bell", "desktop", "desktop"),
    "tui.screen_reader": (False, True, True),
    "tui.keys.*": ("f3", "f4", "f3"),
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
    "hooks.*.dialect": ("", "claude", ""),
    "hooks.*.matcher": ("resume", "startup", "resume"),
    "hooks.*.enabled": (True, False, True),
    "agents.*.command": (["own"], ["evil"], ["own"]),
    "agents.*.pass_env": (["OWN"], ["EVIL"], ["OWN"]),
    "agents.*.timeout_secs": (20.0, 1.0, 20.0),
    "agents.*.sandbox": (True, False, True),
    "agents.*.obeys": (["/own"], ["/evil"], ["/own"]),
    "mcp.servers.*.command": (["own"], ["evil"], ["own"]),
    "mcp.servers.*.url": ("https://own.invalid", "https://evil.invalid", "https://own.invalid"),
    "mcp.servers.*.pass_env": (["OWN"], ["EVIL"], ["OWN"]),
    "mcp.servers.*.bearer_token_env": ("OWN", "EVIL", "OWN"),
    "mcp.servers.*.oauth_client_id": ("own", "evil", "own"),
    "mcp.servers.*.oauth_client_secret_env": ("OWN", "EVIL", "OWN"),
    "mcp.servers.*.oauth_redirect_port": (4000, 5000, 4000),
    "mcp.servers.*.tools": (["own"], ["evil"], ["own"]),
    "mcp.servers.*.read_only": (["own"], ["evil"], ["own"]),
    "mcp.servers.*.start_timeout_secs": (20, 1, 20),
    "mcp.servers.*.timeout_secs": (120, 1, 120),
    "mcp.servers.*.enabled": (False, True, False),
    "push.*.command": (["own"], ["evil"], ["own"]),
    "push.*.url": ("https://own.invalid", "https://evil.invalid", "https://own.invalid"),
    "push.*.browsers": (True, True, True),
    "push.*.after_secs": (5, 6, 5),
    "push.*.every_secs": (7, 8, 7),
    "push.*.link": ("https://own.invalid", "https://evil.invalid", "https://own.invalid"),
    "lsp.*.command": (["own"], ["evil"], ["own"]),
    "lsp.*.languages": (["python"], ["go"], ["python"]),
    "lsp.*.files": (["*.own"], ["*.evil"], ["*.own"]),
    "lsp.*.options.*": ("own", "evil", "own"),
    "lsp.*.settings.*": ("own", "evil", "own"),
    "lsp.*.diagnostics": (True, False, True),
    "lsp.*.wait_secs": (3.0, 1.0, 3.0),
    "lsp.*.start_timeout_secs": (30.0, 1.0, 30.0),
    "lsp.*.timeout_secs": (30.0, 1.0, 30.0),
    "lsp.*.enabled": (False, True, False),
    "diagnostics.*.name": ("own", "evil", "own"),
    "diagnostics.*.pattern": ("*.py", "*.evil", "*.py"),
    "diagnostics.*.command": (["own", "{files}"], ["evil", "{files}"], ["own", "{files}"]),
    "diagnostics.*.timeout_secs": (30.0, 1.0, 30.0),
    "diagnostics.*.enabled": (True, False, True),
}
_TIGHTER: dict[str, tuple[object, object, object]] = {
    "agent.max_tool_turns": (100, 9, 9),
    "agent.max_cost_usd": (0.0, 2.0, 2.0),
    "agent.max_cost_usd_per_turn": (2.0, 0.5, 0.5),
    "agent.max_time_secs": (0.0, 60.0, 60.0),
    "agent.max_tokens": (0, 1000, 1000),
    "agent.max_tokens_per_turn": (1000, 1, 1),
    "agent.instructions_max_bytes": (32_768, 0, 0),
    "agent.max_plan_revisions": (3, 0, 0),
    "agent.max_turn_end_retries": (3, 0, 0),
    "agent.max_goal_attempts": (10, 1, 1),
    "agent.check_timeout_secs": (600, 1, 1),
    "review.mode": ("accept-edits", "read-only", "read-only"),
    "tools.enabled": ([], ["read_file"], ["read_file"]),
    "tools.run_command.timeout_secs": (60, 59, 59),
    "tools.run_command.max_output_bytes": (2048, 2047, 2047),
    "tools.run_command.max_jobs": (4, 3, 3),
    "tools.task.max_parallel": (4, 3, 3),
    "tools.task.max_tool_turns": (20, 10, 10),
    "tools.run_command.sandbox": ("auto", "require", "require"),
    "tools.run_command.network": ("on", "off", "off"),
}
# An array of tables is set whole: what is tried with it is tried with the keys of its tables.
_SINGLE_KEYS = [key for key in list_keys() if key.element is None]
_PATTERNS = [".".join(key.path) for key in _SINGLE_KEYS]
_RULES = dict(zip(_PATTERNS, (key.project for key in _SINGLE_KEYS), strict=True))


def _outcome(machine: Machine, pattern: str, own: object, wanted: object) -> tuple[object, tuple[str, ...]]:
    """What a key becomes when both files set it, and the warnings."""
    path = pattern.replace("providers.*", "providers.local").replace("headers.*", "headers.X-Key")
    path = path.replace("keys.*", "keys.find").replace("effort.*", "effort.decision")
    path = path.replace("agents.*", "agents.mine")
    path = path.replace("lenses.*", "lenses.review").replace("secrets.*", "secrets.OWN")
    declared = "providers.local.type = 'openai-chat'\n" if "local" in path and "type" not in path else ""
    if path.endswith("OWN.command"):
        declared = "tools.run_command.secrets.OWN.hosts = ['own.example']\n"
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
        if path in ("sandbox", "dialect", "matcher"):
            given["command"] = '["any"]'
            if path == "matcher":
                given["dialect"] = '"claude"'
        elif path != "command":
            given.setdefault("python", '"any:Hook"')
        write("\n".join(("[[hooks]]", *(f"{key} = {text}" for key, text in given.items()))))
    loaded = machine.load()
    assert len(loaded.settings.hooks) == 1
    return _plain_value(loaded.settings.hooks[0], path), loaded.warnings


def _outcome_for_diagnostics(
    machine: Machine, pattern: str, own: object, wanted: object
) -> tuple[object, tuple[str, ...]]:
    """The same for a key of a diagnostics command, of which both files have one."""
    key = pattern.removeprefix("diagnostics.*.")
    for write, value in ((machine.user, own), (machine.project, wanted)):
        given = {"name": "any", "pattern": "*", "command": ["any"], key: value}
        write("\n".join(("[[diagnostics]]", *(f"{each} = {json.dumps(text)}" for each, text in given.items()))))
    loaded = machine.load()
    assert len(loaded.settings.diagnostics) == 1
    return _plain_value(loaded.settings.diagnostics[0], key), loaded.warnings


def _outcome_for_a_push(
    machine: Machine, pattern: str, own: object, wanted: object
) -> tuple[object, tuple[str, ...]]:
    """The same for a key of who is told, of which both files have a table."""
    key = pattern.removeprefix("push.*.")
    for write, value in ((machine.user, own), (machine.project, wanted)):
        given = {**({} if key in ("url", "browsers") else {"command": ["any"]}), key: value}
        write("\n".join(("[[push]]", *(f"{each} = {json.dumps(text)}" for each, text in given.items()))))
    loaded = machine.load()
    assert len(loaded.settings.push) == 1
    return _plain_value(loaded.settings.push[0], key), loaded.warnings


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
    pattern = pattern.replace("keys.*", "keys.find")
    whole = {"description": "own", "command": ["own", "{p}"], "parameters.p.description": "own"}
    given = {f"tools.custom.mine.{key}": value for key, value in whole.items()} | {path: own}
    machine.user("\n".join(f"{key} = {json.dumps(value)}" for key, value in given.items()))
    machine.project(f"{path} = {json.dumps(wanted)}")
    loaded = machine.load()
    return _plain_value(loaded.settings, path), loaded.warnings


def _outcome_for_a_server(
    machine: Machine, pattern: str, own: object, wanted: object
) -> tuple[object, tuple[str, ...]]:
    """The same for a key of an MCP server, which the person's own file declares whole."""
    path = pattern.replace("servers.*", "servers.mine")
    is_reached = any(part in path for part in ("url", "bearer", "oauth"))
    way: dict[str, object] = {"url": "https://own.invalid"} if is_reached else {"command": ["own"]}
    way |= {"oauth_client_id": "mine"} if "oauth_client_secret" in path else {}
    given = {f"mcp.servers.mine.{key}": value for key, value in way.items()} | {path: own}
    machine.user("\n".join(f"{key} = {json.dumps(value)}" for key, value in given.items()))
    machine.project(f"{path} = {json.dumps(wanted)}")
    loaded = machine.load()
    return _plain_value(loaded.settings, path), loaded.warnings


def _outcome_for_a_language_server(
    machine: Machine, pattern: str, own: object, wanted: object
) -> tuple[object, tuple[str, ...]]:
    """The same for a language server, which needs a command and languages."""
    path = pattern.replace("lsp.*", "lsp.mine").replace(".*", ".own")
    given = {"lsp.mine.command": ["own"], "lsp.mine.languages": ["python"], path: own}
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


def _outcome_for_a_window(
    machine: Machine, pattern: str, own: object, wanted: object
) -> tuple[object, tuple[str, ...]]:
    """The same for the window of a model, which has a name in quotes."""
    path = pattern.replace("*", '"a/b:1.5"')
    machine.user(f"{path} = {own}")
    machine.project(f"{path} = {wanted}")
    loaded = machine.load()
    return loaded.settings.context_budget.models["a/b:1.5"].window, loaded.warnings


def _plain_value(value: object, path: str) -> object:
    for name in path.split("."):
        value = value[name] if isinstance(value, dict) else getattr(value, name)
    return list(value) if isinstance(value, tuple) else value


def _tried(machine: Machine, pattern: str) -> tuple[object, tuple[str, ...]]:
    """What becomes of the attempt on a key."""
    own, wanted, _ = _ATTEMPTS[pattern]
    special = {
        "hooks": _outcome_for_a_hook,
        "guards": _outcome_for_a_guard,
        "diagnostics": _outcome_for_diagnostics,
        "push": _outcome_for_a_push,
        "tools.custom": _outcome_for_a_custom_tool,
        "mcp.servers": _outcome_for_a_server,
        "lsp": _outcome_for_a_language_server,
        "prices": _outcome_for_a_price,
        "context_budget.models": _outcome_for_a_window,
    }
    outcome = next((way for table, way in special.items() if pattern.startswith(f"{table}.")), _outcome)
    return outcome(machine, pattern, own, wanted)


def _name(pattern: str) -> str:
    """What the key of an attempt is called. An array of tables is set, and refused, as a whole."""
    table = next(
        (table for table in ("hooks", "guards", "diagnostics", "push") if pattern.startswith(f"{table}.")), ""
    )
    pattern = pattern.replace("models.*", 'models."a/b:1.5"')
    names = ("prices.*", 'prices."a/b:1.5"'), ("parameters.*", "parameters.p"), ("custom.*", "custom.mine")
    pattern = pattern.replace("effort.*", "effort.decision").replace("lenses.*", "lenses.review")
    pattern = pattern.replace("keys.*", "keys.find").replace("servers.*", "servers.mine")
    pattern = pattern.replace("agents.*", "agents.mine").replace("lsp.*", "lsp.mine")
    pattern = pattern.replace("options.*", "options.own").replace("settings.*", "settings.own")
    pattern = pattern.replace("secrets.*", "secrets.OWN")
    for free, own in (("providers.*", "providers.local"), ("headers.*", "headers.X-Key"), *names):
        pattern = pattern.replace(free, own)
    return table or pattern


@pytest.mark.long(after=20)
@pytest.mark.parametrize("pattern", _PATTERNS)
def test_an_untrusted_project_file_gets_no_further_than_the_rule_of_each_key(machine: Machine, pattern: str):
    value, warnings = _tried(machine, pattern)

    assert value == _ATTEMPTS[pattern][2]
    harmless = _RULES[pattern] in (ProjectRule.FREE, ProjectRule.ADD)
    assert [_name(pattern) in warning for warning in warnings] == ([] if harmless else [True])


@pytest.mark.long(after=25)
@pytest.mark.parametrize("pattern", _PATTERNS)
def test_what_an_untrusted_project_file_would_gain_by_trust_is_asked_about_key_by_key(
    machine: Machine, pattern: str
):
    _tried(machine, pattern)

    question = machine.load().question

    wanted = json.dumps(_ATTEMPTS[pattern][1])
    if _RULES[pattern] in (ProjectRule.FREE, ProjectRule.ADD, ProjectRule.OWN):
        assert question is None
        return
    assert question is not None
    key = (
        pattern.replace("effort.*", "effort.decision")
        .replace("lenses.*", "lenses.review")
        .replace("lsp.*.options.*", "options.own")
        .replace("lsp.*.settings.*", "settings.own")
        .removesuffix(".*")
        .rpartition(".")[2]
    )
    (want,) = (
        want for want in question.items[0].wants if want.startswith(_name(pattern)) and f"{key} = " in want
    )
    assert wanted in want.partition(" = ")[2]


@pytest.mark.long(after=25)
@pytest.mark.parametrize("pattern", _PATTERNS)
def test_a_trusted_project_file_counts_like_the_persons_own_but_for_what_is_only_theirs(
    machine: Machine, pattern: str
):
    machine.standing = Standing.TRUSTED

    value, warnings = _tried(machine, pattern)

    _, wanted, untrusted = _ATTEMPTS[pattern]
    limited = _RULES[pattern] in (ProjectRule.ADD, ProjectRule.OWN)
    assert value == (untrusted if limited else wanted)
    assert bool(warnings) is (_RULES[pattern] is ProjectRule.OWN)


def test_no_project_file_says_where_things_are_kept_or_holds_a_secret():
    own = {pattern for pattern, rule in _RULES.items() if rule is ProjectRule.OWN}

    assert own >= {pattern for pattern in _PATTERNS if pattern.startswith("storage.")}
    assert own >= {".".join(key.path) for key in _SINGLE_KEYS if key.about.secret}


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


def test_what_a_project_file_may_not_set_is_reported_with_the_remedy(machine: Machine):
    machine.project('models.decision = "evil/model"')

    assert machine.load().warnings == (
        f"{machine.project_file} is not trusted, so what it sets of models.decision is ignored "
        "(`quorum config trust` shows what it wants, and trusts it)",
    )


def test_what_no_project_file_may_set_is_reported_with_the_remedy_even_if_it_is_trusted(machine: Machine):
    machine.project('storage.blobs = "x"')
    machine.standing = Standing.TRUSTED

    assert machine.load().warnings == (
        f"{machine.project_file} sets storage.blobs; no project's file may, so it is ignored "
        f"(put it in {machine.user_file}, or name the file with --config)",
    )


def test_a_file_that_changed_since_it_was_trusted_is_reported_as_such(machine: Machine):
    machine.project('models.decision = "evil/model"\nreview.mode = "auto"')
    machine.standing = Standing.CHANGED

    loaded = machine.load()

    assert "has changed since you trusted it" in loaded.warnings[0]
    assert loaded.question is not None
    assert loaded.question.items[0].changed


def test_the_question_is_about_the_bytes_that_were_parsed_and_the_folder_they_were_found_in(
    machine: Machine, tmp_path: Path
):
    content = b'\xef\xbb\xbfmodels.decision = "evil/model"\r\n'
    machine.project_file.write_bytes(content)
    (tmp_path / "link").symlink_to(machine.repository)

    question = machine.load(cwd=tmp_path / "link").question

    assert question is not None
    assert question.folder == str(machine.repository)
    assert question.items[0].file == str(machine.project_file)
    assert question.items[0].digest == hashlib.sha256(content).hexdigest()


def test_a_link_to_a_file_that_is_trusted_elsewhere_is_judged_where_it_stands(machine: Machine, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere.toml"
    elsewhere.write_text('models.decision = "evil/model"')
    machine.project_file.symlink_to(elsewhere)

    question = machine.load().question

    assert question is not None
    assert question.items[0].file == str(machine.project_file)


def test_nothing_is_asked_where_a_file_is_named_in_place_of_the_projects(machine: Machine):
    machine.project('models.decision = "evil/model"')
    machine.environ["QUORUM_CONFIG"] = str(machine.project_file)

    loaded = machine.load()

    assert (loaded.standing, loaded.question) == (None, None)
    assert loaded.settings.models.decision == "evil/model"


def test_a_question_shows_no_secret_and_says_how_much_of_a_long_value_it_leaves_out(machine: Machine):
    command = json.dumps(["sh", "-c", "x" * 5000])
    machine.project(
        '[providers.local]\ntype = "openai-chat"\nbase_url = "http://me:hunter2@h"\n'
        'headers = { A = "hunter2" }\n'
        f'[[hooks]]\nevent = "on_turn_end"\ncommand = {command}\n'
    )

    question = machine.load().question

    assert question is not None
    assert not any("hunter2" in want for want in question.items[0].wants)
    assert question.items[0].wants[:2] == (
        'providers.local.type = "openai-chat"',
        'providers.local.base_url = "http://…@h"',
    )
    assert question.items[0].wants[2] == 'hooks[0].event = "on_turn_end"'
    assert question.items[0].wants[3].endswith("… and 1,016 more characters")


def test_a_trusted_project_file_holds_no_password_in_an_address(machine: Machine):
    machine.project('[providers.local]\ntype = "openai-chat"\nbase_url = "http://me:hunter2@h"\n')
    machine.standing = Standing.TRUSTED

    refusal = machine.refusal()

    assert refusal.startswith(
        f"{machine.project_file}:3: providers.local.base_url holds a user name and password"
    )
    assert "hunter2" not in refusal


def test_a_provider_of_a_trusted_project_file_exists(machine: Machine):
    machine.project('[providers.local]\ntype = "openai-chat"\n')
    machine.standing = Standing.TRUSTED

    assert "local" in machine.load().settings.providers


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


def test_an_untrusted_rule_that_could_never_be_met_ends_nothing(machine: Machine):
    machine.user('[models]\nreview = ["anthropic/a", "openai/b"]\n[quorum]\nrule = "atleast:2"\n')
    machine.project('[models]\nreview = ["evil/a"]\n[quorum]\nrule = "atleast:9"\n')

    loaded = machine.load()

    assert (loaded.settings.quorum.rule, len(loaded.settings.models.review)) == ("atleast:2", 2)
    assert any("models.review, quorum.rule" in warning for warning in loaded.warnings)


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
    assert "is not trusted, so what it sets of hooks is ignored" in loaded.warnings[0]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"[agent\n", "quorum.toml:1: this is not TOML"),
        (b"\xff", "quorum.toml:1: the file is not UTF-8"),
        (b"a = " + b"[" * 5000, "is nested too deeply"),
        (b"a." * 5000 + b"b = 1", "is nested too deeply"),
        (b"#" * 1_000_001, "too large for settings"),
    ],
)
@pytest.mark.parametrize("standing", Standing)
def test_a_projects_file_that_cannot_be_read_ends_nothing_that_does_not_need_it(
    content: bytes, why: str, standing: Standing, machine: Machine
) -> None:
    machine.standing = standing
    machine.user("agent.max_tool_turns = 7")
    machine.project_file.write_bytes(content)

    loaded = machine.load(needs_project=False)

    assert loaded.settings.agent.max_tool_turns == 7
    assert loaded.files == (machine.user_file,)
    assert why in loaded.left_out
    assert loaded.warnings == (loaded.left_out,)
    assert loaded.question is None
    assert why in machine.refusal()


def test_a_link_to_nothing_in_the_place_of_a_projects_file_is_left_out(machine: Machine) -> None:
    machine.project_file.symlink_to("nowhere")

    assert "quorum.toml" in machine.load(needs_project=False).left_out


def test_the_persons_own_file_is_never_left_out(machine: Machine) -> None:
    machine.user("[agent")

    with pytest.raises(ConfigError, match="this is not TOML"):
        machine.load(needs_project=False)


def test_nothing_is_left_out_of_a_project_whose_file_can_be_read(machine: Machine) -> None:
    machine.project("agent.max_tool_turns = 7")

    assert machine.load(needs_project=False).left_out == ""


@pytest.mark.parametrize(
    ("own", "wanted", "outcome"),
    [
        ("on", ["pypi.org"], ["pypi.org"]),
        ("auto", ["pypi.org"], "off"),
        ("off", ["pypi.org"], "off"),
        (["pypi.org", "example.org"], ["example.org", "example.net"], ["example.org"]),
        (["pypi.org"], ["example.org"], "off"),
        (["pypi.org"], "off", "off"),
        (["pypi.org"], "auto", "off"),
        (["pypi.org"], "on", ["pypi.org"]),
    ],
)
def test_a_project_opens_no_host_that_the_person_has_not_listed(
    machine: Machine, own: object, wanted: object, outcome: object
) -> None:
    found, _ = _outcome(machine, "tools.run_command.network", own, wanted)

    assert found == outcome
