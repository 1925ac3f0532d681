"""Skills: folders with instructions for one kind of task, which the model loads when it has such a task."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.instructions.offer_list import render_offers

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)

_HEADING = """\
# Skills

Instructions for certain kinds of task, which the person trusts. Before a task that one of them fits, load it
with load_skill and follow it; its scripts are run with run_command, and reviewed like any other."""


class SkillFile(Struct, frozen=True, kw_only=True):
    """A file of a skill: its path from the skill's folder, its size in bytes, and its SHA-256."""

    path: str
    size_bytes: int
    sha256: str
    is_executable: bool = False


class Skill(Struct, frozen=True, kw_only=True):
    """A skill as it was read.

    `folder` is its absolute path, `label` the short form; `digest` is the SHA-256 over the names and contents
    of all its files. `body` is the text of its `SKILL.md` below the frontmatter. `problem` says why it cannot
    be used, with file, line and remedy.
    """

    name: str
    scope: InstructionScope
    folder: str
    label: str
    digest: str = ""
    description: str = ""
    body: str = ""
    files: tuple[SkillFile, ...] = ()
    problem: str = ""


def is_skill_name(name: str) -> bool:
    """Whether a name is of letters, digits, `_`, `.` and `-`, and at most 64 characters."""
    return _NAME.fullmatch(name) is not None


def render_skills(skills: Sequence[Skill]) -> str:
    """What every request says of the skills: names and descriptions, as far as there is room for them."""
    return render_offers(_HEADING, skills, rest="which load_skill lists")
