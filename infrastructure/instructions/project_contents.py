"""All that a project brings along for the model, as something to trust."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from domain.instructions.skill import select_by_name
from domain.sessions.trust import TrustContent
from infrastructure.config.schema import Settings
from infrastructure.instructions.command_files import CommandFiles
from infrastructure.instructions.skill_catalog import list_wanted_skills
from infrastructure.instructions.skill_folders import SkillFolders
from infrastructure.instructions.trust import find_instruction_files, list_wanted
from infrastructure.instructions.trusted_commands import list_wanted_commands


def list_wanted_contents(
    root: Path, environ: Mapping[str, str], settings: Settings
) -> dict[Path, TrustContent]:
    """The instruction files, slash commands and skills that hold in a folder: for each its place, and what
    it holds. Blocks."""
    skills = SkillFolders(root, environ).find()
    return {
        **list_wanted(find_instruction_files(root, environ, settings).at_start()),
        **list_wanted_commands(CommandFiles(root, environ).find()),
        **list_wanted_skills(select_by_name([skill for skill in skills if not skill.problem])),
    }
