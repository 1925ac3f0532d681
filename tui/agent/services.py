"""What the app needs of local model servers, settings and worktrees.

Only the entry point knows the files, git and the sessions behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from quorum.domain.worktree import (
        LinksProposal,
        OpenedWorktree,
        Worktree,
        WorktreeChange,
        WorktreeLoss,
        WorktreeSetup,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServerProposal:
    """What would be written to have a server's model: the `lines` that go (`-`) and come (`+`) in a `file`.

    `model` is its full name, "provider/model"; `is_new`: there is no such file yet.
    """

    model: str
    file: str
    is_new: bool
    lines: tuple[str, ...]


class LocalServers(Protocol):
    """Asks the servers of models on this machine, and writes settings that use one."""

    async def list_models(self, port: int) -> tuple[str, ...]:
        """The models that the server on this port lists, by its own names. Raises ProviderError."""
        ...

    async def propose(self, port: int, name: str, model: str) -> LocalServerProposal:
        """What would have to be written to use this model of the server `name`. Raises ConfigError."""
        ...

    async def accept(self, proposal: LocalServerProposal) -> str:
        """Write that, if it is still what would change; why another model counts all the same, else empty.

        Raises ConfigError, and then nothing is written.
        """
        ...


OpenLocalServers: TypeAlias = Callable[[], LocalServers]
"""Those of this machine, with the settings of this run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting. `value` and `default` are TOML, with nothing secret in it; `default` may be empty.

    `origin` says where the value comes from: a file with its line, a variable, a flag, or "default". `fixed`
    says why it cannot be changed here, and is empty where it can.
    """

    key: str
    table: str
    value: str
    default: str
    origin: str
    description: str
    expected: str
    choices: tuple[str, ...] = ()
    fixed: str = ""

    @property
    def name(self) -> str:
        """What it is called in its table."""
        return self.key.removeprefix(f"{self.table}.")

    @property
    def is_default(self) -> bool:
        """Whether nothing sets it."""
        return self.origin == "default"


@dataclass(frozen=True, slots=True)
class Target:
    """A file that settings can be written to: what it is to the person, and its path."""

    name: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What came of a change: a sentence, the value that counts now, and whether that is the one written."""

    message: str
    value: object
    counts: bool


class SettingsService(Protocol):
    """Where settings are looked up and changed. Raises ConfigError for settings that cannot be read."""

    @property
    def targets(self) -> tuple[Target, ...]:
        """The files that can be written, the person's own first."""
        ...

    async def list_settings(self) -> Sequence[Setting]:
        """All of them as they are now, in the order of the reference."""
        ...

    async def change(self, key: str, text: str | None, target: Target) -> Written:
        """Write one, as it was typed, to a file, or take it out of it where there is no text.

        Raises ConfigError, in a sentence, for what does not fit, before anything is written.
        """
        ...

    async def read_keys(self) -> Mapping[str, str | Sequence[str]]:
        """The keys that the person wants for actions."""
        ...


OpenSettings: TypeAlias = Callable[[], SettingsService]


class WorktreesPort(Protocol):
    """The worktrees of the repository that a folder lies in: `quorum/app/worktree_service.py`.

    What cannot be done raises WorktreeRefused with what to do. `set_up` and what is about links also raise
    ConfigError.
    """

    async def open(self, name: str) -> OpenedWorktree: ...

    async def propose_links(self, opened: OpenedWorktree) -> LinksProposal | None: ...

    async def answer_links(self, proposal: LinksProposal, *, accepts: bool) -> None: ...

    async def set_up(self, opened: OpenedWorktree) -> WorktreeSetup: ...

    async def list(self) -> tuple[tuple[Worktree, WorktreeLoss], ...]: ...

    async def find(self, name: str) -> Worktree: ...

    async def read_change(self, worktree: Worktree) -> WorktreeChange: ...

    async def merge(self, change: WorktreeChange, message: str) -> None: ...

    async def find_loss(self, worktree: Worktree) -> WorktreeLoss: ...

    async def drop(self, worktree: Worktree, loss: WorktreeLoss) -> None: ...

    async def find_session_folder(self, session_id: str) -> Path | None: ...


OpenWorktrees: TypeAlias = Callable[[Path], WorktreesPort]
"""Those of the repository around this folder."""
