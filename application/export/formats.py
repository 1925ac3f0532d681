"""The forms in which a session can be exported: Markdown, one HTML page, plain text, JSON and canonical lines.

The name of a file chooses its form. A page has no scripts and loads nothing from elsewhere; every text in it is
escaped.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import count
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, assert_never

from quorum.application.export.narration import (
    Account,
    CallCard,
    Entry,
    ExportRemark,
    Said,
    Thought,
    TurnHead,
    build_account,
)
from quorum.application.export.session_json import mask_lines, render_json
from quorum.application.ports.storage import SessionArchive
from quorum.application.whole_file import write_whole_file
from quorum.domain.errors import ConfigError
from quorum.domain.events.masking import SecretMask
from quorum.domain.sessions.canonical import render_canonical
from quorum.domain.sessions.session_summary import LedgerRecord, SessionSummary
from quorum.domain.text.amounts import format_amount, format_duration
from quorum.domain.text.unified_diff import parse_diff

_STYLE = """
:root { color-scheme: light dark; --line: #d0d7de; --soft: #f6f8fa; --quiet: #59636e;
  --plus: #dafbe1; --minus: #ffebe9; --bad: #b35900; }
@media (prefers-color-scheme: dark) { :root { --line: #3d444d; --soft: #1a2027; --quiet: #9198a1;
  --plus: #12361f; --minus: #3c1618; --bad: #f0883e; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 2.5rem 0 .5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }
dt, .quiet { color: var(--quiet); } dd { margin: 0; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--soft); padding: .6rem .8rem;
  border-radius: 6px; margin: .5rem 0; font: 13px/1.45 ui-monospace, monospace; }
pre.said { background: none; padding: 0; font: inherit; }
pre.prompt { border-left: 3px solid var(--quiet); }
details { border: 1px solid var(--line); border-radius: 6px; padding: .4rem .8rem; margin: .5rem 0; }
summary { cursor: pointer; overflow-wrap: anywhere; } .plus { background: var(--plus); }
.minus { background: var(--minus); } .bad { color: var(--bad); } .back { opacity: .55; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def render_page(account: Account) -> str:
    """The whole account as a document of its own."""
    return "\n".join(_render_lines(account)) + "\n"


def _render_lines(account: Account) -> Iterator[str]:
    title = escape(account.title)
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<dl>"
    for label, value in account.facts:
        yield f"<dt>{escape(label)}</dt><dd>{escape(value)}</dd>"
    yield "</dl>\n<section>"
    for entry in account.entries:
        yield from _render_entry(entry)
    yield "</section>\n</body>\n</html>"


def _render_entry(entry: Entry) -> Iterator[str]:
    match entry:
        case TurnHead():
            yield from _render_turn(entry)
        case Said():
            yield f'<p class="quiet">{escape(entry.model)}</p>'
            yield _render_pre(entry.text, "said")
        case Thought(text):
            yield f"<details><summary>Reasoning</summary>{_render_pre(text)}</details>"
        case CallCard():
            yield from _render_card(entry)
        case ExportRemark(line, ""):
            yield f'<p class="quiet">· {escape(line)}</p>'
        case ExportRemark(line, body):
            yield f'<details><summary class="quiet">{escape(line)}</summary>{_render_pre(body)}</details>'


def _render_turn(turn: TurnHead) -> Iterator[str]:
    """A section of its own, so that what was taken back is visible at a glance."""
    yield "</section>"
    yield '<section class="back">' if turn.taken_back else "<section>"
    yield f"<h2>Turn {turn.number} · {escape(turn.at)}{' · taken back later' if turn.taken_back else ''}</h2>"
    yield (
        _render_pre(turn.prompt, "prompt")
        if turn.prompt
        else '<p class="quiet">It continues the previous turn.</p>'
    )


def _render_card(card: CallCard) -> Iterator[str]:
    ran = "" if card.duration_secs is None else f" · {format_duration(card.duration_secs)}"
    outcome = escape(card.outcome)
    shown = outcome if card.outcome == "ok" else f'<span class="bad">{outcome}</span>'
    yield f"<details><summary><code>{escape(card.tool)}</code> · {shown}{ran}"
    yield f" · {escape(card.decision)}</summary>"
    if card.history:
        yield "<ul>"
        yield from (f"<li>{escape(line)}</li>" for line in card.history)
        yield "</ul>"
    yield _render_pre(card.arguments)
    if card.ran_with is not None:
        yield f'<p class="quiet">It ran with:</p>{_render_pre(card.ran_with)}'
    if card.diff is not None:
        yield _diff(card.diff)
    if card.output is not None:
        yield f'<p class="quiet">Output:</p>{_render_pre(card.output)}'
    yield "</details>"


def _diff(diff: str) -> str:
    lines = []
    for line, parsed in zip(diff.rstrip().split("\n"), parse_diff(diff), strict=False):
        kind = {"+": "plus", "-": "minus"}.get(parsed.sign, "")
        lines.append(f'<span class="{kind}">{escape(line)}</span>' if kind else escape(line))
    return f"<pre>\n{chr(10).join(lines)}</pre>"


def _render_pre(text: str, kind: str = "") -> str:
    # A line feed right behind the tag is not shown, so one is put there that may go.
    opened = f'<pre class="{kind}">' if kind else "<pre>"
    return f"{opened}\n{escape(text.rstrip())}</pre>"


_TICKS = re.compile("`+")


def render_markdown(account: Account) -> str:
    return "\n\n".join(_render_blocks(account)) + "\n"


def _render_blocks(account: Account) -> Iterator[str]:
    yield f"# {quote_code(account.title)}"
    yield "\n".join(f"- {label}: {quote_code(value)}" for label, value in account.facts)
    for entry in account.entries:
        yield from _formats_render_entry(entry)


def _formats_render_entry(entry: Entry) -> Iterator[str]:
    match entry:
        case TurnHead():
            yield f"## Turn {entry.number} · {entry.at}{' · taken back later' if entry.taken_back else ''}"
            yield _fence(entry.prompt) if entry.prompt else "It continues the previous turn."
        case Said():
            yield f"### The answer of {quote_code(entry.model)}"
            yield _fence(entry.text, "markdown")
        case Thought(text):
            yield "### Reasoning"
            yield _fence(text)
        case CallCard():
            yield from _formats_render_card(entry)
        case ExportRemark(line, body):
            yield f"> {quote_code(line)}"
            if body:
                yield _fence(body)


def _formats_render_card(card: CallCard) -> Iterator[str]:
    ran = "" if card.duration_secs is None else f" · {format_duration(card.duration_secs)}"
    yield f"### Call of {quote_code(card.tool)}"
    yield "\n".join(
        (
            f"- outcome: {quote_code(card.outcome)}{ran}",
            f"- decision: {quote_code(card.decision)}",
            *(f"- {quote_code(line)}" for line in card.history),
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


def quote_code(line: str) -> str:
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


_FORMS: dict[str, ExportFormat] = {".md": "md", ".json": "json", ".html": "html", ".jsonl": "canonical"}


class RecordWithArchive(Protocol):
    """What an export needs of a session's record."""

    @property
    def archive(self) -> SessionArchive:
        """Where all records are found."""


class ExportableSession(Protocol):
    """What an export needs of a session: its records, and how its secrets are hidden."""

    @property
    def session_id(self) -> str: ...

    @property
    def record(self) -> RecordWithArchive: ...

    @property
    def mask(self) -> SecretMask: ...


async def export_to(file: str, session: ExportableSession, *, folder: Path, exports: Path) -> Path:
    """Write all of the session into this file, named from the folder; without a name into a new one in
    `exports`, which only the person can read.

    Raises ConfigError for a name that chooses no form, LedgerError, and OSError where the file cannot be made:
    one that is there is not overwritten.
    """
    if file:
        target = _choose_target(file, folder)
    else:
        target = await asyncio.to_thread(_find_free_name, exports, f"quorum-{session.session_id}")
    if (form := _FORMS.get(target.suffix)) is None:
        raise ConfigError(f"{target.name} should end in {', '.join(_FORMS)}: that chooses the form")
    archive = session.record.archive
    summary, records = await archive.find(session.session_id), await archive.read(session.session_id)

    def write() -> None:
        content = render_export(form, summary, records, session.mask.mask_text)
        write_whole_file(target, content.encode("utf-8"))

    await asyncio.to_thread(write)
    return target


def _find_free_name(folder: Path, stem: str) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    names = (f"{stem}.md" if number == 1 else f"{stem}-{number}.md" for number in count(1))
    return next(folder / name for name in names if not os.path.lexists(folder / name))


def _choose_target(name: str, folder: Path) -> Path:
    if "\0" in name:
        raise ConfigError(f"{name!r} can be no file's name")
    try:
        return folder / Path(name).expanduser()
    except RuntimeError as error:
        raise ConfigError(f"{name} names no file: {error}") from error


_KEPT_LINES = 12  # of arguments, diffs and outputs
_KEPT_CHARS = 400  # of each of these lines
_INDENT = "    "


def render_plain(account: Account) -> str:
    return "\n".join(_plain_render_lines(account)) + "\n"


def _plain_render_lines(account: Account) -> Iterator[str]:
    yield account.title
    yield ""
    width = max(len(label) for label, _ in account.facts)
    yield from (f"{label + ':':{width + 1}} {value}" for label, value in account.facts)
    for entry in account.entries:
        yield ""
        yield from _plain_render_entry(entry)


def _plain_render_entry(entry: Entry) -> Iterator[str]:
    match entry:
        case TurnHead():
            yield f"── Turn {entry.number} · {entry.at}{' · taken back later' if entry.taken_back else ''}"
            yield from (f"> {line}" for line in (entry.prompt or "(continues)").split("\n"))
        case Said(text=text):
            yield text.rstrip()
        case Thought(text):
            yield from _fold("reasoning", text)
        case CallCard():
            yield from _plain_render_card(entry)
        case ExportRemark(line, body):
            yield f"· {line}"
            if body:
                yield from _fold("", body)


def _plain_render_card(card: CallCard) -> Iterator[str]:
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
