"""Instruction files as something to trust: what the person is shown of them before they count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from quorum.domain.instructions.instruction import InstructionFile, InstructionScope
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.sessions.trust import TrustContent
from quorum.domain.text.amounts import format_amount, format_size
from quorum.infrastructure.config.paths import resolve_trusted_place
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.instructions.files import InstructionFiles

_LONGEST = 40_000  # characters of one file that are shown


def find_instruction_files(
    root: Path, environ: Mapping[str, str], settings: Settings, folders: Sequence[str] = ()
) -> InstructionFiles:
    """Those that hold in a folder; `folders` are the roots of the workspace, where there may be more."""
    policy = PathPolicy(roots=folders or (str(root),), sensitive=settings.review.sensitive)
    return InstructionFiles(root, environ, policy.is_sensitive, folders)


def list_wanted(files: Iterable[InstructionFile]) -> dict[Path, TrustContent]:
    """For each file of a project its place, and what it holds.

    The person's own files need no trust.
    """
    return {
        resolve_trusted_place(Path(file.file)): TrustContent(
            digest=file.digest, wants=tuple(_list_wants(file)), text=tuple(_render_text(file))
        )
        for file in files
        if file.scope is InstructionScope.PROJECT
    }


def _list_wants(file: InstructionFile) -> Iterable[str]:
    for part in file.parts:
        lines = part.text.splitlines()
        kind = "instructions to the model" if part.imported_by is None else f"{part.label}, which it imports"
        size = format_size(len(part.text.encode("utf-8", "replace")))
        yield f"{kind}: {format_amount(len(lines), 'line')}, {size}"


def _render_text(file: InstructionFile) -> Iterable[str]:
    for part in file.parts:
        if part.imported_by is not None:
            yield f"{part.label}:"
        yield from part.text[:_LONGEST].splitlines()
        if (rest := len(part.text) - _LONGEST) > 0:
            yield f"… and {rest:,} more characters"
