"""apply_patch: several files changed by one patch, all of them or none.

Each hunk is applied at the one place that its lines name.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import Struct

from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import Seal, SealedFile, ToolExecutionContext
from quorum.domain.calls.run_state import SeenFile, build_seen_file
from quorum.domain.calls.tool import PATCH_TOOL, RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import CallEffect, OutputKind, ToolTraits
from quorum.domain.errors import StaleSeal, ToolError
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.patch import (
    AddFile,
    BadPatch,
    DeleteFile,
    PatchHunk,
    PatchOperation,
    UpdateFile,
    list_paths,
    parse_patch,
)
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.files.diff import render_unified_diff
from quorum.infrastructure.files.replacing import FileStep, change_together
from quorum.infrastructure.files.workspace import Location, Workspace
from quorum.infrastructure.tools.builtin.drafting import (
    decode_file,
    encode_file,
    list_missing_folders,
    read_projected,
    require_seal,
)
from quorum.infrastructure.tools.builtin.edit_file import describe_near_miss
from quorum.infrastructure.tools.builtin.parts import declare_writing, require_text
from quorum.infrastructure.tools.builtin.seen import SeenFiles, compute_sha256, require_known, require_unchanged

if TYPE_CHECKING:
    from quorum.infrastructure.tools.builtin.parts import ToolParts


_MOST_PLACES = 100
_MOST_NUMBERS = 20


def apply_hunks(content: str, hunks: Sequence[PatchHunk], name: str) -> str:
    """The content with every hunk applied, in order, each below the one before.

    Lines keep their ends, and new ones get those that most lines of the file have. Where a hunk's lines are not
    there exactly, those that differ only in white space at their ends count. Raises ToolError that names the
    hunk by its line in the patch, with the lines that resemble it.
    """
    file = _FileLines(content)
    pieces: list[str] = []
    done = 0
    for hunk in hunks:
        where = f"the hunk of {name} at line {hunk.number} of the patch"
        place = _place(file, hunk, done, where, name)
        pieces += file.raw[done:place]
        done = place
        for sign, text in hunk.lines:
            if sign == "+":
                pieces.append(text + file.end)
            else:
                pieces += [file.raw[done]] if sign == " " else []
                done += 1
    if done == len(file.raw) and file.lacks_last_end and _adds_last_line(hunks):
        pieces[-1] = pieces[-1].removesuffix(file.end)  # a file whose last line has no end keeps it so
    pieces += file.raw[done:]
    return "".join(line if line.endswith("\n") else line + file.end for line in pieces[:-1]) + "".join(
        pieces[-1:]
    )


def _adds_last_line(hunks: Sequence[PatchHunk]) -> bool:
    kept = [sign for sign, _ in hunks[-1].lines if sign != "-"] if hunks else []
    return kept[-1:] == ["+"]


def _place(file: _FileLines, hunk: PatchHunk, start: int, where: str, name: str) -> int:
    """The number of the line, from 0, at which the hunk is to be applied; not above `start`."""
    old = [text for sign, text in hunk.lines if sign != "+"]
    if not old:
        return (
            len(file.raw) if hunk.at_end or not hunk.headers else _find_line_below(file, hunk, start, where) + 1
        )
    places = [place for place in file.find(old, start) if not hunk.at_end or place + len(old) == len(file.raw)]
    if not places:
        raise ToolError(_explain_not_found(file, old, hunk, start, where, name))
    if len(places) == 1:
        return places[0]
    if hunk.headers:
        anchor = _find_line_below(file, hunk, start, where)
        if below := [place for place in places if place >= anchor]:
            return below[0]
    numbers = ", ".join(str(place + 1) for place in places[:_MOST_NUMBERS])
    raise ToolError(
        f"{where} fits {len(places)} places (lines {numbers}{', …' if len(places) > _MOST_NUMBERS else ''}): "
        "add context lines until it fits one, or put a line above it as @@ header"
    )


def _find_line_below(file: _FileLines, hunk: PatchHunk, start: int, where: str) -> int:
    """The number of the line that the headers lead to."""
    place = start
    for header in hunk.headers:
        found = file.find_headers(header, place)
        if not found:
            raise ToolError(f"{where}: no line below the hunk before it is like its header {header[:80]!r}")
        if len(found) > 1:
            numbers = ", ".join(str(each + 1) for each in found[:_MOST_NUMBERS])
            raise ToolError(
                f"{where}: its header {header[:80]!r} fits lines {numbers}: add context lines, or put the "
                "header of what surrounds it above"
            )
        place = found[0]
    return place


def _explain_not_found(
    file: _FileLines, old: Sequence[str], hunk: PatchHunk, start: int, where: str, name: str
) -> str:
    if start and any(True for _ in file.find(old, 0)):
        return f"{where} is found only above the hunk before it: put the hunks into the order of the file"
    if hunk.at_end and any(True for _ in file.find(old, start)):
        return f"{where} is not at the end of the file: leave out *** End of File"
    resembling = describe_near_miss(file.text, "\n".join(old))
    return f"{where} does not fit: its lines were not found in {name}.{resembling}"


class _FileLines:
    """The lines of a file: `raw` with their ends. `end` is that of most lines; a last line may lack it."""

    def __init__(self, content: str) -> None:
        self.text = content
        self.raw = content.split("\n")
        last = self.raw.pop()
        self.lacks_last_end = bool(last)
        windows = content.count("\r\n")
        self.end = "\r\n" if windows * 2 > len(self.raw) else "\n"
        self.raw = [f"{line}\n" for line in self.raw] + ([last] if last else [])
        self._bare = [line.removesuffix("\n").removesuffix("\r") for line in self.raw]
        self._exact = _Finder(self._bare)
        self._loose: _Finder | None = None

    def find(self, wanted: Sequence[str], start: int) -> list[int]:
        """Where these lines stand, from the line `start` on."""
        if found := list(self._exact.find([line.removesuffix("\r") for line in wanted], start)):
            return found
        if self._loose is None:
            self._loose = _Finder([line.rstrip() for line in self._bare])
        return list(self._loose.find([line.rstrip() for line in wanted], start))

    def find_headers(self, header: str, start: int) -> list[int]:
        """The lines that are the header, or else begin with it, white space aside; from the line `start` on."""
        stripped = [line.strip() for line in self._bare[start:]]
        whole = [place for place, line in enumerate(stripped, start) if line == header]
        return whole or [place for place, line in enumerate(stripped, start) if line.startswith(header)]


class _Finder:
    """Finds runs of lines in time linear in the text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._text = "\n" + "".join(f"{line}\n" for line in lines)
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]

    def find(self, wanted: Sequence[str], start: int) -> Iterator[int]:
        """Where these lines begin, at most a hundred places."""
        needle = "\n" + "".join(f"{line}\n" for line in wanted)
        at = self._text.find(needle, self._starts[start])
        for _ in range(_MOST_PLACES):
            if at < 0:
                return
            yield bisect_left(self._starts, at)
            at = self._text.find(needle, at + 1)


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


class _PatchedFile(Struct, frozen=True, kw_only=True):
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
            done=f"moved {former_name} to {name}",
            seen=seen,
        )

    def _describe_written(self, step: FileStep, name: str, *, whole: bool) -> _PatchedFile:
        path, sha256 = step.location.path, compute_sha256(step.after) or ""
        return _PatchedFile(
            steps=(step,),
            diff=self._diff(step, name),
            done=f"{'added' if step.before is None else 'updated'} {name}",
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
