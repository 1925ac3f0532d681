"""The setting with which calls in the text are read, written with one key."""

from __future__ import annotations

import pytest

from quorum.domain.events.event import CallLeaked
from tests.support.app_stage import on_stage
from tests.support.fake_settings import OWN, FakeSettings, a_setting

LEAKED = CallLeaked(tool="read_file", parser="hermes", provider="local")


@pytest.fixture(autouse=True)
def _own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def test_one_key_writes_the_setting_that_a_leaked_call_proposes(tmp_path):
    service = FakeSettings(
        a_setting("providers.local.type", '"openai-chat"'), a_setting("providers.local.tool_parser", '""')
    )
    async with on_stage(tmp_path) as stage:
        await stage.until(lambda: stage.app.chat.current.session)
        stage.app.open_settings = lambda: service
        await stage.pilot.press("f8")
        await stage.shows("no answer here holds a call")
        stage.app.chat.transcript.session_view.apply(LEAKED)
        await stage.pilot.press("f8")
        await stage.until(lambda: service.changes)

    assert service.changes == [("providers.local.tool_parser", "hermes", OWN)]


@pytest.mark.long
async def test_a_provider_of_another_type_is_left_alone(tmp_path):
    service = FakeSettings(a_setting("providers.local.type", '"anthropic"'))
    async with on_stage(tmp_path) as stage:
        await stage.until(lambda: stage.app.chat.current.session)
        stage.app.open_settings = lambda: service
        stage.app.chat.transcript.session_view.apply(LEAKED)
        await stage.send("/read-calls")
        await stage.shows("openai-chat")

    assert service.changes == []
