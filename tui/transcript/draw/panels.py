"""A panel in the transcript, also a debate: what happens in it while it runs, one line once it is over.

The members of a panel stand side by side while they write. Of a debate comes first what is open, then what was
settled.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from quorum.application.view.entries import PanelEntry, PanelMember, PanelStep
from quorum.application.view.wording import (
    describe_costs,
    describe_finding,
    describe_missing_answer,
    describe_missing_review,
    describe_objection,
    describe_tally,
    describe_total_cost,
    describe_verdict_and_findings,
    list_replies,
)
from quorum.domain.code_review.review_result import CodeFinding, FindingStanding
from quorum.domain.panel.debate_record import DebateObjection, ObjectionRuling
from quorum.domain.panel.panel_answer import BEST_SCORE, PanelAnswer, PanelForm, RankedAnswer
from quorum.domain.review.ballot import Verdict
from quorum.domain.text.amounts import format_amount, format_duration, format_elapsed, format_tokens
from quorum.domain.text.printable import make_printable
from quorum.tui.transcript.cells.lines import ASIDE, build_strip, fit_text, pad_text, wrap_words
from quorum.tui.transcript.cells.palette import Palette

_SHOWN_OBJECTIONS = 6
_ORDER = (ObjectionRuling.OPEN, ObjectionRuling.UPHELD, ObjectionRuling.REFUTED)


def describe_part(entry: PanelEntry, label: str) -> str:
    """What a model without an answer of its own did, or what it waits for."""
    raised = entry.debate.list_raised(label)
    if not raised:
        return "may have to object" if entry.is_running else "was not asked"
    count = sum(len(each.objections) for each in raised)
    if any(not each.error for each in raised):
        return format_amount(count, "objection") if count else "no objections"
    return f"no objections: {make_printable(raised[-1].error, newlines=False)}"


def find_opener(entry: PanelEntry) -> str:
    """The label of the model that is asked for the answer now; empty once there is one."""
    if entry.answered:
        return ""
    return next((member.label for member in entry.members if member.answer is None), "")


def describe_debate(entry: PanelEntry, took: float) -> str:
    """What a debate is at, or what came of it."""
    record = entry.debate
    author = next((member.label for member in entry.answered), "")
    if entry.is_running:
        doing = (
            f"round {record.round}: {describe_tally(record)}"
            if record.round
            else f"{author} answered, the others look for objections"
            if author
            else f"{find_opener(entry) or 'a model'} answers"
        )
        return f"{doing} · {format_elapsed(took)}"
    parts = [describe_tally(record)] if author else []
    if not entry.is_concluded:
        parts.append("cut off")
    elif author:
        rounds = format_amount(record.round, "round")
        parts.append(f"the answer of {author} stands after {rounds}")
    else:
        parts.append("no answer")
    parts.append(format_duration(took))
    if entry.cost_usd:
        parts.append(f"answer ${entry.cost_usd:,.4f}")
    return " · ".join(parts)


def draw_open_objections(entry: PanelEntry, width: int, palette: Palette) -> list[Strip]:
    """The objections that nobody has settled, two lines each at most."""
    open_ = entry.debate.select(ObjectionRuling.OPEN)
    strips = []
    for each in open_[:_SHOWN_OBJECTIONS]:
        first, *others = wrap_words(_flatten(describe_objection(each)), width - 4)
        strips.append(build_strip(("  ", ASIDE), (first, palette.accent)))
        rest = fit_text(" ".join(others), width - 4)
        strips += [build_strip(("    ", ASIDE), (rest, palette.accent))] if rest else []
    if more := len(open_) - _SHOWN_OBJECTIONS:
        strips += [build_strip(("  ", ASIDE), (f"… and {more} more", palette.muted))] if more > 0 else []
    return strips


def draw_objections(entry: PanelEntry, width: int, palette: Palette) -> list[Strip]:
    """Every objection with what was said to it: the open ones, those that were upheld, those that were not."""
    strips = []
    for ruling, objection in _sort_objections(entry):
        style = palette.accent if ruling is ObjectionRuling.OPEN else palette.muted
        for line in wrap_words(_flatten(f"{ruling.value} · {describe_objection(objection)}"), width - 2):
            strips.append(build_strip(("  ", ASIDE), (line, style + Style(bold=True))))
        for said in list_replies(objection, entry.debate):
            lines = wrap_words(_flatten(said), width - 4)
            strips += [build_strip(("    ", ASIDE), (line, palette.muted)) for line in lines]
    return strips


def render_objections(entry: PanelEntry) -> list[str]:
    """Every objection with what was said to it, as text."""
    return [
        "\n".join((f"{ruling.value} · {describe_objection(each)}", *list_replies(each, entry.debate)))
        for ruling, each in _sort_objections(entry)
    ]


def _sort_objections(entry: PanelEntry) -> Sequence[tuple[ObjectionRuling, DebateObjection]]:
    return [(ruling, each) for ruling in _ORDER for each in entry.debate.select(ruling)]


def _flatten(text: str) -> str:
    return make_printable(text, newlines=False)


_BETWEEN = " · "
_LEAST_COLUMN = 34
_ROOM_FOR_SENTENCE = 72
_COLUMN_LINES = 6
_ROW_LINES = 2
"""Of what a member writes, where members stand one below the other."""
_BOLD = Style(bold=True)
_TASKS = {
    PanelForm.DISCUSSION: "makes a synthesis",
    PanelForm.ENSEMBLE: "lists what the others add",
    PanelForm.PLAN: "lists what the other plans add",
    PanelForm.DRAFT: "makes one file of the drafts",
}
"""What the moderator does in the end."""


def draw_panel(entry: PanelEntry, width: int, palette: Palette, now: float) -> list[Strip]:
    """All of it at a width in cells."""
    if entry.expanded:
        return [_draw_head("▾ ", entry, width, palette, now), *_draw_answers(entry, width, palette)]
    head = _draw_head("▸ ", entry, width, palette, now)
    if not entry.is_running:
        return [head, *_draw_failures(entry, width, palette)]
    head_and_cost = [head, *_draw_total_cost(entry, width, palette)]
    if entry.form is PanelForm.DEBATE:
        body = [*draw_open_objections(entry, width, palette), *_draw_rows(entry, width, palette, now)]
        return [*head_and_cost, *body]
    room = (width - 2) // len(entry.members) - 3 if entry.members else 0
    if entry.step is PanelStep.ANSWERS and room >= _LEAST_COLUMN:
        return [*head_and_cost, *_draw_columns(entry, room, palette, now)]
    return [*head_and_cost, *_draw_rows(entry, width, palette, now)]


def _draw_head(mark: str, entry: PanelEntry, width: int, palette: Palette, now: float) -> Strip:
    text = _fit_parts(make_printable(_describe(entry, now, width), newlines=False), width - 8)
    style = palette.accent if entry.is_running else _style_ending(entry, palette)
    return build_strip((mark, palette.muted + ASIDE), ("panel ", palette.muted), (text, style))


def _fit_parts(text: str, width: int) -> str:
    """As many of the parts of a line as fit; the first one may be cut."""
    first, *others = text.split(_BETWEEN)
    shown = fit_text(first, width)
    for part in others:
        if cell_len(longer := f"{shown}{_BETWEEN}{part}") <= width:
            shown = longer
    return shown


def _style_ending(entry: PanelEntry, palette: Palette) -> Style:
    """A verdict stands out; what came of the others is in the text that follows."""
    if entry.result is None:
        return palette.muted
    return palette.ok if entry.result.verdict is Verdict.APPROVED else palette.error


def _draw_total_cost(entry: PanelEntry, width: int, palette: Palette) -> list[Strip]:
    """What it was estimated to cost before it started."""
    said = describe_total_cost(entry.costs)
    lines = wrap_words(f"estimated: {said}", width - 2) if said else []
    return [build_strip(("  ", ASIDE), (line, palette.muted)) for line in lines]


def _describe(entry: PanelEntry, now: float, width: int) -> str:
    """What it is at, or what came of it."""
    took = max(0.0, (entry.ended if entry.ended is not None else now) - entry.began)
    answered = f"{len(entry.answered)} of {len(entry.members)} answered"
    if entry.form is PanelForm.REVIEW:
        return _describe_review(entry, answered, took, width)
    if entry.form is PanelForm.DEBATE:
        return describe_debate(entry, took)
    if entry.is_running:
        doing = {
            PanelStep.ANSWERS: f"{answered}, the others write"
            if entry.answered
            else f"{format_amount(len(entry.members), 'model')} write",
            PanelStep.REVIEWS: f"{answered}, they review each other",
            PanelStep.SYNTHESIS: f"{answered}, {entry.moderator} {_TASKS[entry.form]}",
            PanelStep.OVER: answered,
        }[entry.step]
        return f"{doing} · {format_elapsed(took)}"
    parts = [answered]
    if scores := [f"{label} {_render_score(rank)}" for label, rank in entry.rank().items() if rank.scores]:
        parts.append(f"scores {', '.join(scores)}")
    if not entry.is_concluded:
        parts.append("cut off")
    elif entry.form in (PanelForm.ENSEMBLE, PanelForm.PLAN):
        parts.append(f"{entry.chosen} stands" if entry.chosen is not None else "one model answers alone")
    elif entry.reason:
        parts.append(_describe_lack(entry))
    parts.append(format_duration(took))
    if entry.cost_usd:
        parts.append(f"answers ${entry.cost_usd:,.4f}")
    return " · ".join(parts)


def _describe_lack(entry: PanelEntry) -> str:
    """What became of a panel without a synthesis, or of drafts without one file."""
    if entry.form is not PanelForm.DRAFT:
        return "no synthesis"
    return f"{entry.chosen} stands" if entry.chosen is not None else "one model writes alone"


def _describe_review(entry: PanelEntry, answered: str, took: float, width: int) -> str:
    """What a code review is at, or what came of it."""
    if entry.is_running:
        doing = {
            PanelStep.ANSWERS: f"{answered}, the others review"
            if entry.answered
            else f"{format_amount(len(entry.members), 'model')} review",
            PanelStep.REVIEWS: f"{answered}, they try the findings",
            PanelStep.SYNTHESIS: f"{answered}, {entry.moderator} concludes",
            PanelStep.OVER: answered,
        }[entry.step]
        return f"{doing} · {format_elapsed(took)}"
    parts = [describe_verdict_and_findings(entry.result)] if entry.result is not None else [answered, "cut off"]
    if entry.result is not None and entry.result.findings:
        parts.append("/findings opens them" if width >= _ROOM_FOR_SENTENCE else "/findings")
    parts.append(format_duration(took))
    if entry.cost_usd:
        parts.append(f"reviews ${entry.cost_usd:,.4f}")
    return _BETWEEN.join(parts)


def _draw_columns(entry: PanelEntry, room: int, palette: Palette, now: float) -> list[Strip]:
    """The members side by side: who it is, how far it is, and the end of what it writes."""
    edge = ("│ ", palette.muted + ASIDE)
    columns = [_render_column(member, room, entry, now) for member in entry.members]
    strips = []
    for number in range(max(map(len, columns))):
        parts: list[tuple[str, Style]] = [("  ", ASIDE)]
        for member, lines in zip(entry.members, columns, strict=True):
            text = lines[number] if number < len(lines) else ""
            style = _choose_style(member, palette) + _BOLD if number == 0 else palette.muted
            parts += [edge, (pad_text(str(text), room + 1), style)]
        strips.append(build_strip(*parts))
    return strips


def _render_column(member: PanelMember, room: int, entry: PanelEntry, now: float) -> list[str]:
    text = member.writing
    if member.answer is not None:
        text = member.answer.text if member.answer.is_answer else member.answer.reason
    lines = wrap_words(make_printable(text[-4_000:]), room)[-_COLUMN_LINES:] if text.strip() else []
    state = _render_state(member, entry, now)
    name = fit_text(f"{member.label} {make_printable(member.participant.model, newlines=False)}", room)
    return [name, _fit_parts(state, room), *(fit_text(line, room) for line in lines)]


def _draw_rows(entry: PanelEntry, width: int, palette: Palette, now: float) -> list[Strip]:
    """The members one below the other, each with the end of what it writes."""
    strips = []
    names = [f"{member.label} {member.participant.model}" for member in entry.members]
    widest = min(max(map(len, names), default=0), max(width // 2, 12))
    for member, name in zip(entry.members, names, strict=True):
        shown = pad_text(fit_text(make_printable(name, newlines=False), widest), widest)
        state = _fit_parts(_render_state(member, entry, now), width - widest - 4)
        strips.append(
            build_strip(
                ("  ", ASIDE), (f"{shown}  ", _choose_style(member, palette) + _BOLD), (state, palette.muted)
            )
        )
        if member.answer is not None and not member.answer.is_answer:
            lines = wrap_words(make_printable(member.answer.reason, newlines=False), width - 4)[:_ROW_LINES]
            strips += [build_strip(("    ", ASIDE), (line, palette.error)) for line in lines]
        if member.answer is None and member.writing.strip():
            lines = wrap_words(make_printable(member.writing), width - 4)[-_ROW_LINES:]
            strips += [build_strip(("    ", ASIDE), (line, palette.muted)) for line in lines]
    return strips


def _render_state(member: PanelMember, entry: PanelEntry, now: float) -> str:
    answer = member.answer
    if answer is None and entry.form is PanelForm.DEBATE and member.label != find_opener(entry):
        return describe_part(entry, member.label)
    if answer is None:
        secs = format_elapsed(now - entry.began)
        if entry.form is PanelForm.REVIEW:  # it writes nothing: what it looks at is shown below
            return f"{'looks' if member.characters else 'asked'} · {secs}"
        return f"{member.characters:,} characters · {secs}" if member.characters else f"asked · {secs}"
    if not answer.is_answer:
        return "no answer"
    if entry.step is PanelStep.REVIEWS and entry.form is not PanelForm.REVIEW:
        doing = "reviews the others" if member.review is None else "has reviewed"
        return _BETWEEN.join([doing, *filter(None, [_measure(answer)])])
    return _measure(answer)


def _measure(answer: PanelAnswer) -> str:
    used = answer.usage.output
    parts = [format_duration(answer.secs), f"{format_tokens(used)} tokens" if used else ""]
    parts.append(f"${answer.cost_usd:,.4f}" if answer.cost_usd else "")
    return " · ".join(part for part in parts if part)


def _choose_style(member: PanelMember, palette: Palette) -> Style:
    if member.answer is None:
        return palette.accent
    return palette.ok if member.answer.is_answer else palette.error


def _draw_failures(entry: PanelEntry, width: int, palette: Palette) -> list[Strip]:
    """Who gave no answer, who reviewed nothing and why there is no synthesis: seen without unfolding."""
    said = [
        describe_missing_answer(member.answer)
        for member in entry.members
        if member.answer is not None and not member.answer.is_answer
    ]
    said += [
        describe_missing_review(member.review)
        for member in entry.members
        if member.review is not None and member.review.error
    ]
    said += [entry.reason] if entry.reason else []
    lines = [line for one in said for line in wrap_words(make_printable(one, newlines=False), width - 2)]
    return [build_strip(("  ", ASIDE), (line, palette.error)) for line in lines]


def _draw_answers(entry: PanelEntry, width: int, palette: Palette) -> list[Strip]:
    """Every answer whole, with what the others said of it."""
    strips = _draw_total_cost(entry, width, palette)
    for cost in describe_costs(entry.costs):
        lines = wrap_words(make_printable(cost, newlines=False), width - 4)
        strips += [build_strip(("    ", ASIDE), (line, palette.muted)) for line in lines]
    strips += draw_objections(entry, width, palette)
    if entry.result is not None:
        strips += _draw_findings(entry.result.findings, width, palette)
    ranks = entry.rank()
    for member in entry.members:
        answer = member.answer
        facts = describe_part(entry, member.label) if answer is None else ""
        facts = _measure(answer) if answer is not None and answer.is_answer else facts
        if (rank := ranks.get(member.label)) is not None and rank.scores:
            facts += f" · score {_render_score(rank)} of {BEST_SCORE}"
        name = make_printable(f"{member.label} {member.participant.model}", newlines=False)
        title = fit_text(name, width - 2)
        strips.append(build_strip(("  ", ASIDE), (title, _choose_style(member, palette) + _BOLD)))
        if facts:
            strips.append(build_strip(("  ", ASIDE), (fit_text(facts, width - 2), palette.muted)))
        text = member.writing if answer is None else answer.text or answer.reason
        strips += [
            build_strip(("    ", ASIDE), (line, Style()))
            for line in wrap_words(make_printable(text), width - 4)
        ]
        strips += [
            build_strip(("    ", ASIDE), (line, palette.muted))
            for said in list_comments(entry, member.label)
            for line in wrap_words(make_printable(said, newlines=False), width - 4)
        ]
    return [*strips, *_draw_failures(entry, width, palette)]


def _draw_findings(findings: Sequence[CodeFinding], width: int, palette: Palette) -> list[Strip]:
    """Each finding: how it stands, where it is, and what goes wrong."""
    strips = []
    for finding in findings:
        style = palette.error if finding.standing is FindingStanding.CONFIRMED else palette.muted
        head = fit_text(make_printable(describe_finding(finding), newlines=False), width - 2)
        strips.append(build_strip(("  ", ASIDE), (head, style + _BOLD)))
        lines = wrap_words(make_printable(finding.report.claim), width - 4)
        strips += [build_strip(("    ", ASIDE), (line, Style())) for line in lines]
    return strips


def list_comments(entry: PanelEntry, label: str) -> list[str]:
    """What the others say of an answer, a sentence each."""
    return [
        " ".join(
            (
                f"{member.label} scores {review.score}, agrees: {review.agreement.value}. {review.comment}",
                *(f"Danger: {danger}" for danger in review.dangers),
            )
        )
        for member in entry.members
        if member.review is not None
        for review in member.review.reviews
        if review.answer == label
    ]


def render_panel(entry: PanelEntry) -> str:
    """All answers and comments as text, to search and to copy."""
    parts = render_objections(entry)
    if entry.result is not None:
        parts += [f"{describe_finding(each)}\n{each.report.claim}" for each in entry.result.findings]
    for member in entry.members:
        text = member.writing if member.answer is None else member.answer.text or member.answer.reason
        parts.append(f"{member.label} {member.participant.model}\n\n{text}")
        parts += list_comments(entry, member.label)
    return "\n\n".join(parts)


def speak_panel(entry: PanelEntry) -> list[str]:
    """It in sentences, for a screen reader."""
    asked = format_amount(len(entry.members), "model")
    said = [f"panel of {asked}: {len(entry.answered)} answered"]
    said += [describe_debate(entry, 0.0)] if entry.form is PanelForm.DEBATE else []
    said += [describe_verdict_and_findings(entry.result)] if entry.result is not None else []
    said += [f"estimated: {cost}"] if (cost := describe_total_cost(entry.costs)) and entry.is_running else []
    for member in entry.members:
        if member.answer is None and entry.form is PanelForm.DEBATE and member.label != find_opener(entry):
            said.append(f"{member.label}, {member.participant.model}: {describe_part(entry, member.label)}")
        elif member.answer is None:
            said.append(f"{member.label}, {member.participant.model}, is asked")
        elif member.answer.is_answer:
            said.append(f"{member.label}, {member.participant.model}, answered")
        else:
            said.append(f"{member.label}, {member.participant.model}, gave no answer: {member.answer.reason}")
    said += [entry.reason] if entry.reason else []
    return [*said, render_panel(entry)] if entry.expanded else said


def _render_score(rank: RankedAnswer) -> str:
    return "–" if rank.score is None else f"{rank.score:.1f}"
