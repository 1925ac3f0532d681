"""Requests that change files: replace, write."""

from __future__ import annotations

import re

from quorum.infrastructure.models.offline.naming import read_name, require_names
from quorum.infrastructure.models.offline.requests import Misread, Request
from quorum.infrastructure.models.offline.scanning import Scanner, strip_quotes
from quorum.infrastructure.models.offline.vocabulary import looks_like_path

_REPLACE_EXAMPLE = 'For example: replace "old text" with "new text" in a.py.'
_WRITE_EXAMPLE = "For example: write notes.txt: the text, or a fenced block after the colon."
_ALL = re.compile(
    r"\s*+(?:all|every)(?:\s++(?:occurrences?|instances?)?\s*+(?:of\s++)?)(?!(?:with|by|to)\s)", re.IGNORECASE
)
_BY = {
    "replace": re.compile(r"(?<=[\s\"'`”」])(?:with|by)(?=[\s\"'`“「])", re.IGNORECASE),
    "change": re.compile(r"(?<=[\s\"'`”」])(?:to|into)(?=[\s\"'`“「])", re.IGNORECASE),
}
_IN = re.compile(r"(?<=[\s\"'`”」])in(?=\s)", re.IGNORECASE)
_TO = re.compile(r"\s++(?:in)?to(?=\s)", re.IGNORECASE)
_A_FILE = re.compile(r"\s*+(?:(?:the|a|new|to|file)\s++)*+(?:(?:named|called)\s++)?", re.IGNORECASE)
_INTRODUCED = re.compile(
    r"\s*+(?::|(?:with|containing)(?![\w./-])(?:\s++(?:the\s++)?(?:contents?|text)(?![\w./-]))?:?)",
    re.IGNORECASE,
)
_PATH = re.compile(r"[^\s,;:、。]++")
_BLANKS = re.compile(r"[ \t]*+\n?")


def replace(scanner: Scanner, phrase: str) -> list[Request]:
    """replace [all] OLD with NEW in FILE, FILE; change OLD to NEW in FILE"""
    end = scanner.find_clause_end()
    everywhere = scanner.skip(_ALL)
    start = scanner.pos
    by = next(scanner.find_unquoted(_BY[phrase], end), None)
    if by is None:
        raise Misread(f"Say what to replace, with what, and in which file. {_REPLACE_EXAMPLE}")
    scanner.pos = by.end()
    places = list(scanner.find_unquoted(_IN, end))
    if not places:
        raise Misread(f"Say in which file to replace it. {_REPLACE_EXAMPLE}")
    old = strip_quotes(scanner.text[start : by.start()])
    new = strip_quotes(scanner.text[by.end() : places[-1].start()])
    if not old or old == new:
        raise Misread(f"There is nothing to replace. {_REPLACE_EXAMPLE}")
    scanner.pos = places[-1].end()
    scanner.skip_spaces()
    paths = require_names(scanner, f"Name the file. {_REPLACE_EXAMPLE}")
    change: dict[str, str | bool] = {
        "old_text": old,
        "new_text": new,
        **({"replace_all": True} if everywhere else {}),
    }
    return [Request("edit_file", {"path": path, **change}) for path in paths]


def write(scanner: Scanner) -> list[Request]:
    """write FILE: CONTENT, write FILE with "CONTENT", write "CONTENT" to FILE"""
    scanner.skip_spaces()
    first = scanner.read_quoted()
    if first is not None and scanner.skip(_TO):
        if path := read_name(scanner):
            return [_build_writing(path, first)]
        raise Misread(f"Name the file. {_WRITE_EXAMPLE}")
    path = first if first is not None else _find_path(scanner)
    if not path or not scanner.skip(_INTRODUCED):
        raise Misread(f"Say which file to write, and what. {_WRITE_EXAMPLE}")
    content = _find_content(scanner)
    if content is None:
        raise Misread(f"Say what to write. {_WRITE_EXAMPLE}")
    return [_build_writing(path, content)]


def _find_path(scanner: Scanner) -> str | None:
    start = scanner.pos
    scanner.skip(_A_FILE)
    before = scanner.text[start : scanner.pos].casefold()
    if (inner := scanner.read_quoted()) is not None:
        return inner
    if (found := _PATH.match(scanner.text, scanner.pos)) is None:
        return None
    scanner.pos = found.end()
    # "create a function with two arguments" is prose, "create a file notes with hello" is not.
    is_prose = before.strip() and "file" not in before and not scanner.text.startswith(":", scanner.pos)
    return None if is_prose and not looks_like_path(found.group()) else found.group()


def _find_content(scanner: Scanner) -> str | None:
    """A fenced block, one quoted text that ends the request, or the rest and a newline; None without any."""
    if (fenced := scanner.read_fence()) is not None:
        return fenced
    scanner.skip(_BLANKS)
    start = scanner.pos
    inner = scanner.read_quoted()
    if inner is not None and scanner.at_request_end:
        return inner
    scanner.pos = len(scanner.text)
    rest = scanner.text[start:].rstrip()
    return rest + "\n" if rest else None


def _build_writing(path: str, content: str) -> Request:
    arguments: dict[str, str | bool] = {"path": path, "content": content}
    if "/" in path.strip("/"):
        arguments["create_dirs"] = True
    return Request("write_file", arguments)
