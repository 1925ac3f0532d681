"""The goal of a run without a screen: set by its options, and what is said of it at the end."""

from __future__ import annotations

from collections.abc import Iterable

from quorum.application.session.agent_session import AgentSession
from quorum.command_line.options import PromptOptions
from quorum.domain.errors import GoalRefused
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
from quorum.domain.goal import Goal, TypedGoal, read_commands
from quorum.domain.sessions.replayed_goal import ReplayedGoal
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.struct_json import struct_to_json
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.errors import UsageError


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


_NO_GOAL = "give a PROMPT: the session has no goal that is open"


def read_goal(options: PromptOptions) -> TypedGoal | None:
    """The goal that is to be set; None where none is. Raises UsageError for checks that can be none."""
    try:
        checks = read_commands(options.checks)
    except GoalRefused as problem:
        raise UsageError(str(problem)) from problem
    return None if options.goal is None else TypedGoal(options.goal, checks)


async def prepare_goal(agent: AgentSession, options: PromptOptions, prompt: str) -> None:
    """Set the goal, or give the checks to the one that the session has. Raises UsageError where that cannot be,
    and where there is neither a prompt nor anything to continue."""
    goal = read_goal(options)
    try:
        if goal is not None:
            await agent.require_goals().set_goal(goal)
        elif options.checks:
            await agent.require_goals().approve(read_commands(options.checks))
    except GoalRefused as problem:
        raise UsageError(str(problem)) from problem
    if not prompt and not options.leave_open and not has_open_goal(agent):
        raise UsageError(_NO_GOAL)


def has_open_goal(agent: AgentSession) -> bool:
    """Whether the session has a goal that is not reached."""
    goal = agent.state.goal
    return goal is not None and goal.is_open
