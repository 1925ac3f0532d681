"""A batch of calls as lines: a row with a lane for each call, and under it what is worth seeing.

Finished reads, searches and lists share one row: what only looked is rarely looked at again. Files that a risky
call changed, and those that were given back, are lines as well.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import PurePath

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.batches import FEWEST_FOLDED, find_segment, is_folded, is_quiet_look
from quorum.application.view.entries import (
    AnswerEntry,
    Batch,
    Call,
    Entry,
    LookSegment,
    LookSummary,
    Phase,
    Restoration,
    StoredOutput,
)
from quorum.domain.calls.effects import ChangeKind, Effects, FileChange, pair_renames
from quorum.domain.calls.execution import INTERRUPTED, Outcome
from quorum.domain.calls.server_tools import format_tool_name
from quorum.domain.calls.tool_traits import OutputKind, find_traits
from quorum.domain.review.questions import REJECTED_AND_STOPPED, REJECTED_WITHOUT_REASON
from quorum.domain.sessions.restoration import find_git_folder
from quorum.domain.text.amounts import format_amount, format_duration, format_size
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.printable import collapse_blanks, make_printable
from quorum.tui.transcript.cells.lines import ASIDE, build_strip, clean_program_text, fit_text, wrap_words
from quorum.tui.transcript.cells.palette import Palette
from quorum.tui.transcript.draw.remarks import (
    draw_awaited,
    draw_decision,
    draw_remark_lines,
    draw_votes,
    explain_failure,
    fold_decision_texts,
)
from quorum.tui.transcript.draw.rows import RowColumns, describe_call, describe_course, draw_row
from quorum.tui.transcript.kinds.diff import draw_diff, draw_folded_diff
from quorum.tui.transcript.kinds.kind import choose_view, find_kind
from quorum.tui.transcript.kinds.plain import MOST_LINES, PAGER, Part, draw_folded_more, draw_more, name_whole
from quorum.tui.transcript.kinds.terminal import draw_command, draw_live

LOOKS = -2
"""The place of the row that stands for a batch's looks, where calls have theirs from 0 on."""
_MOST_NAMED = 40
_ORDER = ("read", "searched", "listed")  # any other verb comes after these


def group_looks(batch: Batch) -> tuple[int, ...]:
    """The places of the calls that one row stands for, where that row is drawn with this batch.

    None while a look is open, so that rows do not jump. The first batch of a run has the row of all of it.
    """
    if segment := find_folded(batch):
        return tuple(range(len(batch.calls))) if batch is segment[0] else ()
    looks = [(place, call) for place, call in enumerate(batch.calls) if find_traits(call.tool).look]
    if any(call.is_open for _, call in looks):
        return ()
    quiet = tuple(place for place, call in looks if is_quiet_look(call))
    return quiet if len(quiet) >= FEWEST_FOLDED else ()


def find_folded(entry: Entry) -> Sequence[Batch | AnswerEntry]:
    """The entries of several answers that one row stands for together with this one; none where none does."""
    segment = _find_folded_segment(entry)
    return segment.members if segment is not None else ()


def is_hidden(entry: Entry) -> bool:
    """Whether a row further up stands for the entry, so that nothing of it is drawn."""
    segment = _find_folded_segment(entry)
    return segment is not None and entry is not segment.members[0] and not segment.is_any_open()


def is_open(batch: Batch) -> bool:
    """Whether the looks are shown one by one: the person wants them, or one of them, open."""
    if (segment := _find_folded_segment(batch)) is not None:
        return segment.is_any_open()
    return batch.expanded or any(batch.calls[place].expanded for place in group_looks(batch))


def _find_folded_segment(entry: Entry) -> LookSegment | None:
    segment = find_segment(entry) if isinstance(entry, Batch | AnswerEntry) else None
    return segment if segment is not None and is_folded(segment) else None


