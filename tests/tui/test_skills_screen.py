"""The screen of `/skills`."""

import pytest

from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.instructions.offer_list import Skill
from tests.support.app_stage import on_stage


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def skill(name: str, problem: str = "") -> Skill:
    label = f".claude/skills/{name}"
    description = "Read \x1b[2JPDF files"
    return Skill(
        name=name,
        scope=InstructionScope.PROJECT,
        folder=f"/p/{label}",
        label=label,
        description=description,
        problem=problem,
    )


@pytest.mark.long
async def test_each_skill_is_shown_with_its_state_and_its_place(tmp_path):
    def prepare(agent):
        agent.surveyed = (
            (skill("pdf"), True),
            (skill("new"), False),
            (skill("bad", problem="/p/bad: it is larger than 5 MB"), False),
        )

    async with on_stage(tmp_path, prepare=prepare) as stage:
        await stage.send("/skills")
        await stage.shows("pdf  trusted")
        await stage.shows("new  not trusted yet: asked about with your next prompt")
        await stage.shows("bad  cannot be used")
        await stage.shows("it is larger than 5 MB")
        await stage.shows(".claude/skills/pdf")
        assert "\x1b[2J" not in stage.text()


async def test_without_skills_it_says_where_they_would_be(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("/skills")
        await stage.shows("There are no skills in .claude/skills and .agents/skills")
