"""`quorum import`: rules, MCP servers, instructions and sessions of other agents, taken over."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from quorum.command_line.command import CliCommand, argument, flag
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import PLACES
from quorum.command_line.values import refuse_value

AGENTS = ("claude", "codex", "gemini", "copilot", "opencode", "kimi")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions(StartOptions):
    """Which agents; whether something is written, the person is asked before, and sessions are taken over,
    too."""

    agents: tuple[str, ...] = ()
    dry_run: bool = False
    accepted: bool = False
    sessions: bool = True


def _import(options: ImportOptions, root: Path) -> int:
    from quorum.cli.importing.actions import import_from_agents

    return import_from_agents(options, root)


def _parse_agent(text: str) -> str:
    if text not in AGENTS:
        raise refuse_value(f"{text!r} is not one of {', '.join(AGENTS)}")
    return text


COMMAND = CliCommand(
    ImportOptions,
    _import,
    details="It prints what it found, what that is here, and why that differs, and asks before it writes. "
    "Nothing of the other agents is changed. Exit code 1: something could not be read or written.",
    arguments=(
        flag("--dry-run", dest="dry_run", help="write nothing"),
        flag("--yes", dest="accepted", help="write without a question"),
        argument("--no-sessions", dest="sessions", action="store_false", help="leave sessions where they are"),
        *PLACES,
        argument(
            "agents",
            metavar="AGENT",
            nargs="*",
            type=_parse_agent,
            help=f"take over from this agent alone: {', '.join(AGENTS)}; without any, from all that are found",
        ),
    ),
    examples=(
        ("quorum import --dry-run", "print what would be taken over"),
        ("quorum import claude", "from Claude Code alone, after a question"),
    ),
)
"""Rules, MCP servers, instructions and sessions of other agents, taken over."""
