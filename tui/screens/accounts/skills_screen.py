"""The screen of `/skills`: the skills there are, where they lie, and whether the model may load them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from domain.text.printable import printable
from tui.screens.accounts.sheet import AccountSheet

if TYPE_CHECKING:
    from domain.instructions.skill import Skill

_QUIET = "$foreground 60%"
_LONGEST = 500
_NONE = "There are no skills in .claude/skills and .agents/skills, neither of this project nor your own."
_ASKED = "not trusted yet: asked about with your next prompt"


class SkillsScreen(AccountSheet):
    """Shows skills, each with whether it is trusted as it is."""

    HEADING = "Skills"

    def __init__(self, skills: Sequence[tuple[Skill, bool]]) -> None:
        super().__init__()
        self._skills = tuple(skills)

    def lines(self, width: int) -> Iterator[Content]:
        """Name and state of each, what it is for, and where it lies."""
        if not self._skills:
            yield from _wrap_text(_NONE, width)
        for place, (skill, is_trusted) in enumerate(self._skills):
            if place:
                yield Content("")
            state = "cannot be used" if skill.problem else "trusted" if is_trusted else _ASKED
            yield Content.assemble((printable(skill.name, newlines=False), "bold"), (f"  {state}", _QUIET))
            yield from _wrap_text(skill.problem or skill.description, width)
            yield from (line.stylize(_QUIET) for line in _wrap_text(skill.label, width))


def _wrap_text(text: str, width: int) -> Iterator[Content]:
    for line in textwrap.wrap(printable(" ".join(text[:_LONGEST].split()), newlines=False), max(20, width - 3)):
        yield Content(f"  {line}")
