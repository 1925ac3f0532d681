"""What is imported, looked for and cleared away behind the person's typing, once a session is built."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from threading import Thread

from quorum.application.ports.models import LlmGateway
from quorum.infrastructure.composition.session import SessionParts
from quorum.infrastructure.execution.sandbox.opening import remove_abandoned
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.storage import remove_abandoned_outputs


def start_loading_models(parts: SessionParts) -> None:
    """Load the SDK of the first model in a thread: it takes long.

    No daemon: a process that ended while its native modules load would crash.
    """
    Thread(target=_load_models, args=(parts.gateway, parts.given.asked.models[0]), name="SDK").start()


def _load_models(gateway: LlmGateway, model: str) -> None:
    if isinstance(gateway, ProviderRegistry):
        gateway.warm_up(model)


def start_warming_up(parts: SessionParts, more: Callable[[], None] | None) -> None:
    """Import what takes long in a thread, while the person types."""
    Thread(target=warm_up_session, args=(parts, more), name="warm-up", daemon=True).start()


def warm_up_session(parts: SessionParts, more: Callable[[], None] | None) -> None:
    """Import what takes long while the person types. No request waits for more than the SDK of its provider."""
    try:
        with suppress(ImportError, MemoryError, RuntimeError):  # what needs it says what cannot be loaded
            _load_models(parts.gateway, parts.models.session.model)
            parts.calls.schema.warm_up(tool.definition for tool in parts.calls.tools.values())
            len(parts.shared.paths.code.places)  # to find what shares files with the workspace may take a while
            parts.shared.sandbox.detect_state()
            remove_abandoned(os.environ)
            remove_abandoned_outputs(parts.given.loaded.settings.storage, os.environ)
            if more is not None:
                more()
    finally:
        _freeze_once()
        gc.enable()


@cache
def _freeze_once() -> None:
    """Keep what is loaded from the collector: once, as what is frozen of a session stays after it is closed. To
    ask the collector whether anything is frozen counts all of it."""
    gc.freeze()
