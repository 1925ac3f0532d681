"""`quorum agent`: an agent of another vendor works, and what it asks for is reviewed here."""

from __future__ import annotations

from pathlib import Path

from quorum.command_line import shared
from quorum.command_line.command import CliCommand, argument
from quorum.command_line.options import AgentOptions
from quorum.run_signals import RunSignals


def _run(options: AgentOptions, root: Path, signals: RunSignals) -> int:
    from quorum.headless.agent_session import run_agent

    return run_agent(options, root, signals)


COMMAND = CliCommand(
    AgentOptions,
    answer=_run,
    details=shared.EXIT_CODES,
    arguments=(
        shared.OUTPUT,
        shared.CONTINUED,
        argument("--agent-mode", metavar="MODE", help="the mode of the agent; by default one in which it asks"),
        argument("--model", dest="agent_model", metavar="MODEL", help="the agent's model, by its own name"),
        shared.MODE,
        *shared.PLACES_OF_PROMPTS,
        shared.DEBUG,
        argument(
            "agent",
            metavar="NAME",
            help="claude, codex, copilot, gemini, kimi, opencode, vibe, or one of [agents] in your quorum.toml",
        ),
        shared.PROMPT,
    ),
    examples=(
        ('quorum agent claude "fix the failing test"', "Claude Code works; risky calls are reviewed by quorum"),
        ('quorum agent gemini --mode quorum --output json "update the docs"', "reviewers decide"),
        ('quorum agent claude --continue "and now the tests"', "in the latest session of this folder"),
    ),
)
