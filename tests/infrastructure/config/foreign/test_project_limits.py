import json
import os

import pytest

from quorum.domain.sessions.trust import Standing
from tests.support.settings_machine import Machine


def _write(machine: Machine, settings: object, name: str = ".claude/settings.json") -> None:
    file = machine.repository / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(settings if isinstance(settings, str) else json.dumps(settings, indent=2), encoding="utf-8")


@pytest.mark.parametrize("standing", list(Standing))
def test_what_a_project_denies_to_claude_code_is_denied_at_once_whether_it_is_trusted_or_not(
    machine: Machine, standing: Standing
):
    machine.standing = standing
    machine.project("[agent]\nmax_tool_turns = 5")
    _write(machine, {"permissions": {"deny": ["Read(./secret/**)", "Bash(git push:*)"], "ask": ["WebFetch"]}})

    loaded = machine.load()

    denied = loaded.settings.permissions.deny
    assert {"read_file(secret/**)", "run_command(git push *)"} <= set(denied)
    assert loaded.settings.permissions.ask == ("web_fetch",)
    assert "secret" in loaded.settings.review.sensitive
    assert str(machine.repository / ".claude/settings.json") in loaded.origins["permissions.deny"]
    (notice,) = [each for each in loaded.warnings if "Claude Code" in each]
    assert "run_command(git push *)" in notice


def test_nothing_that_a_project_allows_to_claude_code_is_allowed_here(machine: Machine):
    _write(
        machine, {"permissions": {"allow": ["Bash(npm test:*)", "Edit(src/**)"], "defaultMode": "acceptEdits"}}
    )

    loaded = machine.load()

    assert loaded.settings.permissions.allow == ("run_command(read-only)",)
    assert loaded.warnings == ()


def test_neither_a_variable_nor_a_named_file_takes_such_a_denial_away(machine: Machine):
    _write(machine, {"permissions": {"deny": ["Bash(rm:*)"]}}, ".claude/settings.local.json")
    machine.environ["QUORUM_PERMISSIONS__DENY"] = "[]"
    named = machine.home / "other.toml"
    named.write_text("", encoding="utf-8")

    assert machine.load(config_file=named).settings.permissions.deny == ("run_command(rm *)",)


def test_the_settings_of_a_folder_above_hold_in_a_folder_of_the_project(machine: Machine):
    _write(machine, {"permissions": {"deny": ["Read(/keys/**)"]}})
    inner = machine.repository / "packages/one"
    inner.mkdir(parents=True)

    denied = machine.load(cwd=inner).settings.permissions.deny

    assert f"read_file({machine.repository}/keys/**)" in denied


def test_limits_of_the_sandbox_there_are_limits_of_every_call_here(machine: Machine):
    sandbox = {
        "filesystem": {"denyRead": ["/srv/keys"], "denyWrite": ["./ci"]},
        "network": {"deniedDomains": ["x.org"]},
    }
    _write(machine, {"sandbox": sandbox})

    denied = machine.load().settings.permissions.deny

    assert {"read_file(/srv/keys)", "write_file(ci)", "web_fetch(url=*x.org*)"} <= set(denied)


@pytest.mark.parametrize(
    "settings",
    [
        '{"permissions": {"deny": ["Read(x)"',
        "[]",
        {"permissions": []},
        {"permissions": {"deny": "Read(x)"}},
        {"permissions": {"deny": [{"tool": "Read"}]}},
        {"permissions": {"deny": ["Read(x"]}},
        {"permissions": {"deny": [f"Bash(make {number})" for number in range(600)]}},
    ],
)
def test_settings_that_cannot_be_read_have_every_call_asked_about_and_the_place_is_named(
    machine: Machine, settings: object
):
    _write(machine, settings)

    loaded = machine.load()

    assert "*" in loaded.settings.permissions.ask
    assert ".claude/settings.json" in "\n".join(loaded.warnings)


