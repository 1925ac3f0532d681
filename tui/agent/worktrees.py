"""What the commands about worktrees need; the entry point knows git and the sessions behind it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from quorum.domain.worktrees.worktree import (
        OpenedWorktree,
        Worktree,
        WorktreeChange,
        WorktreeLoss,
        WorktreeSetup,
    )


class WorktreesPort(Protocol):
    """The worktrees of the repository that a folder lies in: `quorum/app/worktree_service.py`.

    What cannot be done raises WorktreeRefused with what to do. `set_up` also raises ConfigError.
    """

    async def open(self, name: str) -> OpenedWorktree: ...

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
