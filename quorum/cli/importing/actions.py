"""What `quorum import` does: read, print, ask, write."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size

import msgspec

from domain.errors import ConfigError
from domain.importing.finding import AgentSetup
from infrastructure.config.mcp_table import McpServerTable
from infrastructure.config.paths import locate_user_file
from infrastructure.importing.agents import READERS, read_setups
from infrastructure.importing.places import ImportPlaces
from infrastructure.importing.takeover import select_new_rules, take_over
from infrastructure.permissions.in_force import open_rule_file
from quorum.cli.importing import ImportOptions
from quorum.cli.importing.table import render_setup
from quorum.errors import UsageError, complain
from quorum.settings import load, open_own_file

_WIDTH = 160
_DEFAULTS = msgspec.to_builtins(McpServerTable())


def import_from_agents(options: ImportOptions, root: Path) -> int:
    """Print what is found, and write it if the person says so; 1 where something could not be. Raises
    ConfigError."""
    loaded = load(options, root, needs_project=False)
    own, rules = locate_user_file(os.environ), open_rule_file(os.environ)
    if own is None or rules is None:
        raise ConfigError("there is no home folder, and so nothing to read and no place to write to: set HOME")
    settings = open_own_file(options, root, loaded)
    places = ImportPlaces(
        home=Path(os.path.expanduser("~")),
        root=Path(os.path.realpath(root)),
        own=own.parent,
        environ=os.environ,
        servers={
            name: {
                key: value for key, value in msgspec.to_builtins(table).items() if value != _DEFAULTS.get(key)
            }
            for name, table in loaded.settings.mcp.servers.items()
        },
    )
    setups = read_setups(options.agents or READERS, places)
    problems = [problem for setup in setups for problem in setup.problems]
    _print_setups(setups)
    complain(problems)
    findings = [finding for setup in setups for finding in setup.findings if finding.is_taken_over]
    new = [f for f in findings if f.server or f.target] + select_new_rules(findings, rules)
    if not new:
        print("nothing is left to take over")
        return int(bool(problems))
    if options.dry_run or not (options.accepted or _ask()):
        print("nothing was written")
        return int(bool(problems))
    report = take_over(findings, rules=rules, settings=settings)
    complain(report.problems)
    print(
        f"taken over: {report.rules} rules (quorum permissions list), {report.servers} MCP servers "
        f"(quorum mcp list), {report.files} files"
    )
    return int(bool(problems or report.problems))


def _print_setups(setups: Sequence[AgentSetup]) -> None:
    width = get_terminal_size().columns if sys.stdout.isatty() else _WIDTH
    for setup in setups:
        print("\n".join((*render_setup(setup, width), "")))
    if not setups:
        print("nothing of another agent is found")


def _ask() -> bool:
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("nobody is there to ask; --yes writes without asking, --dry-run only shows")
    sys.stdout.flush()
    print("Write what stands under here? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
