"""What a session is for stays with it: in its record, when it is taken up again, and in the model it has."""

import asyncio

import pytest

from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.sessions.session_summary import NamedSession, NewSession
from quorum.infrastructure.bootstrap import build_session
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.session_inputs import SessionInputs, open_session
from tests.support.fake_ports import FakePerson, RecordingObserver
from tests.support.headless_run import environment


def loaded_in(root, monkeypatch, **overrides):
    for name, value in environment(root).items():
        monkeypatch.setenv(name, value)
    return load_settings(cwd=root, environ=environment(root), overrides=overrides)


async def opened(loaded, root, choice):
    record = await asyncio.to_thread(open_session, loaded, root, choice)
    container = build_session(
        SessionInputs(
            loaded=loaded, root=root, approver=FakePerson(), observer=RecordingObserver(), record=record
        )
    )
    agent = container.agent()
    await agent.open()
    return agent


@pytest.mark.long
async def test_a_session_that_was_begun_to_ask_only_asks_when_it_is_taken_up_again(tmp_path, monkeypatch):
    roles = {"models.decision": "offline/one", "models.ask": "offline/two"}
    loaded = loaded_in(tmp_path, monkeypatch, **roles)

    first = await opened(loaded, tmp_path, NewSession(SessionKind.ASK))
    assert (first.record.form, first.models.current) == (SessionKind.ASK, "offline/two")
    await first.aclose()
    again = await opened(loaded, tmp_path, NamedSession(first.session_id))
    assert (again.record.form, again.models.current) == (SessionKind.ASK, "offline/two")
    await again.aclose()


@pytest.mark.long
async def test_another_session_has_the_model_that_decides(tmp_path, monkeypatch):
    loaded = loaded_in(tmp_path, monkeypatch, **{"models.decision": "offline/one", "models.ask": "offline/two"})

    agent = await opened(loaded, tmp_path, NewSession())
    assert (agent.record.form, agent.models.current) == (SessionKind.AGENT, "offline/one")
    await agent.aclose()


async def test_a_session_that_cannot_be_recorded_keeps_its_form(tmp_path, monkeypatch):
    (tmp_path / "in-the-way").write_text("")
    loaded = loaded_in(
        tmp_path, monkeypatch, **{"storage.url": f"sqlite:///{tmp_path}/in-the-way/ledger.sqlite"}
    )

    agent = await opened(loaded, tmp_path, NewSession(SessionKind.ASK))
    assert agent.record.form is SessionKind.ASK
    assert not agent.record.outlives
    await agent.aclose()
