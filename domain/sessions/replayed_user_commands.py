"""The person's own commands of a record: which have no end, and of which the model knows nothing yet."""

from __future__ import annotations

from dataclasses import replace

from domain.calls.user_command import UserCommand
from domain.events.event import UserCommandFinished, UserCommandStarted


class ReplayedUserCommands:
    """Keeps the commands that are not over and done with, oldest first."""

    def __init__(self) -> None:
        self._commands: dict[str, UserCommand] = {}

    @property
    def left(self) -> tuple[UserCommand, ...]:
        """Those without an end, and those that the model is still to be told of."""
        return tuple(self._commands.values())

    def start(self, event: UserCommandStarted) -> None:
        """A command began."""
        self._commands[event.command_id] = UserCommand(
            command_id=event.command_id, command=event.command, visible_to_model=event.told
        )

    def finish(self, event: UserCommandFinished) -> None:
        """A command ended."""
        if (command := self._commands.pop(event.command_id, None)) is not None and event.note is not None:
            self._commands[event.command_id] = replace(command, ended=True, note=event.note)

    def tell(self, command_id: str) -> None:
        """The model knows of a command now."""
        self._commands.pop(command_id, None)
