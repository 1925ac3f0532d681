"""`quorum permissions replay`: what permission rules would have decided about past calls."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.application.review.rule_replay import RuleReplayer
from quorum.domain.review.permission_rules import Answer, BadRule, Rule
from quorum.domain.review.rule_replay import RuleReplay
from quorum.domain.sessions.session_summary import SessionSummary
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable
from quorum.errors import UsageError, complain, show_progress
from quorum.infrastructure.execution.shell.parsing import parse
from quorum.infrastructure.execution.shell.script import read_script
from quorum.infrastructure.permissions.in_force import list_sessions_of, read_call_file, read_past_calls
from quorum.infrastructure.storage import open_storage

if TYPE_CHECKING:
    from quorum.infrastructure.composition.session import SessionParts

_DAY_MS = 24 * 3600 * 1000
_STEP = 500
_LONGEST_EXAMPLE = 110


def replay_rules(
    root: Path,
    parts: SessionParts,
    *,
    tried: Sequence[str],
    since: str | None,
    file: Path | None,
    as_json: bool,
) -> int:
    """Replay the rules and print what came of it; always 0.

    Raises UsageError for what is not a rule or a date, ConfigError and LedgerError for what cannot be read.
    """
    replayer = RuleReplayer(
        tools=parts.calls.tools,
        rules=parts.shared.rules.book.rules,
        tried=[_parse_rule(text) for text in tried],
        paths=parts.shared.paths,
        guards=parts.shared.rules.guards,
        read_command=parse,
        read_script=read_script,
    )
    since_ms = _parse_since(since)
    if file is not None:
        for number, call in enumerate(read_call_file(root / file, parts.calls.tools)):
            _show_step(number, "")
            replayer.add(call)
        sessions = 0
    else:
        sessions = asyncio.run(_replay_sessions(replayer, root, parts, since_ms))
    show_progress("")
    replay = replayer.conclude(sessions=sessions)
    if as_json:
        print(json.dumps(_encode(replay), indent=1))
    else:
        print("\n".join(_render(replay, tried=bool(tried))))
    return 0


async def _replay_sessions(replayer: RuleReplayer, root: Path, parts: SessionParts, since_ms: int) -> int:
    storage = open_storage(parts.given.settings.storage, os.environ)
    complain(storage.notices)
    try:
        listed = [
            each for each in await list_sessions_of(storage.archive, str(root)) if each.updated_ms >= since_ms
        ]
        done = 0
        for place, session in enumerate(listed, start=1):
            where = _describe_place(place, listed, session)
            show_progress(where)
            for call in await read_past_calls(storage.archive, session.id, since_ms):
                replayer.add(call)
                _show_step(done, where)
                done += 1
        return len(listed)
    finally:
        storage.close()


def _describe_place(place: int, listed: Sequence[SessionSummary], session: SessionSummary) -> str:
    return f"session {place:,} of {len(listed):,}, {session.records:,} records"


def _parse_rule(text: str) -> Rule:
    answer, _, rest = text.strip().partition(" ")
    known = answer in tuple(Answer) and rest.strip()
    try:
        return Rule.parse(rest if known else text, Answer(answer) if known else Answer.ALLOW, "tried")
    except BadRule as problem:
        raise UsageError(f"--rule {text}: this is not a rule: {problem}") from problem


def _parse_since(text: str | None) -> int:
    """Milliseconds since 1970 of a date, or of so many days ago; 0 without one."""
    if text is None:
        return 0
    if text.isdecimal() and len(text) < 6:
        return int(datetime.now().timestamp() * 1000) - int(text) * _DAY_MS
    try:
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"--since {text}: write a date, such as 2026-01-31, or a number of days, such as 30"
        ) from error


def _render(replay: RuleReplay, *, tried: bool) -> Iterator[str]:
    where = f" of {format_amount(replay.sessions, 'session')}" if replay.sessions else ""
    about = ", of which the tried rules speak of these" if tried else ""
    yield f"{format_amount(replay.calls, 'past call')}{where}{about}:"
    if not replay.groups:
        yield "  none"
    for group in replay.groups:
        yield f"{'! ' if group.loosens else '  '}{group.sentence}"
        for example in group.examples:
            line = make_printable(example, newlines=False)
            yield f"      {line[:_LONGEST_EXAMPLE]}{'…' if len(line) > _LONGEST_EXAMPLE else ''}"
    yield "What commands read is judged by their words; what no rule allows counts as asked about."


def _encode(replay: RuleReplay) -> JsonObject:
    return {
        "type": "quorum_rule_replay",
        "v": 1,
        "calls": replay.calls,
        "sessions": replay.sessions,
        "groups": [
            {
                "now": group.now,
                "then": group.then,
                "loosens": group.loosens,
                "calls": group.calls,
                "examples": list(group.examples),
            }
            for group in replay.groups
        ],
    }


def _show_step(number: int, where: str) -> None:
    if number % _STEP == 0 and number:
        show_progress(f"{where}{': ' if where else ''}{number:,} calls")
