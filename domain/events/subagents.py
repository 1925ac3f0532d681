"""What happens while a subagent works on a task that a call gave it."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.events.subagent_outcome import SubagentOutcome
from quorum.domain.fact import CallStage, Fact
from quorum.domain.text.json_value import JsonObject


class SubagentStarted(Fact, frozen=True, kw_only=True, tag="subagent_started"):
    """A call gave a task to a subagent, whose session has the id `subagent_id`. `agent` names its definition,
    and is empty for the one that quorum brings; `model` is "provider/model"."""

    place: ClassVar = CallStage.SUBAGENT_START
    context: ToolExecutionContext
    subagent_id: str
    prompt: str
    model: str
    agent: str = ""


class SubagentProgressed(Fact, frozen=True, kw_only=True, tag="subagent_progressed"):
    """Something happened in the session of a subagent: `event` is that, as JSON.

    A stream has it in the form of a line of its own.
    """

    durable: ClassVar = False
    context: ToolExecutionContext
    subagent_id: str
    event: JsonObject


class SubagentFinished(Fact, frozen=True, kw_only=True, tag="subagent_finished"):
    """A subagent came to the end of its task, whatever that is. It is not asked again, in this process or
    another."""

    place: ClassVar = CallStage.SUBAGENT_END
    context: ToolExecutionContext
    subagent_id: str
    outcome: SubagentOutcome


SubagentEvent: TypeAlias = SubagentStarted | SubagentProgressed | SubagentFinished
