"""The screen of `/status`."""

import pytest

from quorum.domain.code_review.change import ChangeBase
from quorum.domain.events.event import InstructionsLoaded
from quorum.domain.events.session import LoadedInstruction, OfferedSkill
from quorum.domain.mcp.offers import ServerState, ServerStatus
from quorum.domain.plan.plan import Plan, PlanTask, SessionPhase
from tests.support.app_stage import on_stage

LOADED = InstructionsLoaded(
    files=(LoadedInstruction(file="AGENTS.md", sha256="a" * 64),),
    notices=("CLAUDE.md is not trusted",),
    skills=(OfferedSkill(name="pdf", folder="/p/pdf", sha256="b" * 64),),
)


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.long
async def test_one_page_says_what_holds(tmp_path):
    async with on_stage(tmp_path, size=(100, 40)) as stage:
        stage.agent.tell(LOADED)
        await stage.send("/status")
        await stage.shows("fake/model-1")
        text = stage.text()

    for fact in (
        "session-1",
        "/state/quorum/ledger.sqlite",
        "ask",
        "AGENTS.md",
        "pdf",
        "notices       CLAUDE.md is not trusted",
    ):
        assert fact in text, fact


async def test_before_the_first_prompt_nothing_is_invented(tmp_path):
    async with on_stage(tmp_path, size=(100, 40)) as stage:
        await stage.send("/status")
        await stage.shows("looked for with the first prompt")
        await stage.shows("nothing yet")


@pytest.mark.long
async def test_secrets_and_control_characters_do_not_reach_the_page(tmp_path):
    def prepare(agent):
        agent.place = "/state/hunter2-secret/\x1b[2Jledger.sqlite"
        agent.mask.learn("SECRET", "hunter2-secret")
        agent.tool_servers.servers = (
            ServerStatus(name="docs", target="x", state=ServerState.RUNNING, tools=("a", "b")),
        )

    async with on_stage(tmp_path, size=(100, 40), prepare=prepare) as stage:
        await stage.send("/status")
        await stage.shows("recorded in")
        text = stage.text()

    assert "docs: running, 2 tools" in text
    assert "hunter2" not in text
    assert "\x1b[2J" not in text


@pytest.mark.long
async def test_a_final_review_that_is_due_is_named_with_what_can_be_done_about_it(tmp_path):
    plan = Plan(objective="a parser", reasoning="so", tasks=(PlanTask(id="parser", description="write it"),))

    def prepare(agent):
        agent.plans.phase = SessionPhase().approve(plan, ChangeBase(commit="c" * 40)).withdraw(is_done=True)

    async with on_stage(tmp_path, size=(100, 40), prepare=prepare) as stage:
        await stage.send("/status")
        await stage.shows("carried out; its final review is due: /retry makes it,")
