"""Adds lines to instruction files: the project's, or the person's own."""

from __future__ import annotations

import os
from pathlib import Path

from quorum.domain.errors import ConfigError, MemoryRefused, StaleSeal, ToolError
from quorum.domain.instructions.instruction import (
    Instruction,
    InstructionFile,
    InstructionScope,
    MemoryDraft,
    append_bullet,
)
from quorum.domain.replacing import replace
from quorum.domain.sessions.trust import TrustQuestion
from quorum.domain.text.amounts import shorten_home
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.files.diff import render_unified_diff
from quorum.infrastructure.files.encoding import UTF_8
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.instructions.instruction_files import (
    LARGEST_FILE,
    NAMES,
    InstructionFiles,
    list_wanted,
)
from quorum.infrastructure.instructions.markdown_files import decode_text
from quorum.infrastructure.tools.builtin.drafting import (
    Draft,
    carry_out,
    decode_file,
    encode_file,
    read_content,
)
from quorum.infrastructure.trust_decisions import TrustDecisions


class MemoryFiles:
    """Implements `MemoryFilesPort`.

    A line goes to the file that counts in the project's root or in the person's folder: a new `AGENTS.md`
    beside a `CLAUDE.md` would put that out of force.
    """

    def __init__(self, files: InstructionFiles, *, decisions: TrustDecisions) -> None:
        self._files = files
        self._decisions = decisions

    async def draft(self, line: str, scope: InstructionScope) -> MemoryDraft:
        """The change that adds a line. Raises MemoryRefused for a file that cannot be changed so."""
        return await run_in_thread(lambda _stop: self._draft(line, scope))

    async def write(self, draft: MemoryDraft) -> tuple[str, ...]:
        """Make the change; sentences for the person. Raises MemoryRefused, with nothing written.

        The new content of a project's file is trusted if all the rest of it was, imports included. Otherwise
        the next prompt asks about the whole.
        """
        wanted = await run_in_thread(lambda stop: self._write(draft, stop))
        if wanted is None:
            return ()
        items = await run_in_thread(lambda _stop: self._decisions.list_untrusted(list_wanted([wanted])))
        if not items:
            return ()
        problem = await self._decisions.accept(TrustQuestion(folder=wanted.folder, items=items))
        return () if problem is None else (problem,)

    def _draft(self, line: str, scope: InstructionScope) -> MemoryDraft:
        folder = self._choose_folder(scope)
        counting = self._files.read(folder, scope)
        path = Path(counting.file) if counting is not None else folder / NAMES[0]
        label = _label(path)
        try:
            workspace = _build_workspace(folder)
            _require_inside(path, workspace)
            location = workspace.locate(str(path))
            before = read_content(workspace, location)
            encoding, text = (UTF_8, "") if before is None else decode_file(before, label)
            after = encode_file(append_bullet(text, line), encoding, label)
        except MemoryRefused as refused:
            raise MemoryRefused(f"{label}: {refused}") from refused
        except (ToolError, ConfigError) as error:
            raise MemoryRefused(f"{label} cannot be changed: {error}") from error
        if len(after) > LARGEST_FILE:
            raise MemoryRefused(f"{label}: only its first {LARGEST_FILE:,} bytes are read; shorten it first")
        return MemoryDraft(
            scope=scope,
            file=str(path),
            target=location.path,
            label=label,
            line=line,
            before=before,
            after=after,
            diff=render_unified_diff(before, after, path.name, is_text=True),
        )

    def _choose_folder(self, scope: InstructionScope) -> Path:
        match scope:
            case InstructionScope.PROJECT:
                return self._files.project
            case InstructionScope.USER:
                if self._files.user_folder is None:
                    raise MemoryRefused("there is no home folder for your own instructions; set HOME")
                return self._files.user_folder

    def _write(self, draft: MemoryDraft, stop: Stop) -> InstructionFile | None:
        """Write it; the file as it may be trusted from now on, None where the person has to be asked."""
        folder = self._choose_folder(draft.scope)
        expected = self._expect_content(draft, folder)
        try:
            workspace = _build_workspace(folder)
            location = workspace.locate(draft.file)
            if location.path != draft.target:
                raise MemoryRefused(f"{draft.label} leads to another file now; nothing was written")
            whole = Draft(location=location, before=draft.before, after=draft.after, create_folders=True)
            carry_out(workspace, whole, sealed=True, stop=stop)
        except StaleSeal as stale:
            raise MemoryRefused(f"{draft.label} has changed since it was shown; nothing was written") from stale
        except (ToolError, ConfigError) as error:
            raise MemoryRefused(str(error)) from error
        return expected if expected is not None and self._is_as(expected, folder) else None

    def _expect_content(self, draft: MemoryDraft, folder: Path) -> InstructionFile | None:
        """The project's file as it will be if only the line comes in; None where it is not trusted now."""
        if draft.scope is not InstructionScope.PROJECT:
            return None
        present = self._files.read(folder, draft.scope)
        if present is None:
            part = Instruction(file=draft.file, label=Path(draft.file).name, text=decode_text(draft.after))
            return InstructionFile(folder=str(folder), scope=draft.scope, parts=(part,))
        if present.file != draft.file or self._decisions.list_untrusted(list_wanted([present])):
            return None
        first, *imported = present.parts
        return replace(present, parts=(replace(first, text=decode_text(draft.after)), *imported))

    def _is_as(self, expected: InstructionFile, folder: Path) -> bool:
        found = self._files.read(folder, expected.scope)
        return found is not None and found.digest == expected.digest


def _build_workspace(folder: Path) -> Workspace:
    """What the file may be written in: its folder, or the nearest one above that exists."""
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    return Workspace([folder])


def _require_inside(path: Path, workspace: Workspace) -> None:
    canonical = Path(os.path.realpath(path))
    if not canonical.is_relative_to(workspace.cwd):
        raise MemoryRefused(
            f"it leads to {make_printable(str(canonical), newlines=False)}, out of its folder; "
            "edit that file yourself"
        )
    if canonical.is_dir():
        raise MemoryRefused("it is a folder; move it away first")


def _label(path: Path) -> str:
    return make_printable(shorten_home(str(path)), newlines=False)
