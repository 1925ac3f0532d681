"""All that a project brings along for the model, as something to trust."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from quorum.domain.instructions.offer_list import select_by_name
from quorum.domain.sessions.trust import TrustContent
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.instructions.agent_catalog import AGENTS, AgentFiles
from quorum.infrastructure.instructions.instruction_files import find_instruction_files, list_wanted
from quorum.infrastructure.instructions.skill_catalog import SKILLS, SkillFolders
from quorum.infrastructure.instructions.trusted_offers import CommandFiles, list_wanted_commands


def list_wanted_contents(
    root: Path, environ: Mapping[str, str], settings: Settings
) -> dict[Path, TrustContent]:
    """The instruction files, slash commands, skills and agents that hold in a folder: for each its place, and
    what it holds. Blocks."""
    skills = SkillFolders(root, environ).find()
    agents = AgentFiles(root, environ).find()
    return {
        **list_wanted(find_instruction_files(root, environ, settings).read_at_start()),
        **list_wanted_commands(CommandFiles(root, environ).find()),
        **SKILLS.list_wanted(select_by_name([skill for skill in skills if not skill.problem])),
        **AGENTS.list_wanted(select_by_name([agent for agent in agents if not agent.problem])),
    }
