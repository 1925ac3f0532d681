"""How a fleet grows: `.venv/bin/python -m benchmarks.fleet_growth [SESSIONS] [ANSWERS] [LATENCY_SECS]`.

Runs the same number of sessions with 1, 2, 4 and 8 workers of one session at once. In each session a model on
the loopback interface answers so often, after so many seconds each; all answers but the last list a folder.
Prints how many sessions a minute were completed, and the CPU time of each in all processes of the workers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.headless_run import QUORUM, configure, environment
from tests.support.postgres_server import PostgresForTests, remove_postgres, start_postgres
from tests.support.sse_server import Reply, Say, ScriptedCall, SseServer

_WORKERS = (1, 2, 4, 8)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sessions", type=int, nargs="?", default=16)
    parser.add_argument("answers", type=int, nargs="?", default=10)
    parser.add_argument("latency_secs", type=float, nargs="?", default=0.5)
    given = parser.parse_args()

    def respond(body: dict[str, Any]) -> Reply:
        results = sum(message["role"] == "tool" for message in body["messages"])
        calls = (ScriptedCall(f"c{results}", "list_directory", "{}"),)
        is_last = results >= given.answers - 1
        end = Say(pieces=("done",)) if is_last else Say(calls=calls, stop="tool_use")
        return Say(pieces=end.pieces, calls=end.calls, stop=end.stop, pings=1, ping_secs=given.latency_secs)

    server = start_postgres(fsync=True)
    try:
        async with SseServer("openai-chat") as model:
            model.respond = respond
            print(
                f"{os.cpu_count()} cores, {given.answers} answers of {given.latency_secs:g} s in each session"
            )
            for workers in _WORKERS:
                with tempfile.TemporaryDirectory() as folder:
                    await _measure(Path(folder), server, model, given.sessions, workers)
    finally:
        remove_postgres(server)


async def _measure(
    folder: Path, server: PostgresForTests, model: SseServer, sessions: int, workers: int
) -> None:
    home, project = folder / "home", folder / "project"
    project.mkdir()
    configure(
        home,
        f'[storage]\nurl = "{server.new_database()}"\n[models]\ndecision = "local/scripted"\n'
        f'[providers.local]\ntype = "openai-chat"\nbase_url = "{model.base_url}"\n',
    )
    requests = "\n".join(json.dumps({"prompt": f"list it, {number}"}) for number in range(sessions))
    (project / "requests.jsonl").write_text(requests)
    await _run(home, project, "submit", "requests.jsonl")
    begun, cpu = time.monotonic(), _read_cpu_secs()
    work = [_run(home, project, "work", "--until-empty", "-q") for _ in range(workers)]
    await asyncio.gather(*work)
    secs, cpu = time.monotonic() - begun, _read_cpu_secs() - cpu
    results = [json.loads(line) for line in (await _run(home, project, "results")).splitlines()]
    completed = sum(result["status"] == "completed" for result in results)
    if completed != sessions:
        raise SystemExit(f"only {completed} of {sessions} sessions were completed")
    print(
        f"{workers} workers: {sessions} sessions in {secs:.0f} s, {60 * sessions / secs:.1f} a minute; "
        f"{cpu / sessions:.2f} s of CPU each, {cpu / secs:.2f} cores busy",
        flush=True,
    )


async def _run(home: Path, project: Path, *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        QUORUM,
        "fleet",
        *arguments,
        cwd=project,
        env=environment(home),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(f"quorum fleet {arguments[0]} exited with {process.returncode}")
    return out.decode()


def _read_cpu_secs() -> float:
    """Of all processes that have ended, and those that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    asyncio.run(main())