def set_looks_open(batch: Batch, is_wanted: bool) -> None:
    """Show the looks one by one, or as one row: then none of them stays open."""
    calls = [batch.calls[place] for place in group_looks(batch)]
    for member in find_folded(batch) if not is_wanted else ():
        member.expanded = False
        calls += member.calls if isinstance(member, Batch) else []
    batch.expanded = is_wanted
    if not is_wanted:
        for call in calls:
            call.expanded = False


def draw_looks(batch: Batch, places: Sequence[int], width: int, palette: Palette) -> Strip:
    """The row, as `read 2 files, searched 1, listed 2 · 81 ms · a.py, b.py`."""
    segment = _find_folded_segment(batch)
    if segment is not None:
        summary, is_untimed = segment.summary, segment.is_untimed
        thoughts = len(segment.members) - segment.batches
    else:
        summary, is_untimed, thoughts = LookSummary(), batch.untimed, 0
        summary.add([batch.calls[place] for place in places])
    said = _describe(summary)
    if thoughts:
        said += f", {format_amount(thoughts, 'thought')}"
    took = f" · {format_duration(summary.secs)}" if summary.is_timed and not is_untimed else ""
    mark = "▾ " if is_open(batch) else "▸ "
    text = fit_text(said, width - len(mark))
    room = width - len(mark) - len(text)
    behind = fit_text(took, room)
    behind += _name_seen(summary, room - len(behind))
    return build_strip((mark, palette.muted + ASIDE), (text, Style()), (behind, palette.muted))


def _name_seen(summary: LookSummary, room: int) -> str:
    """The names of the first files that were read, as many as fit, and how many more there are."""
    paths = [PurePath(value) for _, value in islice(summary.seen, _MOST_NAMED)]
    times = Counter(path.name for path in paths)
    names = ["/".join(path.parts[-2:]) if times[path.name] > 1 else path.name for path in paths]
    names = [collapse_blanks(make_printable(name, newlines=False)) for name in names]
    for count in range(len(names), 0, -1):
        left = len(summary.seen) - count
        text = f" · {', '.join(names[:count])}{f' +{left:,}' if left else ''}"
        if cell_len(text) <= room:
            return text
    return ""


def _describe(summary: LookSummary) -> str:
    looks = sorted(summary.times, key=lambda look: (*_ORDER, look.verb).index(look.verb))
    first = f"{looks[0].verb} {format_amount(summary.times[looks[0]], looks[0].noun)}"
    return ", ".join([first, *(f"{look.verb} {summary.times[look]:,}" for look in looks[1:])])


_SIGNS = {ChangeKind.CREATED: "+", ChangeKind.MODIFIED: "~", ChangeKind.DELETED: "−"}
INCOMPLETE = "the workspace is too large to see every change"


def draw_receipt_line(effects: Effects, cwd: str, width: int, palette: Palette) -> list[Strip]:
    """What was not declared, in one line, and what is ignored in another; nothing where all was declared."""
    surprises = [change for change in effects.changes if change.is_surprise]
    strips = []
    if surprises:
        names = list(name_changes(surprises, cwd, _name_file))
        # What git keeps is declared by every command that has it open, and is no change that anybody waits for.
        declared = [each for each in effects.changes if each.declared and find_git_folder(each.path) is None]
        verb = "also changed" if declared else "changed"
        text = f"{verb} {format_amount(len(names), 'file')}: {', '.join(names)}"
        strips.append(build_strip((fit_text(make_printable(text, newlines=False), width), palette.warning)))
    if ignored := sum(change.is_by_product for change in effects.changes):
        text = f"+{format_amount(ignored, 'ignored file')}"
        strips.append(build_strip((fit_text(text, width), palette.muted)))
    return strips if effects.complete else [*strips, _render_incomplete(width, palette)]


def name_changes(
    changes: Sequence[FileChange], cwd: str, name: Callable[[FileChange, str], str]
) -> Iterator[str]:
    """Each file in the words of `name`, one that was renamed once."""
    return (
        name(change, cwd) if old is None else _name_rename(old, change.path, cwd)
        for change, old in pair_renames(changes)
    )


