"""Lines for an instruction file, and `!` commands that run beside the turns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession


MARK = "!"
"""What a prompt begins with that is a command; twice, the model does not read it."""


class TypedCommand(NamedTuple):
    """What was typed. `visible_to_model`: the model reads of it."""

    command: str
    visible_to_model: bool


def parse_user_command(text: str) -> TypedCommand | None:
    """The command that a prompt is meant as, or None. It may be empty: nothing stands after the mark."""
    if not text.startswith(MARK):
        return None
    visible_to_model = not text.startswith(2 * MARK)
    return TypedCommand(text[1 if visible_to_model else 2 :].strip(), visible_to_model)


class UserCommandQueue:
    """Runs them, each at once. `on_change` is called when one begins or ends, `on_failure` with why one could
    not even be reported."""

    def __init__(self, *, on_change: Callable[[], object], on_failure: Callable[[str], object]) -> None:
        self._on_change, self._on_failure = on_change, on_failure
        self._tasks: dict[asyncio.Task[None], float] = {}

    @property
    def running(self) -> int:
        return len(self._tasks)

    @property
    def elapsed(self) -> float:
        """Seconds since the one began that was begun last."""
        return time.monotonic() - max(self._tasks.values()) if self._tasks else 0.0

    def run(self, agent: AgentSession, own: TypedCommand) -> None:
        task = asyncio.create_task(
            agent.user_commands.run(own.command, visible_to_model=own.visible_to_model), name="own command"
        )
        self._tasks[task] = time.monotonic()
        task.add_done_callback(self._finish_task)
        self._on_change()

    def interrupt(self) -> bool:
        """End the one that was begun last and has not been asked to end yet; False where there is none."""
        task = next((task for task in reversed(self._tasks) if not task.cancelling()), None)
        return task is not None and task.cancel()

    async def close(self, patience: float) -> None:
        """End all of them, waiting at most so many seconds."""
        if tasks := set(self._tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=patience)

    def _finish_task(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_failure(str(error))
        self._on_change()


MEMORY_MARK = "# "
"""What a prompt of one line begins with that is added to an instruction file. `#12` is a prompt, and so is a
Markdown text, which has more than one line."""


def parse_memory(text: str) -> str | None:
    """The line that a prompt is meant as, or None. It may be empty: nothing stands after the mark."""
    if not text.startswith(MEMORY_MARK) or len(text.splitlines()) > 1:
        return None
    return text.removeprefix(MEMORY_MARK).strip()
