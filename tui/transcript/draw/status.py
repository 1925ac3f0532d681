"""What a call's row says about it in words: its arguments in short, its state, how long it took."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import assert_never

from rich.style import Style

from quorum.application.view.entries import Batch, Call, Phase
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.tool_traits import OutputKind, ToolTraits, find_traits
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.text.amounts import format_amount, format_duration
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.patch import BadPatch, list_paths, parse_patch
from quorum.domain.text.printable import collapse_blanks, make_printable
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.draw.ballots import describe_voting
from quorum.tui.transcript.kinds.kind import choose_view, find_kind
from quorum.tui.transcript.kinds.terminal import find_exit

_LONG = 60
_MOST_FILES = 4


def shorten_arguments(call: Call) -> tuple[str, str]:
    """The arguments on one line: the telling ones bare, the others in the tool's words, else as `name=value`,
    long ones as their size.

    What is shown below the row is left out, and beside a diff all others are: it says what they say.
    """
    shown_below = choose_view(call).TELLS if call.output is not None or call.diff is not None else frozenset()
    traits = find_traits(call.tool)
    names = traits.telling
    telling = [_render_bare(name, call.arguments[name]) for name in names if name in call.arguments]
    if (patch := traits.find_patch(call.arguments)) is not None:
        telling += _list_patch_files(patch)
    others = [
        said
        for name, value in call.arguments.items()
        if name not in names and name not in shown_below and (said := _word_argument(traits, name, value))
    ]
    if traits.counted:
        lists = [(call.arguments.get(name), noun) for name, noun in traits.counted.items()]
        others = [format_amount(len(each), noun) for each, noun in lists if isinstance(each, list | tuple)]
    shown = others if call.diff is None or not telling else []
    return make_printable(" ".join(telling), newlines=False), make_printable(" · ".join(shown), newlines=False)


@lru_cache(maxsize=64)
def _list_patch_files(patch: str) -> tuple[str, ...]:
    """The first files that a patch names, and how many more; nothing for what is no patch."""
    try:
        paths = list_paths(parse_patch(patch))
    except BadPatch:
        return ()
    more = (f"and {len(paths) - _MOST_FILES} more",) if len(paths) > _MOST_FILES else ()
    return (*paths[:_MOST_FILES], *more)


def _render_bare(name: str, value: JsonValue) -> str:
    if not isinstance(value, str):
        return _render_short(value)
    first, line_feed, _ = collapse_blanks(value.strip()).partition("\n")
    text = first + (" …" if line_feed else "")
    return f'"{text}"' if name in ("pattern", "query") else text


def _word_argument(traits: ToolTraits, name: str, value: JsonValue) -> str:
    said = traits.word_argument(name, value)
    return said if said is not None and len(said) <= _LONG else f"{name}={_render_short(value)}"


def _render_short(value: JsonValue) -> str:
    if isinstance(value, str):
        if "\n" in value:
            return f"‹{format_amount(value.rstrip(chr(10)).count(chr(10)) + 1, 'line')}›"
        return value if 0 < len(value) <= _LONG else f"‹{format_amount(len(value), 'character')}›"
    if isinstance(value, Mapping | Sequence):
        text = json.dumps(value, ensure_ascii=False) if len(value) <= _LONG else ""
        noun = "key" if isinstance(value, Mapping) else "value"
        return text if 0 < len(text) <= _LONG else f"‹{format_amount(len(value), noun)}›"
    return json.dumps(value)


def describe_state(call: Call, palette: Palette) -> list[tuple[str, Style]]:
    """The state in words; the first part is the one that matters."""
    match call.phase:
        case Phase.COMPOSED:
            return [("arriving…", palette.accent)]
        case Phase.ABANDONED:
            return [("no result" if call.has_run else "not run", palette.warning)]
        case Phase.REVIEWED:
            return [("waits for you", palette.warning + Style(bold=True))]
        case Phase.QUEUED if call.is_voted_on:
            return [(describe_voting(call), palette.accent)]
        case Phase.QUEUED:
            return [(_render_waiting(call), palette.muted)]
        case Phase.RUNNING:
            return [("running", palette.accent)]
        case Phase.FINISHED:
            return _describe_ending(call, palette)
        case _:
            assert_never(call.phase)


def _render_waiting(call: Call) -> str:
    if isinstance(call.waiting_for, tuple) and call.waiting_for:
        return "waits for " + ", ".join(str(index + 1) for index in call.waiting_for)
    if call.waiting_for == "files":
        return f"keeping former contents · {call.files_kept:,} of {call.files:,} files"
    return "queued"


def _describe_ending(call: Call, palette: Palette) -> list[tuple[str, Style]]:
    outcome = call.outcome or Outcome.UNKNOWN
    if outcome is Outcome.OK:
        style = palette.ok
    else:
        style = palette.error if outcome is Outcome.ERROR else palette.warning
    word = outcome.value.replace("_", " ")
    summary = ""
    if outcome is Outcome.OK and call.output is not None:
        summary = choose_view(call).summarise(call, call.output)
        if find_kind(call) is OutputKind.TERMINAL and (exited := find_exit(call.output)) not in ("", "exit 0"):
            # That it ran is no news: what counts is how it exited.
            word, style = exited, palette.error
    parts = [(word, style)]
    if call.decision in (DecisionLabel.EDITED, DecisionLabel.DENIED, DecisionLabel.NEEDS_APPROVAL):
        parts.append((f" · {call.decision.value.replace('_', ' ')}", palette.muted))
    if summary:
        parts.append((f" · {summary}", palette.muted))
    return parts


def measure_seconds(call: Call, now: float) -> float | None:
    """How many seconds the call ran, or has been running; None where it did not run."""
    if call.phase is Phase.RUNNING:
        return max(now - call.since[-1][0], 0.0) if call.since else None
    return call.duration


def format_time(call: Call, now: float) -> str:
    """The same in words; empty where it did not run."""
    seconds = measure_seconds(call, now)
    return "" if seconds is None else format_duration(seconds)


def summarise_batch(batch: Batch, span: tuple[float, float]) -> str:
    """The batch in one line: how many calls, and what became of them so far."""
    words: dict[str, int] = {}
    for call in batch.calls:
        word = _render_word(call)
        words[word] = words.get(word, 0) + 1
    counts = [f"{count} {word}" for word, count in words.items()]
    took = [] if batch.is_open or batch.untimed else [format_duration(span[1] - span[0])]
    return " · ".join([format_amount(len(batch.calls), "call"), *counts, *took])


def _render_word(call: Call) -> str:
    match call.phase:
        case Phase.FINISHED:
            return (call.outcome or Outcome.UNKNOWN).value.replace("_", " ")
        case Phase.REVIEWED:
            return "for you to review"
        case Phase.COMPOSED:
            return "arriving"
        case Phase.QUEUED:
            return "being voted on" if call.is_voted_on else "waiting"
        case Phase.RUNNING:
            return "running"
        case Phase.ABANDONED:
            return "no result" if call.has_run else "not run"
        case _:
            assert_never(call.phase)