def draw_receipt(effects: Effects, cwd: str, width: int, palette: Palette) -> list[Strip]:
    """Every file that changed, one line each, and one for a file that was renamed."""
    strips = [
        build_strip(
            (
                fit_text(make_printable(_describe_change(change, old, cwd), newlines=False), width),
                palette.warning if change.is_surprise else palette.muted,
            )
        )
        for change, old in pair_renames(effects.changes)
    ]
    return strips if effects.complete else [*strips, _render_incomplete(width, palette)]


def draw_restored(entry: Restoration, width: int, palette: Palette) -> list[Strip]:
    """The files that were given back: in one line while folded, else one line each; ignored ones last."""
    told = [change for change in entry.changes if not change.ignored]
    sources = list(name_changes(told, entry.cwd, _name_file))
    ignored = [_name_file(change, entry.cwd) for change in entry.changes if change.ignored]
    more = f"+{len(ignored):,} ignored" if ignored else ""
    head = f"gave back {format_amount(len(told), 'file') if told else more}"
    if not entry.expanded:
        text = f"{head}: {', '.join([*sources, *filter(None, [more])])}" if sources else head
        shown = fit_text(make_printable(text, newlines=False), width - 2)
        return [build_strip(("▸ ", palette.muted), (shown, palette.accent))]
    lines = [
        build_strip(("  " + fit_text(make_printable(name, newlines=False), width - 2), palette.muted))
        for name in (*sources, *ignored)
    ]
    head = f"{head}, {more}" if sources and more else head
    return [build_strip(("▾ ", palette.muted), (fit_text(head, width - 2), palette.accent)), *lines]


def _describe_change(change: FileChange, old: str | None, cwd: str) -> str:
    declared = "declared" if change.declared else "ignored" if change.ignored else "not declared"
    late = ", found late: perhaps before this call" if change.late else ""
    if old is not None:
        return f"{_name_rename(old, change.path, cwd)} · {declared}{late}"
    return f"{_name_file(change, cwd)} · {change.kind}, {declared}{late}"


def _name_rename(old: str, new: str, cwd: str) -> str:
    root = cwd.rstrip("/") + "/"
    return f"{old.removeprefix(root)} renamed to {new.removeprefix(root)}"


def _name_file(change: FileChange, cwd: str) -> str:
    root = cwd.rstrip("/") + "/"
    return f"{_SIGNS[change.kind]} {change.path.removeprefix(root)}"


def _render_incomplete(width: int, palette: Palette) -> Strip:
    return build_strip((fit_text(INCOMPLETE, width), palette.muted))


_LIVE_FOLDED = 6
_REASON_FOLDED = 3
_ARGUMENT_LINES = 8
_ARGUMENT_LOOKED_AT = 4_000
_LOOKED_AT = 20_000
_BOLD = Style(bold=True)


class CardTarget(Struct, frozen=True):
    """What a click on a line is meant for: the call at a place of its batch.

    `opens`: that call's output; `fold`: a part of its output that can be opened and folded by itself.
    """

    place: int
    opens: bool = False
    fold: str | None = None


class Drawing(Struct):
    """Lines, and for each what a click on it is meant for."""

    strips: list[Strip] = []
    targets: list[CardTarget | None] = []

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
        hidden = [_build_part([draw_folded_more(above, "above", self._palette)], PAGER)] if above > 0 else []
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
        if text in (REJECTED_WITHOUT_REASON, REJECTED_AND_STOPPED) or (
            text == INTERRUPTED and not fold_decision_texts(call)
        ):
            return []  # the row says as much
        strips = [build_strip((fit_text(line, self._width), style)) for line in text.split("\n") if text]
        # A fold that hides a single line would take that line's place itself.
        if len(strips) <= _REASON_FOLDED + 1:
            return strips
        return [*strips[:_REASON_FOLDED], draw_folded_more(len(strips) - _REASON_FOLDED, "more", self._palette)]

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
        is_renamed = format_tool_name(call.tool) != call.tool
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
        return build_strip(
            (fit_text(f"… {text} · {name_whole(self._palette)}", self._width), self._palette.muted + ASIDE)
        )

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
