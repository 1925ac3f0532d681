"""`/add-dir` in the app."""

import pytest

from quorum.domain.errors import ConfigError
from tests.support.app_stage import on_stage


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.long
async def test_a_folder_is_added_and_listed(tmp_path):
    async with on_stage(tmp_path, size=(100, 40)) as stage:
        await stage.send("/add-dir")
        await stage.shows("no folder was added")
        await stage.send("/add-dir /library")
        await stage.shows("added /library")
        await stage.send("/add-dir /library")
        await stage.shows("belongs to the workspace already")
        await stage.send("/add-dir")
        await stage.shows("added folders: /library")
        await stage.send("/status")
        await stage.shows("added")
        assert "/library" in stage.text()


async def test_a_folder_that_cannot_be_added_says_why(tmp_path):
    def prepare(agent):
        agent.folders.fails = ConfigError("/ cannot be added: it is the whole file system; name a folder in it")

    async with on_stage(tmp_path, size=(100, 40), prepare=prepare) as stage:
        await stage.send("/add-dir /")
        await stage.shows("it is the whole file system")


async def test_a_session_that_is_only_read_gets_no_folder(tmp_path):
    def prepare(agent):
        agent.in_use = "another quorum has this session open"

    async with on_stage(tmp_path, size=(100, 40), prepare=prepare) as stage:
        await stage.send("/add-dir /library")
        await stage.shows("another quorum has this session open")
        assert stage.agent.folders.added == ()
