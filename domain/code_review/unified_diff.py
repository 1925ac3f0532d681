"""Reads unified diffs, as git, diff and GitHub write them.

Within a hunk its header alone says how many lines belong to it: a line of a file that looks like the header of
another file is content.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from quorum.domain.code_review.change import ChangeHunk, FileDiff, FileStatus

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", '"': '"', "\\": "\\"}
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_MODE = re.compile(r"(old|new) mode (\d{1,6})")
_GONE = "/dev/null"
_LONGEST_NAMES = 4_096  # characters of a line in which the first of two names has to end


class BadDiff(ValueError):
    """The text is no unified diff; the message says where and why."""


def parse_diff(text: str) -> tuple[FileDiff, ...]:
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
        if self.path in ("", _GONE):
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


class _DiffReader:
    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        if self._lines and not self._lines[-1]:
            self._lines.pop()
        self._place = 0
        self._drafts: list[_FileDraft] = []

    def read(self) -> tuple[FileDiff, ...]:
        while self._place < len(self._lines):
            line = self._lines[self._place].removesuffix("\r")
            if line.startswith("diff --git "):
                self._begin(line)
            elif line.startswith("--- ") and self._is_header():
                self._read_names(line)
            elif line.startswith("@@ -") and self._drafts and self._drafts[-1].has_names:
                self._read_hunk(line)
                continue
            elif self._drafts and self._drafts[-1].is_from_git and not self._drafts[-1].hunks:
                self._read_extended(line)
            self._place += 1
        return tuple(draft.finish() for draft in self._drafts)

    def _begin(self, line: str) -> None:
        old, new = _split_git_names(line.removeprefix("diff --git "))
        self._drafts.append(_FileDraft(self._place + 1, path=new, old_path=old, is_from_git=True))

    def _is_header(self) -> bool:
        following = self._lines[self._place + 1] if self._place + 1 < len(self._lines) else ""
        return following.startswith("+++ ")

    def _read_names(self, line: str) -> None:
        after = self._lines[self._place + 1].removesuffix("\r")
        old, new = _read_name(line[4:]), _read_name(after[4:])
        last = self._drafts[-1] if self._drafts else None
        if last is None or last.has_names or not last.is_from_git:
            last = _FileDraft(self._place + 1)
            self._drafts.append(last)
        last.has_names = True
        if last.path and last.old_path:
            if not (_is_name_of(old, last.old_path) and _is_name_of(new, last.path)):
                raise BadDiff(f"line {self._place + 1} names another file than line {last.line}")
            old, new = (old if old == _GONE else last.old_path), (new if new == _GONE else last.path)
        else:
            old, new = _strip_prefixes(old, new)
        if old == _GONE:
            last.status, last.path = FileStatus.ADDED, new
        elif new == _GONE:
            last.status, last.path = FileStatus.DELETED, old
        else:
            if last.status is FileStatus.MODIFIED and old != new and not last.is_copy:
                last.status = FileStatus.RENAMED
            last.path, last.old_path = new, old
        self._place += 1

    def _read_extended(self, line: str) -> None:
        draft = self._drafts[-1]
        if found := _MODE.fullmatch(line):
            draft.modes[found[1]] = found[2]
        elif line.startswith("new file mode "):
            draft.status = FileStatus.ADDED
        elif line.startswith("deleted file mode "):
            draft.status = FileStatus.DELETED
        elif line.startswith("rename from "):
            draft.status, draft.old_path = FileStatus.RENAMED, _unquote(line.removeprefix("rename from "))
        elif line.startswith("rename to "):
            draft.path = _unquote(line.removeprefix("rename to "))
        elif line.startswith("copy from "):
            draft.status, draft.is_copy = FileStatus.ADDED, True
            draft.old_path = _unquote(line.removeprefix("copy from "))
        elif line.startswith("copy to "):
            draft.path = _unquote(line.removeprefix("copy to "))
        elif line.startswith("Binary files ") or line == "GIT binary patch":
            draft.left_out = "it is binary"

    def _read_hunk(self, header: str) -> None:
        found = _HUNK.match(header)
        if found is None:
            raise BadDiff(f"line {self._place + 1} begins like a hunk and is none")
        old_left, new_left = (1 if count is None else int(count) for count in (found[2], found[4]))
        self._place += 1
        lines: list[str] = []
        while (old_left > 0 or new_left > 0) and self._place < len(self._lines):
            line = self._lines[self._place]
            match line[:1]:
                case "+":
                    new_left -= 1
                case "-":
                    old_left -= 1
                case " ":
                    old_left, new_left = old_left - 1, new_left - 1
                case "" | "\r":  # an empty line whose blank was stripped
                    old_left, new_left, line = old_left - 1, new_left - 1, f" {line}"
                case "\\":
                    self._place += 1
                    continue
                case _:
                    raise BadDiff(f"line {self._place + 1} is in a hunk, and begins with none of + - space")
            lines.append(line)
            self._place += 1
        if old_left > 0 or new_left > 0:
            raise BadDiff("the diff ends in the middle of a hunk")
        if old_left < 0 or new_left < 0:
            raise BadDiff(f"the hunk before line {self._place + 1} has more lines than its header says")
        self._drafts[-1].hunks.append(
            ChangeHunk(old_start=int(found[1]), new_start=int(found[3]), lines=tuple(lines))
        )


def _read_name(text: str) -> str:
    """The name in a line of --- or +++; what follows a tab is a time."""
    if text.startswith('"'):
        return _unquote(text)
    return text.partition("\t")[0]


def _strip_prefixes(old: str, new: str) -> tuple[str, str]:
    """The names without `a/` and `b/`, where both have such a prefix or are none."""
    if all(name == _GONE or name[1:2] == "/" for name in (old, new)):
        return (old if old == _GONE else old[2:]), (new if new == _GONE else new[2:])
    return old, new


def _is_name_of(name: str, path: str) -> bool:
    """Whether a name in a line of --- or +++ is that of a path, with or without a prefix."""
    return name in (_GONE, path) or name.partition("/")[2] == path


def _split_git_names(text: str) -> tuple[str, str]:
    """Both names of a line that begins with diff --git, without prefixes; empty where the line alone does not
    tell them. Without quotes it does only if they are the same but for the prefix."""
    if text.startswith('"') and (first := _QUOTED.match(text)):
        old, blank, new = _unquote(first[0]), text[first.end() : first.end() + 1], text[first.end() + 1 :]
        if new.startswith('"'):
            new = _unquote(new) if _QUOTED.fullmatch(new) else ""
    elif text.endswith('"'):
        old, blank, new = text.partition(' "')
        new = _unquote(f'"{new}') if _QUOTED.fullmatch(f'"{new}') else ""
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


def _unquote(text: str) -> str:
    """A name as git writes it: in quotes with escapes where it has unusual characters."""
    if not (text.startswith('"') and (found := _QUOTED.match(text))):
        return text
    raw = bytearray()
    inner, place = found[1], 0
    while place < len(inner):
        if inner[place] != "\\":
            raw += inner[place].encode("utf-8", "surrogatepass")
            place += 1
        elif octal := re.match(r"[0-3][0-7]{2}", inner[place + 1 : place + 4]):
            raw.append(int(octal[0], 8))
            place += 4
        else:
            raw += _ESCAPES.get(inner[place + 1], inner[place + 1]).encode("utf-8", "surrogatepass")
            place += 2
    return raw.decode("utf-8", "replace")
