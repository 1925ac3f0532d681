"""A pending question as HTML, complete: what is too long to be shown is not offered for approval."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from quorum.serve.approvals.pending import PendingQuestion, Reviewer
from quorum.serve.html import escape_line

MOST_SHOWN_CHARACTERS = 300_000
_BINARY = re.compile(r"binary: [0-9]+ → [0-9]+ bytes\n?")
_SIGNS = {"approve": "✓ approves", "reject": "✗ rejects", "abstain": "· abstains", "model_error": "! failed"}


def is_complete(question: PendingQuestion) -> bool:
    """Whether all that would be approved is on the page."""
    return len(json.dumps(question.packet, ensure_ascii=False)) <= MOST_SHOWN_CHARACTERS


def describe_briefly(question: PendingQuestion) -> str:
    """What would run, in one line of text."""
    if question.kind != "review":
        return {"trust": "trust in files of a project", "spend": "a spend cap"}.get(
            question.kind, question.kind
        )
    if question.command is not None:
        return question.command.partition("\n")[0][:200]
    paths = [str(file.get("path")) for file in _list_files(question)]
    return ", ".join(paths)[:200]


def render_question(question: PendingQuestion) -> Iterator[str]:
    """Everything there is to know before it is answered."""
    yield f"<h1>{escape_line(_render_heading(question))}</h1>"
    yield from (f'<p class="danger">{escape_line(text)}</p>' for text in question.dangers)
    if not is_complete(question):
        yield (
            '<p class="danger">this is too long for the page: it is cut here, and can be approved at the '
            "keyboard only</p>"
        )
    yield from _render_substance(question)
    yield from _render_votes(question)
    yield from _render_facts(question)


def _render_heading(question: PendingQuestion) -> str:
    context = question.packet.get("context")
    index = context.get("call_index") if isinstance(context, Mapping) else None
    place = f" · call {index + 1} of {question.batch_size}" if isinstance(index, int) else ""
    asked_by = f" · {by}" if (by := question.packet.get("asked_by")) else ""
    return f"{question.tool}{place}{asked_by}"


def _render_substance(question: PendingQuestion) -> Iterator[str]:
    arguments = json.dumps(question.packet.get("arguments"), ensure_ascii=False, indent=2)
    if question.kind != "review":
        yield from (f"<p>{escape_line(note)}</p>" for note in question.notes)
    elif question.diff is not None:
        shown = question.diff or "the file's text stays as it is"
        yield _block(shown, question.objections, _diff_class)
        if _BINARY.fullmatch(question.diff):
            yield _block(arguments, question.objections)
    elif question.command is not None:
        yield _block(question.command, question.objections)
    else:
        yield _block(arguments, question.objections)
    yield from (f"<p>{escape_line(text)}</p>" for text in question.arguments)


def _block(text: str, objections: Sequence[str], class_of: Callable[[str], str] = lambda _line: "") -> str:
    lines = []
    for line in text[:MOST_SHOWN_CHARACTERS].split("\n"):
        marked = _mark(line, objections)
        lines.append(f'<span class="{kind}">{marked}</span>' if (kind := class_of(line)) else marked)
    return f"<pre>{chr(10).join(lines)}</pre>"


def _diff_class(line: str) -> str:
    return {"+": "add", "-": "del", "@": "hunk"}.get(line[:1], "")


def _mark(line: str, objections: Sequence[str]) -> str:
    """A line in which what is objected to stands out. Quotes of several lines are looked for line by line."""
    quotes = {quote for each in objections for quote in each.split("\n") if quote.strip()}
    if not (found := sorted((quote for quote in quotes if quote in line), key=len, reverse=True)):
        return escape_line(line)
    # Of quotes that begin at one place the longest is marked.
    pieces = re.split(f"({'|'.join(map(re.escape, found))})", line)
    return "".join(
        f"<mark>{escape_line(piece)}</mark>" if place % 2 else escape_line(piece)
        for place, piece in enumerate(pieces)
    )


def _render_votes(question: PendingQuestion) -> Iterator[str]:
    if not question.reviewers:
        return
    yield f"<h2>Votes</h2><p>{escape_line(question.count)}</p>"
    if not question.is_independent and len(question.reviewers) > 1:
        yield '<p class="danger">not independent: one family of models</p>'
    yield from map(_vote, question.reviewers)


def _vote(reviewer: Reviewer) -> str:
    if not reviewer.vote:
        return f'<p class="quiet">{escape_line(reviewer.name)} has not voted yet</p>'
    sure = "" if reviewer.confidence is None else f" {reviewer.confidence:g}"
    objection = f"<br>objects to: <mark>{escape_line(reviewer.objection)}</mark>" if reviewer.objection else ""
    return (
        f'<p class="card"><strong>{escape_line(_SIGNS.get(reviewer.vote, reviewer.vote))}{sure}</strong> · '
        f"{escape_line(reviewer.name)}<br>{escape_line(reviewer.reason)}{objection}</p>"
    )


def _render_facts(question: PendingQuestion) -> Iterator[str]:
    packet = question.packet
    found = [("asked by", str(packet["asked_by"]))] if packet.get("asked_by") else []
    found += [("asks because", reason) for reason in question.reasons]
    found += [
        ("touches", f"{file.get('path')}  sha256 {file.get('sha256') or 'none: new file'}")
        for file in _list_files(question)
    ]
    found += [("runs", str(program)) for program in _list(packet.get("executables"))]
    if isinstance(packet.get("cwd"), str):
        found.append(("in", str(packet["cwd"])))
    environment = packet.get("environment")
    if isinstance(environment, Mapping):
        found += [
            ("environment", f"{name} removed" if value is None else f"{name}={value}")
            for name, value in environment.items()
        ]
    found += [
        (name, str(packet[key]))
        for name, key in (("sandbox", "sandbox"), ("not sealed", "unsealed"))
        if packet.get(key)
    ]
    found += [("session", question.session_id), ("packet", question.digest)]
    rows = (f"<dt>{escape_line(name)}</dt><dd>{escape_line(value)}</dd>" for name, value in found)
    yield f"<h2>Details</h2><dl>{''.join(rows)}</dl>"


def _list_files(question: PendingQuestion) -> list[Mapping[str, object]]:
    return [file for file in _list(question.packet.get("files")) if isinstance(file, Mapping)]


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
