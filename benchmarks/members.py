"""Ballots of agent programs beside the bare programs: `.venv/bin/python benchmarks/members.py [ROUNDS] [WAIT]`.

Asks Claude Code and Codex, those of them that are on PATH, for a ballot: through quorum and as the bare program
with the same words, in turn, each once from its start and once after it has waited for WAIT seconds. The model
is a server on loopback that answers at once, so that nothing hides what quorum adds.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from quorum.application.review.ballot_paper import build_ballot_schema, make_ballot_form, render_instructions
from quorum.application.structured_answer import ask_in_form
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import LlmResponse
from quorum.infrastructure.models.members.claude_cli import ClaudeCli
from quorum.infrastructure.models.members.codex import CodexExec
from quorum.infrastructure.models.members.dialect import MemberDialect, MemberTask
from quorum.infrastructure.models.members.failures import MemberFailures
from quorum.infrastructure.models.members.launch import MemberLaunch
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.provider_types import ProviderType
from tests.support.sse_server import Dialect, Say, ScriptedCall, SseServer

_QUESTION = "May it run?\n" + "x" * 3000
_BALLOT = {"verdict": "approve", "in_scope": "yes", "confidence": 1, "reason": "fine", "objection": ""}
_KINDS: dict[ProviderType, tuple[str, str, Dialect, Callable[[MemberFailures], MemberDialect]]] = {
    "claude-cli": ("claude", "sonnet", "anthropic", ClaudeCli),
    "codex": ("codex", "gpt-5.5", "openai", CodexExec),
}
_CLAUDE = """#!/bin/sh
export ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=none CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
exec {program} "$@"
"""
_CODEX = """#!/bin/sh
[ "$1" = exec ] || exec {program} "$@"
shift
exec {program} exec -c model_provider=bench -c \\
  'model_providers.bench={{name="bench",base_url="{url}",wire_api="responses",request_max_retries=0}}' "$@"
"""


def _answer(asked: dict[str, Any]) -> Say:
    text = json.dumps(_BALLOT)
    if any(tool.get("name") == "StructuredOutput" for tool in asked.get("tools", [])):
        return Say(calls=[ScriptedCall("call_1", "StructuredOutput", text)], stop="tool_use")
    return Say(pieces=[text])


def _make_task(model: str) -> MemberTask:
    schema = build_ballot_schema()["input_schema"]
    assert isinstance(schema, dict)
    return MemberTask(model=model, system=render_instructions(None), schema=schema, effort=Effort.DEFAULT)


async def _ask_through_quorum(registry: ProviderRegistry, model: str) -> float:
    async def count(_response: LlmResponse) -> None:
        """Nobody counts here."""

    began, conversation = time.perf_counter(), Conversation()
    session = registry.open_session(model, conversation, render_instructions(None))
    await ask_in_form(session, conversation, _QUESTION, make_ballot_form(model), count=count)
    return time.perf_counter() - began


async def _start_bare(words: list[str], launch: MemberLaunch, folder: Path) -> Process:
    return await asyncio.create_subprocess_exec(
        *words, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=dict(launch.environ), cwd=folder, limit=2**24
    )


async def _ask_bare(process: Process, type_: ProviderType) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    message = {"type": "user", "message": {"role": "user", "content": _QUESTION}}
    process.stdin.write((json.dumps(message) + "\n" if type_ == "claude-cli" else _QUESTION).encode())
    process.stdin.close()
    while line := await process.stdout.readline():
        if json.loads(line).get("type") in ("result", "turn.completed"):
            return
    raise SystemExit(f"{type_} ended without an answer")


async def _measure(type_: ProviderType, rounds: int, wait_secs: float, folder: Path) -> None:
    program, name, api, make_dialect = _KINDS[type_]
    times: dict[str, list[float]] = {"bare, cold": [], "quorum, cold": [], "bare, warm": [], "quorum, warm": []}
    async with SseServer(api) as server:
        server.respond = _answer
        wrapper = folder / program
        script = _CLAUDE if type_ == "claude-cli" else _CODEX
        wrapper.write_text(script.format(url=server.base_url, program=shutil.which(program)))
        wrapper.chmod(0o755)
        settings = ProviderSettings(type=type_, program=str(wrapper), max_retries=0)
        environ = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        launch = MemberLaunch.of("m", settings, environ)
        dialect = make_dialect(MemberFailures(launch))
        kept = folder / "kept"
        kept.mkdir()
        words = [*dialect.list_words(launch.words, _make_task(name), kept)]
        for round_ in range(rounds):
            began = time.perf_counter()
            process = await _start_bare(words, launch, folder)
            await _ask_bare(process, type_)
            times["bare, cold"].append(time.perf_counter() - began)
            await process.wait()
            registry = ProviderRegistry({"m": settings}, environ=environ)
            times["quorum, cold"].append(await _ask_through_quorum(registry, f"m/{name}"))
            process = await _start_bare(words, launch, folder)
            await asyncio.sleep(wait_secs)  # for both to wait for their question
            for way in ("quorum", "bare") if round_ % 2 else ("bare", "quorum"):
                began = time.perf_counter()
                if way == "quorum":
                    await _ask_through_quorum(registry, f"m/{name}")
                else:
                    await _ask_bare(process, type_)
                times[f"{way}, warm"].append(time.perf_counter() - began)
                await asyncio.sleep(1)  # the next one does not pay for what the last one leaves to be done
            await registry.aclose()
            await process.wait()
    for kind, each in times.items():
        print(f"{type_:<11}{kind:<13} best {min(each):.3f} s, median {statistics.median(each):.3f} s")
    for kind in ("cold", "warm"):
        ours, theirs = times[f"quorum, {kind}"], times[f"bare, {kind}"]
        ratio, median = min(ours) / min(theirs), statistics.median(ours) / statistics.median(theirs)
        print(f"{type_:<11}{kind}: {ratio:.2f} times the bare program by the best, {median:.2f} by the median")


async def _main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    wait_secs = float(sys.argv[2]) if len(sys.argv) > 2 else 5.0
    for type_, (program, *_) in _KINDS.items():
        if shutil.which(program) is None:
            print(f"{program} is not on PATH")
            continue
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            await _measure(type_, rounds, wait_secs, Path(folder))


if __name__ == "__main__":
    asyncio.run(_main())
