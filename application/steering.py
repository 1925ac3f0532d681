"""Messages that the model reads with the next request that can carry them.

That is what the person says while a turn runs, what became of commands that they ran themselves, and what
quorum itself has to add.
"""

from __future__ import annotations

import asyncio
from collections import deque

from msgspec import Struct

from quorum.domain.conversation.history import UserMessage


class PendingMessage(Struct, frozen=True, eq=False):
    """One pending message. `command_id`: it reports that command; a notice is from quorum; else the person
    says it."""

    said: UserMessage
    command_id: str | None = None
    is_notice: bool = False

    @property
    def steers(self) -> bool:
        """Whether the person says it into the running turn."""
        return self.command_id is None and not self.is_notice


class PendingMessages:
    """The messages that no request has carried yet, oldest first. Used on one event loop only.

    `delivered` is what the person said into the present turn, as far as the model has it.
    """

    def __init__(self) -> None:
        self.delivered: list[str] = []
        self._waiting: deque[PendingMessage] = deque()
        self._steered = asyncio.Event()

    def add(self, word: PendingMessage) -> None:
        """Add a message behind those that wait already."""
        self._waiting.append(word)
        if word.steers:
            self._steered.set()

    async def wait_until_steered(self) -> None:
        """Wait until something waits that the person said into the running turn."""
        while not self.undelivered:
            self._steered.clear()
            await self._steered.wait()

    def begin_turn(self) -> None:
        """Start another turn: messages delivered into the previous one are part of the conversation."""
        self.delivered.clear()

    def pop(self, *, steering: bool) -> PendingMessage | None:
        """Remove the oldest, to put it into the conversation; without `steering` the oldest about a command."""
        word = next((each for each in self._waiting if steering or not each.steers), None)
        if word is not None:
            self._waiting.remove(word)
            if word.steers:
                self.delivered.append(word.said.text)
        return word

    def withdraw(self, command_id: str) -> None:
        """Remove the message about this command: the model has read of it elsewhere."""
        self._waiting = deque(word for word in self._waiting if word.command_id != command_id)

    def is_waiting(self, text: str) -> bool:
        """Whether a message of this text waits."""
        return any(word.said.text == text for word in self._waiting)

    @property
    def undelivered(self) -> tuple[UserMessage, ...]:
        """The person's messages that no request has carried yet, oldest first."""
        return tuple(word.said for word in self._waiting if word.steers)

    @property
    def any_waiting(self) -> bool:
        """Whether any message waits."""
        return bool(self._waiting)

    def take_back(self) -> UserMessage | None:
        """Remove and return the person's last message; None if all of them were sent."""
        word = next((each for each in reversed(self._waiting) if each.steers), None)
        if word is None:
            return None
        self._waiting.remove(word)
        return word.said
