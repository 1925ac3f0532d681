"""What a run without a screen says of its goal, and of tests that ran before the last edit."""

from __future__ import annotations

from collections.abc import Iterable

from quorum.domain.events.event import (
    ChecksApproved,
    Event,
    GoalChecked,
    GoalDropped,
    GoalReceiptOutdated,
    GoalSet,
    OutdatedTestsClaimed,
    TurnStarted,
)
from quorum.domain.goal import Goal
from quorum.domain.sessions.replayed_goal import ReplayedGoal
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.struct_json import struct_to_json
from quorum.domain.text.json_value import JsonObject, JsonValue


class GoalReport:
    """Follows the events of a session. It stays empty unless a goal is set, or an answer spoke of tests that
    ran before the last edit."""

    def __init__(self) -> None:
        self._replayed = ReplayedGoal()
        self._claim: OutdatedTestsClaimed | None = None

    def follow_past(self, records: Iterable[LedgerRecord]) -> None:
        """Take in what the session did before."""
        for record in records:
            if record.event is not None:
                self.follow(record.event)

    def follow(self, event: Event) -> None:
        """Take an event in."""
        match event:
            case GoalSet() | ChecksApproved() | GoalChecked() | GoalReceiptOutdated() | GoalDropped():
                self._replayed.apply(event)
            case TurnStarted():
                self._claim = None
            case OutdatedTestsClaimed():
                self._claim = event
            case _:
                return

    def to_json(self) -> JsonObject:
        """`goal`, and `outdated_tests`; empty as above."""
        told: dict[str, JsonValue] = {}
        if (goal := self._replayed.goal) is not None:
            told["goal"] = _encode_goal(goal)
        if (claim := self._claim) is not None:
            told["outdated_tests"] = {
                "command": claim.command,
                "exit_code": claim.exit_code,
                "files": claim.files,
            }
        return told


def _encode_goal(goal: Goal) -> JsonObject:
    return {
        "text": goal.text,
        "reached": not goal.is_open,
        "stale": goal.is_outdated,
        "attempts": goal.attempts,
        "checks": [check.command for check in goal.checks],
        "receipt": None if goal.receipt is None else struct_to_json(goal.receipt),
        "changed_since": goal.outdated_by,
    }
