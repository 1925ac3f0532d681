"""One entry of the transcript as plain lines for a screen reader: words for signs, and nothing that moves.

What becomes of a call is shown in lines of their own, one below the other as it happens.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import assert_never

from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import (
    AnswerEntry,
    Batch,
    Call,
    Entry,
    Notice,
    NoticeKind,
    PanelEntry,
    Phase,
    PromptEntry,
    Restoration,
)
from quorum.domain.calls.effects import Effects, FileChange
from quorum.domain.calls.execution import Outcome
from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.review.ballot import Ballot, format_reviewer
from quorum.domain.text.amounts import format_amount, format_duration
from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.lines import build_strip, clean_program_text, wrap_words
from quorum.tui.transcript.draw.cards import INCOMPLETE, CardTarget, Drawing, name_changes
from quorum.tui.transcript.draw.panels import speak_panel
from quorum.tui.transcript.draw.remarks import explain_failure
from quorum.tui.transcript.draw.rows import choose_verb, shorten_arguments
from quorum.tui.transcript.kinds.diff import build_diff_lines, format_counts
from quorum.tui.transcript.model.tokens import DONE, parse_tokens

_MOST_LINES = 12
_SPACES = {"softbreak": " ", "hardbreak": " "}
_LOUD = {NoticeKind.INFO: "", NoticeKind.WARNING: "warning: ", NoticeKind.ERROR: "error: "}


def draw_for_screen_reader(entry: Entry, width: int) -> Drawing:
    """All lines of an entry, the first being the empty one above it."""
    drawing = Drawing([Strip([])], [None])
    match entry:
        case PromptEntry():
            said = _render_first_lines(entry.text, whole=entry.expanded)
            said[0] = f"you: {said[0]}"
            _add(drawing, [*said, *map(_describe_attachment, entry.files)], width, CardTarget(0))
        case AnswerEntry():
            _add(drawing, _answer(entry), width, CardTarget(0))
        case Batch():
            for place, sentences in _render_batch(entry):
                _add(drawing, sentences, width, CardTarget(place))
        case Notice():
            _add(drawing, [_LOUD[entry.kind] + entry.text], width)
        case Restoration():
            _add(drawing, _render_restoration(entry), width, CardTarget(0))
        case PanelEntry():
            _add(drawing, speak_panel(entry), width, CardTarget(0))
        case _:
            assert_never(entry)
    if entry.undone:
        drawing.strips[1:1] = [build_strip(("taken back:", Style()))]
        drawing.targets[1:1] = [None]
    return drawing


def _describe_attachment(file: AttachedFile) -> str:
    return f"attached: {file.label}" if file.is_attached else file.label


def _add(drawing: Drawing, sentences: list[str], width: int, target: CardTarget | None = None) -> None:
    lines = [line for sentence in sentences for line in wrap_words(make_printable(sentence), width)]
    drawing.add([build_strip((line, Style())) for line in lines], target)


def _answer(entry: AnswerEntry) -> list[str]:
    thoughts = "".join(entry.reasoning).strip()
    said = [f"thought: {thoughts}"] if thoughts and entry.expanded else []
    first, *others = [*_speak_markdown(entry.text), ""]
    return [*said, f"answer: {first}", *others] if entry.text.strip() else said or ["thinking"]


def _speak_markdown(text: str) -> Iterator[str]:
    """The lines of a text in Markdown without its marks; what they mean is said where it matters."""
    mark = ""
    row: list[str] | None = None
    tokens = parse_tokens(text)
    for token in tokens:
        match token.type:
            case "heading_open":
                mark = "heading: "
            case "list_item_open":
                done = token.meta.get(DONE)
                mark = f"{token.info}. " if token.info else "- "
                mark += "" if done is None else "done: " if done else "to do: "
            case "tr_open":
                row = []
            case "tr_close":
                yield ", ".join(row or ())
                row = None
            case "inline":
                words = "".join(_SPACES.get(child.type, child.content) for child in token.children or ())
                if row is None:
                    yield mark + words
                else:
                    row.append(words)
                mark = ""
            case "fence" | "code_block":
                yield f"{mark}code:"
                yield from token.content.rstrip("\n").split("\n")
                if token is not tokens[-1] or text.rstrip().endswith(token.markup):  # else more may follow
                    yield "end of code"
                mark = ""
            case _:
                continue


def _render_restoration(entry: Restoration) -> list[str]:
    files = [f"{change.kind.value} {change.path}" for change in entry.changes if not change.ignored]
    count = len(entry.changes) - len(files)
    ignored = f", and {format_amount(count, 'ignored file')}" if count else ""
    return [f"{format_amount(len(files), 'file')} given back as before: {', '.join(files)}{ignored}"]


def _render_batch(batch: Batch) -> list[tuple[int, list[str]]]:
    """What happened to all calls, in the order in which it did; each with the place of its call."""
    lines = [
        (moment, place, sentences)
        for place, call in enumerate(batch.calls)
        for moment, sentences in _list_history(call)
    ]
    return [(place, sentences) for _, place, sentences in sorted(lines, key=lambda each: each[0])]


def _list_history(call: Call) -> Iterator[tuple[float, list[str]]]:
    telling, others = shorten_arguments(call)
    name = (
        f"{choose_verb(call) if call.tool else 'a call'} {telling or others}".strip()
    )  # the others go once there is a diff
    if call.phase is Phase.COMPOSED:
        yield 0.0, [f"{name}: is being written"]
    for moment, phase in call.since:
        match phase:
            case Phase.COMPOSED | Phase.QUEUED:
                continue
            case Phase.REVIEWED:
                yield moment, [f"{name}: needs your answer", *_render_reasons(call)]
            case Phase.RUNNING:
                yield moment, [f"{name}: running"]
            case Phase.FINISHED:
                yield moment, [f"{name}: {_render_ending(call)}", *_render_details(call)]
            case Phase.ABANDONED:
                yield moment, [f"{name}: {'no result' if call.has_run else 'not run'}"]
            case _:
                assert_never(phase)


def _render_reasons(call: Call) -> list[str]:
    because = [f"asks because: {'; '.join(call.asked_because)}"] if call.asked_because else []
    return because + [_vote(ballot) for ballot in call.votes]


def _vote(ballot: Ballot) -> str:
    who = format_reviewer(ballot.reviewer, ballot.lens)
    return f"{who} votes {ballot.counts_as.value.replace('_', ' ')}: {ballot.explanation}"


def _render_ending(call: Call) -> str:
    outcome = (call.outcome or Outcome.UNKNOWN).value.replace("_", " ")
    parts = [outcome]
    if call.diff is not None and call.outcome is Outcome.OK:
        parts += filter(None, [format_counts(call.diff, spoken=True)])
    elif call.output is not None and call.output.lines:
        parts.append(format_amount(call.output.lines, "line"))
    if call.duration is not None:
        parts.append(format_duration(call.duration))
    return ", ".join(parts)


def _render_details(call: Call) -> list[str]:
    """Why it failed, what hooks said, and, where it is unfolded, all of it."""
    lines = [_LOUD[remark.kind] + remark.text for remark in call.remarks if call.expanded or not remark.quiet]
    if call.outcome is not Outcome.OK and (why := explain_failure(call)):
        lines += _render_first_lines(clean_program_text(why), whole=call.expanded)
    lines += _render_receipt(call.effects, call.cwd) if call.effects is not None else []
    if not call.expanded:
        return lines
    lines += [f"{name}: {_render_value(value)}" for name, value in call.arguments.items()]
    if call.diff is not None:
        lines += [f"{line.head}{line.text}" for line in build_diff_lines(call.diff, spoken=True)]
    return lines + (
        [clean_program_text(call.output.head)] if call.output is not None and call.outcome is Outcome.OK else []
    )


def _render_receipt(effects: Effects, cwd: str) -> Iterator[str]:
    """Which files changed although the call had not said so, by-products as a number, as on its card."""
    surprises = [change for change in effects.changes if change.is_surprise]
    if surprises:
        names = list(name_changes(surprises, cwd, _name_change))
        yield f"changed {format_amount(len(names), 'file')}: {', '.join(names)}"
    if ignored := sum(one.is_by_product for one in effects.changes):
        yield f"{'and' if surprises else 'changed'} {format_amount(ignored, 'ignored file')}"
    if not effects.complete:
        yield INCOMPLETE


def _name_change(change: FileChange, cwd: str) -> str:
    return f"{change.kind} {change.path.removeprefix(cwd.rstrip('/') + '/')}"


def _render_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _render_first_lines(text: str, *, whole: bool) -> list[str]:
    lines = text.strip("\n").split("\n")
    if whole or len(lines) <= _MOST_LINES:
        return lines
    return [*lines[:_MOST_LINES], f"and {format_amount(len(lines) - _MOST_LINES, 'more line')}"]
