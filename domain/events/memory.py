"""Lines that the person adds to an instruction file."""

from __future__ import annotations

from typing import ClassVar

from quorum.domain.fact import CanonicalPlace, Fact
from quorum.domain.instructions.instruction import InstructionScope


class MemoryApproved(Fact, frozen=True, kw_only=True, tag="memory_approved"):
    """The person approved the change that adds this line to an instruction file; it is made next.

    `file` is the path that is written. `sha256` is that of the content it is to have, `former_sha256` that of
    the content it replaces, None where there is no file.
    """

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    file: str
    scope: InstructionScope
    line: str
    sha256: str
    former_sha256: str | None = None


class MemoryAdded(Fact, frozen=True, kw_only=True, tag="memory_added"):
    """The line is in the file. It takes effect with the next prompt. `notices` are sentences for the person."""

    place: ClassVar = CanonicalPlace.BEFORE_CALLS
    file: str
    scope: InstructionScope
    line: str
    sha256: str
    notices: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        return f"added to {self.file}, in effect with the next prompt: {self.line}"
