"""What the app needs of an agent to have sessions know of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from domain.conversation.exchanges import ContextExtent, SessionResult, SharedContext


class ExchangesPort(Protocol):
    """What the session tells others and is told of them: `application/session/session_exchanges.py`."""

    @property
    def opener(self) -> str: ...

    @property
    def depth(self) -> int: ...

    def share(self, extent: ContextExtent) -> SharedContext: ...

    @property
    def result(self) -> SessionResult | None: ...

    def has(self, result: SessionResult) -> bool: ...

    async def receive_context(self, shared: SharedContext) -> None: ...

    async def receive_result(self, result: SessionResult) -> None: ...
