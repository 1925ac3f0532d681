"""What happens while a subagent works on a task that a call gave it."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from domain.calls.execution import ToolExecutionContext
from domain.events.subagent_outcome import SubagentOutcome
from domain.lazy_dataclass import dataclass
from domain.text.json_value import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentStarted:
    """A call gave a task to a subagent, whose session has the id `subagent_id`. `agent` names its definition,
    and is empty for the one that quorum brings; `model` is "provider/model"."""

    type: ClassVar = "subagent_started"
    durable: ClassVar = True
    context: ToolExecutionContext
    subagent_id: str
    prompt: str
    model: str
    agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentProgressed:
    """Something happened in the session of a subagent: `event` is that, as JSON.

    A stream has it in the form of a line of its own.
    """

    type: ClassVar = "subagent_progressed"
    durable: ClassVar = False
    context: ToolExecutionContext
    subagent_id: str
    event: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentFinished:
    """A subagent came to the end of its task, whatever that is. It is not asked again, in this process or
    another."""

    type: ClassVar = "subagent_finished"
    durable: ClassVar = True
    context: ToolExecutionContext
    subagent_id: str
    outcome: SubagentOutcome


SubagentEvent: TypeAlias = SubagentStarted | SubagentProgressed | SubagentFinished
