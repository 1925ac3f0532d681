"""task: a subagent does a part of the work in a conversation of its own, and reports.

Other tools that have a subagent work take from here how long its report is, and what a stop by the person is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from quorum.application.background_jobs import BackgroundJobs
from quorum.application.calls.approval import Interrupted, Withheld
from quorum.application.ports.subagents import SubagentStopped
from quorum.domain.calls.access import Access
from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.calls.tool import RiskLevel, ToolDefinition, ToolParameter
from quorum.domain.calls.tool_traits import ToolTraits
from quorum.domain.errors import ToolError
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.subagent_task import SubagentTask
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.tools.builtin.parts import require_flag, require_text

if TYPE_CHECKING:
    from quorum.infrastructure.tools.builtin.parts import ToolParts, Workers


INLINE_BYTES = 16_000
"""A report stays in the conversation whole up to this length: it is what remains of a whole conversation."""
SUMMARY_BYTES = 8_000


@contextmanager
def end_turn_when_stopped() -> Iterator[None]:
    """Raises Interrupted where the person stopped the turn from a question about a call of the subagent."""
    try:
        yield
    except SubagentStopped as stop:
        raise Interrupted(Withheld(DecisionLabel.REJECTED, f"{stop}. [user_rejected]")) from stop


NAME = "task"

TRAITS = ToolTraits(
    verb="task",
    telling=("prompt",),
    wording={"agent": "by {}", "background": "in the background"},
    kind="think",
    is_conditional=True,
    is_owners=True,
)


def build(parts: ToolParts) -> Task | None:
    """The tool; none for a subagent, whose calls its owner reviews."""
    return Task(parts.get_workers, parts.jobs) if not parts.is_owned else None


class Task:
    """Gives a task to a subagent and waits for its last message. Low risk: each call in it is judged by itself.

    `get_workers` answers who runs them and who knows the agents, once the session is complete.
    """

    def __init__(self, get_workers: Callable[[], Workers], jobs: BackgroundJobs) -> None:
        self._jobs = jobs
        self._get_workers = get_workers
        self.definition = ToolDefinition(
            name=NAME,
            description=(
                "Give a part of your work to a subagent, which knows only your prompt, reads and searches by "
                "itself, and answers with one report. Its tools only look, unless the system prompt lists an "
                "agent that has others. Use it where finding something out takes many calls whose outputs you "
                "do not need. Several tasks in one answer run at the same time."
            ),
            parameters=(
                ToolParameter(
                    name="prompt",
                    type="string",
                    description="The whole task: what to find out or do, where, what you know already, and "
                    "what to report.",
                    required=True,
                ),
                ToolParameter(
                    name="agent",
                    type="string",
                    description="Its name in the system prompt; by default one whose tools only look.",
                ),
                ToolParameter(
                    name="background",
                    type="boolean",
                    description="Do not wait for it: you get the id of a job, and its report comes later.",
                ),
            ),
            risk=RiskLevel.LOW,
            access=lambda _arguments: Access(),
            inline_bytes=INLINE_BYTES,
            summary_bytes=SUMMARY_BYTES,
        )

    async def execute(self, arguments: JsonObject, context: ToolExecutionContext) -> str:
        """The last message of the subagent. Raises ToolError where there is none to use, and Interrupted where
        the person stopped the turn from a question about it."""
        prompt = require_text(arguments, "prompt").strip()
        if not prompt:
            raise ToolError("prompt is empty; say what the subagent is to do")
        workers = self._get_workers()
        task = await workers.tasks.build(prompt, require_text(arguments, "agent", "").strip())
        if require_flag(arguments, "background"):
            return await self._start(task, context)
        with end_turn_when_stopped():
            outcome = await workers.subagents.run(task, context)
        if not outcome.is_answer:
            raise ToolError(outcome.message)
        return outcome.message

    async def _start(self, task: SubagentTask, context: ToolExecutionContext) -> str:
        """Have it work in the background; what the model reads of that. Raises ToolError without room."""
        self._jobs.require_room()
        subagent_id, subagent = await self._get_workers().subagents.start(task, context)
        job_id = await self._jobs.adopt(subagent, text=task.title, context=context, subagent_id=subagent_id)
        return (
            f"{job_id} works on it in the background. Its report comes with later results or the next prompt; "
            "the tool jobs, if you have it, waits for it with action = read and wait_secs. Do not do its task "
            "yourself meanwhile."
        )
