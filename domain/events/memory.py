"""Lines that the person adds to an instruction file."""

from __future__ import annotations

from typing import ClassVar

from domain.instructions.instruction import InstructionScope
from domain.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryApproved:
    """The person approved the change that adds this line to an instruction file; it is made next.

    `file` is the path that is written. `sha256` is that of the content it is to have, `former_sha256` that of
    the content it replaces, None where there is no file.
    """

    type: ClassVar = "memory_approved"
    durable: ClassVar = True
    file: str
    scope: InstructionScope
    line: str
    sha256: str
    former_sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAdded:
    """The line is in the file. It takes effect with the next prompt. `notices` are sentences for the person."""

    type: ClassVar = "memory_added"
    durable: ClassVar = True
    file: str
    scope: InstructionScope
    line: str
    sha256: str
    notices: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What happened, in a sentence."""
        return f"added to {self.file}, in effect with the next prompt: {self.line}"
