"""How sessions are opened: what the entry point gives the app, and what is said where one cannot be opened.

The app knows of no infrastructure.
"""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from quorum.application.ports.people import Approver, Observer
    from quorum.application.ports.storage import SessionArchive
    from quorum.application.session.agent_session import AgentSession
    from quorum.domain.sessions.session_summary import SessionChoice


ComposeAgent: TypeAlias = "Callable[[Approver, Observer, SessionChoice, Path], Awaitable[AgentSession]]"
"""Composes a session that works in this folder; its events arrive at the observer."""
OpenArchive: TypeAlias = "Callable[[], Awaitable[SessionArchive]]"
Wanted: TypeAlias = "SessionChoice | Literal['fork']"
"""Which session to open; "fork": a copy of the present one."""


USAGE, PROVIDER = 2, 4


class StartFailure(Exception):
    """Opening a session failed. The text is one sentence for the person, without secrets.

    It wraps every kind of error, so that none leaves the app waiting or ends it with a traceback. `exit_code`
    is that of a quorum which cannot continue without this session.
    """

    def __init__(self, error: Exception) -> None:
        try:
            from quorum.domain.errors import OUT_OF_MEMORY, ProviderError, QuorumError, is_out_of_memory
            from quorum.domain.events.masking import SecretMask
        except ImportError as missing:  # the installation is incomplete, and this explains all that followed
            super().__init__(f"a part of quorum cannot be loaded: {missing}; install quorum again")
            self.exit_code = USAGE
            return
        if isinstance(error, QuorumError):
            super().__init__(str(error))
        elif is_out_of_memory(error):
            super().__init__(OUT_OF_MEMORY)
        else:
            super().__init__(SecretMask().mask_text(_render_unforeseen(error)))
        self.exit_code = PROVIDER if isinstance(error, ProviderError) else USAGE


def _render_unforeseen(error: Exception) -> str:
    reason = " ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split())
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    if isinstance(error, ImportError):
        return f"a part of quorum cannot be loaded: {reason}{place}; install quorum again"
    return f"the session could not be opened: {reason}{place}; quorum doctor may tell why"
