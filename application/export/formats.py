"""The forms in which a session can be exported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias, assert_never

from quorum.application.export.account import Account, CallCard, Entry, ExportRemark, Said, Thought, TurnHead
from quorum.application.export.narration import build_account
from quorum.application.export.page import render_page
from quorum.application.export.session_json import mask_lines, render_json
from quorum.domain.sessions.canonical import render_canonical
from quorum.domain.sessions.past_session import LedgerRecord, SessionSummary
from quorum.domain.text.amounts import format_duration

_TICKS = re.compile("`+")


def render_markdown(account: Account) -> str:
    return "\n\n".join(_render_blocks(account)) + "\n"


def _render_blocks(account: Account) -> Iterator[str]:
    yield f"# {_quote_code(account.title)}"
    yield "\n".join(f"- {label}: {_quote_code(value)}" for label, value in account.facts)
    for entry in account.entries:
        yield from _render_entry(entry)


def _render_entry(entry: Entry) -> Iterator[str]:
    match entry:
        case TurnHead():
            yield f"## Turn {entry.number} · {entry.at}{' · taken back later' if entry.taken_back else ''}"
            yield _fence(entry.prompt) if entry.prompt else "It continues the previous turn."
        case Said():
            yield f"### The answer of {_quote_code(entry.model)}"
            yield _fence(entry.text, "markdown")
        case Thought(text):
            yield "### Reasoning"
            yield _fence(text)
        case CallCard():
            yield from _render_card(entry)
        case ExportRemark(line, body):
            yield f"> {_quote_code(line)}"
            if body:
                yield _fence(body)


def _render_card(card: CallCard) -> Iterator[str]:
    ran = "" if card.duration_secs is None else f" · {format_duration(card.duration_secs)}"
    yield f"### Call of {_quote_code(card.tool)}"
    yield "\n".join(
        (
            f"- outcome: {_quote_code(card.outcome)}{ran}",
            f"- decision: {_quote_code(card.decision)}",
            *(f"- {_quote_code(line)}" for line in card.history),
        )
    )
    yield _fence(card.arguments, "json")
    if card.ran_with is not None:
        yield "It ran with:"
        yield _fence(card.ran_with, "json")
    if card.diff is not None:
        yield _fence(card.diff, "diff")
    if card.output is not None:
        yield "Output:"
        yield _fence(card.output)


def _fence(text: str, language: str = "") -> str:
    """A block of code whose fence is longer than any row of backticks in it."""
    fence = "`" * max(3, _measure_longest_row(text) + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _quote_code(line: str) -> str:
    """A span of code on one line. One space on either side is taken off again by whoever reads it."""
    fence = "`" * (_measure_longest_row(line) + 1)
    return f"{fence} {line.strip() or '(empty)'} {fence}" if "`" in line else f"`{line.strip() or '(empty)'}`"


def _measure_longest_row(text: str) -> int:
    return max((len(row) for row in _TICKS.findall(text)), default=0)


ExportFormat: TypeAlias = Literal["md", "json", "html", "canonical"]


def render_export(
    form: ExportFormat, summary: SessionSummary, records: Sequence[LedgerRecord], mask: Callable[[str], str]
) -> str:
    """All of a session in this form, without secrets, and with nothing in it that acts on whoever reads it."""
    match form:
        case "md":
            return render_markdown(build_account(summary, records, mask))
        case "html":
            return render_page(build_account(summary, records, mask))
        case "json":
            return render_json(summary, records, mask)
        case "canonical":
            return mask_lines(render_canonical(records), mask)
        case _:
            assert_never(form)
