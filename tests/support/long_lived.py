"""A session without a screen that lives on between prompts: it does what each line of its input says.

Each line is a JSON object with one of `prompt`, `retry`, `compact` (a focus) and `rewind` (a turn, and with
`overwrite` also files that were edited since). On standard output come all durable events in their JSON form,
and after each order `{"done": …}`, with the status of the turn or the error. What the person sees before the
session opens comes as `{"told": […]}`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from quorum.application.review.approvers import NonInteractiveApprover
from quorum.application.session.agent_session import AgentSession
from quorum.domain.errors import QuorumError
from quorum.domain.events.event import ErrorOccurred, Event
from quorum.domain.sessions.session_summary import LatestSession, NewSession
from quorum.infrastructure.bootstrap import build_session
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.session_inputs import SessionInputs, open_session


class _Printed:
    def notify(self, event: Event) -> None:
        if event.durable or isinstance(event, ErrorOccurred):
            say(event.to_json())


def say(value: object) -> None:
    print(json.dumps(value), flush=True)


async def _do(agent: AgentSession, order: dict[str, Any]) -> str:
    match order:
        case {"prompt": prompt}:
            return (await agent.run.execute(prompt)).status
        case {"continue_turn": _}:
            return (await agent.run.retry()).status
        case {"compact": focus}:
            return await agent.context.compact(focus)
        case {"rewind": turn, **more}:
            plan = await agent.rewind.plan(turn)
            overwrite = frozenset(step.path for step in plan.steps) if more.get("overwrite") else frozenset()
            await agent.rewind.rewind_to(turn, conversation=True, plan=plan, overwrite=overwrite)
            return "rewound"
        case _:
            raise ValueError(f"no such order: {order}")


async def _done(agent: AgentSession, order: dict[str, Any]) -> str:
    try:
        return await _do(agent, order)
    except QuorumError as error:
        return f"{type(error).__name__}: {error}"


async def _live() -> None:
    root = Path.cwd()
    loaded = load_settings(cwd=root, environ=os.environ, overrides={"review.mode": "auto"})
    choice = LatestSession() if "--continue" in sys.argv else NewSession()
    record = await asyncio.to_thread(open_session, loaded, root, choice)
    say({"told": record.notices})
    agent = build_session(
        SessionInputs(
            loaded=loaded, root=root, approver=NonInteractiveApprover(), observer=_Printed(), record=record
        )
    ).agent()
    try:
        await agent.open()
        say({"done": "opened"})
        while line := await asyncio.to_thread(sys.stdin.readline):
            say({"done": await _done(agent, json.loads(line))})
    finally:
        try:
            await agent.aclose()
        except QuorumError as error:
            say({"done": f"{type(error).__name__}: {error}"})


asyncio.run(_live())
