"""The commands that a person ran themselves, replayed from the events of a session."""

from __future__ import annotations

from quorum.domain.calls.user_command import UserCommand
from quorum.domain.events.event import UserCommandFinished, UserCommandStarted
from quorum.domain.replacing import replace


class ReplayedUserCommands:
    """The user commands that still run or that the model has yet to read of, oldest first."""

    def __init__(self) -> None:
        self._commands: dict[str, UserCommand] = {}

    @property
    def left(self) -> tuple[UserCommand, ...]:
        """The commands without an end, and those that the model has yet to read of."""
        return tuple(self._commands.values())

    def start(self, event: UserCommandStarted) -> None:
        self._commands[event.command_id] = UserCommand(
            command_id=event.command_id, command=event.command, visible_to_model=event.told
        )

    def finish(self, event: UserCommandFinished) -> None:
        if (command := self._commands.pop(event.command_id, None)) is not None and event.note is not None:
            self._commands[event.command_id] = replace(command, ended=True, note=event.note)

    def mark_as_read(self, command_id: str) -> None:
        self._commands.pop(command_id, None)
