"""What `quorum import` does: read, print, ask, write."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from shutil import get_terminal_size

import msgspec

from quorum.cli.confirmation import confirm
from quorum.cli.importing import AGENTS, ImportOptions
from quorum.domain.errors import ConfigError
from quorum.domain.importing.foreign_session import AgentSetup, TakeoverItem, TakeoverKind
from quorum.domain.text.amounts import format_amount, format_size
from quorum.domain.text.printable import make_printable
from quorum.errors import complain
from quorum.infrastructure.config.paths import locate_user_file
from quorum.infrastructure.config.program_tables import McpServerTable
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.toml_file import escape_path
from quorum.infrastructure.importing.places import ImportPlaces, SessionSource
from quorum.infrastructure.importing.takeover import (
    SessionsReport,
    import_sessions,
    list_new_paths,
    list_sources,
    read_setups,
    select_new_rules,
    take_over,
)
from quorum.infrastructure.permissions.in_force import open_rule_file
from quorum.infrastructure.storage import open_storage
from quorum.settings import load, open_own_file

_NARROWEST = 60
_ORDER = list(TakeoverKind)


def render_setup(setup: AgentSetup, width: int) -> Iterator[str]:
    """The lines of one agent, denials first."""
    yield f"{setup.agent} (read as versions {setup.checked_with} write it)"
    columns = _choose_widths(max(width, _NARROWEST))
    yield from _render_row(("there", "here", "why"), columns)
    for finding in sorted(setup.findings, key=_rank):
        here = finding.here or "-"
        there = f"{finding.kind}: {finding.there} [{finding.place}]"
        yield from _render_row((there, here, finding.why or "the same"), columns)


def _rank(finding: TakeoverItem) -> tuple[int, int]:
    answers = ("deny", "ask", "allow")
    answer = answers.index(finding.rule.answer) if finding.rule is not None else len(answers)
    return _ORDER.index(finding.kind), answer


def _choose_widths(width: int) -> tuple[int, int, int]:
    there = (width - 8) * 2 // 5
    here = (width - 8 - there) // 2
    return there, here, width - 8 - there - here


def _render_row(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    wrapped = [
        textwrap.wrap(make_printable(cell), width, break_on_hyphens=False) or [""]
        for cell, width in zip(cells, widths, strict=True)
    ]
    for number in range(max(map(len, wrapped))):
        parts = [lines[number] if number < len(lines) else "" for lines in wrapped]
        padded = (part.ljust(width) for part, width in zip(parts, widths, strict=True))
        yield ("  " + "  ".join(padded)).rstrip()


_WIDTH = 160  # where neither a terminal nor COLUMNS says it
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
        hooks=[msgspec.to_builtins(table) for table in loaded.settings.hooks],
    )
    names = options.agents or AGENTS
    setups = read_setups(names, places)
    sources, unread = list_sources(names, places) if options.sessions else ([], [])
    problems = [*(problem for setup in setups for problem in setup.problems), *unread]
    _print_setups(setups)
    if not setups:
        listed = ", ".join(names)
        print(f"no settings of {listed} are found" if sources else f"nothing of {listed} is found")
    complain(problems)
    findings = [finding for setup in setups for finding in setup.findings if finding.is_taken_over]
    paths = list_new_paths(findings, settings.path)
    for name, new in paths.items():
        print(f"review.{name} in {escape_path(settings.path)} gets {', '.join(map(make_printable, new))}\n")
    if sources:
        size = format_size(sum(source.size for source in sources))
        print(f"sessions: {format_amount(len(sources), 'session')} of {size}; what is here stays as it is\n")
    elif not (
        paths
        or any(each.server or each.hook or each.target for each in findings)
        or select_new_rules(findings, rules)
    ):
        print("nothing is left to take over")
        return int(bool(problems))
    if options.dry_run or not (
        options.accepted
        or confirm(
            "Write what stands under here?",
            otherwise="--yes writes without asking, --dry-run only shows",
        )
    ):
        print("nothing was written")
        return int(bool(problems))
    report = take_over(findings, rules=rules, settings=settings)
    complain(report.problems)
    taken = _import_sessions(sources, loaded.settings, root) if sources else SessionsReport()
    complain(taken.flaws)
    print(
        f"taken over: {format_amount(report.rules, 'rule')} (quorum permissions list), "
        f"{format_amount(report.servers, 'MCP server')} (quorum mcp list), "
        f"{format_amount(report.hooks, 'hook')}, {format_amount(report.files, 'file')}, "
        f"{format_amount(taken.added, 'session')} (quorum sessions list --all)"
    )
    return int(bool(problems or report.problems or taken.flaws))


def _import_sessions(sources: Sequence[SessionSource], settings: Settings, root: Path) -> SessionsReport:
    with closing(open_storage(settings.storage, os.environ)) as storage:
        present = frozenset(summary.id for summary in asyncio.run(storage.archive.list_sessions()))
        tell = _Progress(sources).tell
        return import_sessions(sources, storage, present=present, settings=settings, root=root, tell=tell)


class _Progress:
    """Says on stderr how far the sessions are, once a second at most."""

    def __init__(self, sources: Sequence[SessionSource]) -> None:
        self._count, self._size = len(sources), sum(source.size for source in sources)
        self._told = time.monotonic()

    def tell(self, count: int, size: int) -> None:
        """So many are done, of so many bytes."""
        if time.monotonic() - self._told < 1 and count < self._count:
            return
        self._told = time.monotonic()
        share = 100 * size // max(self._size, 1)
        complain([f"{count:,} of {format_amount(self._count, 'session')} ({share} %)"])


def _print_setups(setups: Sequence[AgentSetup]) -> None:
    usual = os.get_terminal_size(sys.stderr.fileno()).columns if sys.stderr.isatty() else _WIDTH
    width = get_terminal_size((usual, 0)).columns  # also into a pipe
    for setup in setups:
        print("\n".join((*render_setup(setup, width), "")))
