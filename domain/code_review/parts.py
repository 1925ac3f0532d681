"""A change as text for reviewers, in parts that fit into one question each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from quorum.domain.code_review.change import Change, ChangeHunk, FileDiff, FileStatus
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable

MOST_PARTS = 60
_MOST_GENERATED_LINES = 400
_LONGEST_LINE = 2_000
_MOST_MARKED_LINES = 5
# Programs write these, and a person reads what they were made from. Only names count: by what a file says of
# itself a change could hide.
_GENERATED = re.compile(
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock"
    r"|poetry\.lock|uv\.lock|pdm\.lock|Pipfile\.lock|composer\.lock|Gemfile\.lock|go\.sum|flake\.lock"
    r"|mix\.lock|pubspec\.lock|packages\.lock\.json)$|\.min\.(?:js|css)$|\.(?:js|css)\.map$|\.snap$"
)


class DiffPart(Struct, frozen=True, kw_only=True):
    """What one question is about. `number` counts from 1; `text` numbers the lines as after the change."""

    number: int
    paths: tuple[str, ...]
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


def leave_out_generated(file: FileDiff) -> FileDiff:
    """The file without its content where it is long and, by its name, written by a program."""
    if file.changed_lines <= _MOST_GENERATED_LINES or not _GENERATED.search(file.path):
        return file
    reason = f"it is generated, by its name, and {format_amount(file.changed_lines, 'line')} long"
    return FileDiff(
        path=file.path, old_path=file.old_path, status=file.status, left_out=reason, notes=file.notes
    )


def list_left_out(change: Change) -> tuple[str, ...]:
    """A sentence for each file whose content no reviewer is shown."""
    return tuple(
        f"{file.path} is not shown to reviewers: {file.left_out}" for file in change.files if file.left_out
    )


def list_hidden_characters(change: Change) -> tuple[str, ...]:
    """A sentence for each file with added lines that hold control or bidirectional characters."""
    found = []
    for file in change.files:
        lines = [
            number
            for hunk in file.hunks
            for number, line in hunk.number_lines()
            if number is not None and line.startswith("+") and escape_line(line[1:]) != _make_plain(line[1:])
        ]
        if lines:
            named = ", ".join(map(str, lines[:_MOST_MARKED_LINES]))
            more = ", …" if len(lines) > _MOST_MARKED_LINES else ""
            found.append(
                f"{file.path} has control or invisible characters in the lines {named}{more}; they are "
                "shown as escapes"
            )
    return tuple(found)


def escape_line(text: str) -> str:
    """The line with every character that could act or hide made visible. Tabs stay, and so do line ends of
    another system, which are not shown."""
    return "\t".join(make_printable(part, newlines=False) for part in _make_plain(text).split("\t"))


def _make_plain(text: str) -> str:
    return text.removesuffix("\r")


def split_change(change: Change, max_bytes: int) -> tuple[DiffPart, ...]:
    """Split the change by files into parts of at most `max_bytes` each; a file that is longer is split by its
    hunks, and these by lines. Files without content go along with the others."""
    parts: list[DiffPart] = []
    texts: list[str] = []
    paths: list[str] = []
    size = 0

    def close() -> None:
        nonlocal texts, paths, size
        if texts:
            names = tuple(dict.fromkeys(paths))
            parts.append(DiffPart(number=len(parts) + 1, paths=names, text="\n\n".join(texts)))
        texts, paths, size = [], [], 0

    for file in change.files:
        for text in _render_file(file, max_bytes):
            bytes_of_text = len(text.encode("utf-8", "replace"))
            if size + bytes_of_text > max_bytes:
                close()
            texts.append(text)
            paths.append(file.path)
            size += bytes_of_text
    close()
    return tuple(parts)


def render_around(file: FileDiff, line: int, lines: int = 60) -> str:
    """The part of a file's change around a line, for who judges a finding about it."""
    numbered = [row for hunk in file.hunks for row in hunk.number_lines()]
    nearest = min(
        (place for place, (number, _) in enumerate(numbered) if number is not None),
        key=lambda place: abs((numbered[place][0] or 0) - line),
        default=0,
    )
    shown = numbered[max(0, nearest - lines) : nearest + lines]
    return "\n".join((_render_head(file), *(_render_line(number, text) for number, text in shown)))


def _render_file(file: FileDiff, max_bytes: int) -> Iterator[str]:
    head = _render_head(file)
    if not file.hunks:
        yield head
        return
    room = max(max_bytes - len(head.encode("utf-8", "replace")) - 64, 1_000)
    lines: list[str] = []
    size, is_first = 0, True
    for row in _render_hunks(file.hunks):
        bytes_of_row = len(row.encode("utf-8", "replace")) + 1
        if size + bytes_of_row > room and lines:
            yield "\n".join((head if is_first else f"{head} (continued)", *lines))
            lines, size, is_first = [], 0, False
        lines.append(row)
        size += bytes_of_row
    yield "\n".join((head if is_first else f"{head} (continued)", *lines))


def _render_hunks(hunks: Sequence[ChangeHunk]) -> Iterator[str]:
    for hunk in hunks:
        yield f"@@ from line {hunk.new_start} @@"
        for number, line in hunk.number_lines():
            yield _render_line(number, line)


def _render_line(number: int | None, line: str) -> str:
    text = escape_line(line[1:])
    if len(text) > _LONGEST_LINE:
        text = f"{text[:_LONGEST_LINE]}[… {len(text) - _LONGEST_LINE:,} characters more]"
    return f"{'' if number is None else number:>6} {line[:1]}{text}"


def _render_head(file: FileDiff) -> str:
    name = make_printable(file.path, newlines=False)
    before = (
        f" from {make_printable(file.old_path, newlines=False)}" if file.status is FileStatus.RENAMED else ""
    )
    more = [*file.notes, *([f"not shown: {file.left_out}"] if file.left_out else [])]
    facts = f" ({'; '.join(make_printable(note, newlines=False) for note in more)})" if more else ""
    return f"=== {name} · {file.status.value}{before}{facts}"
