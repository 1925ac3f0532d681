"""grep_search: lines that match a regular expression, as text that is bounded in number and size."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from quorum.domain.calls.execution import CallControls, ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import CallEffect, CountedLook, OutputKind, ToolTraits
from quorum.domain.errors import ToolError
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.execution.shell.repository import is_secret_settings
from quorum.infrastructure.files.encoding import is_binary, read_byte_order_mark
from quorum.infrastructure.files.opened_path import require_opened_at
from quorum.infrastructure.files.searching import Entry, Glob, LinePattern, SensitiveLinks, Sensitivity, Walk
from quorum.infrastructure.files.workspace import Location, Workspace, open_regular
from quorum.infrastructure.tools.builtin.parts import (
    declare_reading,
    require_flag,
    require_integer,
    require_text,
)

if TYPE_CHECKING:
    from quorum.infrastructure.tools.builtin.parts import ToolParts


_MOST_MATCHES = 1000
_LONGEST_LINE = 500
_MOST_CHARACTERS = 256_000


class Matches:
    """Collects matching lines, file after file, with `around` lines of context on either side."""

    def __init__(self, pattern: LinePattern, around: int) -> None:
        self._pattern = pattern
        self._around = around
        self._lines: list[str] = []
        self._room = _MOST_CHARACTERS
        self._matched_files = 0
        self.files = 0
        self.count = 0
        self.full = False

    def add(self, name: str, content: bytes) -> bool:
        """Search one file; False if it is binary."""
        readable = _convert_to_utf_8(content)
        if readable is None:
            return False
        self.files += 1
        numbers = self._find_lines(readable)
        if numbers:
            self._matched_files += 1
            self._show(name, readable.split(b"\n"), numbers)
        return True

    def render(self, notes: Sequence[str]) -> str:
        """All matches, a summary, and the notes."""
        if not self.count:
            summary = f"no match in {_format_count(self.files, 'file')}"
        elif self.full:
            summary = (
                f"the first {self.count} matches; there are more: narrow the pattern, path or file_pattern"
            )
        else:
            matches = "1 match" if self.count == 1 else f"{self.count} matches"
            summary = f"{matches} in {self._matched_files} of {_format_count(self.files, 'file')}"
        return "\n".join([*self._lines, *(f"[{note}]" for note in (summary, *notes))])

    def _find_lines(self, content: bytes) -> list[int]:
        """Numbers of the matching lines, counted from 0; `full` is set if there are more than may be shown."""
        numbers: list[int] = []
        number, reached = 0, 0
        for start, _ in self._pattern.find_lines(content):
            if self.count + len(numbers) == _MOST_MATCHES:
                self.full = True
                break
            number += content.count(b"\n", reached, start)
            reached = start
            numbers.append(number)
        return numbers

    def _show(self, name: str, lines: Sequence[bytes], numbers: Sequence[int]) -> None:
        end = len(lines) if lines[-1] else len(lines) - 1
        matching = frozenset(numbers)
        wanted = {at for n in numbers for at in range(max(n - self._around, 0), min(n + self._around + 1, end))}
        for at in sorted(wanted):
            if self._room < 0:
                self.full = True
                return
            if self._around and self._lines and (at - 1 not in wanted):
                self._put("--")
            mark = ":" if at in matching else "-"
            self.count += at in matching
            self._put(f"{name}{mark}{at + 1}{mark}{_render_text(lines[at])}")

    def _put(self, line: str) -> None:
        self._lines.append(line)
        self._room -= len(line) + 1


def _convert_to_utf_8(content: bytes) -> bytes | None:
    """The content as the pattern reads it: UTF-8 where it is marked as something else, lines ended by LF."""
    encoding = read_byte_order_mark(content)
    if encoding is not None:
        content = content[len(encoding.mark) :].decode(encoding.codec, "replace").encode()
    elif is_binary(content):
        return None
    return content.replace(b"\r\n", b"\n")


def _render_text(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    if len(text) > _LONGEST_LINE:
        return f"{text[:_LONGEST_LINE]} … [line cut: it has {len(text)} characters]"
    return text


def _format_count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_LARGEST = 5 * 1024 * 1024
_LARGEST_NAMED = 64 * 1024 * 1024
_REPORT_SECS = 0.3
_MOST_CONTEXT = 20

TRAITS = ToolTraits(
    verb="search",
    title="Search",
    output=OutputKind.MATCHES,
    look=CountedLook("searched", "time"),
    wording={
        "file_pattern": "in {}",
        "context_lines": "{} lines around each",
        "case_insensitive": "upper and lower case",
    },
    kind="search",
    effect=CallEffect.SEARCH,
    arguments=("pattern", "path", "file_pattern", "context_lines", "case_insensitive"),
    program="grep -rn",
)


def build(parts: ToolParts) -> GrepSearch:
    return GrepSearch(parts.workspace, parts.paths)


class GrepSearch:
    """Searches a file, or all files below a folder that are neither ignored nor sensitive."""

    def __init__(self, workspace: Workspace, policy: PathPolicy, *, report_secs: float = _REPORT_SECS) -> None:
        """`report_secs` is the least time between two reports of progress."""
        self._workspace = workspace
        self._policy = policy
        self._report_secs = report_secs
        self.definition = ToolDefinition(
            name="grep_search",
            description=(
                "Search file contents for a regular expression, line by line. Matches come as path:line:text, "
                "lines around them as path-line-text. "
                "What .gitignore and .ignore files exclude, binary files, files over "
                "5 MB and sensitive files are left out unless path names the file itself."
            ),
            parameters=(
                ToolParameter(
                    name="pattern",
                    type="string",
                    description="RE2 syntax: no lookaround, no backreferences.",
                    required=True,
                ),
                ToolParameter(
                    name="path",
                    type="path",
                    description='File or folder. Default ".".',
                ),
                ToolParameter(
                    name="file_pattern",
                    type="string",
                    description='Only these files: "*.py" at any depth, "src/**/*.py" by path.',
                ),
                ToolParameter(
                    name="context_lines",
                    type="integer",
                    description=f"Around each match, at most {_MOST_CONTEXT}.",
                    minimum=0,
                ),
                ToolParameter(name="case_insensitive", type="boolean"),
            ),
            risk=RiskLevel.LOW,
            inline_bytes=30_000,
            access=lambda arguments: declare_reading(workspace.resolve(require_text(arguments, "path", "."))),
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """The matches, and what was left out. Raises ToolError."""
        pattern = LinePattern(
            require_text(arguments, "pattern"), ignore_case=require_flag(arguments, "case_insensitive")
        )
        files = require_text(arguments, "file_pattern", "**")
        around = min(require_integer(arguments, "context_lines", 0, minimum=0), _MOST_CONTEXT)
        glob, matches = Glob(files, "file_pattern"), Matches(pattern, around)
        path, controls = require_text(arguments, "path", "."), context.controls
        return await run_in_thread(lambda stop: self._search(path, glob, matches, stop, controls), controls)

    def _search(self, path: str, glob: Glob, matches: Matches, stop: Stop, controls: CallControls) -> str:
        location = self._workspace.locate(path)
        if not os.path.isdir(location.path):
            self._search_named(location, matches)
            return matches.render([])
        search = _FolderSearch(self._workspace, self._policy, location, glob, matches)
        return matches.render(search.run(stop, controls, self._report_secs))

    def _search_named(self, location: Location, matches: Matches) -> None:
        name = self._workspace.format_path(location.path)
        with self._workspace.open_file(location) as file:
            content = file.read(_LARGEST_NAMED + 1)
        if len(content) > _LARGEST_NAMED:
            raise ToolError(
                f"{name} is larger than {_LARGEST_NAMED >> 20} MB: too large for this tool; "
                "search it with a command"
            )
        if not matches.add(name, content):
            raise ToolError(f"{name} is a binary file: it has no lines to search")


class _FolderSearch:
    """One search below a folder, with counts of what it left out."""

    def __init__(
        self, workspace: Workspace, policy: PathPolicy, base: Location, glob: Glob, matches: Matches
    ) -> None:
        self._workspace = workspace
        self._base = base
        self._glob = glob
        self._matches = matches
        self._sensitivity = Sensitivity(policy, base)
        self._is_asked = policy.is_sensitive(base.path)
        self._links = SensitiveLinks(policy)
        self._sensitive = self._binary = self._large = self._unreadable = 0

    def run(self, stop: Stop, controls: CallControls, report_secs: float) -> list[str]:
        """Search until all is done or no more matches fit; what must be said about it. Raises Stopped."""
        walk = Walk(self._workspace, self._base, stop)
        reported = time.monotonic()
        for entry in walk.list_entries():
            if self._matches.full:
                break
            if entry.is_link or not self._is_meant(entry):
                continue
            stop.check()
            self._add(entry)
            if time.monotonic() - reported >= report_secs:
                reported = time.monotonic()
                controls.report(f"{self._matches.files} files searched, {self._matches.count} matches")
        self._unreadable += walk.unreadable
        return self._list_notes()

    def _is_meant(self, entry: Entry) -> bool:
        return self._glob.matches("/".join(entry.names) if self._glob.spans_folders else entry.name)

    def _add(self, entry: Entry) -> None:
        path = os.path.join(self._base.path, *entry.names)
        if self._sensitivity.covers(entry.names) or is_secret_settings(path):
            self._sensitive += 1
            return
        name = self._workspace.format_path(path)
        try:
            with os.fdopen(open_regular(entry.name, entry.folder, name), "rb", buffering=0) as file:
                require_opened_at(file.fileno(), path, name)
                status = os.fstat(file.fileno())
                if not self._is_asked and self._links.find_name(status) is not None:
                    self._sensitive += 1
                    return
                if status.st_size > _LARGEST:
                    self._large += 1
                    return
                content = file.read(_LARGEST)
        except (OSError, ToolError):
            # Gone, forbidden, or no longer a file: a search continues and says how many there were.
            self._unreadable += 1
            return
        if not self._matches.add(name, content):
            self._binary += 1

    def _list_notes(self) -> list[str]:
        notes = []
        if self._sensitive:
            plural = "file was" if self._sensitive == 1 else "files were"
            notes.append(f"{self._sensitive} sensitive {plural} not searched: name one as path to be asked")
        left_out = (
            (self._binary, "binary"),
            (self._large, f"over {_LARGEST >> 20} MB"),
            (self._unreadable, "unreadable"),
        )
        skipped = ", ".join(f"{count} {kind}" for count, kind in left_out if count)
        if skipped:
            notes.append(f"skipped files: {skipped}")
        return notes
