"""Past calls for rules to be replayed on: of the sessions of a folder, or of a file of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from quorum.application.ports.storage import SessionArchive, Storage
from quorum.application.ports.tools import Tool
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.errors import ConfigError
from quorum.domain.review.guards import GuardSettings
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Rule
from quorum.domain.review.rule_replay import CALL_EVENTS, PastAnswer, PastCall, RuleReplay, list_past_calls
from quorum.domain.sessions.session_facts import escape_surrogates
from quorum.domain.sessions.session_summary import SessionSummary
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.execution.shell.parsing import parse
from quorum.infrastructure.execution.shell.script import read_script


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


MOST_CALLS = 5_000


class WorkspaceHistory:
    """Implements `RuleHistory` over the sessions of a folder. A session is read again once it has more records.

    `get_tools` is asked when rules are replayed. At most `most_calls` of the newest calls are looked at.
    """

    def __init__(
        self,
        storage: Storage,
        folder: str,
        *,
        get_tools: Callable[[], Mapping[str, Tool]],
        paths: PathPolicy,
        guards: GuardSettings,
        most_calls: int = MOST_CALLS,
    ) -> None:
        self._storage = storage
        self._folder = folder
        self._get_tools = get_tools
        self._paths = paths
        self._guards = guards
        self._most_calls = most_calls
        self._read: dict[str, tuple[int, tuple[PastCall, ...]]] = {}

    async def replay(self, rules: Sequence[Rule], tried: Sequence[Rule]) -> RuleReplay:
        """What the rules in force and those that are tried would decide. Raises LedgerError."""
        from quorum.application.review.rule_replay import RuleReplayer

        sessions = await self._load()
        replayer = RuleReplayer(
            tools=self._get_tools(),
            rules=rules,
            tried=tried,
            paths=self._paths,
            guards=self._guards,
            read_command=parse,
            read_script=read_script,
        )
        calls = [call for session in sessions for call in reversed(session)]

        def run(stop: Stop) -> RuleReplay:
            for call in calls[: self._most_calls]:
                stop.check()
                replayer.add(call)
            is_cut = len(calls) >= self._most_calls
            return replayer.conclude(sessions=len(sessions), newest=self._most_calls if is_cut else None)

        return await run_in_thread(run)

    async def _load(self) -> list[tuple[PastCall, ...]]:
        """The calls by session, the one used last first, up to the first that is too many."""

        found: list[tuple[PastCall, ...]] = []
        count, archive = 0, self._storage.archive
        for session in await list_sessions_of(archive, self._folder):
            if count >= self._most_calls:
                break
            records, calls = self._read.get(session.id, (-1, ()))
            if records != session.records:
                calls = await read_past_calls(archive, session.id)
                self._read[session.id] = session.records, calls[-self._most_calls :]
            found.append(calls)
            count += len(calls)
        return found
