"""`quorum discuss` with scripted participants and a scripted moderator, each a provider on loopback."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.headless_run import QUORUM, Ended, Started, configure, end, environment, start_quorum
from tests.support.quorum_rig import calling
from tests.support.sse_server import Dialect, Reply, Say, ScriptedCall, SseServer


def review(**scores: int) -> Say:
    """A participant's reviews of these answers."""
    given = [
        {"answer": label, "score": score, "agreement": "yes", "comment": "sound"}
        for label, score in scores.items()
    ]
    return calling(ScriptedCall("v1", "review_answers", json.dumps({"reviews": given})))


def list_additions(**points: str) -> Say:
    """What a moderator finds that other answers add; `points` maps texts to labels."""
    given = [{"text": text, "answers": [label]} for text, label in points.items()]
    return calling(ScriptedCall("l1", "list_additions", json.dumps({"additions": given})))


def synthesise(conclusion: str, *, agree: Sequence[str] = (), differ: Mapping[str, str] | None = None) -> Say:
    """A moderator's synthesis; `differ` maps labels to claims."""
    given: dict[str, Any] = {
        "conclusion": conclusion,
        "key_points": [],
        "agreement": [{"text": "they do", "answers": list(agree)}] if agree else [],
        "disagreement": [
            {
                "text": "which one",
                "positions": [{"claim": claim, "answers": [label]} for label, claim in differ.items()],
            }
        ]
        if differ
        else [],
    }
    return calling(ScriptedCall("s1", "synthesise", json.dumps(given)))


@dataclass(frozen=True)
class DiscussionRig:
    """The servers by the names of their providers, of which `mod` is the moderator, and a home for them."""

    home: Path
    servers: Mapping[str, SseServer]

    @property
    def requests(self) -> dict[str, int]:
        """How often each was asked."""
        return {name: len(server.bodies) for name, server in self.servers.items()}

    async def start(self, project: Path, *arguments: str) -> Started:
        """Start a command of quorum."""
        return await start_quorum(*arguments, cwd=project, env=environment(self.home))

    async def kill_after(self, awaited: str, project: Path, *arguments: str, count: int = 1) -> None:
        """Start `quorum`, and end it as a lack of memory does once so many events of a type were printed."""
        process = await self.start(project, *arguments, "--output", "stream-json", "queue or cron?")
        assert process.stdout is not None
        seen: list[str] = []
        async with asyncio.timeout(120):
            while seen.count(awaited) < count:
                seen.append(json.loads(await process.stdout.readline())["type"])
        process.kill()
        await process.communicate()

    def start_into_full_pipe(self, project: Path, *arguments: str) -> tuple[subprocess.Popen[bytes], int]:
        """Start a command whose standard output takes no more than a page ahead of whoever reads it."""
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        try:
            started = subprocess.Popen(
                [QUORUM, *arguments],
                cwd=project,
                env=environment(self.home),
                stdin=subprocess.DEVNULL,
                stdout=writer,
                stderr=subprocess.DEVNULL,
            )
        finally:
            os.close(writer)
        return started, reader

    async def run(self, project: Path, *arguments: str) -> Ended:
        """Run a command of quorum to its end."""
        return await end(await self.start(project, *arguments))


@asynccontextmanager
async def discussion_rig(
    home: Path,
    scripts: Mapping[str, Sequence[Reply]],
    *,
    more: str = "",
    besides: Sequence[str] = ("mod",),
    dialect: Dialect = "openai-chat",
) -> AsyncIterator[DiscussionRig]:
    """`scripts` are the answers of each provider; all but those `besides` take part, in this order."""
    async with AsyncExitStack() as stack:
        servers = {name: await stack.enter_async_context(SseServer(dialect)) for name in scripts}
        for name, replies in scripts.items():
            servers[name].script = list(replies)
        names = ", ".join(f'"{name}/scripted"' for name in scripts if name not in besides)
        tables = "".join(
            f'[providers.{name}]\ntype = "{dialect}"\nbase_url = "{server.base_url}"\nmax_retries = 0\n'
            for name, server in servers.items()
        )
        models = f'[models]\ndecision = "mod/scripted"\nmoderator = "mod/scripted"\nparticipants = [{names}]\n'
        configure(home, f"{models}{more}{tables}")
        yield DiscussionRig(home, servers)
