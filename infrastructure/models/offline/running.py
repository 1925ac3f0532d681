"""Requests to run a command, and to note a plan."""

from __future__ import annotations

import re

from quorum.infrastructure.models.offline.naming import read_name
from quorum.infrastructure.models.offline.requests import Misread, Request
from quorum.infrastructure.models.offline.scanning import Scanner
from quorum.infrastructure.models.offline.vocabulary import COURTESY

_THE_COMMAND = re.compile(r"\s*+(?:(?:(?:the|this)\s++)?command(?=[\s:`]))?\s*+:?[ \t]*+", re.IGNORECASE)
_NO_COMMAND = frozenset(["all", "it", "my", "that", "the", "them", "these", "this", "those"])
_IN = re.compile(r"\s++in(?=\s)", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[^\W_])\.\Z")
_COLON = re.compile(r"\s*+:[ \t]*+")
_BULLET = re.compile(r"\s*+(?:[-*•]|\d{1,3}[.)])?\s*+")


def run(scanner: Scanner) -> list[Request]:
    """run COMMAND, run `COMMAND` [in FOLDER], run: and a fenced block"""
    scanner.skip(_THE_COMMAND)
    arguments = {"command": _read_delimited(scanner) or _strip_quotes(scanner)}
    words = arguments["command"].split()
    if not words or words[0].casefold() in _NO_COMMAND:
        raise Misread("Name the command itself, for example: run `pytest -q`.")
    if scanner.skip(_IN):
        if (folder := read_name(scanner)) is None:
            raise Misread("Name the folder to run the command in.")
        arguments["working_dir"] = folder
    return [Request("run_command", arguments)]


def _read_delimited(scanner: Scanner) -> str | None:
    """A command in a fenced block or in backticks, or one quoted text that is all of the request."""
    if (fenced := scanner.read_fence()) is not None:
        return fenced.strip("\n")
    start = scanner.pos
    is_code = scanner.text.startswith("`", start)
    inner = scanner.read_quoted()
    if inner is None:
        return None
    if is_code or scanner.at_request_end:
        return inner
    scanner.pos = start
    return None


def _strip_quotes(scanner: Scanner) -> str:
    start = scanner.pos
    scanner.pos = scanner.find_clause_end(command=True)
    command = COURTESY.sub("", scanner.text[start : scanner.pos].strip()).rstrip(" ,")
    return _SENTENCE_END.sub("", command)


def plan(scanner: Scanner) -> list[Request]:
    """plan: STEP; STEP; STEP on one line, or one step on each line below, up to an empty line"""
    if not scanner.skip(_COLON):
        raise Misread("Steps follow a colon, for example: plan: read the code; fix the test; run it.")
    line_end = _find(scanner.text, "\n", scanner.pos)
    line = scanner.text[scanner.pos : line_end]
    if line.strip():
        steps, scanner.pos = line.split(";"), line_end
    else:
        block_end = _find(scanner.text, "\n\n", line_end + 1)
        steps, scanner.pos = scanner.text[line_end:block_end].split("\n"), block_end
    items = [
        {"text": text, "status": "pending"}
        for step in steps
        if (text := _BULLET.sub("", step, count=1).strip())
    ]
    if not items:
        raise Misread("A plan needs at least one step after the colon.")
    return [Request("update_plan", {"items": items})]


def _find(text: str, mark: str, start: int) -> int:
    found = text.find(mark, start)
    return len(text) if found == -1 else found
