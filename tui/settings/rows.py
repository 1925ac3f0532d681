"""The lines of the settings screen: settings below the tables they stand in, and the description of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from textual.content import Content

from quorum.domain.text.ages import shorten_home
from quorum.domain.text.printable import make_printable
from quorum.tui.agent.settings_service import Setting
from quorum.tui.settings.effects import is_immediate

_NAME_SHARE = 0.4
_QUIET = "$foreground 60%"


@dataclass(frozen=True, slots=True)
class TableHeading:
    """The name of a table."""

    table: str


Row: TypeAlias = TableHeading | Setting


def list_rows(settings: Sequence[Setting], query: str) -> list[Row]:
    """The settings in which all words of the query are, each below the heading of its table."""
    words = query.lower().split()
    rows: list[Row] = []
    table: str | None = None
    for setting in settings:
        text = f"{setting.key} {setting.value} {setting.description} {setting.origin}".lower()
        if not all(word in text for word in words):
            continue
        if setting.table != table:
            table = setting.table
            rows.append(TableHeading(table))
        rows.append(setting)
    return rows


def find_best_place(rows: Sequence[Row], query: str) -> int | None:
    """Where the setting is that the query names best: in its own name rather than in what is said of it."""
    wanted = query.strip().lower()
    places = [place for place, row in enumerate(rows) if isinstance(row, Setting)]

    def rate(place: int) -> tuple[bool, bool, bool]:
        row = rows[place]
        assert isinstance(row, Setting)
        key, name = row.key.lower(), row.name.lower()
        return wanted in (key, name), name.startswith(wanted), wanted in key

    return max(places, key=rate, default=None)


def render_row(row: Row, width: int) -> Content:
    """One line. A setting that something sets has a sign, so that it differs from a default without colours."""
    if isinstance(row, TableHeading):
        return Content(f"[{make_printable(row.table, newlines=False)}]").stylize("bold $text-accent")
    name_cells = max(16, int(width * _NAME_SHARE))
    name = Content(make_printable(row.name, newlines=False)).truncate(name_cells - 1, ellipsis=True)
    gap = Content(" " * (name_cells - name.cell_length))
    room = max(1, width - name_cells - 4)
    value = Content(make_printable(row.value, newlines=False)).truncate(room, ellipsis=True)
    if row.is_default:
        return Content("   ") + name + gap + value.stylize(_QUIET)
    line = Content(" ● ") + name.stylize("bold") + gap + value
    source = Content(f"  {make_printable(row.origin.rpartition('/')[2], newlines=False)}")
    room = width - line.cell_length - source.cell_length - 1
    return line + Content(" " * room) + source.stylize(_QUIET) if room > 0 else line


def describe_setting(setting: Setting) -> Content:
    """What there is to say of one: its meaning, where the value comes from, what fits, when a change counts."""
    facts = _list_facts(setting)
    return Content("\n").join(Content.assemble((left, _QUIET), make_printable(right)) for left, right in facts)


def _list_facts(setting: Setting) -> Iterator[tuple[str, str]]:
    yield "", setting.description
    default = f"  ·  default {setting.default}" if setting.default and not setting.is_default else ""
    yield "from  ", f"{shorten_home(setting.origin)}{default}"
    counts = "at once" if is_immediate(setting.key) else "with the next session (/new)"
    yield "takes ", f"{setting.expected}  ·  a change counts {counts}"
    if setting.fixed:
        yield "", f"It {setting.fixed}."
