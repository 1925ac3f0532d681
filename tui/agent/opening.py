"""How sessions are opened: what the entry point gives the app, which knows of no infrastructure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from quorum.application.ports.people import Approver, Observer
    from quorum.application.ports.storage import SessionArchive
    from quorum.application.session.agent_session import AgentSession
    from quorum.domain.sessions.past_session import SessionChoice

ComposeAgent: TypeAlias = "Callable[[Approver, Observer, SessionChoice, Path], Awaitable[AgentSession]]"
"""Composes a session that works in this folder; its events arrive at the observer."""
OpenArchive: TypeAlias = "Callable[[], Awaitable[SessionArchive]]"
Wanted: TypeAlias = "SessionChoice | Literal['fork']"
"""Which session to open; "fork": a copy of the present one."""
