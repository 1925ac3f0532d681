"""`quorum run` with a scripted model and scripted reviewers, each a provider of its own on loopback."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from quorum.application.review.ballot_paper import BALLOT_TOOL
from tests.support.headless_run import Ended, configure, environment, run
from tests.support.sse_server import Dialect, Reply, Say, ScriptedCall, SseServer


def call(id_: str, tool: str, **arguments: object) -> ScriptedCall:
    """A call as a model words it."""
    return ScriptedCall(id_, tool, json.dumps(arguments))


def calling(*calls: ScriptedCall) -> Say:
    """An answer that asks for these calls."""
    return Say(calls=calls, stop="tool_use")


DONE = Say(pieces=["done"])


def vote(
    verdict: str, reason: str = "because", confidence: float = 0.9, objection: str = "", in_scope: str = "yes"
) -> Say:
    """A reviewer's answer that casts one vote."""
    given = {
        **{"verdict": verdict, "in_scope": in_scope, "confidence": confidence},
        **{"reason": reason, "objection": objection},
    }
    return calling(ScriptedCall("b1", BALLOT_TOOL, json.dumps(given)))


@dataclass(frozen=True)
class QuorumRig:
    """A model and its reviewers, in the order of `models.review`, and a home that is configured for them."""

    home: Path
    model: SseServer
    reviewers: tuple[SseServer, ...]

    async def run(self, project: Path, *arguments: str, mode: str = "quorum") -> Ended:
        """Run to the end, the events on stdout."""
        given = ("go", "--mode", mode, "--output", "stream-json", *arguments)
        return await run(*given, cwd=project, env=environment(self.home))


def settings(model: SseServer, reviewers: Sequence[SseServer], more: str = "") -> str:
    """The settings of a person who has these providers: `local`, and `r0`, `r1`, … for the reviewers."""
    servers = {"local": model, **{f"r{n}": server for n, server in enumerate(reviewers)}}
    review = ", ".join(f'"r{n}/scripted"' for n in range(len(reviewers)))
    tables = "".join(
        f'[providers.{name}]\ntype = "{server.dialect}"\nbase_url = "{server.base_url}"\nmax_retries = 0\n'
        for name, server in servers.items()
    )
    return f'[models]\ndecision = "local/scripted"\nreview = [{review}]\n{tables}{more}'


@asynccontextmanager
async def quorum_rig(
    home: Path,
    script: Sequence[Reply],
    votes: Sequence[Sequence[Reply]],
    *,
    more: str = "",
    dialect: Dialect = "openai-chat",
) -> AsyncIterator[QuorumRig]:
    """`script` is what the model answers, `votes` what each reviewer does; `more` are further settings."""
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(SseServer(dialect)) for _ in range(1 + len(votes))]
        for server, replies in zip(servers, (script, *votes), strict=True):
            server.script = list(replies)
        configure(home, settings(servers[0], servers[1:], more))
        yield QuorumRig(home, servers[0], tuple(servers[1:]))
