"""`quorum usage`: tokens and costs of all recorded sessions, by model, day and project."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.command_line.command import CliCommand, argument, flag
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import PLACES
from quorum.command_line.values import parse_count

if TYPE_CHECKING:
    from quorum.domain.sessions.usage_account import UsageRow
    from quorum.domain.text.json_value import JsonObject
    from quorum.session_store import SessionStore

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageOptions(StartOptions):
    """Whether it is printed as JSON; only requests of the last `days` count, if they are given."""

    json: bool = False
    days: int | None = None


def _print_usage(options: UsageOptions, root: Path) -> int:
    from quorum.cli.sessions.actions import act_on_sessions

    return act_on_sessions(options, root, _add_up)


async def _add_up(wish: UsageOptions, store: SessionStore) -> int:
    from shutil import get_terminal_size

    from quorum.domain.events.event import UsageCounted
    from quorum.domain.sessions.usage_account import add_up, list_requests, name_day
    from quorum.errors import complain
    from quorum.infrastructure.wall_clock import read_wall_clock_ms

    since_ms = 0 if wish.days is None else read_wall_clock_ms() - wish.days * _DAY_MS
    sessions = [each for each in await store.archive.list_sessions() if each.updated_ms >= since_ms]
    requests = list_requests(sessions, await store.archive.read_of_type(UsageCounted.type, since_ms))
    parts = {
        "models": add_up(requests, lambda each: each.counted.model),
        "days": add_up(requests, name_day),
        "projects": add_up(requests, lambda each: each.cwd),
    }
    if wish.json:
        from quorum.application.export.session_json import encode_ascii_json

        print(
            encode_ascii_json({name: [_encode(row) for row in rows] for name, rows in parts.items()}, indent=1)
        )
    elif not requests:
        complain(["no request is recorded" + (f" of the last {wish.days} days" if wish.days else "")])
    else:
        width = get_terminal_size().columns if sys.stdout.isatty() else None
        print("\n\n".join("\n".join(_render(name, rows, width=width)) for name, rows in parts.items()))
    return 0


def _encode(row: UsageRow) -> JsonObject:
    from quorum.domain.events.report import usage_to_json

    spent = row.spending
    return {
        "name": row.name,
        "requests": row.requests,
        **usage_to_json(spent.usage, spent.priced_usd),
        "has_unpriced": spent.has_unpriced,
        "by_plan": spent.by_plan,
    }


def _render(part: str, rows: list[UsageRow], *, width: int | None) -> list[str]:
    from quorum.domain.text.printable import make_printable
    from quorum.text_table import Column, render_text_table

    columns: tuple[Column[UsageRow], ...] = (
        Column("REQUESTS", lambda row: f"{row.requests:,}", is_number=True),
        Column("INPUT", lambda row: f"{row.spending.usage.input:,}", is_number=True),
        Column("CACHED", lambda row: f"{row.spending.usage.cache_read:,}", is_number=True),
        Column("OUTPUT", lambda row: f"{row.spending.usage.output:,}", is_number=True),
        Column("COST", _render_cost, is_number=True),
        Column(
            part.removesuffix("s").upper(), lambda row: make_printable(row.name, newlines=False), narrowest=20
        ),
    )
    return render_text_table(columns, rows, width=width)


def _render_cost(row: UsageRow) -> str:
    """The known cost; more than that where some requests have no known price."""
    spent = row.spending
    if spent.priced_usd is None:
        return "plan" if spent.by_plan and not spent.has_unpriced else "–"
    return f"{'> ' if spent.has_unpriced else ''}${spent.priced_usd:,.2f}"


COMMAND = CliCommand(
    UsageOptions,
    _print_usage,
    summary="Print what recorded requests used, by model, day and project.",
    details="All sessions of all folders count, those of subagents and the votes of reviewers, too. Deleted "
    "sessions do not.",
    arguments=(
        flag("--json", help="print it as JSON"),
        argument("--days", metavar="N", type=parse_count, help="only requests of the last N days"),
        *PLACES,
    ),
    examples=(
        ("quorum usage --days 7", "the last week"),
        ("quorum usage --json", "for another program"),
    ),
)
