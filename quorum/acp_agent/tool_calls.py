"""Calls of tools as the protocol words them: kind, title, places, arguments, content, diffs and status.

Nothing in a text that goes to a client acts on a terminal or hides, and no output closes its fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple, TypeAlias

from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    TerminalToolCallContent,
    TextContentBlock,
    ToolCallLocation,
    ToolCallProgress,
    ToolCallStart,
    ToolCallStatus,
    ToolKind,
)

from quorum.application.view.entries import Batch, Call, Entry, Kept, NoticeKind, Phase
from quorum.domain.calls.execution import Outcome, ToolExecutionContext
from quorum.domain.calls.tool_traits import OutputKind, find_traits
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.printable import make_printable
from quorum.domain.text.unified_diff import NO_FILE, DiffLine, parse_diff

_BACKTICKS = re.compile(r"`{3,}")


def show_text(text: str) -> str:
    """The text without anything that could act or hide. Tabs stay: they may be part of code."""
    return "\t".join(make_printable(part) for part in text.split("\t"))


def show_line(text: str, longest: int = 200) -> str:
    """The text on one line, and cut where it is longer."""
    line = make_printable(text, newlines=False)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def fence(text: str, language: str = "") -> str:
    """The text as a code block of Markdown, in a fence that nothing in it closes."""
    shown = show_text(text).removesuffix("\n")
    ticks = "`" * max([3, *(len(found) + 1 for found in _BACKTICKS.findall(shown))])
    return f"{ticks}{language}\n{shown}\n{ticks}"


class ChangedStretch(NamedTuple):
    """A hunk: its file as the diff names it, its first line in the new file, and its text before and after.

    `old` is None where the file is new.
    """

    file: str
    line: int
    old: str | None
    new: str


class _Hunk:
    """The lines of one hunk, as far as they were read."""

    def __init__(self, heading: DiffLine) -> None:
        self.heading = heading
        self.sides: dict[str, list[str]] = {"-": [], "+": []}
        self.line = 0
        self._written: tuple[list[str], ...] = ()

    def add(self, line: DiffLine) -> None:
        self._written = tuple(self.sides[sign] for sign in ("-", "+") if line.sign in (sign, " "))
        for side in self._written:
            side.append(f"{line.text}\n")
        self.line = self.line or line.new or 0

    def end_without_newline(self) -> None:
        for side in self._written:
            side[-1] = side[-1].removesuffix("\n")

    def close(self) -> ChangedStretch:
        names = self.heading.names
        before = None if names is not None and names.old == NO_FILE else "".join(self.sides["-"])
        return ChangedStretch(self.heading.path, self.line, before, "".join(self.sides["+"]))


def split_hunks(diff: str) -> Iterator[ChangedStretch]:
    """Each hunk of a diff, in order."""
    hunk: _Hunk | None = None
    for line in parse_diff(diff):
        if hunk is not None and line.sign in ("-", "+", " "):
            hunk.add(line)
        elif hunk is not None and line.text.startswith("\\"):
            hunk.end_without_newline()
        else:
            if hunk is not None:
                yield hunk.close()
            hunk = _Hunk(line) if line.sign == "@" else None
    if hunk is not None:
        yield hunk.close()


def render_diff(diff: str, cwd: str) -> list[FileEditToolCallContent]:
    """What an editor draws as a diff; what could hide in it is visible."""
    return [
        FileEditToolCallContent(
            type="diff",
            path=str(PurePosixPath(cwd) / hunk.file),
            old_text=None if hunk.old is None else show_text(hunk.old),
            new_text=show_text(hunk.new),
        )
        for hunk in split_hunks(diff)
    ]


CallContent: TypeAlias = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent

_TELLING = ("command", "path", "pattern", "url", "query", "name", "job_id", "blob_id", "prompt")
_PLACES = ("path", "base_dir", "working_dir")
_MOST_NAMED = 20


def build_call_id(batch_id: str, call_index: int) -> str:
    """The id of a call for the client. What a model calls it may come again in another answer."""
    return f"{batch_id}:{call_index}"


def identify_call(context: ToolExecutionContext) -> str:
    """The same, of the call with this identity."""
    return build_call_id(context.batch_id, context.call_index)


def find_call(entries: Sequence[Entry], context: ToolExecutionContext) -> Call | None:
    """The call with this identity, as the entries of a view show it."""
    for entry in reversed(entries):
        if isinstance(entry, Batch) and entry.batch_id == context.batch_id:
            return next((call for call in entry.calls if call.index == context.call_index), None)
    return None


def choose_kind(tool: str) -> ToolKind:
    """What kind of work a tool does; those that this program does not know are of no kind."""
    return find_traits(tool).kind


def render_title(tool: str, arguments: JsonObject, longest: int = 200) -> str:
    """The call in one line: a command as it is, else the tool with what tells most about it."""
    traits = find_traits(tool)
    if command := traits.find_command(arguments):
        return show_line(command, longest)
    names = (*_TELLING, *traits.telling)
    telling = next((value for name in names if isinstance(value := arguments.get(name), str) and value), "")
    return show_line(f"{tool} {telling}".strip(), longest)


def find_locations(arguments: JsonObject, diff: str | None, cwd: str) -> list[ToolCallLocation]:
    """The files and folders that a call names, as absolute paths, with the line of an edit."""
    if diff:
        lines: dict[str, int] = {}
        for hunk in split_hunks(diff):
            lines.setdefault(hunk.file, hunk.line)
        return [_convert_location(cwd, file, line or None) for file, line in lines.items() if file]
    named = (value for key in _PLACES if isinstance(value := arguments.get(key), str) and value)
    line = arguments.get("offset")
    first = line if isinstance(line, int) and not isinstance(line, bool) and line > 0 else None
    return [_convert_location(cwd, path, first) for path in dict.fromkeys(named)]


def _convert_location(cwd: str, path: str, line: int | None) -> ToolCallLocation:
    return ToolCallLocation(path=show_line(str(PurePosixPath(cwd) / path), 4096), line=line)


def build_text_content(text: str) -> ContentToolCallContent:
    """A piece of content that is Markdown."""
    return ContentToolCallContent(type="content", content=TextContentBlock(type="text", text=text))


def start_call(call_id: str, call: Call, cwd: str) -> ToolCallStart:
    """The report that there is this call, with all that is known of it."""
    return ToolCallStart(
        session_update="tool_call",
        tool_call_id=call_id,
        title=render_title(call.tool, call.arguments),
        kind=choose_kind(call.tool),
        status=_convert_status(call),
        locations=find_locations(call.arguments, call.diff, cwd) or None,
        raw_input=convert_json(call.arguments),
        content=_list_contents(call, cwd) or None,
        raw_output=_encode_output(call),
        field_meta={"quorum": {"tool": call.tool}},
    )


def update_call(call_id: str, call: Call, cwd: str) -> ToolCallProgress:
    """The report of how a call stands now."""
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call_id,
        title=render_title(call.tool, call.arguments),
        status=_convert_status(call),
        locations=find_locations(call.arguments, call.diff, cwd) or None,
        raw_input=convert_json(call.arguments),
        content=_list_contents(call, cwd) or None,
        raw_output=_encode_output(call),
    )


def report_progress(call_id: str, call: Call, cwd: str) -> ToolCallProgress:
    """The report of what a running call shows now."""
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call_id,
        status=_convert_status(call),
        content=_list_contents(call, cwd) or None,
    )


def _convert_status(call: Call) -> ToolCallStatus:
    match call.phase:
        case Phase.COMPOSED | Phase.QUEUED | Phase.REVIEWED:
            return "pending"
        case Phase.RUNNING:
            return "in_progress"
        case Phase.FINISHED:
            return "completed" if call.outcome is Outcome.OK else "failed"
        case Phase.ABANDONED:
            return "failed"


def _list_contents(call: Call, cwd: str) -> list[CallContent]:
    shown: list[CallContent] = []
    if call.diff and call.outcome in (None, Outcome.OK):
        shown += render_diff(call.diff, cwd)
    if call.progress.text and call.output is None:
        shown.append(build_text_content(fence("\n".join(call.progress.list_lines()))))
    changes_files = find_traits(call.tool).output is OutputKind.CHANGES
    is_told_by_diff = changes_files and call.diff and call.outcome is Outcome.OK
    if call.output is not None and not is_told_by_diff:
        shown.append(build_text_content(fence(_join_output(call.output))))
    if remarks := "\n".join(_list_remarks(call)):
        shown.append(build_text_content(remarks))
    return shown


def _list_remarks(call: Call) -> Iterator[str]:
    if call.reason and call.outcome in (Outcome.REJECTED, None):
        yield show_text(call.reason)
    for remark in call.remarks:
        if not remark.quiet or remark.kind is NoticeKind.ERROR:
            yield show_text(remark.text)
    changes = () if call.effects is None else call.effects.changes
    if names := [show_line(change.path) for change in changes if change.is_surprise]:
        more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
        yield f"files changed: {', '.join(names[:_MOST_NAMED])}{more}"
    if ignored := sum(change.is_by_product for change in changes):
        yield f"+{ignored:,} ignored"


def _join_output(output: Kept) -> str:
    if not output.tail:
        return output.head
    return f"{output.head}\n… {output.left_out_lines:,} lines left out …\n{output.tail}"


def _encode_output(call: Call) -> dict[str, Any] | None:
    """What became of the call, for programs: its outcome and what its permission came to."""
    if call.outcome is None:
        return None
    return {
        "outcome": call.outcome.value,
        "decision": call.decision.value,
        "output": _join_output(call.output) if call.output is not None else "",
    }


def convert_json(value: JsonValue) -> Any:
    """Arguments as the SDK takes them: dicts and lists."""
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, Mapping):
        return {key: convert_json(each) for key, each in value.items()}
    return [convert_json(each) for each in value]
