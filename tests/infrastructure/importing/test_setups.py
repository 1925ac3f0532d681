import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from quorum.domain.importing.foreign_session import TakeoverItem, TakeoverKind
from quorum.infrastructure.importing.places import ImportPlaces
from quorum.infrastructure.importing.takeover import read_setups
from tests.support.settings_machine import Machine

_GIT = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def _write(file: Path, content: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), encoding="utf-8")


def _read(machine: Machine, *agents: str, servers: Mapping[str, object] | None = None) -> list[TakeoverItem]:
    places = ImportPlaces(
        home=machine.home,
        root=machine.repository,
        own=machine.user_file.parent,
        environ=machine.environ,
        servers=servers or {},
    )
    return [finding for setup in read_setups(agents, places) for finding in setup.findings]


def _rules(findings: list[TakeoverItem]) -> list[str]:
    return [f"{each.rule.answer} {text}" for each in findings if each.rule for text in each.rule.rules]


def test_rules_of_claude_code_are_found_with_their_places(machine: Machine):
    permissions = {"deny": ["Bash(git push:*)"], "ask": ["WebFetch"], "allow": ["Bash(npm test:*)", "Bash"]}
    _write(machine.home / ".claude/settings.json", {"permissions": permissions})

    findings = _read(machine, "claude")

    assert _rules(findings) == [
        "deny run_command(git push *)",
        "ask web_fetch",
        "allow run_command(npm test *)",
    ]
    assert findings[0].place == f"{machine.home}/.claude/settings.json:4"
    assert findings[-1].there == "allow Bash"
    assert "review mode" in findings[-1].why


def test_what_the_person_allowed_in_a_project_is_allowed_there_and_what_it_denies_holds_already(
    machine: Machine,
):
    permissions = {"allow": ["Bash(make lint)"], "deny": ["Bash(rm:*)"]}
    _write(machine.repository / ".claude/settings.local.json", {"permissions": permissions})

    denied, allowed = _read(machine, "claude")

    assert (allowed.project, _rules([allowed])) == (str(machine.repository), ["allow run_command(make lint)"])
    assert not denied.is_taken_over
    assert denied.here == "holds at once: deny run_command(rm *)"


def test_nothing_that_a_project_shares_is_allowed_by_an_import(machine: Machine):
    _write(machine.repository / ".claude/settings.json", {"permissions": {"allow": ["Bash(make lint)"]}})
    _write(machine.repository / ".mcp.json", {"mcpServers": {"x": {"command": "x"}}})

    assert not any(each.is_taken_over for each in _read(machine, "claude"))


def _find_claude_server(machine: Machine, server: object, name: str = "my_Server") -> TakeoverItem:
    _write(machine.home / ".claude.json", {"mcpServers": {name: server}})
    return next(each for each in _read(machine, "claude") if each.kind is TakeoverKind.SERVER)


def test_a_server_is_taken_over_without_the_values_of_its_variables(machine: Machine):
    server = {"type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"GH_TOKEN": "ghp_" + "a" * 36}}

    found = _find_claude_server(machine, server)

    assert found.server == {"my-server": {"command": ["npx", "-y", "x"], "pass_env": ["GH_TOKEN"]}}
    assert "GH_TOKEN" in found.why
    assert "ghp_" not in repr(found)


def test_a_bearer_token_is_named_by_a_variable_and_never_copied(machine: Machine):
    server = {
        "type": "http",
        "url": "https://a.example/mcp",
        "headers": {"Authorization": "Bearer s3cret-value"},
    }

    found = _find_claude_server(machine, server, "issues")

    assert found.server == {"issues": {"url": "https://a.example/mcp", "bearer_token_env": "ISSUES_TOKEN"}}
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ({"type": "sse", "url": "https://a.example/sse"}, "type sse"),
        ({"command": "x", "args": ["--api-key", "sk-" + "a1B2c3D4" * 5]}, "secret"),
        ({"command": "x", "args": ["--token=0123456789abcdef0123"]}, "secret"),
        ({"command": "x", "args": ["-e", "API_KEY=hunter2"]}, "secret"),
        ({"command": "x", "args": ["--header", "Authorization: Bearer hunter2"]}, "secret"),
        ({"command": "x", "args": ["postgresql://me:hunter2@db/x"]}, "secret"),
        ({"url": "https://me:pw@a.example/mcp"}, "secret"),
        ({"url": "https://a.example/mcp?api_key=0123456789abcdef0123"}, "secret"),
        ({"url": "https://a.example/mcp", "headers": {"X-Key": "1"}}, "header X-Key"),
        ({"command": "x", "args": ["${HOME}/y"]}, "variable"),
        ({"command": "x", "novelty": 1}, "novelty"),
        ({}, "neither a program"),
        ("x", "no table"),
    ],
)
def test_a_server_that_quorum_cannot_have_is_named_with_the_reason_and_no_secret(
    machine: Machine, server: object, why: str
):
    found = _find_claude_server(machine, server)

    assert not found.is_taken_over
    assert why in found.why
    assert "0123456789abcdef" not in repr(found)
    assert "pw@" not in repr(found)
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    "args", [["-y", "@scope/server-key"], ["--port", "3000"], ["--read-only", "--auth"], ["a=b"]]
)
def test_plain_arguments_of_a_server_are_taken_over(machine: Machine, args: list[str]):
    assert _find_claude_server(machine, {"command": "x", "args": args}).server == {
        "my-server": {"command": ["x", *args]}
    }


