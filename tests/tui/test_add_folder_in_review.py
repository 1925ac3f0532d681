"""A review of a call that would reach a file outside the workspace: its folder can be added in the answer."""

import pytest

from quorum.domain.replacing import replace
from quorum.domain.review.questions import Approve, ApproveFolder
from tests.support.app_stage import Clock, on_stage
from tests.support.fake_agent import FakeAgent, a_command, a_request

PACKET = a_command("cat /library/paint.py")


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def asking(folder):
    async def scene(agent: FakeAgent) -> None:
        await agent.ask(replace(a_request(PACKET), folder=folder))

    return scene


async def test_the_first_press_names_the_folder_and_the_second_adds_it(tmp_path):
    async with on_stage(tmp_path, asking("/library"), size=(80, 24), clock=(clock := Clock())) as stage:
        await stage.send("go")
        await stage.asked()
        assert "folder" in stage.text()
        await stage.press_at("w", 1.0)
        await stage.shows("the same key again approves, and adds to the workspace")
        assert "/library" in stage.text().split("the same key again")[1]
        assert stage.agent.answers == []
        clock.now = 2.0
        await stage.press_at("w", 3.0)
        await stage.until(lambda: stage.agent.answers)
        assert stage.agent.answers == [ApproveFolder(PACKET.digest, "/library")]


@pytest.mark.long
async def test_where_no_folder_may_be_added_the_key_does_nothing(tmp_path):
    async with on_stage(tmp_path, asking(None), size=(80, 24), clock=Clock()) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.press_at("w", 1.0)
        await stage.press_at("y", 2.0)
        await stage.until(lambda: stage.agent.answers)
        assert stage.agent.answers == [Approve(PACKET.digest)]
