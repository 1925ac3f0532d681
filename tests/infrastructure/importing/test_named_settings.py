"""Settings of other agents that are not taken over are named one by one."""

import json
from pathlib import Path

import pytest

from quorum.domain.importing.foreign_session import TakeoverItem, TakeoverKind
from quorum.infrastructure.importing.places import ImportPlaces
from quorum.infrastructure.importing.takeover import read_setups
from tests.support.settings_machine import Machine


def _name_settings(machine: Machine, agent: str, name: str, content: str) -> list[TakeoverItem]:
    file = machine.home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    places = ImportPlaces(
        home=machine.home, root=machine.repository, own=Path(machine.user_file.parent), environ=machine.environ
    )
    found = [each for setup in read_setups([agent], places) for each in setup.findings]
    return [each for each in found if each.kind is TakeoverKind.SETTING]


def test_settings_of_claude_code_are_named_with_what_can_be_set_here(machine: Machine):
    permissions = {
        "deny": ["WebSearch"],
        "newKey": 1,
        "disableBypassPermissionsMode": "disable",
        "additionalDirectories": ["../lib"],
        "defaultMode": "acceptEdits",
    }
    sandbox = {"enabled": True, "filesystem": {"denyRead": ["/x"], "allowWrite": ["/y"]}, "network": {"a": 1}}
    content = json.dumps({"permissions": permissions, "sandbox": sandbox, "statusLine": {}}, indent=1)

    found = _name_settings(machine, "claude", ".claude/settings.json", content)

    assert [each.there for each in found] == [
        'permissions.defaultMode = "acceptEdits"',
        'permissions.additionalDirectories = ["../lib"]',
        'permissions.disableBypassPermissionsMode = "disable"',
        "sandbox.enabled = true",
        'sandbox.filesystem.allowWrite = ["/y"]',
        "permissions.newKey",
        "sandbox.network.a",
        "statusLine",
    ]
    assert 'review.mode = "accept-edits"' in found[0].why
    assert "workspace.directories" in found[1].why
    assert found[0].place.endswith("settings.json:11")
    assert not any(each.is_taken_over for each in found)


@pytest.mark.parametrize(
    ("agent", "name", "content", "there", "why"),
    [
        ("codex", ".codex/config.toml", 'sandbox_mode = "read-only"', "sandbox_mode", '"read-only"'),
        ("codex", ".codex/config.toml", 'approval_policy = "never"', "approval_policy", '"sandboxed"'),
        (
            "codex",
            ".codex/config.toml",
            'sandbox_mode = "danger-full-access"',
            "sandbox_mode",
            "not taken over: choose review.mode",
        ),
        (
            "gemini",
            ".gemini/settings.json",
            '{"general": {"defaultApprovalMode": "auto_edit"}}',
            "general.defaultApprovalMode",
            '"accept-edits"',
        ),
        (
            "gemini",
            ".gemini/settings.json",
            '{"context": {"includeDirectories": ["a"]}}',
            "context.includeDirectories",
            "workspace.directories",
        ),
        ("copilot", ".copilot/config.json", '{"trusted_folders": ["/a"]}', "trusted_folders", "config trust"),
        ("kimi", ".kimi/config.toml", "default_yolo = true", "default_yolo", "review.mode"),
    ],
)
def test_modes_and_folders_of_other_agents_are_named(
    machine: Machine, agent: str, name: str, content: str, there: str, why: str
):
    (found,) = _name_settings(machine, agent, name, content)

    assert found.there.startswith(there)
    assert why in found.why


def test_values_of_settings_that_are_not_known_are_not_shown(machine: Machine):
    content = json.dumps({"sandbox": {"proxy": "hunter2"}, "permissions": {"x": {"y": "hunter2"}}})

    assert "hunter2" not in repr(_name_settings(machine, "claude", ".claude/settings.json", content))


@pytest.mark.parametrize(
    ("agent", "name", "content", "there"),
    [
        ("codex", ".codex/config.toml", '[model_providers.x]\nbase_url = "http://x/v1"', "model_providers"),
        ("opencode", ".config/opencode/opencode.json", '{"provider": {"x": {"npm": "y"}}}', "provider"),
        ("kimi", ".kimi-code/config.toml", '[providers.x]\ntype = "kimi"', "providers"),
    ],
)
def test_providers_of_other_agents_are_named_with_the_table_to_write_here(
    machine: Machine, agent: str, name: str, content: str, there: str
) -> None:
    [found] = _name_settings(machine, agent, name, content)

    assert found.there == there
    assert "[providers.NAME]" in found.why
    assert "docs/providers.md" in found.why
