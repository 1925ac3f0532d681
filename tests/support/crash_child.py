"""The process that is killed: a zygote that has everything imported, and forks one session after the other.

Reads one JSON object a line from its standard input; answers with the process id of the fork, with "began" as
soon as its session is recorded, and with its exit status once it is over.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from quorum.application.ports.people import PersonAnswer, Question, ReviewQuestion
from quorum.application.session.agent_session import AgentSession
from quorum.domain.conversation.history import UserMessage
from quorum.domain.events.event import (
    BatchPlanned,
    CallStarted,
    Event,
    MessageAdded,
    PromptsQueued,
    ReviewRequested,
    UserCommandFinished,
    UserCommandStarted,
)
from quorum.domain.review.questions import Approve

FINISHED = 7


class Acknowledged:
    """Writes down each durable event as soon as the run knows that it is recorded."""

    def __init__(self, file: Path, beside: Callable[[Event], None]) -> None:
        self._fd = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._has_begun = False
        self._beside = beside

    def notify(self, event: Event) -> None:
        if event.durable:
            self.write(line_of(event))
        self._beside(event)

    def write(self, line: str) -> None:
        os.write(self._fd, f"{line}\n".encode())
        if not self._has_begun:
            self._has_begun = True
            os.write(1, b"began\n")


def line_of(event: Event) -> str:
    """What is written down of an event: its type, and which word or command of the person's it is about."""
    about = ""
    if isinstance(event, UserCommandStarted | UserCommandFinished):
        about = event.command_id
    elif isinstance(event, PromptsQueued):
        about = ", ".join(event.prompts)
    elif isinstance(event, MessageAdded) and isinstance(event.message, UserMessage):
        about = event.command_id or (event.message.text if event.steers else "")
    return f"event {event.type} {about}"


class HastyPerson:
    """Approves everything, after a moment; beside that runs commands, and says things into the turn."""

    is_there = True

    def __init__(self, file: Path, chance: random.Random) -> None:
        self.acknowledged = Acknowledged(file, self._meddle)
        self.agent: AgentSession | None = None
        self._chance = chance
        self._commands: set[asyncio.Task[None]] = set()

    async def ask(self, question: Question) -> PersonAnswer:
        if not isinstance(question, ReviewQuestion):
            return False
        digest = question.request.packet.digest
        self.acknowledged.write(f"asked {digest}")
        await asyncio.sleep(self._chance.random() * 0.02)
        return Approve(digest)

    def run_command(self) -> None:
        """One with an effect of its own, short or long, declared or not."""
        assert self.agent is not None
        token = uuid4()
        more = self._chance.choice(["", "; sleep 0.05", "; seq 4000", "; exit 3"])
        running = self.agent.user_commands.run(
            f"echo {token} >> own.log{more}", visible_to_model=self._chance.random() < 0.8
        )
        self._commands.add(task := asyncio.create_task(running))
        if self._chance.random() < 0.1:
            asyncio.get_running_loop().call_later(self._chance.random() * 0.05, task.cancel)

    def _meddle(self, event: Event) -> None:
        if self.agent is None or not isinstance(event, BatchPlanned | CallStarted | ReviewRequested):
            return
        if self._chance.random() < 0.2:
            self.agent.run.steer(f"steer {uuid4()}")
        if self._chance.random() < 0.2:
            self.agent.run.queue(
                [*self.agent.run.unsent[len(self.agent.run.undelivered) :], f"queued {uuid4()}"]
            )
        if self._chance.random() < 0.2:
            self.run_command()

    async def until_commands_end(self) -> None:
        """Wait for all of them."""
        assert self.agent is not None
        await asyncio.gather(*self._commands, return_exceptions=True)


async def live(order: dict[str, Any]) -> None:
    """Take the session up where it stands, and go on with it until all prompts are answered."""
    from quorum.domain.sessions.session_summary import LatestSession
    from quorum.infrastructure.bootstrap import build_session
    from quorum.infrastructure.config.loading import load_settings
    from quorum.infrastructure.session_inputs import SessionInputs, open_session

    root = Path(order["root"])
    chance = random.Random(order["seed"])
    person = HastyPerson(Path(order["acknowledged"]), chance)
    loaded = load_settings(cwd=root, environ=os.environ, overrides={"models.decision": order["model"]})
    opened = open_session(loaded, root, LatestSession())
    container = build_session(
        SessionInputs(loaded=loaded, root=root, approver=person, observer=person.acknowledged, record=opened)
    )
    agent = container.agent()
    await agent.open()
    person.agent = agent
    unfinished = bool(agent.rewind.turns) and not container.events().state.finished
    done = sum(bool(turn.prompt) for turn in agent.rewind.turns)
    if agent.run.has_pending:
        await agent.run.resume_pending()
    elif unfinished and (
        done == order["prompts"] or chance.random() < 0.5
    ):  # else the next prompt comes at once
        await agent.run.retry()
    for number in range(done, order["prompts"]):
        if chance.random() < 0.5:
            person.run_command()
        label = (await agent.attachments.attach(f"shot-{number}.png")).label
        await agent.run.execute(f"prompt {number} {label}")
    await person.until_commands_end()


async def _reported(order: dict[str, Any]) -> None:
    try:
        await live(order)
    except Exception:
        traceback.print_exc()
        raise
    os._exit(FINISHED)


def _fork(order: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.environ.clear()
        os.environ.update(order["environ"])
        asyncio.run(_reported(order))
    finally:  # whatever happened, the fork must not go on as the zygote
        os._exit(1)


def main() -> None:
    """Warm up, then fork on demand until the input ends."""
    import sqlite3  # noqa: F401 - imported once, for all the forks

    import anthropic  # noqa: F401
    import openai  # noqa: F401

    import quorum.infrastructure.bootstrap  # noqa: F401

    for line in sys.stdin:
        pid = _fork(json.loads(line))
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(status, flush=True)


if __name__ == "__main__":
    main()
