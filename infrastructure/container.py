"""The container that front ends hold: what they use of a session.

All else is built by its typed parts. `dependency_injector` is imported without the libraries that it would load
for what quorum does not use of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from quorum.infrastructure.composition.session import SessionParts
from quorum.infrastructure.lean_imports import without
from quorum.infrastructure.owned_sessions import OwnedSessions
from quorum.infrastructure.session_inputs import SessionInputs

with without("yaml", "pydantic", "pydantic_settings", "fastapi", "fast_depends", "starlette", "werkzeug"):
    from dependency_injector import containers as containers
    from dependency_injector import providers as providers


T = TypeVar("T")


def _of(parts: providers.Provider[SessionParts], read: Callable[[SessionParts], T]) -> providers.Provider[T]:
    return providers.Callable(read, parts)


def _build_parts(inputs: SessionInputs) -> SessionParts:
    return SessionParts(given=inputs, open_subagents=OwnedSessions)


class Container(containers.DeclarativeContainer):
    """The parts of one session that front ends use."""

    inputs: providers.Dependency[SessionInputs] = providers.Dependency(instance_of=SessionInputs)
    parts: providers.Provider[SessionParts] = providers.Singleton(_build_parts, inputs)

    agent = _of(parts, lambda session: session.agent.session)
    record = _of(parts, lambda session: session.models.visible_record)
    events = _of(parts, lambda session: session.core.events)
    review = _of(parts, lambda session: session.reviews.review)
    rules = _of(parts, lambda session: session.shared.rules.book)
    saved_rules = _of(parts, lambda session: session.shared.rules.saved)
    sandbox = _of(parts, lambda session: session.shared.sandbox)
    gateway = _of(parts, lambda session: session.gateway)
    tools = _of(parts, lambda session: session.calls.tools)
    changes = _of(parts, lambda session: session.calls.changes.opened)


def build_container(inputs: SessionInputs) -> Container:
    """The container of a session, of which nothing is built yet."""
    return Container(inputs=inputs)