def test_a_server_of_a_name_that_is_taken_here_is_left_alone(machine: Machine):
    _write(machine.home / ".claude.json", {"mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}})

    one, other = _read(machine, "claude", servers={"a": {"command": ["x"]}, "b": {"command": ["other"]}})

    assert (one.here, one.is_taken_over) == ("here already", False)
    assert "there is a server b here already" in other.why


def test_hooks_are_named_and_models_are_left_to_the_person(machine: Machine):
    hooks = {"PostToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}]}
    _write(machine.home / ".claude/settings.json", {"hooks": hooks, "model": "opus", "statusLine": {}})

    found = {each.kind: each for each in _read(machine, "claude")}

    assert found[TakeoverKind.HOOK].there == "PostToolUse (1)"
    assert "do not run here" in found[TakeoverKind.HOOK].why
    assert not any(each.is_taken_over for each in found.values())
    assert found[TakeoverKind.SETTING].there == "statusLine"


def test_a_damaged_file_is_named_with_its_line_and_the_others_are_read(machine: Machine):
    _write(machine.home / ".claude/settings.json", '{\n "permissions": {\n')
    _write(machine.home / ".claude.json", {"mcpServers": {"a": {"command": "x"}}})
    places = ImportPlaces(
        home=machine.home, root=machine.repository, own=machine.user_file.parent, environ=machine.environ
    )

    (setup,) = read_setups(["claude"], places)

    assert [each.kind for each in setup.findings] == [TakeoverKind.SERVER]
    assert setup.problems[0].startswith(f"{machine.home}/.claude/settings.json:3")


def test_what_codex_forbids_is_denied(machine: Machine):
    _write(
        machine.home / ".codex/rules/default.rules",
        'prefix_rule(pattern=["git", ["push", "fetch"]], decision="forbidden")\n'
        'prefix_rule(pattern=["rm"], decision="prompt")\n'
        'prefix_rule(pattern=["npm", "test"], decision="allow")\n',
    )
    _write(
        machine.home / ".codex/config.toml",
        'web_search = "disabled"\n[permissions.mine.filesystem]\n"/srv/keys" = "none"\n'
        '":workspace_roots" = { "." = "write", "secrets" = "none", "docs" = "read" }\n'
        '[permissions.mine.network.domains]\n"evil.example" = "deny"\n'
        '[mcp_servers.gh]\ncommand = "npx"\ndisabled_tools = ["delete_repo"]\n',
    )

    findings = _read(machine, "codex")

    assert set(_rules(findings)) == {
        *("deny run_command(git push *)", "deny run_command(git fetch *)", "ask run_command(rm *)"),
        *("allow run_command(npm test *)", "deny web_search", "deny read_file(/srv/keys)"),
        *("deny read_file(secrets)", "deny write_file(docs)", "deny web_fetch(url=*evil.example*)"),
        "deny mcp__gh__delete_repo",
    }
    assert findings[0].place == f"{machine.home}/.codex/rules/default.rules:1"


@pytest.mark.parametrize(
    "text",
    [
        "prefix_rule(pattern=[",
        "prefix_rule(pattern=WORDS, decision='forbidden')",
        "prefix_rule(pattern=['x'], decision='maybe')",
        "for word in ['x']:\n    prefix_rule(pattern=[word], decision='forbidden')",
        "other_rule(pattern=['x'])",
    ],
)
def test_rules_of_codex_that_are_not_understood_have_every_command_asked_about(machine: Machine, text: str):
    _write(machine.home / ".codex/rules/default.rules", text)

    (found,) = _read(machine, "codex")

    assert _rules([found]) == ["ask run_command"]
    assert "every command asks" in found.why


def test_words_of_codex_rules_that_a_shell_would_read_otherwise_stay_words(machine: Machine):
    _write(machine.home / ".codex/rules/a.rules", 'prefix_rule(pattern=["a b"], decision="forbidden")\n')
    assert _rules(_read(machine, "codex")) == ["deny run_command('a b' *)"]

    _write(machine.home / ".codex/rules/a.rules", 'prefix_rule(pattern=["a*"], decision="allow")\n')
    assert _rules(_read(machine, "codex")) == []


def test_instructions_become_the_persons_own_only_where_there_are_none(machine: Machine):
    _write(machine.home / ".codex/AGENTS.md", "be brief")
    (found,) = _read(machine, "codex")
    assert found.target == str(machine.user_file.parent / "AGENTS.md")

    _write(machine.user_file.parent / "AGENTS.md", "mine")
    (found,) = _read(machine, "codex")
    assert not found.is_taken_over
    assert "add to it what you miss" in found.why


def test_of_two_agents_with_one_server_name_the_first_is_taken(machine: Machine):
    _write(machine.home / ".claude.json", {"mcpServers": {"gh": {"command": "one"}}})
    _write(machine.home / ".codex/config.toml", '[mcp_servers.gh]\ncommand = "two"\n')

    one, other = _read(machine, "claude", "codex")

    assert one.server == {"gh": {"command": ["one"]}}
    assert other.why == "not taken over: that of Claude Code is taken"


def test_a_path_of_the_person_that_leads_over_a_link_is_denied_where_it_leads_too(machine: Machine):
    (machine.home / "dotfiles").mkdir()
    (machine.home / "private").symlink_to(machine.home / "dotfiles")
    _write(machine.home / ".claude/settings.json", {"permissions": {"deny": ["Read(~/private/**)"]}})

    assert _rules(_read(machine, "claude")) == [
        f"deny read_file({machine.home}/private/**)",
        f"deny read_file({machine.home}/dotfiles/**)",
    ]


def test_memories_of_agents_are_named_and_left_to_the_person(machine: Machine):
    slug = str(machine.repository).replace("/", "-").replace("_", "-")
    _write(machine.home / f".claude/projects/{slug}/memory/MEMORY.md", "we use tabs")

    (found,) = _read(machine, "claude")

    assert (found.there, found.is_taken_over) == ("MEMORY.md", False)


def test_a_secret_in_a_rule_is_neither_shown_nor_copied(machine: Machine):
    key = "ghp_" + "a1B2" * 9
    rules = [f"Bash(curl -H token={key} -u password={key}:*)"]
    _write(machine.home / ".claude/settings.json", {"permissions": {"deny": rules, "allow": rules}})

    assert "a1B2a1B2" not in repr(_read(machine, "claude"))


def test_nothing_is_allowed_by_a_file_that_git_tracks(machine: Machine):
    file = machine.repository / ".claude/settings.local.json"
    _write(file, {"permissions": {"allow": ["Bash(make lint)"]}})
    (machine.repository / ".git").rmdir()
    for words in (["init", "-q"], ["add", "-f", str(file)]):
        subprocess.run(["git", "-C", str(machine.repository), *words], check=True, env=_GIT)

    (found,) = _read(machine, "claude")

    assert not found.is_taken_over
    assert "git may track this file" in found.why


@pytest.mark.parametrize(
    "newer", ["a = {b = 1,}", "a = {\n  b = 1\n}", "a = 07:32", r'a = "\e[0m"', r'a = "\x41"']
)
def test_servers_of_codex_are_found_in_newer_forms_of_toml(machine: Machine, newer: str):
    _write(
        machine.home / ".codex/config.toml",
        newer + '\n[mcp_servers]\nnotes = {\n  command = "notes",\n  args = ["--all",],\n}',
    )

    (found,) = (each for each in _read(machine, "codex") if each.kind is TakeoverKind.SERVER)

    assert "notes" in found.there
