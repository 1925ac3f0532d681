"""A change that is read before its review begins."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING

from quorum.application.ports.workspace import OpenTools
from quorum.domain.code_review.change import Change, CodeReviewRequest
from quorum.domain.errors import NothingToReview

if TYPE_CHECKING:  # loaded where changes are read
    from quorum.infrastructure.changes.repository_changes import RepositoryChanges


class ReadChange:
    """Implements the port for a change that is read before the review begins; the rest is that of the source
    it is attached to."""

    def __init__(self) -> None:
        self._change: Change | None = None
        self._source: RepositoryChanges | None = None

    def attach(self, source: RepositoryChanges) -> ReadChange:
        """Read from this source what was not read before; itself."""
        self._source = source
        return self

    def hold(self, change: Change) -> None:
        """This is the change, whatever is asked for."""
        self._change = change

    async def read(self, request: CodeReviewRequest) -> Change:
        """That change. Raises as the source does where there is none yet."""
        if self._change is not None:
            return self._change
        if self._source is None:
            raise NothingToReview("there is nothing to review: no repository is open")
        return await self._source.read(request)

    def open_repository(self, change: Change) -> AbstractAsyncContextManager[OpenTools | None]:
        """The repository as it is with the change; see the port."""
        return nullcontext() if self._source is None else self._source.open_repository(change)

    async def keep_approval(self, change: Change, focus: str) -> None:
        """Remember an approved change; see the port."""
        if self._source is not None:
            await self._source.keep_approval(change, focus)
