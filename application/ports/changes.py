"""Ports to what is outside of a session: changes of a repository, its files, and issues and pull requests."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

from quorum.application.ports.tools import AnswerTools
from quorum.domain.calls.execution import Outcome
from quorum.domain.code_review.change import Change, ChangeBase, CodeReviewRequest
from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.mention import Reference

OnLook: TypeAlias = Callable[[str, JsonObject, Outcome, int], None]
"""Called for each call that has ended: tool, arguments, how it ended, and how many characters it showed."""
OpenTools: TypeAlias = Callable[[OnLook], AnswerTools]
"""Makes tools that only look at the repository, for one conversation."""


class ChangeSource(Protocol):
    """Reads changes. Nothing of the repository is executed for it."""

    async def read(self, request: CodeReviewRequest) -> Change:
        """The change that is asked for. Raises NothingToReview where there is none, and ToolError where it
        cannot be read."""
        ...

    def open_repository(self, change: Change) -> AbstractAsyncContextManager[OpenTools | None]:
        """The repository as it is with the change; None where that is not known. It is gone afterwards."""
        ...

    async def keep_approval(self, change: Change, focus: str) -> None:
        """Remember that the change is approved. The same question about its branch is then about what came
        later."""
        ...


class PlanChanges(Protocol):
    """Reads what comes of a plan. Nothing of the repository is executed for it."""

    async def read_base(self) -> ChangeBase:
        """The repository as it is now. Raises ToolError where there is none, or it cannot be read."""
        ...

    async def read_since(self, base: ChangeBase) -> Change:
        """What differs from it now, committed or not. Raises NothingToReview where nothing does, and ToolError
        where it cannot be read."""
        ...


class ReviewedFiles(Protocol):
    """Reads the files that findings name, as they are now. Both methods raise ToolError for a file that is gone
    or lies outside of the repository, and where it cannot be read."""

    async def locate(self, file: str) -> str:
        """The absolute path of a file, which a finding names from the root of the repository."""
        ...

    async def read(self, file: str) -> str:
        """What the file holds; what is not UTF-8 is replaced."""
        ...


class ReferenceSource(Protocol):
    """Reads the issues and pull requests that a prompt names."""

    async def read(self, reference: Reference, most_characters: int) -> AttachedFile | None:
        """As much of it as fits into so many characters, or why there is nothing.

        None where the working directory has no repository that a bare number could belong to.
        """
        ...
