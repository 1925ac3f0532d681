"""The port to what keeps issues and pull requests."""

from __future__ import annotations

from typing import Protocol

from quorum.domain.conversation.attached_file import AttachedFile
from quorum.domain.text.reference import Reference


class ReferenceSource(Protocol):
    """Reads the issues and pull requests that a prompt names."""

    async def read(self, reference: Reference, most_characters: int) -> AttachedFile | None:
        """As much of it as fits into so many characters, or why there is nothing.

        None where the working directory has no repository that a bare number could belong to.
        """
        ...
