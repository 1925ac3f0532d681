"""`/rename`: the session has another title in lists."""

from __future__ import annotations

from pathlib import Path

from tests.support.app_stage import on_stage


async def test_a_session_is_renamed_and_without_a_title_nothing_changes(tmp_path: Path) -> None:
    async with on_stage(tmp_path) as stage:
        await stage.send("/rename")
        await stage.shows("/rename TITLE gives this session another title")
        await stage.send("/rename  flaky   tests")
        await stage.shows("this session is called “flaky tests”")

        assert stage.agent.titles == ["flaky tests"]
