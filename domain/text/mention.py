"""How a prompt names files, resources, issues and pull requests.

Files: `@path`, in quotes where the path holds blanks or what cannot be seen. Issues and pull requests: `#12`,
`owner/repo#3`, or their address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from quorum.domain.text.pattern import compile_once

# What stands before the sign must not make it a part of an address or of another word.
_FREE = r"(?<![A-Za-z0-9_@.+\-/])"
_LINES = r":(?P<first>\d{1,9})(?P<to>-(?P<last>\d{0,9}))?|#L(?P<from>\d{1,9})(?:-L?(?P<until>\d{1,9}))?"
_AFTER_QUOTES = re.sub(r"\?P<\w+>", "?:", _LINES)
_MENTION = rf'{_FREE}@(?:"(?P<quoted>(?:[^"\\\n]|\\.)*)"(?P<lines>{_AFTER_QUOTES})?|(?P<bare>[^\s"]+))'
_BEGUN = rf'{_FREE}@(?:"(?P<quoted>(?:[^"\\\n]|\\.)*)|(?P<bare>[^\s"]*))\Z'
_RANGE = rf"(?s)(?P<path>.+?)(?:{_LINES})"
_BEGUN_RANGE = r"(?P<path>.+?)(?P<range>:(?:\d{1,9}(?:-\d{0,9})?)?|#(?:L(?:\d{1,9}(?:-(?:L?\d{0,9}))?)?)?)"
_ATTACHMENT = r"(?i)\.(png|jpe?g|gif|webp|pdf)\Z"
_RESOURCE = r"(?s)(?P<server>[\w.-]+):(?P<uri>[A-Za-z][A-Za-z0-9+.-]*://.*)"
_ENDS_A_SENTENCE = ".,;:!?)]}'”’»、。"
_ESCAPE = r"(?s)\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))"
_SHORT = {"n": "\n", "t": "\t", "r": "\r"}
_SHORT_NAMES = {character: name for name, character in _SHORT.items()}


class LineRange(Struct, frozen=True):
    """The lines that a mention means, counted from 1; `last` is included, and None for the end of the file."""

    first: int
    last: int | None


def split_lines(path: str) -> tuple[str, LineRange | None]:
    """The file and the lines that `a.py:10-40`, `a.py:10-`, `a.py:10` or `a.py#L10-L40` names. A path without
    lines stays whole. A file may have such a name itself: whoever asks looks for that first."""
    found = compile_once(_RANGE).fullmatch(path)
    if found is None:
        return path, None
    if found["first"] is not None:
        first = int(found["first"])
        last = first if found["to"] is None else int(found["last"]) if found["last"] else None
    else:
        first = int(found["from"])
        last = int(found["until"]) if found["until"] else first
    return found["path"], LineRange(first, last)


def split_begun_lines(typed: str) -> tuple[str, str]:
    """The path and the lines of a mention that is still being typed: `a.py:1` is of `a.py`, and `a.py:` too."""
    found = compile_once(_BEGUN_RANGE).fullmatch(typed)
    return (typed, "") if found is None else (found["path"], found["range"])


def looks_like_attachment(path: str) -> bool:
    """Whether a path is named as files of images and PDFs are. Its bytes decide what a file holds."""
    return compile_once(_ATTACHMENT).search(path) is not None


def split_resource(path: str) -> tuple[str, str] | None:
    """The server and the address of a resource that a mention names as `server:scheme://rest`; None where it
    has another form."""
    found = compile_once(_RESOURCE).fullmatch(path)
    return None if found is None else (found["server"], found["uri"])


def format_mention(path: str) -> str:
    """The text that names this path, which may hold anything a path can; the bytes of one that is not text are
    its surrogates."""
    plain = path.isprintable() and not any(c.isspace() or c in '"\\' for c in path)
    if plain and path and path[-1] not in _ENDS_A_SENTENCE:
        return f"@{path}"
    return '@"' + "".join(map(_escape, path)) + '"'


def find_mentions(text: str) -> Iterator[str]:
    """The paths that a text names, in order, with their lines. Whether there are such files is not asked."""
    for found in compile_once(_MENTION).finditer(text):
        quoted, bare = found["quoted"], found["bare"]
        if quoted is not None:
            path = _unescape_path(quoted) + (found["lines"] or "") if quoted else ""
        else:
            path = bare.rstrip(_ENDS_A_SENTENCE)
        if path:
            yield path


def parse_quoted_mention(text: str, at: int) -> tuple[str, int] | None:
    """The path of the mention in quotes that stands at this place, and where it ends; None where none does."""
    found = compile_once(_MENTION).match(text, at)
    if found is None or found["quoted"] is None:
        return None
    return _unescape_path(found["quoted"]), found.end()


def find_unfinished_mention(before: str) -> tuple[int, str] | None:
    """Where the mention begins that this text ends in, and what of its path is there; None where none is."""
    found = compile_once(_BEGUN).search(before)
    if found is None:
        return None
    quoted = found["quoted"]
    return found.start(), _unescape_path(quoted) if quoted is not None else found["bare"]


def _escape(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    if character in _SHORT_NAMES:
        return f"\\{_SHORT_NAMES[character]}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _unescape_path(quoted: str) -> str:
    return compile_once(_ESCAPE).sub(_unescape, quoted)


def _unescape(found: re.Match[str]) -> str:
    byte, short, long, plain = found.groups()
    if byte:
        code = int(byte, 16)
        return chr(code + 0xDC00) if code >= 0x80 else chr(code)
    if code_point := short or long:
        code = int(code_point, 16)
        return chr(code) if code <= 0x10FFFF else found[0]
    return _SHORT.get(plain, plain)


# Inside of code a number sign means something else.
_CODE = r"(?s)```.*?(?:```|\Z)|`[^`\n]*`"
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9._-]{1,100}"
_REFERENCE = (
    rf"https://(?P<host>[A-Za-z0-9.-]{{1,253}})/(?P<place>{_NAME})/(?:issues|pull)/(?P<linked>\d{{1,9}})\b"
    rf"|(?<![\w/&#.-])(?P<repository>{_NAME})?#(?P<number>\d{{1,9}})"
    rf"(?:(?:-|–|—|\.\.\.?)#?(?P<last>\d{{1,9}}))?(?![\w#-])"
)
_COLOUR_LENGTHS = (6, 8)
MOST_IN_RANGE = 100


class Reference(Struct, frozen=True, kw_only=True):
    """An issue or a pull request. `repository` is "owner/name", empty for that of the working directory; `host`
    is empty for github.com."""

    number: int
    repository: str = ""
    host: str = ""

    @property
    def label(self) -> str:
        """As it is usually written."""
        place = f"{self.host}/{self.repository}" if self.host else self.repository
        return f"{place}#{self.number}"


def find_references(text: str) -> Iterator[Reference]:
    """What a text refers to, in its order. What stands in code is none, nor is a colour such as #336699.

    A range such as `#21-23`, `#23-21` or `#121-3` refers to each of its numbers, the smallest first, and to the
    first MOST_IN_RANGE where it is longer.
    """
    for found in compile_once(_REFERENCE).finditer(
        compile_once(_CODE).sub(lambda code: " " * len(code[0]), text)
    ):
        if found["linked"] is not None:
            host = "" if found["host"] == "github.com" else found["host"]
            yield Reference(number=int(found["linked"]), repository=found["place"], host=host)
        elif found["last"] is not None:
            first, last = _read_range(found["number"], found["last"])
            for number in range(first, min(last + 1, first + MOST_IN_RANGE)):
                yield Reference(number=number, repository=found["repository"] or "")
        elif found["repository"] or len(found["number"]) not in _COLOUR_LENGTHS:
            yield Reference(number=int(found["number"]), repository=found["repository"] or "")


def _read_range(start: str, end: str) -> tuple[int, int]:
    """The first and the last number; the first is greater where it is no range, as in a date.

    The second may leave out digits that it has in common with the first.
    """
    whole = int(start[: max(0, len(start) - len(end))] + end)
    if len(end) < len(start) or end.startswith("0"):
        return (int(start), 0 if end.startswith("0") else whole)
    return min(int(start), whole), max(int(start), whole)


def find_repository(git_config: str) -> str:
    """The "owner/name" on github.com that the remote `origin` of a git configuration names; else empty."""
    section = re.search(r'^\s*\[remote "origin"\]\s*$(?P<body>.*?)(?=^\s*\[|\Z)', git_config, re.M | re.S)
    url = re.search(r"^\s*url\s*=\s*(\S+)\s*$", section["body"], re.M) if section is not None else None
    place = (
        re.fullmatch(
            rf"(?:https://(?:[^@/\s]*@)?github\.com/|(?:ssh://)?git@github\.com[:/])(?P<name>{_NAME}?)(?:\.git)?/?",
            url[1],
        )
        if url is not None
        else None
    )
    return place["name"] if place is not None else ""
