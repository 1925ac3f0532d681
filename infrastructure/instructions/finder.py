"""Finds the instruction files that hold in a session, and asks the person about those that are not trusted."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from quorum.application.ports.people import Approver
from quorum.domain.events.event import InstructionsLoaded
from quorum.domain.instructions.instruction import InstructionFile, InstructionScope
from quorum.domain.sessions.past_session import LedgerRecord
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.config.paths import resolve_trusted_place
from quorum.infrastructure.instructions.files import InstructionFiles
from quorum.infrastructure.instructions.trust import list_wanted
from quorum.infrastructure.tools.builtin.seen import SeenFiles
from quorum.infrastructure.trust.decisions import TrustDecisions


class TrustedInstructions:
    """Implements `InstructionFinder`. `before` are the folders of the files that were in force when the session
    was last open."""

    def __init__(
        self,
        files: InstructionFiles,
        *,
        seen: SeenFiles,
        decisions: TrustDecisions,
        approver: Approver,
        before: Collection[str] = (),
    ) -> None:
        self._files = files
        self._seen = seen
        self._decisions = decisions
        self._approver = approver
        self._before = frozenset(before)
        self._looked: frozenset[str] = frozenset()

    @property
    def has_new_folders(self) -> bool:
        return not self._seen.folders <= self._looked

    async def find(self) -> tuple[InstructionFile, ...]:
        """The person's own, the project's down to the working directory, and those beside files seen."""
        self._looked = self._seen.folders
        return await asyncio.to_thread(self._find)

    def _find(self) -> tuple[InstructionFile, ...]:
        return (*self._files.read_at_start(), *self._files.find_below(self._looked | self._before))

    async def select_trusted(
        self, files: Sequence[InstructionFile]
    ) -> tuple[tuple[InstructionFile, ...], tuple[str, ...]]:
        """Those that the person trusts, and sentences about the others."""
        untrusted, notices = await self._decisions.settle(
            list_wanted(files), self._files.project, self._approver
        )
        refused = {item.file: item.changed for item in untrusted}
        notices += [
            f"{make_printable(file)} {'has changed since you trusted it' if changed else 'is not trusted'}, so "
            f"its instructions are not used; to look at it and trust it: quorum -C {_quote_folder(file)} "
            "config trust"
            for file, changed in refused.items()
        ]
        kept = tuple(
            file for file in files if file.scope is InstructionScope.USER or _place(file) not in refused
        )
        return kept, tuple(notices)


def list_former_folders(past: Sequence[LedgerRecord]) -> tuple[str, ...]:
    """The folders of the instruction files that were in force when the session was last open."""
    loaded = (record.event for record in reversed(past) if isinstance(record.event, InstructionsLoaded))
    last = next(loaded, None)
    return tuple(os.path.dirname(file.file) for file in last.files) if last is not None else ()


def _quote_folder(file: str) -> str:
    return shlex.quote(make_printable(os.path.dirname(file), newlines=False))


def _place(file: InstructionFile) -> str:
    return str(resolve_trusted_place(Path(file.file)))
