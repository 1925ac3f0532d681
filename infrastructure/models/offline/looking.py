"""Requests that only look: read, list, search."""

from __future__ import annotations

import re

from quorum.infrastructure.models.offline.naming import read_names, require_names
from quorum.infrastructure.models.offline.requests import Misread, Request
from quorum.infrastructure.models.offline.scanning import Scanner
from quorum.infrastructure.models.offline.vocabulary import Verb, looks_like_path

_EVERYTHING = re.compile(
    r"\s*+(?:(?:all|the|folders?|files?|everything|here)(?:\s++|(?=[,;、。.!?]|$)))*+(?:in\s++|under\s++)?",
    re.IGNORECASE,
)
_PLACE = re.compile(r"(?<=\s)(?:in|under|inside|within)(?=\s)", re.IGNORECASE)
_OPERAND = r"(?=\s+(?!(?:in|under|inside|within)\s)\S)\s++"
_ABOUT_FILES = re.compile(
    rf"\s*+(?:(?:all|the|any|every|me)\s++)*+files?(?:\s++(?:named|called|matching|like))?{_OPERAND}",
    re.IGNORECASE,
)
_ABOUT_TEXT = re.compile(
    rf"\s*+(?:(?:for|me|all|any|every|the|text|string|word|occurrences\s++of|usages\s++of|uses\s++of"
    rf"|lines\s++(?:with|containing)){_OPERAND})*+",
    re.IGNORECASE,
)
_SPECIAL = re.compile(r"([\\.^$*+?()\[\]{}|])")


def read(scanner: Scanner) -> list[Request]:
    """read FILE, FILE and FILE"""
    found = require_names(scanner, "Name the files to read, for example: read a.py and b.py.")
    return [Request("read_file", {"path": path}) for path in found]


def list_folders(scanner: Scanner) -> list[Request]:
    """list [FOLDER, FOLDER]; without a folder, the working directory"""
    scanner.skip(_EVERYTHING)
    found = read_names(scanner, folders=True) or ["."]
    return [Request("list_directory", {"path": path}) for path in found]


def find(scanner: Scanner, verb: Verb) -> list[Request]:
    """find TEXT [in PLACE], find files GLOB [in FOLDER and below], grep REGEX [in PLACE]"""
    about_files = scanner.skip(_ABOUT_FILES) or verb is Verb.GLOB
    if not about_files:
        scanner.skip(_ABOUT_TEXT)
    scanner.skip_spaces()
    wanted, quoted = _read_operand(scanner)
    if verb is Verb.GREP and not quoted and len(words := wanted.split()) == 2 and looks_like_path(words[1]):
        return [Request("grep_search", {"pattern": words[0], "path": words[1]})]
    places = _read_places(scanner)
    if about_files or (verb is Verb.FIND and not quoted and _is_glob(wanted)):
        pattern = wanted if verb is Verb.GLOB or "/" in wanted else f"**/{wanted}"
        return [_build_glob(pattern, place) for place in places] or [
            Request("glob_search", {"pattern": pattern})
        ]
    pattern = wanted if verb is Verb.GREP else _build_expression(wanted, quoted=quoted)
    return [Request("grep_search", {"pattern": pattern, "path": place}) for place in places or ["."]]


def _read_operand(scanner: Scanner) -> tuple[str, bool]:
    """What to look for: one quoted text, or all up to the last unquoted "in", or to the end of the clause."""
    if (inner := scanner.read_quoted()) is not None:
        if not inner:
            raise Misread("There is nothing between the quotes to look for.")
        return inner, True
    start, end = scanner.pos, scanner.find_clause_end()
    places = list(scanner.find_unquoted(_PLACE, end))
    scanner.pos = places[-1].start() if places else end
    wanted = scanner.text[start : scanner.pos].strip()
    if not places:
        wanted = wanted.rstrip(".!?") or wanted
    if not wanted:
        raise Misread("Say what to look for, for example: find TODO in src.")
    return wanted, False


def _read_places(scanner: Scanner) -> list[str]:
    scanner.skip_spaces()
    if not scanner.skip(_PLACE):
        return []
    return require_names(scanner, "Name the file or folder to search in.", folders=True)


def _is_glob(word: str) -> bool:
    return "*" in word and not any(c.isspace() for c in word) and ("." in word or "/" in word)


def _build_glob(pattern: str, folder: str) -> Request:
    return Request("glob_search", {"pattern": pattern, "base_dir": folder})


def _build_expression(text: str, *, quoted: bool) -> str:
    """What the search tool takes for it: bare /text/ is an expression already, all else is meant literally."""
    if not quoted and len(text) > 2 and text.startswith("/") and text.endswith("/"):
        return text[1:-1]
    return escape_regex(text)


def escape_regex(text: str) -> str:
    """Plain text as a regular expression that matches exactly it."""
    return _SPECIAL.sub(r"\\\1", text)
