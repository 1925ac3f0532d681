"""The prompts of a session: one turn runs, the others wait, and any of it can be stopped or taken back."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession
    from quorum.domain.events.report import RunReport


_WORKING = "working"
_CUT_SHORT = frozenset({"failed", "limit"})
_TAKEN_UP_AGAIN = _CUT_SHORT | {"interrupted"}


class QueuedTask(NamedTuple):
    """Something else that an agent is asked to do in a turn's place; `does` says it in a word or two.

    It answers with the report of a turn, or with None where it was none. `over` is set once it has ended, or
    will not be done.
    """

    does: str
    run: Callable[[AgentSession], Coroutine[object, object, RunReport | None]]
    over: asyncio.Event | None = None


class Turns:
    """Runs what is submitted, one turn after the other. `on_change` is called whenever that state changes,
    `on_end` with a turn's seconds, `on_failure` with why one could not even be recorded, `give_back` with what
    waited when a turn was interrupted.
    """

    def __init__(
        self,
        *,
        on_change: Callable[[], object],
        on_end: Callable[[float], object],
        on_failure: Callable[[str], object],
        give_back: Callable[[str], object],
    ) -> None:
        self.interrupting = False
        self.does = ""
        self.own = UserCommandQueue(on_change=on_change, on_failure=on_failure)
        self._waiting: deque[str | QueuedTask] = deque()
        self._typed: list[str] = []
        self._returned: tuple[str, ...] = ()
        self._ending = ""
        self._agent: AgentSession | None = None
        self._task: asyncio.Task[RunReport | None] | None = None
        self._started = 0.0
        self._arrived = asyncio.Event()
        self._held = False
        self._on_change = on_change
        self._on_end = on_end
        self._on_failure = on_failure
        self._give_back = give_back

    @property
    def running(self) -> bool:
        return self._task is not None

    @property
    def was_turn(self) -> bool:
        """Whether what runs, or ran last, is a turn and no other task."""
        return self.does == _WORKING

    @property
    def waiting(self) -> int:
        """How many prompts wait for their turn."""
        return len(self._waiting)

    @property
    def prompts(self) -> tuple[str, ...]:
        return tuple(work for work in self._waiting if isinstance(work, str))

    def list_prompts(self) -> list[tuple[str, bool]]:
        """The same, each with whether the person typed it by hand."""
        return [(prompt, prompt in self._typed) for prompt in self.prompts]

    @property
    def undelivered(self) -> tuple[str, ...]:
        """What goes into the running turn with its next request, oldest first."""
        return self._agent.run.undelivered if self._agent is not None and self.running else ()

    @property
    def elapsed(self) -> float:
        """Seconds since the running turn began."""
        return time.monotonic() - self._started if self.running else 0.0

    def submit(self, work: str | QueuedTask, *, is_typed: bool = False) -> None:
        """Put a prompt or a task in line; `is_typed`: the person typed the prompt by hand."""
        self._waiting.append(work)
        if is_typed and isinstance(work, str):
            self._typed.append(work)
        if isinstance(work, str):  # what had come back to be edited is in it, or is given up
            had_returned, self._returned = bool(self._returned), ()
            if self.running or had_returned or len(self.prompts) > 1:  # else its turn begins at once
                self._keep()
        self._arrived.set()
        self._on_change()

    @property
    def busy(self) -> str:
        """Why nothing else can be done with the session just now; empty where it can."""
        if self.running or self._waiting:
            return "a turn is running; esc stops it"
        return "a command of yours is running; esc ends it" if self.own.running else ""

    @property
    def can_retry(self) -> bool:
        """Whether the last turn stopped before its end, so that it can be resumed."""
        return not self.running and self._ending in _TAKEN_UP_AGAIN

    @property
    def does_enter_continue(self) -> bool:
        """Whether the last turn failed or stopped at a limit, which nobody asked for; nothing runs since."""
        return not self.running and self._ending in _CUT_SHORT

    def retry(self) -> str:
        """Resume the last turn where it stopped; else answer why that cannot be."""
        if self.running or self._waiting:
            return self.busy
        if not self.can_retry:
            return "the last turn ended normally" if self._ending else "there is no turn to continue yet"
        self.submit(QueuedTask(_WORKING, lambda agent: agent.run.retry()))
        return ""

    def take_back(self) -> str | None:
        """Remove and return what was said into the turn last, or else the prompt that came last; None where
        nothing waits."""
        if self._agent is not None and self.undelivered:
            if (undelivered := self._agent.run.take_back()) is not None:
                self.note_returned(undelivered)
            self._on_change()
            return undelivered
        if not self._waiting or isinstance(prompt := self._waiting[-1], QueuedTask):
            return None
        self._waiting.pop()
        self.note_returned(prompt)
        self._on_change()
        return prompt

    def note_returned(self, prompt: str) -> None:
        """This came back to be edited, and comes back again after a resume if nothing else was sent before."""
        self._typed.clear()
        self._returned = (prompt, *self._returned)

    def forget_returned(self, prompt: str) -> None:
        """A redo has this prompt, if it came back to be edited, be part of the conversation again."""
        if prompt in self._returned:
            place = self._returned.index(prompt)
            self._returned = (*self._returned[:place], *self._returned[place + 1 :])
            self._keep()

    def _keep(self) -> None:
        """Record the messages that wait."""
        if self._agent is not None and not self._agent.record.in_use:
            self._agent.run.queue([*self.prompts, *self._returned])

    def steer(self, text: str = "") -> str:
        """Have the running turn's next request carry this, or else the prompt that waits last; else answer why
        that cannot be."""
        if self._agent is None or self._task is None or self.does != _WORKING or self.interrupting:
            return "no turn is running to send this into"
        if not text:
            if not self._waiting or isinstance(last := self._waiting[-1], QueuedTask):
                return "no queued prompt to send into the turn"
            if _may_be_command(last):
                return "a slash command waits for its own turn"
            self._waiting.pop()
            text = last
        else:
            self._returned = ()
        self._agent.run.steer(text)
        self._keep()
        self._on_change()
        return ""

    def queue_last_message(self) -> bool:
        """Put what was said into the running turn last in line instead; whether that was still possible."""
        if not self.undelivered or self._agent is None or (text := self._agent.run.take_back()) is None:
            return False
        self.submit(text)
        return True

    def interrupt(self) -> bool:
        """End the `!` command that was begun last, or else stop the running turn, or else have the prompts back
        whose turn has not begun; False where there is none of these. A turn ends when the agent has put its
        things away."""
        return self.own.interrupt() or self._interrupt_turn() or self._return_prompts()

    def _interrupt_turn(self) -> bool:
        if self._task is None:
            return False
        self.mark_interrupting()
        self._task.cancel()
        return True

    def _return_prompts(self) -> bool:
        if not self.prompts:
            return False
        self.return_waiting()
        return True

    def mark_interrupting(self) -> None:
        """The running turn has been asked to stop, here or by an answer of the person."""
        self.interrupting = self.running
        self._on_change()

    async def serve(self, agent: AgentSession) -> None:
        """Run what is submitted, for ever; first of all what the agent has pending.

        What a process before this one had not sent yet comes back to be edited.
        """
        self._held, last, self._agent = False, self._agent, agent
        if agent is not last:
            self._returned = ()
            self._return_unsent(agent)
        if agent.run.has_pending:
            self._waiting.appendleft(QueuedTask(_WORKING, lambda agent: agent.run.resume_pending()))
        while True:
            while self._held or not self._waiting:
                self._arrived.clear()
                await self._arrived.wait()
            cut = await self._carry_out(agent, self._waiting.popleft())
            self._collect_undelivered(agent)
            if cut:
                self.return_waiting()

    def _return_unsent(self, agent: AgentSession) -> None:
        here = self.prompts  # what was carried over from the app before this one
        unsent = tuple(prompt for prompt in agent.run.unsent if prompt not in here)
        if not agent.record.in_use and unsent:
            self._returned = unsent
            self._give_back("\n".join(unsent))
        if len(self.prompts) + bool(self._returned or agent.run.has_pending) > 1:  # one alone begins at once
            self._keep()

    def _collect_undelivered(self, agent: AgentSession) -> None:
        """What no request of the turn could carry any more is the next prompt."""
        undelivered: list[str] = []
        while (word := agent.run.take_back()) is not None:
            undelivered.insert(0, word)
        if undelivered:
            self._waiting.appendleft("\n\n".join(undelivered))
            self._keep()
            self._on_change()

    def hold(self) -> None:
        """Begin nothing more for this agent; what is submitted waits for the next to be served."""
        self._held = True

    def release(self) -> None:
        """What `hold` has kept from beginning begins."""
        self._held = False
        self._arrived.set()

    def begin_after(self, ending: str) -> None:
        """Another conversation stands, whose last turn ended so; empty: it has none to resume."""
        self._ending = ending

    async def perform(self, task: QueuedTask) -> bool:
        """Put a task in line and wait for its end; False where it was taken out of it before it began."""
        over, has_begun = asyncio.Event(), False

        async def run(agent: AgentSession) -> RunReport | None:
            nonlocal has_begun
            has_begun = True
            return await task.run(agent)

        self.submit(QueuedTask(task.does, run, over))
        await over.wait()
        return has_begun

    async def close(self, patience: float) -> None:
        """Stop the running turn and wait for its end, at most `patience` seconds. Nothing runs after it."""
        self._clear_waiting()
        await self.own.close(patience)
        if (task := self._task) is not None:
            self._interrupt_turn()
            await asyncio.wait({task}, timeout=patience)

    async def _carry_out(self, agent: AgentSession, work: str | QueuedTask) -> bool:
        """Carry one piece of work to its end; whether that was before its time."""
        self.does = _WORKING if isinstance(work, str) else work.does
        if asks_first := isinstance(work, str) and _may_be_command(work) and not agent.record.in_use:
            agent.run.queue([work, *self.prompts, *self._returned])  # its turn may begin only after a question
        turn = self._execute(agent, work) if isinstance(work, str) else work.run(agent)
        task = self._task = asyncio.create_task(turn, name="turn")
        self._started = time.monotonic()
        self._on_change()
        try:
            await asyncio.wait({task})
            if task.cancelled() and isinstance(work, str):  # its turn has not begun: it goes back
                self._waiting.appendleft(work)
            if asks_first or task.cancelled():
                self._keep()
            return self._note_ending(task)
        finally:
            task.cancel()  # a no-op after the end; otherwise this very worker is being cancelled
            self._task, self.interrupting = None, False
            _tell_over(work)
            self._on_change()
            self._on_end(time.monotonic() - self._started)

    def _execute(self, agent: AgentSession, prompt: str) -> Coroutine[None, None, RunReport]:
        if is_typed := prompt in self._typed:
            self._typed.remove(prompt)
        return agent.run.execute(prompt, is_typed=is_typed)

    def _note_ending(self, task: asyncio.Task[RunReport | None]) -> bool:
        """Note how the work ended; whether that was before its time."""
        from quorum.domain.errors import QuorumError, explain_unforeseen

        if task.cancelled():  # before the agent took it up, or in a task that is no turn
            return True
        if (error := task.exception()) is not None:
            self._ending = "failed"
            self._on_failure(str(error) if isinstance(error, QuorumError) else explain_unforeseen(error))
            return True
        if (report := task.result()) is None:
            return False
        self._ending = report.status.value
        return self._ending == "interrupted"

    def return_waiting(self) -> None:
        """Nothing runs unasked after an interruption: what waits goes back to where it can be edited."""
        if self._waiting:
            prompts = "\n".join(self.prompts)
            self._returned = (*self.prompts, *self._returned)
            self._clear_waiting()
            self._typed.clear()
            self._on_change()
            if prompts:
                self._give_back(prompts)

    def _clear_waiting(self) -> None:
        for work in self._waiting:
            _tell_over(work)
        self._waiting.clear()


def _tell_over(work: str | QueuedTask) -> None:
    if isinstance(work, QueuedTask) and work.over is not None:
        work.over.set()


def _may_be_command(prompt: str) -> bool:
    """Whether a prompt in line may be a custom command: its first word says so, on however many lines."""
    return prompt.startswith("/") and "/" not in prompt.split(maxsplit=1)[0][1:]


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