_NEWER_TOML = ("a = {b = 1,}", "a = {\n  b = 1, # one\n}", "a = 07:32", r'a = "\e[0m"', r'a = "\x41"')


@pytest.mark.parametrize("newer", _NEWER_TOML)
def test_a_denial_in_a_file_with_newer_forms_of_toml_is_denied(machine: Machine, newer: str):
    _write(machine, f'{newer}\n[permissions.p.filesystem]\n"/srv/keys" = "none"', ".codex/config.toml")

    loaded = machine.load()

    assert "read_file(/srv/keys)" in loaded.settings.permissions.deny
    assert "*" not in loaded.settings.permissions.ask


@pytest.mark.parametrize("broken", ["a = {", "a = [1 2]", r'a = "\q"', "a = 25:61", "a = " + "[" * 5_000])
def test_a_file_that_is_no_toml_of_any_version_has_every_call_asked_about(machine: Machine, broken: str):
    _write(machine, broken, ".codex/config.toml")

    loaded = machine.load()

    assert "*" in loaded.settings.permissions.ask
    assert ".codex/config.toml" in "\n".join(loaded.warnings)


def test_settings_that_are_no_file_have_every_call_asked_about_and_hang_nothing(machine: Machine):
    (machine.repository / ".claude").mkdir()
    os.mkfifo(machine.repository / ".claude/settings.json")

    assert machine.load().settings.permissions.ask == ("*",)


def test_comments_and_trailing_commas_hide_no_denial(machine: Machine):
    _write(machine, '{\n // "x",\n "permissions": {"deny": ["Bash(curl http://a:*)", /* , */ ],}, }\n')

    assert machine.load().settings.permissions.deny == ("run_command(curl http://a *)",)


@pytest.mark.parametrize(
    ("name", "settings", "denied"),
    [
        (".codex/rules/a.rules", 'prefix_rule(pattern=["rm"], decision="forbidden")', "run_command(rm *)"),
        (".codex/config.toml", '[permissions.p.filesystem]\n"/srv/keys" = "none"', "read_file(/srv/keys)"),
        (".gemini/settings.json", {"tools": {"exclude": ["run_shell_command(rm)"]}}, "run_command(rm *)"),
        (".github/copilot/settings.json", {"deniedUrls": ["bad.example"]}, "web_fetch(url=*bad.example*)"),
        ("opencode.json", {"permission": {"bash": {"rm *": "deny", "*": "allow"}}}, "run_command(rm *)"),
        ("opencode.jsonc", '{"permission": {"edit": "deny"}, /* c */}', "write_file"),
    ],
)
def test_what_a_project_denies_to_other_agents_is_denied_at_once(
    machine: Machine, name: str, settings: object, denied: str
):
    _write(machine, settings, name)

    loaded = machine.load()

    assert denied in loaded.settings.permissions.deny
    assert loaded.settings.permissions.allow == ("run_command(read-only)",)
    assert name.rpartition("/")[2] in "\n".join(loaded.warnings)


def test_a_path_that_leads_over_a_link_is_denied_where_it_leads(machine: Machine):
    (machine.home / "vault/keys").mkdir(parents=True)
    (machine.repository / "secrets").symlink_to(machine.home / "vault")
    _write(machine, {"permissions": {"deny": ["Read(./secrets/keys/**)"]}})

    loaded = machine.load()

    assert f"read_file({machine.home}/vault/keys/**)" in loaded.settings.permissions.deny
    assert "secrets/keys" in loaded.settings.review.sensitive
    assert f"{machine.home}/vault/keys".lstrip("/") not in loaded.settings.review.sensitive


def test_a_path_that_leads_over_a_link_in_the_workspace_is_sensitive_where_it_leads(machine: Machine):
    (machine.repository / "vault/keys").mkdir(parents=True)
    (machine.repository / "secrets").symlink_to(machine.repository / "vault")
    _write(machine, {"permissions": {"deny": ["Read(./secrets/keys/**)"]}})

    assert "vault/keys" in machine.load().settings.review.sensitive
