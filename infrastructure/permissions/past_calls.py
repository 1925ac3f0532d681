"""Where past calls come from: the sessions of a folder, and files with one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from quorum.application.ports.storage import SessionArchive
from quorum.application.ports.tools import Tool
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ConfigError
from quorum.domain.review.past_call import PastAnswer, PastCall
from quorum.domain.sessions.past_calls import CALL_EVENTS, list_past_calls
from quorum.domain.sessions.past_session import SessionSummary
from quorum.domain.sessions.session_facts import escape_surrogates


async def list_sessions_of(archive: SessionArchive, folder: str) -> tuple[SessionSummary, ...]:
    """The sessions of a folder, those of subagents too, the one used last first. Raises LedgerError."""
    spelt = escape_surrogates(folder)
    return tuple(each for each in await archive.list_sessions() if each.cwd == spelt)


async def read_past_calls(archive: SessionArchive, session_id: str, since_ms: int = 0) -> tuple[PastCall, ...]:
    """The calls of a session since then, in milliseconds since 1970. Raises LedgerError."""
    records = await archive.read(session_id, CALL_EVENTS)
    return tuple(list_past_calls(record for record in records if record.at_ms >= since_ms))


def read_call_file(path: Path, tools: Mapping[str, Tool]) -> Iterator[PastCall]:
    """Each line a call: `tool`, `arguments` and, as `answer`, what became of it. Raises ConfigError.

    A tool that is not among `tools` is of high risk.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    try:
                        yield _read_call(json.loads(line), tools)
                    except (ValueError, RecursionError) as error:
                        raise ConfigError(f"{path}:{number}: {error}") from error
    except OSError as error:
        raise ConfigError(f"{path}: it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: it is not UTF-8: {error.reason}") from error


def _read_call(given: object, tools: Mapping[str, Tool]) -> PastCall:
    if not isinstance(given, dict):
        raise ValueError('it is not a JSON object; write {"tool": …, "arguments": {…}, "answer": …}')
    name, arguments, answer = given.get("tool"), given.get("arguments"), given.get("answer")
    if not isinstance(name, str) or not name:
        raise ValueError('"tool" must be the name of a tool')
    if not isinstance(arguments, dict):
        raise ValueError('"arguments" must be an object')
    if answer not in tuple(PastAnswer):
        raise ValueError(f'"answer" must be one of {", ".join(PastAnswer)}')
    tool = tools.get(name)
    risk = RiskLevel.HIGH if tool is None else tool.definition.risk
    return PastCall(tool=name, arguments=arguments, risk=risk, answer=PastAnswer(answer))
