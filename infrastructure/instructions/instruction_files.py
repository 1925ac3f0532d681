"""The instruction files that hold in a session: found, read, where needed trusted by the person, and added to.

They are the person's own, and a project's from its root to where work is done.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from quorum.application.ports.people import Approver
from quorum.domain.errors import ConfigError, MemoryRefused, StaleSeal, ToolError
from quorum.domain.events.event import InstructionsLoaded
from quorum.domain.instructions.instruction import (
    Instruction,
    InstructionFile,
    InstructionScope,
    MemoryDraft,
    append_bullet,
)
from quorum.domain.instructions.offer_list import select_by_name
from quorum.domain.replacing import replace
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.sessions.trust import TrustContent, TrustQuestion
from quorum.domain.text.amounts import format_amount, format_size, shorten_home
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.config.paths import (
    list_folders_up_to_repository,
    locate_user_file,
    resolve_trusted_place,
)
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.files.diff import render_unified_diff
from quorum.infrastructure.files.encoding import UTF_8
from quorum.infrastructure.files.workspace import Workspace
from quorum.infrastructure.instructions.agent_catalog import AGENTS, AgentFiles
from quorum.infrastructure.instructions.markdown_files import decode_text, read_bytes
from quorum.infrastructure.instructions.skill_catalog import SKILLS, SkillFolders
from quorum.infrastructure.instructions.trusted_offers import CommandFiles, list_wanted_commands
from quorum.infrastructure.tools.builtin.drafting import (
    Draft,
    carry_out,
    decode_file,
    encode_file,
    read_content,
)
from quorum.infrastructure.tools.builtin.seen import SeenFiles
from quorum.infrastructure.trust_decisions import TrustDecisions

NAMES = ("AGENTS.md", "CLAUDE.md")
"""The names of an instruction file, the first that a folder has counts."""

LARGEST_FILE = 1_000_000
"""How many bytes of a file are read."""

_DEEPEST_IMPORT = 5
_MOST_IMPORTS = 50  # of one instruction file
_CODE = r"(?ms)^(`{3,}|~{3,}).*?^\1[`~]*[ \t]*$|(`+)(?!`).+?(?<!`)\2(?!`)"
_IMPORT = r"(?<![\w@/.-])@(~?[\w./][\w./+-]*)"


class InstructionFiles:
    """The instruction files that hold in a working directory. All methods block, and raise nothing.

    A file that cannot be read, is not a regular file, or lies outside of the project that links to it, does not
    count. `is_sensitive` answers whether a path may not be read unasked: no such file is ever imported.
    `folders` are the roots of the workspace, the working directory first, where there may be more. If `is_off`,
    none is found, and each can still be read to add to it.
    """

    def __init__(
        self,
        cwd: Path,
        environ: Mapping[str, str],
        is_sensitive: Callable[[str], bool],
        folders: Sequence[str] = (),
        *,
        is_off: bool = False,
    ) -> None:
        self._is_off = is_off
        self._folders = folders
        self._cwd = Path(os.path.realpath(cwd))
        self._chain = list_folders_up_to_repository(self._cwd)[::-1]
        self._is_sensitive = is_sensitive
        settings = locate_user_file(environ)
        self._user_folder = settings.parent if settings is not None else None

    @property
    def project(self) -> Path:
        """The root of the project: of the repository, or the working directory where there is none."""
        return self._chain[0]

    @property
    def user_folder(self) -> Path | None:
        """The folder of the person's own file; None where there is no home folder."""
        return self._user_folder

    @property
    def _added(self) -> tuple[Path, ...]:
        return tuple(map(Path, self._folders[1:]))

    def _find_project(self, path: Path) -> Path:
        """The folder that a project's file must not lead out of."""
        return next((root for root in self._added if path.is_relative_to(root)), self.project)

    def read_at_start(self) -> tuple[InstructionFile, ...]:
        """The person's own, those of folders added to the workspace, then those from the project's root down to
        the working directory."""
        if self._is_off:
            return ()
        user = self.read(self._user_folder, InstructionScope.USER) if self._user_folder is not None else None
        found = [self.read(folder, InstructionScope.PROJECT) for folder in (*self._added, *self._chain)]
        return tuple(file for file in (user, *found) if file is not None)

    def find_below(self, folders: Collection[str]) -> tuple[InstructionFile, ...]:
        """Those between a root of the workspace and these folders of it, the outermost first."""
        if self._is_off:
            return ()
        found = [self.read(folder, InstructionScope.PROJECT) for folder in self._list_folders_to(folders)]
        return tuple(file for file in found if file is not None)

    def _list_folders_to(self, targets: Iterable[str]) -> list[Path]:
        folders: set[Path] = set()
        for target in targets:
            folder = Path(target)
            root = next((root for root in (self._cwd, *self._added) if folder.is_relative_to(root)), folder)
            while folder != root:
                folders.add(folder)
                folder = folder.parent
        return sorted(folders, key=lambda each: (len(each.parts), str(each)))

    def read(self, folder: Path, scope: InstructionScope) -> InstructionFile | None:
        """The file that counts in this folder, with its imports; None where there is none, or it is blank."""
        inside = self._find_project(folder) if scope is InstructionScope.PROJECT else None
        for name in NAMES:
            path = folder / name
            text = self._read_text(path, inside)
            if text is not None and text.strip():
                first = Instruction(file=str(path), label=self._label(path, scope), text=text)
                imported = self._find_imports(first, scope, depth=1, seen={_find_place(path)})
                return InstructionFile(folder=str(folder), scope=scope, parts=(first, *imported))
        return None

    def _find_imports(
        self, importer: Instruction, scope: InstructionScope, *, depth: int, seen: set[str]
    ) -> Iterator[Instruction]:
        """The files that a text names with @, each followed by those that it names itself."""
        if depth > _DEEPEST_IMPORT:
            return
        inside = self._find_project(Path(importer.file)) if scope is InstructionScope.PROJECT else None
        for name in compile_once(_IMPORT).findall(compile_once(_CODE).sub("", importer.text)):
            path = _resolve(name.rstrip("."), Path(importer.file).parent)
            canonical = _find_place(path)
            if canonical in seen or len(seen) > _MOST_IMPORTS:
                continue
            text = self._read_text(path, inside)
            if text is None:
                continue
            seen.add(canonical)
            part = Instruction(
                file=str(path), label=self._label(path, scope), text=text, imported_by=importer.label
            )
            yield part
            yield from self._find_imports(part, scope, depth=depth + 1, seen=seen)

    def _read_text(self, path: Path, inside: Path | None) -> str | None:
        """The beginning of a regular file as text; None where there is none that may be read."""
        data = read_bytes(path, inside=inside, limit=LARGEST_FILE, is_sensitive=self._is_sensitive)
        return decode_text(data) if data is not None else None

    def _label(self, path: Path, scope: InstructionScope) -> str:
        base = self.project if scope is InstructionScope.PROJECT else Path.home()
        plain = os.path.normpath(path)
        if not Path(plain).is_relative_to(base):
            return plain
        relative = os.path.relpath(plain, base)
        return relative if scope is InstructionScope.PROJECT else f"~/{relative}"


