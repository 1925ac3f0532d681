"""A start with nothing that the person or the project added: what is left out, and what still counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.sessions.trust import Standing
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.instructions.agent_catalog import AgentFiles
from quorum.infrastructure.instructions.instruction_files import find_instruction_files
from quorum.infrastructure.instructions.skill_catalog import SkillFolders
from quorum.infrastructure.instructions.trusted_offers import CommandFiles
from tests.support.settings_machine import Machine

ADDED = """
[[hooks]]
event = "on_turn_end"
command = ["true"]
[[diagnostics]]
name = "lint"
pattern = "*.py"
command = ["true"]
[mcp.servers.files]
command = ["true"]
[tools.custom.shout]
command = ["true"]
description = "shouts"
[tui]
theme = "nord"
statusline = ["true"]
[permissions]
allow = ["run_command(make *)"]
deny = ["run_command(curl *)"]
ask = ["web_fetch"]
[workspace]
directories = ["/srv/other"]
[review]
mode = "auto"
sensitive = ["...", "*.tfstate"]
[tools]
disabled = ["web_search"]
[models]
decision = "local/model"
[providers.local]
type = "openai-chat"
base_url = "http://127.0.0.1:1/v1"
"""


def test_nothing_that_was_added_counts_and_all_that_denies_and_reaches_models_does(machine: Machine) -> None:
    machine.user(ADDED)

    settings = machine.load(is_safe=True).settings

    assert settings.hooks == settings.diagnostics == ()
    assert not settings.mcp.servers
    assert not settings.tools.custom
    assert settings.tui == Settings().tui
    assert settings.workspace.directories == ()
    assert settings.review.mode == Settings().review.mode
    assert settings.permissions.allow == Settings().permissions.allow
    assert settings.permissions.deny == ("run_command(curl *)",)
    assert settings.permissions.ask == ("web_fetch",)
    assert "*.tfstate" in settings.review.sensitive
    assert (settings.models.decision, settings.providers["local"].base_url) == (
        "local/model",
        "http://127.0.0.1:1/v1",
    )


def test_the_same_file_counts_whole_at_the_next_start(machine: Machine) -> None:
    machine.user(ADDED)

    machine.load(is_safe=True)

    settings = machine.load().settings
    assert (len(settings.hooks), settings.permissions.allow) == (1, ("run_command(make *)",))


def test_variables_are_held_to_the_same_and_options_count(machine: Machine) -> None:
    machine.environ |= {"QUORUM_REVIEW__MODE": "auto", "QUORUM_TUI__THEME": "nord"}

    loaded = machine.load(is_safe=True, overrides={"review.mode": "accept-edits"})

    assert (loaded.settings.review.mode, loaded.settings.tui.theme) == ("accept-edits", Settings().tui.theme)


def test_a_trusted_projects_file_only_tightens_and_nothing_is_asked(machine: Machine) -> None:
    machine.standing = Standing.TRUSTED
    machine.project(ADDED)

    loaded = machine.load(is_safe=True)

    assert (loaded.settings.hooks, loaded.settings.permissions.allow) == ((), Settings().permissions.allow)
    assert "run_command(curl *)" in loaded.settings.permissions.deny
    assert loaded.question is None


def test_a_projects_file_that_cannot_be_read_keeps_nobody_from_a_safe_start(machine: Machine) -> None:
    machine.project("[review")

    assert machine.load(is_safe=True).left_out == ""


def test_the_managed_policy_holds(machine: Machine) -> None:
    machine.policy('review.modes = ["read-only"]')
    machine.user(ADDED)

    loaded = machine.load(is_safe=True, overrides={"review.mode": "ask"})

    assert loaded.settings.review.mode == "read-only"
    assert len(loaded.warnings) > 1


def test_it_is_said_and_nothing_else(machine: Machine) -> None:
    machine.project(ADDED)

    (said,) = machine.load(is_safe=True).warnings

    assert said.startswith("safe start (--safe): no hooks, MCP servers, plug-ins")


@pytest.fixture
def folder(machine: Machine) -> Path:
    files = {
        "AGENTS.md": "Be brief.",
        ".agents/skills/x/SKILL.md": "---\nname: x\ndescription: x\n---\nx",
        ".agents/agents/x.md": "---\ndescription: x\n---\nx",
        ".agents/commands/x.md": "x",
    }
    for name, text in files.items():
        path = machine.repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return machine.repository


def test_instructions_skills_agents_and_commands_are_not_found(machine: Machine, folder: Path) -> None:
    environ, settings = machine.environ, Settings()
    for is_off in (False, True):
        found = (
            find_instruction_files(folder, environ, settings, is_off=is_off).read_at_start(),
            SkillFolders(folder, environ, is_off=is_off).find(),
            AgentFiles(folder, environ, is_off=is_off).find(),
            CommandFiles(folder, environ, is_off=is_off).find(),
        )
        assert [bool(each) for each in found] == [not is_off] * 4
