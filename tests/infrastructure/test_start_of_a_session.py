"""What a session does before its first request, and in which order."""

from __future__ import annotations

import asyncio
import gc
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from quorum.application.review.approvers import NonInteractiveApprover
from quorum.domain.sessions.session_summary import NewSession
from quorum.infrastructure.bootstrap import build_session
from quorum.infrastructure.composition.session import SessionParts
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.secrets.known import SessionSecrets
from quorum.infrastructure.session_inputs import SessionInputs, open_session
from quorum.infrastructure.warming_up import warm_up_session
from tests.support.fake_ports import RecordingObserver
from tests.support.headless_run import environment

_LIMIT_SECS = 60


async def test_the_sdk_is_loaded_while_the_workspace_is_searched_for_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    loading = threading.Event()
    load, search = ProviderRegistry.warm_up, SessionSecrets.learn_workspace
    seen: list[bool] = []
    daemons: list[bool] = []

    def note_loading(registry: ProviderRegistry, model: str) -> None:
        daemons.append(threading.current_thread().daemon)
        loading.set()
        load(registry, model)

    def search_until_loading(secrets: SessionSecrets) -> None:
        seen.append(loading.wait(_LIMIT_SECS))
        search(secrets)

    monkeypatch.setattr(ProviderRegistry, "warm_up", note_loading)
    monkeypatch.setattr(SessionSecrets, "learn_workspace", search_until_loading)
    loaded = load_settings(cwd=tmp_path, environ=environment(tmp_path))
    record = await asyncio.to_thread(open_session, loaded, tmp_path, NewSession())
    container = await asyncio.to_thread(
        lambda: build_session(
            SessionInputs(
                loaded=loaded,
                root=tmp_path,
                approver=NonInteractiveApprover(),
                observer=RecordingObserver(),
                record=record,
            )
        )
    )
    await container.agent().aclose()

    assert seen[:1] == [True]
    assert not daemons[0], "a process that ends while native modules load crashes"


def test_garbage_is_collected_again_after_a_warm_up_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_registry: ProviderRegistry, _model: str) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(ProviderRegistry, "warm_up", fail)
    registry = object.__new__(ProviderRegistry)
    models = SimpleNamespace(session=SimpleNamespace(model="m"))
    parts = cast("SessionParts", SimpleNamespace(gateway=registry, models=models))
    gc.disable()
    try:
        with pytest.raises(OSError, match="gone"):
            warm_up_session(parts, None)
        assert gc.isenabled()
    finally:
        gc.enable()
