"""The screen of `/agents`."""

import pytest

from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.instructions.offer_list import AgentDefinition
from tests.support.app_stage import on_stage


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def agent(name: str, **more: object) -> AgentDefinition:
    label = f".agents/agents/{name}.md"
    return AgentDefinition(
        name=name,
        scope=InstructionScope.PROJECT,
        file=f"/p/{label}",
        label=label,
        description="Finds \x1b[2Jcallers",
        **more,
    )


async def test_each_agent_is_shown_with_its_state_its_means_and_its_source(tmp_path):
    def prepare(fake):
        fake.definitions.surveyed = (
            (agent("finder", model="haiku"), True),
            (agent("writer", tools=("read_file", "write_file")), False),
            (agent("bad", problem="/p/bad.md, line 1: the frontmatter needs a description"), False),
        )

    async with on_stage(tmp_path, prepare=prepare) as stage:
        await stage.send("/agents")
        await stage.shows("finder  trusted")
        await stage.shows("tools that only look · model haiku")
        await stage.shows("writer  not trusted yet: asked about with your next prompt")
        await stage.shows("tools: read_file, write_file")
        await stage.shows("bad  cannot be used")
        await stage.shows(".agents/agents/finder.md (of the project)")
        assert "\x1b[2J" not in stage.text()


async def test_without_agents_it_says_where_they_would_be(tmp_path):
    async with on_stage(tmp_path) as stage:
        await stage.send("/agents")
        await stage.shows("There are no agents in .claude/agents and .agents/agents")
