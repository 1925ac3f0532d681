"""Skills: folders with instructions for one kind of task, which the model loads when it has such a task."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from domain.instructions.instruction import InstructionScope

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)
_LONGEST_DESCRIPTION = 500  # characters of one skill that every request carries
_MOST_CHARACTERS = 8_000  # of all skills together

_HEADING = """\
# Skills

Instructions for certain kinds of task, which the person trusts. Before a task that one of them fits, load it
with load_skill and follow it; its scripts are run with run_command, and reviewed like any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFile:
    """A file of a skill: its path from the skill's folder, its size in bytes, and its SHA-256."""

    path: str
    size_bytes: int
    sha256: str
    is_executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
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


def select_by_name(skills: Sequence[Skill]) -> tuple[Skill, ...]:
    """One skill of each name, in the order of names: the person's own before a project's, and of a project's
    the nearest, which stands last."""
    chosen: dict[str, Skill] = {}
    for skill in skills:
        taken = chosen.get(skill.name)
        if taken is None or taken.scope is InstructionScope.PROJECT:
            chosen[skill.name] = skill
    return tuple(chosen[name] for name in sorted(chosen))


def render_skills(skills: Sequence[Skill]) -> str:
    """What every request says of the skills: names and descriptions, as far as there is room for them."""
    if not skills:
        return ""
    room = _MOST_CHARACTERS
    lines: list[str] = []
    for place, skill in enumerate(skills):
        line = f"- {skill.name}: {shorten(skill.description, _LONGEST_DESCRIPTION)}"
        if len(line) > room:
            line = f"- {skill.name}"
        if len(line) > room:
            lines.append(f"- and {len(skills) - place} more, which load_skill lists")
            break
        room -= len(line)
        lines.append(line)
    return "\n".join((_HEADING, "", *lines))


def shorten(text: str, limit: int) -> str:
    """A text on one line, at most so many characters."""
    joined = " ".join(text.split())
    return joined if len(joined) <= limit else f"{joined[: limit - 1]}…"
