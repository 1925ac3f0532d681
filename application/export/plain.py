"""An account as plain text for a terminal, long texts cut."""

from __future__ import annotations

from collections.abc import Iterator

from quorum.application.export.account import Account, CallCard, Entry, ExportRemark, Said, Thought, TurnHead
from quorum.domain.text.amounts import format_amount, format_duration

_KEPT_LINES = 12  # of arguments, diffs and outputs
_KEPT_CHARS = 400  # of each of these lines
_INDENT = "    "


def render_plain(account: Account) -> str:
    return "\n".join(_render_lines(account)) + "\n"


def _render_lines(account: Account) -> Iterator[str]:
    yield account.title
    yield ""
    width = max(len(label) for label, _ in account.facts)
    yield from (f"{label + ':':{width + 1}} {value}" for label, value in account.facts)
    for entry in account.entries:
        yield ""
        yield from _render_entry(entry)


def _render_entry(entry: Entry) -> Iterator[str]:
    match entry:
        case TurnHead():
            yield f"── Turn {entry.number} · {entry.at}{' · taken back later' if entry.taken_back else ''}"
            yield from (f"> {line}" for line in (entry.prompt or "(continues)").split("\n"))
        case Said(text=text):
            yield text.rstrip()
        case Thought(text):
            yield from _fold("reasoning", text)
        case CallCard():
            yield from _render_card(entry)
        case ExportRemark(line, body):
            yield f"· {line}"
            if body:
                yield from _fold("", body)


def _render_card(card: CallCard) -> Iterator[str]:
    ran = "" if card.duration_secs is None else f" · {format_duration(card.duration_secs)}"
    yield f"● {card.tool} · {card.outcome}{ran} · {card.decision}"
    yield from (f"  · {line}" for line in card.history)
    yield from _fold("arguments", card.arguments)
    if card.ran_with is not None:
        yield from _fold("ran with", card.ran_with)
    if card.diff is not None:
        yield from _fold("diff", card.diff)
    if card.output is not None:
        yield from _fold("output", card.output)


def _fold(label: str, text: str) -> Iterator[str]:
    """The first lines of a text, and how many more there are."""
    if label:
        yield f"  {label}:"
    lines = text.rstrip().split("\n")
    for line in lines[:_KEPT_LINES]:
        yield _INDENT + (line if len(line) <= _KEPT_CHARS else line[:_KEPT_CHARS] + "…")
    if (more := len(lines) - _KEPT_LINES) > 0:
        yield f"{_INDENT}… {format_amount(more, 'more line')}"
