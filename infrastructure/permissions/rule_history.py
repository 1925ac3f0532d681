"""The past calls of a workspace, kept in memory as permission rules are replayed on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from quorum.application.ports.storage import Storage
from quorum.application.ports.tools import Tool
from quorum.domain.review.guards import GuardSettings
from quorum.domain.review.past_call import PastCall
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permissions import Rule
from quorum.domain.review.rule_replay import RuleReplay
from quorum.infrastructure.blocking import Stop, run_in_thread
from quorum.infrastructure.execution.shell.parsing import parse
from quorum.infrastructure.execution.shell.script import read_script

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
        from quorum.infrastructure.permissions.past_calls import list_sessions_of, read_past_calls

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
