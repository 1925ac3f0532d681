"""What `quorum gate probe` does."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from quorum.application.program_lookup import explain_missing, find_program
from quorum.cli.gate import ProbeOptions
from quorum.domain.errors import ConfigError
from quorum.domain.review.gate_decision import GateDecision
from quorum.domain.review.permission_rules import Answer
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.gate.dialects import DIALECTS, PRE_TOOL_USE
from quorum.infrastructure.gate.agent_probe import (
    GateBehavior,
    ProbeResult,
    keep_result,
    probe_agent,
    read_version_alone,
)
from quorum.infrastructure.gate.hook_files import HOOKED_AGENTS

_FAILURE = {
    GateBehavior.MISSING: "quorum is missing",
    GateBehavior.BROKEN: "quorum fails",
    GateBehavior.SLOW: "the hook exceeds its time limit",
}


def print_probe(options: ProbeOptions, _root: Path) -> int:
    """Run the agent and say what it did; 1 where something ran that may not, or where that is not known."""
    agent = HOOKED_AGENTS[options.agent]
    program = find_program(agent.program, os.environ.get("PATH"))
    if program is None:
        raise ConfigError(explain_missing(agent.program, os.environ.get("PATH")))
    version = read_version_alone(agent, os.environ.get("PATH"))
    result = probe_agent(
        agent.dialect, Path(program), version, _write_replies(agent.dialect), limit_secs=options.limit_secs
    )
    if options.as_json:
        print(json.dumps({**msgspec.to_builtins(result), "is_gated": result.is_gated}, indent=2))
    else:
        print("\n".join(_describe(result)))
    sys.stdout.flush()
    keep_result(result, os.environ)
    return int(not result.is_gated)


def _write_replies(dialect: str) -> JsonObject:
    """What the gate answers in this form, for each event that its hooks ask about."""
    agent = HOOKED_AGENTS[dialect]
    form = DIALECTS[dialect]
    replies: dict[str, dict[str, JsonValue]] = {}
    for answer in (Answer.ALLOW, Answer.DENY):
        decision = GateDecision(answer=answer, reasons=("quorum gate probe",))
        written = {event: form.reply(event or PRE_TOOL_USE, decision) for event in agent.events or ("",)}
        replies[answer.value] = {event: [reply.out, reply.err, reply.code] for event, reply in written.items()}
    return dict(replies)


def _describe(result: ProbeResult) -> Iterator[str]:
    yield result.title
    width = max(len(name) for name in (*result.paths, *_FAILURE.values()))
    for path, state in result.paths.items():
        yield f"  {path.ljust(width)}  {state}"
    for failure in result.ran:
        parts = [f"runs: {', '.join(result.ran[failure])}"] if result.ran[failure] else []
        if result.untried[failure]:
            parts.append(f"not known: {', '.join(result.untried[failure])}")
        yield f"  {_FAILURE[failure].ljust(width)}  {'; '.join(parts) or 'blocked'}"
