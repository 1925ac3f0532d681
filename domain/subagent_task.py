"""What a subagent is given to do, and with what."""

from __future__ import annotations

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.review.requested_scope import RequestedScope

_LONGEST_NAME = 60
_PART = "[Of this, the agent gave a subagent the following task, in its own words:]"


class Asker(Struct, frozen=True, kw_only=True):
    """Who asks for calls, as their reviews tell it; by default the person's own agent.

    `title` names a subagent, and `scope` is what the person asked its owner for: reviewers read it before what
    the subagent was given. `plan_task` is the task of the approved plan that it carries out, if it does.
    """

    title: str = ""
    scope: RequestedScope | None = None
    plan_task: str = ""

    def widen(self, scope: RequestedScope) -> RequestedScope:
        """What its calls are held against; `scope` is what it was given itself."""
        if self.scope is None:
            return scope
        return replace(self.scope, task=f"{self.scope.task}\n\n{_PART}\n\n{scope.task}", typed="")


class SubagentTask(Struct, frozen=True, kw_only=True):
    """A task for a subagent, which knows nothing but this and what its tools show it.

    `agent` names its definition, and is empty for the one that quorum brings; `instructions` are those of the
    definition. `tools` are the names of the tools it may have; None: those that only look. `model` is
    "provider/model", and empty where the definition says nothing of it. `plan_task` is the id of the task of
    the approved plan that this is, and empty for any other task. `is_background`: its owner works on meanwhile.
    """

    prompt: str
    agent: str = ""
    instructions: str = ""
    tools: frozenset[str] | None = None
    model: str = ""
    plan_task: str = ""
    is_background: bool = False

    @property
    def title(self) -> str:
        """Who asks, as a review names it: on one line, short."""
        if self.plan_task:
            return f"task {self.plan_task} of the plan"
        text = " ".join(self.prompt.split())
        text = text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"
        return f"task {self.agent}: {text}" if self.agent else f"task: {text}"

    def build_asker(self, scope: RequestedScope) -> Asker:
        """The subagent as the one who asks; `scope` is what the person asked its owner for."""
        return Asker(title=self.title, scope=scope, plan_task=self.plan_task)