def _find_place(path: Path) -> str:
    try:
        return os.path.realpath(path)
    except OSError:  # a link was changed while it was followed
        return str(path)


def _resolve(name: str, folder: Path) -> Path:
    return Path(os.path.normpath(folder / os.path.expanduser(name)))


_LONGEST = 40_000  # characters of one file that are shown


def find_instruction_files(
    root: Path,
    environ: Mapping[str, str],
    settings: Settings,
    folders: Sequence[str] = (),
    *,
    is_off: bool = False,
) -> InstructionFiles:
    """Those that hold in a folder; `folders` are the roots of the workspace, where there may be more."""
    policy = PathPolicy(roots=folders or (str(root),), sensitive=settings.review.sensitive)
    return InstructionFiles(root, environ, policy.is_sensitive, folders, is_off=is_off)


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


class TrustedInstructions:
    """Implements `InstructionFinder`. `past` is what the session has recorded: files that were in force when it
    was last open are so again. Without `asks_in_turns`, what a turn comes upon is asked about before the next
    prompt."""

    def __init__(
        self,
        files: InstructionFiles,
        *,
        seen: SeenFiles,
        decisions: TrustDecisions,
        approver: Approver,
        past: Sequence[LedgerRecord] = (),
        asks_in_turns: bool = True,
    ) -> None:
        self._files = files
        self._asks_in_turns = asks_in_turns
        self._seen = seen
        self._decisions = decisions
        self._approver = approver
        self._before = frozenset(_list_former_folders(past))
        self._looked: frozenset[str] = frozenset()
        decisions.sources.add(self)

    @property
    def folder(self) -> Path:
        return self._files.project

    def read_wanted(self) -> Mapping[Path, TrustContent]:
        return list_wanted(self._find())

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
        self, files: Sequence[InstructionFile], *, in_turn: bool = False
    ) -> tuple[tuple[InstructionFile, ...], tuple[str, ...]]:
        """Those that the person trusts, and sentences about the others."""
        wanted, notices = list_wanted(files), list[str]()
        may_ask = self._asks_in_turns or not in_turn
        if may_ask:
            untrusted, notices = await self._decisions.settle(wanted, self._files.project, self._approver)
        else:
            untrusted = await asyncio.to_thread(self._decisions.list_untrusted, wanted)
        refused = {item.file: item.changed for item in untrusted}
        for file, changed in refused.items():
            state = "has changed since you trusted it" if changed else "is not trusted"
            # One that may not be asked about may stand in a layer alone, where that command does not find it.
            remedy = f"to look at it and trust it: quorum -C {_quote_folder(file)} config trust"
            notices.append(
                f"{make_printable(file)} {state}, so its instructions are not used"
                + (f"; {remedy}" if may_ask else "")
            )
        kept = tuple(
            file for file in files if file.scope is InstructionScope.USER or _place(file) not in refused
        )
        return kept, tuple(notices)


def _list_former_folders(past: Sequence[LedgerRecord]) -> tuple[str, ...]:
    """The folders of the instruction files that were in force when the session was last open."""
    loaded = (record.event for record in reversed(past) if isinstance(record.event, InstructionsLoaded))
    last = next(loaded, None)
    return tuple(os.path.dirname(file.file) for file in last.files) if last is not None else ()


def _quote_folder(file: str) -> str:
    return shlex.quote(make_printable(os.path.dirname(file), newlines=False))


def _place(file: InstructionFile) -> str:
    return str(resolve_trusted_place(Path(file.file)))


def list_wanted_contents(
    root: Path, environ: Mapping[str, str], settings: Settings
) -> dict[Path, TrustContent]:
    """The instruction files, slash commands, skills and agents that hold in a folder: for each its place, and
    what it holds. Blocks."""
    skills = SkillFolders(root, environ).find()
    agents = AgentFiles(root, environ).find()
    return {
        **list_wanted(find_instruction_files(root, environ, settings).read_at_start()),
        **list_wanted_commands(CommandFiles(root, environ).find()),
        **SKILLS.list_wanted(select_by_name([skill for skill in skills if not skill.problem])),
        **AGENTS.list_wanted(select_by_name([agent for agent in agents if not agent.problem])),
    }


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
