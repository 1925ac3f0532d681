"""The files that a unified diff changes. What is no whole and valid diff is refused, with the place."""

from __future__ import annotations

import re

from msgspec import Struct, field

from quorum.domain.code_review.change import ChangeHunk, FileDiff, FileStatus
from quorum.domain.text.unified_diff import HUNK, NO_FILE, QUOTED, DiffLine, DiffNames, parse_diff, unquote_name

_MODE = re.compile(r"(old|new) mode (\d{1,6})")
_LONGEST_NAMES = 4_096  # characters of a line in which the first of two names has to end


class BadDiff(ValueError):
    """The text is no unified diff; the message says where and why."""


def parse_files(text: str) -> tuple[FileDiff, ...]:
    """The files that a unified diff changes, in its order; none where it changes nothing. Raises BadDiff."""
    reader = _DiffReader(text)
    files = reader.read()
    if not files and text.strip():
        raise BadDiff(
            "this is no unified diff: it has no line that begins with diff --git, or with --- and +++"
        )
    return files


class _FileDraft(Struct):
    """What is known so far of a file that begins in a line with this number."""

    line: int
    path: str = ""
    old_path: str = ""
    status: FileStatus = FileStatus.MODIFIED
    hunks: list[ChangeHunk] = field(default_factory=list)
    left_out: str = ""
    modes: dict[str, str] = field(default_factory=dict)
    has_names: bool = False
    is_from_git: bool = False
    is_copy: bool = False

    def finish(self) -> FileDiff:
        if self.path in ("", NO_FILE):
            raise BadDiff(f"line {self.line} names no file")
        notes = []
        if self.is_copy:
            notes.append(f"it is a copy of {self.old_path}")
        if len(self.modes) == 2:
            notes.append(f"its mode changes from {self.modes['old']} to {self.modes['new']}")
        return FileDiff(
            path=self.path,
            old_path=self.old_path if self.is_copy or self.status is FileStatus.RENAMED else "",
            status=self.status,
            hunks=tuple(self.hunks),
            left_out=self.left_out,
            notes=tuple(notes),
        )


class _HunkDraft(Struct):
    """A hunk that is being read, and how many lines of each side its heading promises beyond those read."""

    old_start: int
    new_start: int
    old_left: int
    new_left: int
    lines: list[str] = field(default_factory=list)

    def add(self, line: DiffLine) -> None:
        self.lines.append(line.sign + line.text)
        self.old_left -= line.sign != "+"
        self.new_left -= line.sign != "-"


