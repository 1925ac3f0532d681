"""The sessions that `quorum fleet submit` submits: from a file, or one for each open pull request."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from quorum.domain.errors import ToolError
from quorum.domain.fleet_session import FleetRequest
from quorum.domain.text.printable import make_printable
from quorum.errors import UsageError
from quorum.infrastructure.references.github import OpenPullRequest, list_open_pull_requests

_FIELDS = ("prompt", "cwd", "name", "key")
_MOST_BYTES = 64 << 20
_LONGEST_NAME = 200
_REVIEW = (
    "Review this pull request. Report what is wrong with it, each finding with its file and line, how severe "
    "it is and why, and say whether it can be merged. Change nothing."
)


def read_requests(file: str, root: Path) -> list[FleetRequest]:
    """One request for each line of the file, "-" for standard input. Raises UsageError, naming the line."""
    text = _read_text(file, root)
    requests: list[FleetRequest] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{'line' if file == '-' else make_printable(file, newlines=False) + ', line'} {number}"
            requests.append(_read_request(line, place, root))
    if not requests:
        raise UsageError(
            'there is nothing to submit; each line is an object such as {"prompt": "fix the tests"}'
        )
    return requests


def _read_text(file: str, root: Path) -> str:
    try:
        if file == "-":
            data = sys.stdin.buffer.read(_MOST_BYTES + 1) if sys.stdin else b""
        else:
            with (root / file).open("rb") as opened:
                data = opened.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise UsageError("the requests are larger than 64 MiB; submit them in parts")
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{make_printable(file, newlines=False)} cannot be read: {error}") from error


def _read_request(line: str, place: str, root: Path) -> FleetRequest:
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place} is no JSON: {error}") from error
    if not isinstance(given, Mapping):
        raise UsageError(f'{place} is no object; expected one such as {{"prompt": "fix the tests"}}')
    for name, value in given.items():
        if name not in _FIELDS:
            raise UsageError(f"{place} has the field {name[:40]!a}; known are {', '.join(_FIELDS)}")
        if not isinstance(value, str):
            raise UsageError(f"{place}: {name} must be a string")
    prompt = given.get("prompt", "")
    if not prompt.strip():
        raise UsageError(f"{place} has no prompt")
    cwd = root / given.get("cwd", "")
    return FleetRequest(
        prompt=prompt, cwd=str(cwd.absolute()), name=given.get("name", ""), key=given.get("key", "")
    )


def build_pull_request_requests(root: Path, prompt: str) -> list[FleetRequest]:
    """One request for each open pull request of the repository of this folder.

    A pull request is asked about once for each of its heads, and each prompt. Raises UsageError.
    """
    try:
        found = asyncio.run(list_open_pull_requests(root, os.environ))
    except ToolError as problem:
        raise UsageError(str(problem)) from problem
    return [_build_pull_request_request(pull, prompt, root) for pull in found]


def _build_pull_request_request(pull: OpenPullRequest, prompt: str, root: Path) -> FleetRequest:
    label = f"{pull.repository}#{pull.number}"
    # The title is left out of the prompt: whoever opened the pull request wrote it.
    place = (
        f"Pull request: {label}. Its changes: git diff {pull.base}...{pull.head}, "
        f"or, where these commits are not here, gh pr diff {pull.number} --repo {pull.repository}"
    )
    key = f"pull request {label} at {pull.head}"
    if prompt:
        key += f", prompt {hashlib.sha256(prompt.encode('utf-8', 'replace')).hexdigest()[:16]}"
    return FleetRequest(
        prompt=f"{prompt or _REVIEW}\n\n{place}",
        cwd=str(root.absolute()),
        name=f"#{pull.number} {pull.title}"[:_LONGEST_NAME],
        key=key,
    )
