"""The folders in which the parts of a command line may run."""

from __future__ import annotations

from collections.abc import Iterable

from quorum.domain.shell.command_line import SimpleCommand
from quorum.domain.shell.command_spec import NotReadOnly

_MOST_FOLDERS = 8


class Places:
    """Follows a line from part to part. A part must be harmless in each folder of `now`.

    `cd a && x` runs x in a and nowhere else. Wherever `cd` may have failed, been skipped, or run in a process
    of its own, as after `;` and `||` and in a pipe, what follows may run before or behind it.
    """

    def __init__(self, folder: str) -> None:
        self.now: tuple[str, ...] = (folder,)
        self._all: tuple[str, ...] = (folder,)
        self._before = ";"
        self._command = SimpleCommand(())
        self._is_plain_chain = True

    @property
    def next(self) -> tuple[str, ...]:
        """The folders in which the next part may run."""
        return self.now if self._command.then in ("&&", "|") else self._all

    def reach(self, command: SimpleCommand) -> None:
        """Continue with the next part."""
        self._before, self._command = self._command.then or ";", command
        if self._before == ";":
            self._is_plain_chain = True
        elif self._before == "||":
            self._is_plain_chain = False
        if self._before in (";", "||"):
            self.now = self._all

    def enter(self, folders: Iterable[str]) -> None:
        """The part at hand changes the folder. Raises NotReadOnly where it is too often to be followed."""
        entered = tuple(dict.fromkeys(folders))
        self._all = tuple(dict.fromkeys((*self._all, *entered)))
        if len(self._all) > _MOST_FOLDERS:
            raise NotReadOnly("it changes the folder too often to be judged")
        is_certain = self._is_plain_chain and self._before != "|" and self._command.then == "&&"
        self.now = entered if is_certain else self._all
