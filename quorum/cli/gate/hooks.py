"""`quorum gate install`, `uninstall`, `status` and `probe`: the hooks of other agents, and if they obey."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from quorum.application.program_lookup import explain_missing, find_as_shell_does, find_program
from quorum.cli.confirmation import confirm
from quorum.cli.gate import HookOptions, ProbeOptions
from quorum.domain.errors import ConfigError
from quorum.domain.review.gate_decision import GateDecision
from quorum.domain.review.permission_rules import Answer
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.printable import make_printable
from quorum.gate.dialects import DIALECTS, PRE_TOOL_USE
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.gate.agent_probe import (
    GateBehavior,
    ProbeResult,
    keep_result,
    probe_agent,
    read_version,
    read_version_alone,
)
from quorum.infrastructure.gate.hook_files import (
    HOOKED_AGENTS,
    HookedAgent,
    is_hooked,
    plan_installation,
    plan_removal,
    write_change,
)
from quorum.infrastructure.gate.unknown_fields import describe_unknown_fields

_NEXT_STEP = {
    "codex": "Codex asks you to trust these hooks, and skips them until you do: open it and enter /hooks",
    "opencode": "sessions of opencode that are open read it when they are started again",
}

_HOOKED = {"codex": "if trusted (/hooks)"}  # what it trusts is not said in a form that is documented


def change_hooks(options: HookOptions, root: Path, *, is_installation: bool) -> int:
    """Print the change of an agent's settings, and write it if the person says so. Raises ConfigError, and
    UsageError where nobody is there to ask."""
    agent = HOOKED_AGENTS[options.agent]
    path = agent.locate(os.environ, root if options.project else None)
    change = plan_installation(agent, path) if is_installation else plan_removal(agent, path)
    if change.before == change.after:
        print(f"{escape_path(path)}: {'the hooks are there' if is_installation else 'nothing to take back'}")
        _name_remaining(agent, path, is_installation=is_installation)
        return 0
    print("\n".join(make_printable(line) for line in change.diff.splitlines()), flush=True)
    if not (
        options.accepted
        or confirm(
            f"Write this to {escape_path(path)}?",
            otherwise="so nothing was written; --yes writes without asking",
        )
    ):
        print("nothing was written")
        return 1
    write_change(change)
    print(f"{escape_path(path)} is {'removed' if change.after is None else 'written'}")
    _name_remaining(agent, path, is_installation=is_installation)
    if is_installation:
        if find_as_shell_does("quorum", os.environ.get("PATH")) is None:
            print("quorum is not in PATH, so every call will be blocked: put it there")
        if step := _NEXT_STEP.get(agent.dialect):
            print(step)
    return 0


def _name_remaining(agent: HookedAgent, path: Path, *, is_installation: bool) -> None:
    if not is_installation and is_hooked(agent, path):
        print(
            f"{escape_path(path)} still asks the gate, by hooks that were written otherwise: edit it yourself"
        )


def print_status(_options: HookOptions, root: Path) -> int:
    """A table of agents, their versions, and whether they ask the gate; 1 where a file cannot be read."""
    agents = list(HOOKED_AGENTS.values())
    with ThreadPoolExecutor(2) as pool:
        versions = list(pool.map(lambda agent: read_version(agent, os.environ), agents))
    rows = [("agent", "version", "asks the gate", "where")]
    problems = False
    for agent, version in zip(agents, versions, strict=True):
        for path in _list_places(agent, root):
            try:
                state = _HOOKED.get(agent.dialect, "yes") if is_hooked(agent, path) else "no"
            except ConfigError as error:
                state, problems = f"unknown: {error}", True
            rows.append((agent.dialect, version, state, escape_path(path)))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        print("  ".join((*cells, row[3])))
    try:
        for said in describe_unknown_fields(os.environ):
            print(make_printable(": ".join(said)))
    except ConfigError as error:
        print(make_printable(str(error)))
        problems = True
    return int(problems)


def _list_places(agent: HookedAgent, root: Path) -> Iterator[Path]:
    """The person's file, and that of the project if there is one."""
    person = agent.locate(os.environ)
    yield person
    if agent.project and (path := agent.locate(os.environ, root)) != person and path.exists():
        yield path


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
