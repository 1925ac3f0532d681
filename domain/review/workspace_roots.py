"""The folders of a workspace: the working directory, and those that the person adds while a session lasts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from quorum.domain.text.paths import is_below_any


class WorkspaceRoots(Sequence[str]):
    """Canonical absolute paths, the working directory first. Whoever holds it sees what is added later.

    Reading is safe from any thread: it looks at one state, never at half of a change.
    """

    def __init__(self, first: Iterable[str], added: Iterable[str] = ()) -> None:
        """`first` are the folders that stay; there is one at least."""
        self._first = tuple(first)
        self._all = self._first
        self.replace_added(added)

    @property
    def added(self) -> tuple[str, ...]:
        """The folders beside those that stay, in the order in which they were added."""
        return self._all[len(self._first) :]

    def replace_added(self, folders: Iterable[str]) -> None:
        """Have exactly these folders beside those that stay. One inside of another adds nothing."""
        kept: list[str] = []
        wanted = list(dict.fromkeys(folders))
        for folder in wanted:
            others = (*self._first, *(other for other in wanted if other != folder))
            if not is_below_any(folder, others):
                kept.append(folder)
        self._all = (*self._first, *kept)

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...

    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        return self._all[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)
