"""The sessions that `quorum fleet submit` submits, and those of a fleet as a table and as JSON."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quorum.domain.errors import GoalRefused, ToolError
from quorum.domain.events.event import CallStarted
from quorum.domain.fleet_session import (
    LEAST_PRIORITY,
    MOST_PRIORITY,
    FleetRequest,
    FleetSession,
    FleetState,
    LiveWorker,
)
from quorum.domain.goal import read_commands
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.sessions.waiting_review import find_last_report
from quorum.domain.text.amounts import format_wait
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.printable import make_printable
from quorum.errors import UsageError
from quorum.infrastructure.github_references import OpenPullRequest, list_open_pull_requests
from quorum.text_table import Column, render_text_table

_FIELDS = ("prompt", "goal", "checks", "cwd", "name", "key", "priority")
_MOST_BYTES = 64 << 20
_LONGEST_NAME = 200
_REVIEW = (
    "Review this pull request. Report what is wrong with it, each finding with its file and line, how severe "
    "it is and why, and say whether it can be merged. Change nothing."
)


def read_requests(file: str, root: Path, priority: int = 0) -> list[FleetRequest]:
    """One request for each line of the file, "-" for standard input; of this priority where a line names none.

    Raises UsageError, naming the line.
    """
    text = _read_text(file, root)
    requests: list[FleetRequest] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{'line' if file == '-' else make_printable(file, newlines=False) + ', line'} {number}"
            requests.append(_read_request(line, place, root, priority))
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


def _read_request(line: str, place: str, root: Path, priority: int) -> FleetRequest:
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place} is no JSON: {error}") from error
    if not isinstance(given, Mapping):
        raise UsageError(f'{place} is no object; expected one such as {{"prompt": "fix the tests"}}')
    for name, value in given.items():
        if name not in _FIELDS:
            raise UsageError(f"{place} has the field {name[:40]!a}; known are {', '.join(_FIELDS)}")
        if name == "priority":
            if type(value) is not int or not LEAST_PRIORITY <= value <= MOST_PRIORITY:
                raise UsageError(
                    f"{place}: priority must be a whole number from {LEAST_PRIORITY} to {MOST_PRIORITY}"
                )
        elif name == "checks":
            if not isinstance(value, list):
                raise UsageError(f"{place}: checks must be a list of commands")
        elif not isinstance(value, str):
            raise UsageError(f"{place}: {name} must be a string")
    prompt = given.get("prompt", "") or given.get("goal", "")
    if not prompt.strip():
        raise UsageError(f"{place} has no prompt")
    cwd = root / given.get("cwd", "")
    return FleetRequest(
        prompt=prompt,
        cwd=str(cwd.absolute()),
        name=given.get("name", ""),
        key=given.get("key", ""),
        priority=given.get("priority", priority),
        checks=_read_checks(given, place),
    )


def _read_checks(given: Mapping[str, Any], place: str) -> tuple[str, ...] | None:
    if "goal" not in given:
        if "checks" in given:
            raise UsageError(f"{place}: checks go with a goal")
        return None
    if "prompt" in given:
        raise UsageError(f"{place} has a prompt and a goal; a goal is the prompt, too")
    try:
        return read_commands(given.get("checks", ()))
    except GoalRefused as refusal:
        raise UsageError(f"{place}: {refusal}") from refusal


def build_pull_request_requests(root: Path, prompt: str, priority: int = 0) -> list[FleetRequest]:
    """One request for each open pull request of the repository of this folder.

    A pull request is asked about once for each of its heads, and each prompt. Raises UsageError.
    """
    try:
        found = asyncio.run(list_open_pull_requests(root, os.environ))
    except ToolError as problem:
        raise UsageError(str(problem)) from problem
    return [_build_pull_request_request(pull, prompt, root, priority) for pull in found]


def _build_pull_request_request(pull: OpenPullRequest, prompt: str, root: Path, priority: int) -> FleetRequest:
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
        priority=priority,
    )


_ID_LENGTHS = (13, 18, 23)
"""Of the first two, three and four groups of a UUID; the first two are its time."""


def render_fleet(
    sessions: Sequence[FleetSession], mask: Callable[[str], str], *, now_ms: int, width: int | None
) -> list[str]:
    """One line for each session under a line of headings, and how many are in which state.

    `width` in cells, of a terminal: names are cut, and ids are shortened as far as their beginnings differ.
    None: nothing is.
    """
    length = None if width is None else _choose_id_length(sessions)
    columns: tuple[Column[FleetSession], ...] = (
        Column("SESSION", lambda session: session.session_id[:length], whole=True),
        Column("STATE", lambda session: _describe_state(session, now_ms)),
        Column("SINCE", lambda session: format_wait(session.updated_ms, now_ms)),
        Column("TRIES", lambda session: str(session.attempts)),
        Column("NAME", lambda session: make_printable(mask(_describe(session)), newlines=False), narrowest=20),
    )
    lines = render_text_table(columns, sessions, width=width)
    return [*lines, summarise_fleet(sessions)]


def summarise_fleet(sessions: Sequence[FleetSession]) -> str:
    """How many sessions have ended, and how many are in each state, in words."""
    if not sessions:
        return "no session was submitted"
    counted = Counter(session.state for session in sessions)
    named = [f"{counted[state]} {state}" for state in FleetState if counted[state]]
    ended = sum(session.state.is_final for session in sessions)
    return f"{ended} of {len(sessions)} have ended ({100 * ended // len(sessions)} %): {', '.join(named)}"


def render_workers(
    workers: Sequence[LiveWorker], sessions: Sequence[FleetSession], mask: Callable[[str], str]
) -> list[str]:
    """A line for each worker that gives signs of life, with the sessions that it runs; one where there is none,
    though sessions are queued."""
    if not workers and any(session.state is FleetState.QUEUED for session in sessions):
        return ["no worker gives signs of life"]
    names = {session.session_id: session.name for session in sessions}
    lines = []
    for worker in workers:
        known = worker.identity
        drains = "draining" if worker.is_draining else ""
        about = [part for part in (known.version and f"quorum {known.version}", known.folder, drains) if part]
        runs = [" ".join(filter(None, (each, names.get(each)))) for each in worker.sessions]
        place = f" ({', '.join(about)})" if about else ""
        told = f"{known.name}{place}: {', '.join(runs) or 'idle'}"
        lines.append(make_printable(mask(told), newlines=False))
    return lines


def _choose_id_length(sessions: Sequence[FleetSession]) -> int | None:
    """How many letters tell the ids apart, in whole groups of them; None: all are needed."""
    for length in _ID_LENGTHS:
        if len({session.session_id[:length] for session in sessions}) == len(sessions):
            return length
    return None


def encode_session(session: FleetSession, mask: Callable[[str], str]) -> JsonObject:
    """A session for scripts."""
    return {
        "session": session.session_id,
        "name": mask(session.name),
        "cwd": mask(session.cwd),
        "state": session.state.value,
        "status": session.advance.status,
        "error": mask(session.advance.error),
        "attempts": session.attempts,
        "kills": session.kills,
        "losses": session.losses,
        "priority": session.priority,
        "parked_until_ms": session.parked_until_ms,
        "worker": session.worker,
        "submitted_by": session.submitted_by,
        "submitted_ms": session.submitted_ms,
        "updated_ms": session.updated_ms,
    }


def encode_result(
    session: FleetSession, records: Sequence[LedgerRecord], mask: Callable[[str], str]
) -> JsonObject:
    """How the last turn of a session ended, as its record says."""
    head: JsonObject = {
        "name": mask(session.name),
        "state": session.state.value,
        "error": mask(session.advance.error),
    }
    if (report := find_last_report(records)) is None:
        return {
            **head,
            "session_id": session.session_id,
            "status": session.advance.status or "failed",
            "last_call": _describe_last_call(records, mask),
        }
    # A report has an error of its own where the turn failed.
    return {**head, **report.to_json()}


def _describe_last_call(records: Sequence[LedgerRecord], mask: Callable[[str], str]) -> JsonValue:
    """What a session began to run last; None where it ran nothing."""
    begun = [record.event for record in records if isinstance(record.event, CallStarted)]
    return {"tool": begun[-1].tool, "arguments": mask(json.dumps(begun[-1].arguments))} if begun else None


_SOON_MS = 12 * 3_600_000


def _describe_state(session: FleetSession, now_ms: int) -> str:
    if session.is_set_aside:
        return "set aside"
    if session.parked_until_ms is not None:
        until = datetime.fromtimestamp(session.parked_until_ms / 1000, UTC)
        is_soon = session.parked_until_ms - now_ms < _SOON_MS
        return f"{session.state} until {until:{'%H:%M:%S' if is_soon else '%Y-%m-%d %H:%M'}} UTC"
    if session.state is FleetState.ENDED and session.advance.status:
        return session.advance.status.replace("_", " ")
    return session.state.value


def _describe(session: FleetSession) -> str:
    name = session.name or session.prompt or session.cwd
    return f"{name}: {session.advance.error}" if session.advance.error else name
