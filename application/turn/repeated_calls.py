"""The same call with the same result, again and again: the model is told once, then the turn ends."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from quorum.domain.calls.tool import RiskLevel, ToolCall, ToolResultMessage
from quorum.domain.calls.tool_traits import find_traits
from quorum.domain.replacing import replace

_MOST_ALIKE = 3
# A call that waits for something is made again until its answer changes.
_MOST_ALIKE_WAITING = 20
_JOB_NOTE = (
    "[This is the same call with the same result as before. A background command still runs: to wait for it, "
    "call jobs once with action = read and wait_secs; you are told of its end without asking.]"
)
_NOTE = (
    "[This is the same call with the same result as before; repeating it changes nothing. {example}Change the "
    "arguments, use another tool, or say what is in the way. Going on like this ends the turn.]"
)
_Key: TypeAlias = tuple[str, str, str]


class RepeatedCalls:
    """Counts, within one turn, the calls that have a result they had before.

    What a risky call does may change what others answer: after a new one, counting begins anew. Only rounds in
    a row that bring nothing new end the turn, and later those of calls that can wait for something. While a
    background command of the session runs, its output and its files may change at any time: the latter calls
    end no turn then, which has its limit of rounds, and every other one that works waits as well. When the last
    one ends, counting begins anew.
    `give_example` answers a valid call of a tool, empty where there is no such tool; `get_risk` its risk.
    """

    def __init__(
        self,
        give_example: Callable[[str], str],
        get_risk: Callable[[str], RiskLevel],
        is_job_running: Callable[[], bool] = lambda: False,
    ) -> None:
        self._give_example = give_example
        self._get_risk = get_risk
        self._is_job_running = is_job_running
        self._was_job_running = False
        self._counts: Counter[_Key] = Counter()
        self._rounds = 0

    def begin_turn(self) -> None:
        self._counts.clear()
        self._rounds = 0

    def note(
        self, calls: Sequence[ToolCall], results: Sequence[ToolResultMessage]
    ) -> tuple[tuple[ToolResultMessage, ...], str]:
        """The results as the model reads them, and the tool whose call has come too often; else empty."""
        if self._was_job_running != (is_running := self._is_job_running()):
            self._was_job_running = is_running
            self.begin_turn()
        keys = [_make_key(call, result) for call, result in zip(calls, results, strict=True)]
        for key, result in zip(keys, results, strict=True):
            changes = not result.is_error and self._get_risk(result.tool_name) is RiskLevel.HIGH
            if changes and not result.is_rejected and key not in self._counts:
                self._counts.clear()
                break
        self._rounds = self._rounds + 1 if all(key in self._counts for key in keys) else 0
        self._counts.update(set(keys))
        told: list[ToolResultMessage] = []
        for key, result in zip(keys, results, strict=True):
            is_again = self._counts[key] > 1 and not result.is_rejected
            told.append(self._append_note(result) if is_again else result)
        often = [
            result.tool_name
            for key, result in zip(keys, results, strict=True)
            if not result.is_rejected
            and (most := self._find_most(result)) is not None
            and min(self._counts[key], self._rounds + 1) >= most
        ]
        return tuple(told), often[0] if often else ""

    def _find_most(self, result: ToolResultMessage) -> int | None:
        """How often a call may have this result; None: as often as it is made."""
        if result.is_error:
            return _MOST_ALIKE
        if self._can_wait(result.tool_name):
            return None if self._is_job_running() else _MOST_ALIKE_WAITING
        return _MOST_ALIKE_WAITING if self._is_job_running() else _MOST_ALIKE

    def _can_wait(self, name: str) -> bool:
        reads_server = name.startswith("mcp__") and self._get_risk(name) is RiskLevel.LOW
        return find_traits(name).can_wait or reads_server

    def _append_note(self, result: ToolResultMessage) -> ToolResultMessage:
        if self._is_job_running() and not result.is_error:
            return replace(result, output=f"{result.output}\n\n{_JOB_NOTE}")
        example = self._give_example(result.tool_name)
        shown = f"A valid call of {result.tool_name} has arguments such as {example}. " if example else ""
        return replace(result, output=f"{result.output}\n\n{_NOTE.format(example=shown)}")


def _make_key(call: ToolCall, result: ToolResultMessage) -> _Key:
    asked = json.dumps(call.arguments, sort_keys=True, default=str)
    return call.tool_name, f"{asked}{call.parse_error or ''}", result.output