class _DiffReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._drafts: list[_FileDraft] = []
        self._hunk: _HunkDraft | None = None

    def read(self) -> tuple[FileDiff, ...]:
        names: DiffNames | None = None
        for number, line in enumerate(parse_diff(self._text), 1):
            if line.sign == "@":
                self._end_hunk(f"line {number} is in a hunk, and begins with none of + - space")
                self._begin_hunk(number, line.text)
            elif line.sign and self._hunk is not None:
                self._hunk.add(line)
            elif not line.text.startswith("\\"):
                self._end_hunk(_explain_end(number, line.text))
                if line.names is not None and line.names is not names:
                    self._read_names(number, line.names)
                else:
                    self._read_head(number, line.text.removesuffix("\r"))
            names = line.names
        self._end_hunk("the diff ends in the middle of a hunk")
        return tuple(draft.finish() for draft in self._drafts)

    def _read_head(self, number: int, line: str) -> None:
        if line.startswith("diff --git "):
            old, new = _split_git_names(line.removeprefix("diff --git "))
            self._drafts.append(_FileDraft(number, path=new, old_path=old, is_from_git=True))
        elif self._drafts and self._drafts[-1].has_names and line.startswith("@@ -"):
            raise BadDiff(f"line {number} begins like a hunk and is none")
        elif self._drafts and self._drafts[-1].is_from_git and not self._drafts[-1].hunks:
            self._read_extended(line)

    def _read_names(self, number: int, names: DiffNames) -> None:
        old, new = names
        last = self._drafts[-1] if self._drafts else None
        if last is None or last.has_names or not last.is_from_git:
            last = _FileDraft(number)
            self._drafts.append(last)
        last.has_names = True
        if last.path and last.old_path:
            if not (_is_name_of(old, last.old_path) and _is_name_of(new, last.path)):
                raise BadDiff(f"line {number} names another file than line {last.line}")
            old, new = (old if old == NO_FILE else last.old_path), (new if new == NO_FILE else last.path)
        else:
            old, new = names.strip_prefixes()
        if old == NO_FILE:
            last.status, last.path = FileStatus.ADDED, new
        elif new == NO_FILE:
            last.status, last.path = FileStatus.DELETED, old
        else:
            if last.status is FileStatus.MODIFIED and old != new and not last.is_copy:
                last.status = FileStatus.RENAMED
            last.path, last.old_path = new, old

    def _read_extended(self, line: str) -> None:
        draft = self._drafts[-1]
        if found := _MODE.fullmatch(line):
            draft.modes[found[1]] = found[2]
        elif line.startswith("new file mode "):
            draft.status = FileStatus.ADDED
        elif line.startswith("deleted file mode "):
            draft.status = FileStatus.DELETED
        elif line.startswith("rename from "):
            draft.status, draft.old_path = FileStatus.RENAMED, unquote_name(line.removeprefix("rename from "))
        elif line.startswith("rename to "):
            draft.path = unquote_name(line.removeprefix("rename to "))
        elif line.startswith("copy from "):
            draft.status, draft.is_copy = FileStatus.ADDED, True
            draft.old_path = unquote_name(line.removeprefix("copy from "))
        elif line.startswith("copy to "):
            draft.path = unquote_name(line.removeprefix("copy to "))
        elif line.startswith("Binary files ") or line == "GIT binary patch":
            draft.left_out = "it is binary"

    def _begin_hunk(self, number: int, heading: str) -> None:
        if not self._drafts:
            raise BadDiff(f"line {number} begins a hunk, and no line above it names its file")
        if (found := HUNK.match(heading)) is not None:
            old_count, new_count = (1 if count is None else int(count) for count in (found[2], found[4]))
            self._hunk = _HunkDraft(int(found[1]), int(found[3]), old_count, new_count)

    def _end_hunk(self, problem: str) -> None:
        """Keep the hunk that was read. Raises BadDiff with the problem where it is not whole."""
        if (hunk := self._hunk) is None:
            return
        if hunk.old_left or hunk.new_left:
            raise BadDiff(problem)
        self._hunk = None
        self._drafts[-1].hunks.append(
            ChangeHunk(old_start=hunk.old_start, new_start=hunk.new_start, lines=tuple(hunk.lines))
        )


def _explain_end(number: int, line: str) -> str:
    """What is wrong where a hunk that is not whole ends before this line."""
    if line[:1] in ("+", "-", " ", "", "\r"):
        return f"the hunk before line {number + 1} has more lines than its header says"
    return f"line {number} is in a hunk, and begins with none of + - space"


def _is_name_of(name: str, path: str) -> bool:
    """Whether a name in a line of --- or +++ is that of a path, with or without a prefix."""
    return name in (NO_FILE, path) or name.partition("/")[2] == path


def _split_git_names(text: str) -> tuple[str, str]:
    """Both names of a line that begins with diff --git, without prefixes; empty where the line alone does not
    tell them. Without quotes it does only if they are the same but for the prefix."""
    if text.startswith('"') and (first := QUOTED.match(text)):
        old, blank, new = unquote_name(first[0]), text[first.end() : first.end() + 1], text[first.end() + 1 :]
        if new.startswith('"'):
            new = unquote_name(new) if QUOTED.fullmatch(new) else ""
    elif text.endswith('"'):
        old, blank, new = text.partition(' "')
        new = unquote_name(f'"{new}') if QUOTED.fullmatch(f'"{new}') else ""
    else:
        return _split_like_names(text)
    if not (old and blank and blank[0] == " " and new):
        return "", ""
    if old == new:
        return old, new
    if all("/" in name for name in (old, new)):
        return old.partition("/")[2], new.partition("/")[2]
    return "", ""


def _split_like_names(text: str) -> tuple[str, str]:
    """Both names where they are the same but for prefixes; empty where no blank parts such, or several do."""
    half = len(text) // 2
    if text[half : half + 1] == " " and text[:half] == text[half + 1 :]:
        return text[:half], text[:half]
    blanks = [place for place, sign in enumerate(text[:_LONGEST_NAMES]) if sign == " "]
    found = set()
    for place in blanks:
        prefix, _, old = text[:place].partition("/")
        another, _, new = text[place + 1 :].partition("/")
        if old and old == new and " " not in prefix + another:
            found.add(old)
    name = found.pop() if len(found) == 1 else ""
    return name, name
