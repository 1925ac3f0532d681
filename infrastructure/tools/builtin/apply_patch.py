"""apply_patch: several files changed by one patch, all of them or none."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.proposed_call import CallEffect
from quorum.domain.calls.seal import Seal, SealedFile
from quorum.domain.calls.seen_file import SeenFile, build_seen_file
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_dialects import PATCH_TOOL
from quorum.domain.calls.tool_traits import OutputKind, ToolTraits
from quorum.domain.errors import StaleSeal, ToolError
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.patch import (
    AddFile,
    BadPatch,
    DeleteFile,
    PatchOperation,
    UpdateFile,
    list_paths,
    parse_patch,
)
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.files.diff import render_unified_diff
from quorum.infrastructure.files.transaction import FileStep, change_together
from quorum.infrastructure.files.workspace import Location, Workspace
from quorum.infrastructure.tools.builtin.arguments import require_text
from quorum.infrastructure.tools.builtin.drafting import list_missing_folders, read_projected, require_seal
from quorum.infrastructure.tools.builtin.file_text import decode_file, encode_file
from quorum.infrastructure.tools.builtin.hunks import apply_hunks
from quorum.infrastructure.tools.builtin.reading import declare_writing
from quorum.infrastructure.tools.builtin.seen import SeenFiles, compute_sha256, require_known, require_unchanged

if TYPE_CHECKING:  # for annotations; others import the tool without a session
    from quorum.infrastructure.tools.builtin.parts import ToolParts

_MOST_FILES = 200
_DESCRIPTION = """\
Change several files at once, all or none, with a patch in this format:
*** Begin Patch
*** Update File: src/a.py
*** Move to: src/b.py
@@ class Queue:
 unchanged line
-removed line
+added line
*** Add File: notes.txt
+every line of a new file begins with +
*** Delete File: old.txt
*** End Patch
Move to is optional. A hunk begins with @@, after which may stand a line above it, such as that of its class \
or function; its unchanged and removed lines must be copied exactly and fit one place. Name each file once. A \
file is deleted only as you last saw it: read it before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PatchedFile:
    """What the patch does to one file: `done` says it in words, `seen` is what the model knows of it then."""

    steps: tuple[FileStep, ...]
    diff: str
    done: str
    seen: SeenFile | None = None


TRAITS = ToolTraits(
    verb="patch",
    title="Edit",
    output=OutputKind.CHANGES,
    patch="patch",
    text="patch",
    wording={"patch": ""},
    kind="edit",
    effect=CallEffect.PATCH,
    arguments=("patch",),
    instead=("edit_file", "write_file"),
)


def build(parts: ToolParts) -> ApplyPatch:
    return ApplyPatch(parts.workspace, parts.seen)


class ApplyPatch:
    """Adds, changes, moves and deletes files as a patch says. One review is about all of them."""

    def __init__(self, workspace: Workspace, seen: SeenFiles) -> None:
        self._workspace = workspace
        self._seen = seen
        self.definition = ToolDefinition(
            name=PATCH_TOOL,
            description=_DESCRIPTION,
            parameters=(
                ToolParameter(
                    name="patch",
                    type="string",
                    description="The patch, from *** Begin Patch to *** End Patch.",
                    required=True,
                ),
            ),
            risk=RiskLevel.HIGH,
            access=self._determine_access,
        )

    async def seal(self, arguments: JsonObject, projected: Mapping[str, bytes]) -> Seal:
        """Every file with its diff, on what it holds or will hold. Raises ToolError if one cannot change."""
        return await run_in_thread(lambda stop: self._seal(arguments, projected, stop))

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """Make all changes. Raises StaleSeal if a file is not as it was approved, and ToolError."""
        return await run_in_thread(lambda stop: self._apply(arguments, context, stop), context.controls)

    def _determine_access(self, arguments: JsonObject) -> Access:
        named = list_paths(_parse_operations(arguments))
        return declare_writing(map(self._workspace.resolve, named))

    def _seal(self, arguments: JsonObject, projected: Mapping[str, bytes], stop: Stop) -> Seal:
        changes = self._plan(arguments, projected, lambda _location, _content: None, stop)
        steps = [step for change in changes for step in change.steps]
        return Seal(
            cwd=str(self._workspace.cwd),
            files=tuple(SealedFile(path=s.location.path, sha256=compute_sha256(s.before)) for s in steps),
            folders=list_missing_folders(s.location.path for s in steps if s.after is not None),
            diff="".join(change.diff for change in changes),
            projected={s.location.path: s.after for s in steps if s.after is not None},
        )

    def _apply(self, arguments: JsonObject, context: ToolExecutionContext, stop: Stop) -> str:
        seal = context.controls.seal

        def check(location: Location, content: bytes | None) -> None:
            require_seal(self._workspace, seal, location, content)

        changes = self._plan(arguments, {}, check, stop)
        try:
            change_together(self._workspace, [step for change in changes for step in change.steps], stop=stop)
        except StaleSeal as stale:
            if seal is not None:
                raise
            raise ToolError(f"{stale}; read it again before you repeat the call") from stale
        for change in changes:
            if change.seen is not None:
                self._seen.note_written(context, change.seen)
        return "\n".join(change.done for change in changes)

    def _plan(
        self,
        arguments: JsonObject,
        projected: Mapping[str, bytes],
        check: Callable[[Location, bytes | None], None],
        stop: Stop,
    ) -> list[_PatchedFile]:
        """What the patch does, file by file. Raises ToolError where one of its operations cannot be done."""
        operations = _parse_operations(arguments)
        planner = _Planner(self._workspace, self._seen, projected, check)
        changes: list[_PatchedFile] = []
        for operation in operations:
            stop.check()
            changes.append(planner.change(operation))
        return changes


