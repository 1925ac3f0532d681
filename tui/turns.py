"""The prompts of a session: one turn runs, the others wait, and any of it can be stopped or taken back."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from domain.report import RunReport
    from tui.agent import Agent

_TAKEN_UP_AGAIN = frozenset({"failed", "interrupted"})


class Turns:
    """Runs what is submitted, one turn after the other. `on_change` is called whenever that state changes,
    `on_end` with a turn's seconds, `give_back` with what waited when a turn was interrupted.
    """

    def __init__(
        self,
        *,
        on_change: Callable[[], object],
        on_end: Callable[[float], object],
        give_back: Callable[[str], object],
    ) -> None:
        self.interrupting = False
        self._waiting: deque[str | None] = deque()  # None: go on with the turn before
        self._ending = ""
        self._task: asyncio.Task[RunReport] | None = None
        self._started = 0.0
        self._arrived = asyncio.Event()
        self._on_change = on_change
        self._on_end = on_end
        self._give_back = give_back

    @property
    def running(self) -> bool:
        """Whether a turn runs."""
        return self._task is not None

    @property
    def waiting(self) -> int:
        """How many prompts wait for their turn."""
        return len(self._waiting)

    @property
    def elapsed(self) -> float:
        """Seconds since the running turn began."""
        return time.monotonic() - self._started if self.running else 0.0

    def submit(self, prompt: str) -> None:
        """Put a prompt in line."""
        self._waiting.append(prompt)
        self._arrived.set()
        self._on_change()

    @property
    def can_go_on(self) -> bool:
        """Whether the last turn stopped before its end, so that it can be taken up again."""
        return not self.running and self._ending in _TAKEN_UP_AGAIN

    def go_on(self) -> str:
        """Take up the last turn where it stopped; else answer why that cannot be."""
        if self.running or self._waiting:
            return "a turn is running; esc stops it"
        if not self.can_go_on:
            return "the last turn came to its end" if self._ending else "there is no turn to take up yet"
        self._waiting.append(None)
        self._arrived.set()
        return ""

    def take_back(self) -> str | None:
        """Remove and return the prompt that came last, or None where none waits."""
        if not self._waiting or self._waiting[-1] is None:
            return None
        prompt = self._waiting.pop()
        self._on_change()
        return prompt

    def interrupt(self) -> bool:
        """Stop the running turn; False where none runs. It ends when the agent has put its things away."""
        if self._task is None:
            return False
        self.mark_interrupting()
        self._task.cancel()
        return True

    def mark_interrupting(self) -> None:
        """The running turn has been told to stop, here or by an answer of the person."""
        self.interrupting = self.running
        self._on_change()

    async def serve(self, agent: Agent) -> None:
        """Run what is submitted, for ever."""
        while True:
            while not self._waiting:
                self._arrived.clear()
                await self._arrived.wait()
            report = await self._run(agent, self._waiting.popleft())
            if report is None or report.status.value == "interrupted":
                self._return_waiting()

    async def close(self, patience: float) -> None:
        """Stop the running turn and wait for its end, at most `patience` seconds. Nothing runs after it."""
        self._waiting.clear()
        if (task := self._task) is not None:
            self.interrupt()
            await asyncio.wait({task}, timeout=patience)

    async def _run(self, agent: Agent, prompt: str | None) -> RunReport | None:
        """One turn. None when it was cancelled before the agent took it up."""
        turn = agent.go_on() if prompt is None else agent.execute(prompt)
        task = self._task = asyncio.create_task(turn, name="turn")
        self._started = time.monotonic()
        self._on_change()
        try:
            await asyncio.wait({task})
            if task.cancelled():
                return None
            self._ending = task.result().status.value
            return task.result()
        finally:
            task.cancel()  # a no-op after the end; otherwise this very worker is being cancelled
            self._task, self.interrupting = None, False
            self._on_change()
            self._on_end(time.monotonic() - self._started)

    def _return_waiting(self) -> None:
        """After an interruption nothing runs unasked: what waited goes back to where it can be edited."""
        if self._waiting:
            prompts = "\n".join(prompt for prompt in self._waiting if prompt is not None)
            self._waiting.clear()
            self._give_back(prompts)
