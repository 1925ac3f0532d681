"""The goal that the options of a run name, set once its session is open."""

from __future__ import annotations

from quorum.application.session.agent_session import AgentSession
from quorum.command_line.options import PromptOptions
from quorum.domain.errors import GoalRefused
from quorum.domain.goal import TypedGoal, read_commands
from quorum.errors import UsageError

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
