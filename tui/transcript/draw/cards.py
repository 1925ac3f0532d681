"""A batch of calls as lines: a row with a lane for each call, and under it what is worth seeing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import Batch, Call, Phase, StoredOutput
from quorum.domain.calls.execution import Outcome
from quorum.domain.calls.server_tools import is_of_server
from quorum.domain.calls.tool_traits import OutputKind, find_traits
from quorum.domain.text.amounts import format_amount, format_size
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.printable import collapse_blanks, make_printable
from quorum.tui.transcript.cells.lines import build_strip, clean_program_text, fit_text, wrap_words
from quorum.tui.transcript.cells.marks import ASIDE
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.draw.ballots import (
    draw_awaited,
    draw_decision,
    draw_votes,
    explain_failure,
    fold_decision_texts,
)
from quorum.tui.transcript.draw.lanes import describe_course
from quorum.tui.transcript.draw.look_groups import LOOKS, draw_looks, group_looks, is_open
from quorum.tui.transcript.draw.receipts import draw_receipt, draw_receipt_line
from quorum.tui.transcript.draw.remarks import draw_remark_lines
from quorum.tui.transcript.draw.rows import RowColumns, describe_call, draw_row
from quorum.tui.transcript.kinds.changes import draw_diff, draw_folded_diff
from quorum.tui.transcript.kinds.kind import choose_view, find_kind
from quorum.tui.transcript.kinds.part import MOST_LINES, PAGER, Part, draw_more
from quorum.tui.transcript.kinds.terminal import draw_command, draw_live

_LIVE_FOLDED = 6
_REASON_FOLDED = 3
_ARGUMENT_LINES = 8
_ARGUMENT_LOOKED_AT = 4_000
_LOOKED_AT = 20_000
_BOLD = Style(bold=True)


@dataclass(frozen=True, slots=True)
class CardTarget:
    """What a click on a line is meant for: the call at a place of its batch.

    `opens`: that call's output; `fold`: a part of its output that can be opened and folded by itself.
    """

    place: int
    opens: bool = False
    fold: str | None = None


@dataclass(slots=True)
class Drawing:
    """Lines, and for each what a click on it is meant for."""

    strips: list[Strip] = field(default_factory=list)
    targets: list[CardTarget | None] = field(default_factory=list)

    def add(self, strips: list[Strip], target: CardTarget | None = None) -> None:
        """Add lines that a click on means the same for."""
        self.strips += strips
        self.targets += [target] * len(strips)


def draw_batch(batch: Batch, width: int, palette: Palette, now: float) -> Drawing:
    """The batch at a width in cells, two of which are the margin that holds the fold marks."""
    drawing = Drawing()
    if not batch.calls:
        return drawing
    looks = group_looks(batch)
    order = _order(batch, looks)
    accounts = {place: describe_call(batch.calls[place], palette, now) for place in order if place != LOOKS}
    calls = [batch.calls[place] for place in accounts]
    columns = RowColumns.fit(calls, list(accounts.values()), width, several=len(batch.calls) > 1)
    for place in order:
        if place == LOOKS:
            drawing.add([draw_looks(batch, looks, width, palette)], CardTarget(LOOKS))
            continue
        call = batch.calls[place]
        drawing.add(draw_row(call, columns, accounts[place], palette), CardTarget(place))
        edge = build_strip(("  │ ", palette.muted + ASIDE))
        card = _Card(call, width - 4, palette)
        for part in card.render_details(batch, now) if call.expanded else card.render_summary():
            for strip, key in zip(part.strips, part.keys, strict=True):
                target = CardTarget(place, key == PAGER, key if key != PAGER else None)
                line = Strip([*edge, *strip])
                drawing.add([line if line.cell_length <= width else line.crop(0, width)], target)
    return drawing


def _order(batch: Batch, looks: Sequence[int]) -> list[int]:
    """The places of calls from top to bottom; the row that stands for looks is where the first of them was."""
    order: list[int] = []
    for place in range(len(batch.calls)):
        if looks and place == looks[0]:
            order += [LOOKS, *(looks if is_open(batch) else ())]
        elif place not in looks:
            order.append(place)
    return order


class _Card:
    """What stands below the row of a call."""

    def __init__(self, call: Call, width: int, palette: Palette) -> None:
        self._call, self._width, self._palette = call, width, palette
        self._view = choose_view(call)

    # -- folded -------------------------------------------------------------------------------------------

    def render_summary(self) -> list[Part]:
        """The lines below a folded row, in parts."""
        call = self._call
        before = self._draw_before_output()
        if call.phase is not Phase.FINISHED or call.output is None:
            return [_build_part(before)]
        if call.outcome is not Outcome.OK:
            return [_build_part(before + self._render_failure()), *self._draw_stored()]
        part = self._view.draw_folded(call, call.output, self._width, self._palette)
        above = part.above if part.strips else 0
        if call.stored is not None:
            return [_build_part(before), _build_part([self._draw_stored_row(call.stored, above)], PAGER), part]
        hidden = [_build_part([draw_more(above, "above", self._palette)], PAGER)] if above > 0 else []
        return [_build_part(before), *hidden, part]

    def _draw_before_output(self) -> list[Strip]:
        call, width, palette = self._call, self._width, self._palette
        strips: list[Strip] = []
        if call.is_voted_on:
            strips += draw_votes(call.votes, width, palette, most=_REASON_FOLDED)
        else:
            strips += [draw_decision(text, width, palette.muted) for text in fold_decision_texts(call)]
        # While the person is asked, the question has the change and the votes.
        if call.diff is not None and call.phase not in (Phase.ABANDONED, Phase.REVIEWED):
            strips += draw_folded_diff(call.diff, width, palette)
        if call.phase is Phase.RUNNING:
            strips += draw_live(call.progress.list_styled_lines(), width, palette, _LIVE_FOLDED)
        strips += draw_remark_lines((remark for remark in call.remarks if not remark.quiet), width, palette)
        return strips + (
            draw_receipt_line(call.effects, call.cwd, width, palette) if call.effects is not None else []
        )

    def _render_failure(self) -> list[Strip]:
        """Why a call failed or was withheld, unless the remark of a hook has said so."""
        call = self._call
        if call.outcome is Outcome.SKIPPED and any(not remark.quiet for remark in call.remarks):
            return []
        style = self._palette.error if call.outcome is Outcome.ERROR else self._palette.warning
        text = clean_program_text(explain_failure(call)[:_LOOKED_AT]).strip("\n")
        strips = [build_strip((fit_text(line, self._width), style)) for line in text.split("\n") if text]
        # A fold that hides a single line would take that line's place itself.
        if len(strips) <= _REASON_FOLDED + 1:
            return strips
        return [*strips[:_REASON_FOLDED], draw_more(len(strips) - _REASON_FOLDED, "more", self._palette)]

    def _draw_stored(self) -> list[Part]:
        stored = self._call.stored
        return [_build_part([self._draw_stored_row(stored)], PAGER)] if stored is not None else []

    def _draw_stored_row(self, stored: StoredOutput, above: int = 0) -> Strip:
        palette = self._palette
        hidden = f"… {format_amount(above, 'line')} above · " if above > 0 else ""
        text = f"stored {format_size(stored.size_bytes)}"
        hint = fit_text(" · click or /output opens", self._width - cell_len(hidden + text))
        return build_strip((hidden, palette.muted), (text, palette.accent), (hint, palette.muted))

    # -- unfolded -----------------------------------------------------------------------------------------

    def render_details(self, batch: Batch, now: float) -> list[Part]:
        """The lines below an unfolded row, in parts."""
        call, width, palette = self._call, self._width, self._palette
        is_renamed = find_traits(call.tool).verb or is_of_server(call.tool)
        strips = _draw_plain(call.tool, width, palette.muted) if is_renamed else []
        strips += self._render_arguments()
        for reason in call.asked_because:
            strips += _draw_plain(
                make_printable(f"asks because: {reason}", newlines=False), width, palette.muted
            )
        strips += draw_votes(call.votes, width, palette) + draw_awaited(call, width, palette)
        decision = "" if call.decision.value == "none" else f"decision: {call.decision.value.replace('_', ' ')}"
        reason = f" · {call.reason}" if call.reason else ""
        strips += _draw_plain(make_printable(decision + reason), width, palette.muted) if decision else []
        for label, why in reversed(call.earlier):
            text = f"earlier decision: {label.value.replace('_', ' ')}" + (f" · {why}" if why else "")
            strips += _draw_plain(make_printable(text), width, palette.muted)
        if not batch.untimed and (text := describe_course(call, now)):
            strips += _draw_plain(text, width, palette.muted)
        strips += draw_remark_lines(call.remarks, width, palette)
        effects = draw_receipt(call.effects, call.cwd, width, palette) if call.effects is not None else []
        parts = [_build_part(strips), *self._render_changes(), _build_part(effects)]
        if call.output is None:
            return [*parts, _build_part(self._render_live())]
        part = self._view.draw_unfolded(call, call.output, width, palette)
        rest = [_build_part([self._render_rest(part.rest)], PAGER)] if part.rest else []
        return [*parts, part, *rest, *self._draw_stored()]

    def _render_arguments(self) -> list[Strip]:
        """What the call was given, but for what its view tells; of long texts the beginning."""
        strips: list[Strip] = []
        shown_elsewhere = self._view.TELLS if self._tells else frozenset()
        for name, value in self._call.arguments.items():
            if name in shown_elsewhere:
                continue
            text = _render_text(value)
            begin = collapse_blanks(text)[:_ARGUMENT_LOOKED_AT]
            lines = wrap_words(make_printable(f"{name}: {begin}"), self._width)
            shown = lines if len(lines) <= _ARGUMENT_LINES + 1 else lines[:_ARGUMENT_LINES]
            strips += [build_strip((line, self._palette.muted)) for line in shown]
            if len(shown) < len(lines) or len(text) > _ARGUMENT_LOOKED_AT:
                strips.append(draw_more(len(text), "in all", self._palette, "character"))
        return strips

    @property
    def _tells(self) -> bool:
        """Whether there is yet what tells the arguments in another form."""
        match find_kind(self._call):
            case OutputKind.CHANGES:
                return self._call.diff is not None
            case OutputKind.TERMINAL:
                return True
            case _:
                return self._call.output is not None

    def _render_changes(self) -> list[Part]:
        if self._call.diff is None:
            return []
        strips = draw_diff(self._call.diff, self._width, self._palette, most=MOST_LINES)
        rest = (
            [_build_part([self._render_rest("the diff continues")], PAGER)] if len(strips) >= MOST_LINES else []
        )
        return [_build_part(strips), *rest]

    def _render_rest(self, text: str) -> Strip:
        return build_strip((fit_text(f"… {text} · click opens all", self._width), self._palette.muted + ASIDE))

    def _render_live(self) -> list[Strip]:
        call = self._call
        command = draw_command(call.arguments, self._width, self._palette) if self._tells else []
        shown = call.progress.list_styled_lines()
        return command + draw_live(shown, self._width, self._palette, len(shown) or 1)


def _build_part(strips: Sequence[Strip], key: str | None = None) -> Part:
    return Part(list(strips), [key] * len(strips))


def _render_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _draw_plain(text: str, width: int, style: Style) -> list[Strip]:
    return [build_strip((line, style)) for line in wrap_words(text, width)]
