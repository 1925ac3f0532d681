"""A change to review: what is asked for, its files with their hunks, what is not shown, and its parts.

Each part fits into one question to a reviewer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, field

from quorum.domain.review.ballot import MAJORITY, Lens, QuorumRule
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.printable import make_printable


class CodeReviewPolicy(Struct, frozen=True, kw_only=True):
    """How changes are reviewed. `rule` and `min_votes` are those by which votes are counted everywhere;
    `max_part_bytes` is how much of a change goes into one question; `lenses` are those that are set, by model
    or role."""

    rule: QuorumRule = MAJORITY
    min_votes: int = 2
    max_part_bytes: int = 60_000
    lenses: Mapping[str, Lens] = field(default_factory=dict)


class FileStatus(StrEnum):
    """What a change does to a file."""

    ADDED = "added"
    DELETED = "deleted"
    MODIFIED = "modified"
    RENAMED = "renamed"


class ChangeHunk(Struct, frozen=True, kw_only=True):
    """Lines that belong together. Each begins with a space, a plus or a minus, and has no line end.

    `old_start` and `new_start` are the numbers of its first line before and after the change, from 1.
    """

    old_start: int
    new_start: int
    lines: tuple[str, ...]

    def number_lines(self) -> Iterator[tuple[int | None, str]]:
        """Each line with its number after the change, None for one that is removed."""
        number = self.new_start
        for line in self.lines:
            if line.startswith("-"):
                yield None, line
            else:
                yield number, line
                number += 1


class FileDiff(Struct, frozen=True, kw_only=True):
    """What happens to one file. `old_path` is set where it had another name.

    `left_out` says why its content is not shown, and is empty where it is; `notes` are facts a reviewer
    should know, such as a new mode. `is_sensitive`: it is left out because the settings call it sensitive.
    """

    path: str
    status: FileStatus
    old_path: str = ""
    hunks: tuple[ChangeHunk, ...] = ()
    left_out: str = ""
    notes: tuple[str, ...] = ()
    is_sensitive: bool = False

    @property
    def changed_lines(self) -> int:
        """How many lines are added and removed."""
        return sum(not line.startswith(" ") for hunk in self.hunks for line in hunk.lines)

    def find_line(self, number: int) -> str | None:
        """The text of the line with this number after the change, None where no hunk shows it."""
        for hunk in self.hunks:
            if hunk.new_start <= number < hunk.new_start + len(hunk.lines):
                for place, line in hunk.number_lines():
                    if place == number:
                        return line[1:]
        return None


class ChangeBase(Struct, frozen=True, kw_only=True):
    """A repository before a piece of work. `commit` is the one checked out, empty where there is none yet.

    `uncommitted` are the files that differed from it, from the repository's root, with the SHA-256 of their
    contents, empty for one that was gone.
    """

    commit: str
    uncommitted: Mapping[str, str] = field(default_factory=dict)


class Change(Struct, frozen=True, kw_only=True):
    """A change as reviewers get it. `description` says what it is, in words of ours.

    `repository` and `branch` name where it belongs, `base` and `commit` what it is between; empty where that
    is not known. `notices` are for the person and the reviewers.
    """

    description: str
    files: tuple[FileDiff, ...]
    repository: str = ""
    branch: str = ""
    base: str = ""
    commit: str = ""
    notices: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the files, in hexadecimal."""
        found = hashlib.sha256()
        for file in self.files:
            head = (file.path, file.old_path, file.status.value, file.left_out, *file.notes)
            found.update(repr(head).encode("utf-8", "surrogatepass"))
            for hunk in file.hunks:
                found.update(f"{hunk.old_start} {hunk.new_start}\n".encode())
                found.update("\n".join(hunk.lines).encode("utf-8", "surrogatepass"))
        return found.hexdigest()

    def find_file(self, path: str) -> FileDiff | None:
        """What happens to the file of that name, None where nothing does."""
        return next((file for file in self.files if file.path == path), None)


MOST_PARTS = 60
_MOST_GENERATED_LINES = 400
_LONGEST_LINE = 2_000
_MOST_MARKED_LINES = 5
# Programs write these, and a person reads what they were made from. Only names count: by what a file says of
# itself a change could hide.
_GENERATED = (
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock"
    r"|poetry\.lock|uv\.lock|pdm\.lock|Pipfile\.lock|composer\.lock|Gemfile\.lock|go\.sum|flake\.lock"
    r"|mix\.lock|pubspec\.lock|packages\.lock\.json)$|\.min\.(?:js|css)$|\.(?:js|css)\.map$|\.snap$"
)


class DiffPart(Struct, frozen=True, kw_only=True):
    """What one question is about. `number` counts from 1; `text` numbers the lines as after the change."""

    number: int
    paths: tuple[str, ...]
    text: str


def leave_out_generated(file: FileDiff) -> FileDiff:
    """The file without its content where it is long and, by its name, written by a program."""
    if file.changed_lines <= _MOST_GENERATED_LINES or not compile_once(_GENERATED).search(file.path):
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


_PULL = r"(?i)(?:review\s+)?(?:pull request\s+|#)(\d{1,9})(?![\w.])"
_RANGE = r"(?i)(?:review\s+)?([^\s.:~^?*\[\\-][^\s:?*\[\\]*?)?(\.\.\.?)([^\s.:?*\[\\-][^\s:?*\[\\]*)?(?=\s|$)"
_PLAIN = r"(?i)(?:review\s+)?the (?:uncommitted changes|(given diff))"


class CodeReviewRequest(Struct, frozen=True, kw_only=True):
    """What is to be reviewed: a pull request, a range of commits "A..B" or "A...B", or else what is not
    committed. `focus` is what to look at above all, in the person's words; `is_all`: also what was approved
    before; `is_given`: a diff that is handed over with the request.
    """

    pull_request: int | None = None
    commits: str = ""
    focus: str = ""
    is_all: bool = False
    is_given: bool = False

    @property
    def text(self) -> str:
        """The request as a prompt, from which `parse_request` makes it again."""
        if self.pull_request is not None:
            what = f"pull request {self.pull_request}"
        else:
            what = self.commits or ("the given diff" if self.is_given else "the uncommitted changes")
        return f"Review {what}{' --all' if self.is_all else ''}" + (f"\n\n{self.focus}" if self.focus else "")


def parse_request(text: str) -> CodeReviewRequest:
    """Read what a person says: `#12`, `main..HEAD`, or nothing, then what to look at above all."""
    said = text.strip()
    matches = (compile_once(form).match(said) for form in (_PULL, _RANGE, _PLAIN))
    found = next(filter(None, matches), None)
    if found is not None and found.re.pattern == _RANGE and not (found[3] or (found[1] and found[2] == "..")):
        found = None  # dots that end a sentence
    rest = said[found.end() :].strip() if found is not None else said
    is_all = rest == "--all" or rest.startswith(("--all ", "--all\n"))
    focus = rest.removeprefix("--all").strip() if is_all else rest
    if found is not None and found.re.pattern == _PULL:
        return CodeReviewRequest(pull_request=int(found[1]), focus=focus, is_all=is_all)
    if found is not None and found.re.pattern == _RANGE:
        commits = f"{found[1] or 'HEAD'}{found[2]}{found[3] or 'HEAD'}"
        return CodeReviewRequest(commits=commits, focus=focus, is_all=is_all)
    is_given = found is not None and found[1] is not None
    return CodeReviewRequest(focus=focus, is_all=is_all, is_given=is_given)