class _Planner:
    """Finds out what the operations of one patch do. `check` is called with every file that was read."""

    def __init__(
        self,
        workspace: Workspace,
        seen: SeenFiles,
        projected: Mapping[str, bytes],
        check: Callable[[Location, bytes | None], None],
    ) -> None:
        self._workspace = workspace
        self._seen = seen
        self._projected = projected
        self._check = check
        self._named: set[str] = set()

    def change(self, operation: PatchOperation) -> _PatchedFile:
        match operation:
            case AddFile():
                return self._add(operation)
            case DeleteFile():
                return self._delete(operation)
            case UpdateFile():
                return self._update(operation)

    def _add(self, operation: AddFile) -> _PatchedFile:
        location, before, name = self._read(operation.path)
        if before is not None:
            raise ToolError(f"{name} exists already: change it with *** Update File")
        content = "".join(f"{line}\n" for line in operation.lines)
        try:
            after = content.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ToolError(f"{name}: half of a surrogate pair cannot be kept as text") from error
        return self._describe_written(FileStep(location=location, before=None, after=after), name, whole=True)

    def _delete(self, operation: DeleteFile) -> _PatchedFile:
        location, before, name = self._read(operation.path, is_removed=True)
        if before is None:
            raise ToolError(f"{name} does not exist, so it cannot be deleted")
        if location.path not in self._projected:
            require_known(self._workspace, self._seen, location, before)
        step = FileStep(location=location, before=before, after=None)
        return _PatchedFile(steps=(step,), diff=self._diff(step, name), done=f"deleted {name}")

    def _update(self, operation: UpdateFile) -> _PatchedFile:
        location, before, name = self._read(operation.path, is_removed=operation.move_to is not None)
        if before is None:
            raise ToolError(f"{name} does not exist: create it with *** Add File")
        if location.path not in self._projected:
            require_unchanged(self._workspace, self._seen, location, before)
        after = before
        if operation.hunks:
            encoding, content = decode_file(before, name)
            after = encode_file(apply_hunks(content, operation.hunks, name), encoding, name)
            if after == before:
                raise ToolError(f"{name} would stay as it is: the hunks change nothing")
        known = self._seen.find_knowledge(location.path)
        whole = known is not None and known.is_whole
        if operation.move_to is None:
            return self._describe_written(
                FileStep(location=location, before=before, after=after), name, whole=whole
            )
        return self._move(operation.move_to, location, before, after, whole=whole)

    def _move(self, path: str, source: Location, before: bytes, after: bytes, *, whole: bool) -> _PatchedFile:
        target, there, name = self._read(path)
        former_name = self._workspace.format_path(source.path)
        if there is not None:
            raise ToolError(f"{name} exists already: {former_name} cannot be moved there")
        step = FileStep(location=target, before=None, after=after, like=source)
        seen = build_seen_file(target.path, compute_sha256(after) or "", self._seen.find_knowledge(source.path))
        return _PatchedFile(
            steps=(step, FileStep(location=source, before=before, after=None)),
            diff=render_unified_diff(before, after, name, is_text=True, former_name=former_name),
            done=f"moved {former_name} to {name}: SHA-256 {seen.sha256}",
            seen=seen,
        )

    def _describe_written(self, step: FileStep, name: str, *, whole: bool) -> _PatchedFile:
        path, sha256 = step.location.path, compute_sha256(step.after) or ""
        return _PatchedFile(
            steps=(step,),
            diff=self._diff(step, name),
            done=f"{'added' if step.before is None else 'updated'} {name}: SHA-256 {sha256}",
            seen=SeenFile(path=path, sha256=sha256, lines=0 if whole else 1),
        )

    def _diff(self, step: FileStep, name: str) -> str:
        return render_unified_diff(step.before, step.after, name, is_text=step.before is None)

    def _read(self, path: str, *, is_removed: bool = False) -> tuple[Location, bytes | None, str]:
        """Where a path leads, what is there, and its name for display. Raises ToolError for a second naming."""
        location = self._workspace.locate(path)
        name = self._workspace.format_path(location.path)
        if location.path in self._named:
            raise ToolError(f"the patch names {name} twice: put all that changes in a file below one line")
        self._named.add(location.path)
        if len(self._named) > _MOST_FILES:
            raise ToolError(f"the patch names more than {_MOST_FILES} files: make several patches of it")
        if is_removed and os.path.islink(location.given):
            link = self._workspace.format_path(location.given)
            raise ToolError(f"{link} is a symbolic link to {name}: name the file itself")
        content = read_projected(self._projected, self._workspace, location)
        self._check(location, content)
        return location, content, name


def _parse_operations(arguments: JsonObject) -> tuple[PatchOperation, ...]:
    try:
        return parse_patch(require_text(arguments, "patch"))
    except BadPatch as problem:
        raise ToolError(f"the patch cannot be read, nothing was written: {problem}") from problem
