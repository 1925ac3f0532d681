"""What is typed and chosen in a review: one form for each stage that needs one.

There are forms of a rule, of rules offered after several approvals, and of a plan's tasks. Two lines tell what
a rule would have decided about past calls, filled in once that is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias, assert_never

from textual import on, work
from textual.app import ComposeResult
from textual.containers import VerticalGroup
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from quorum.domain.errors import QuorumError
from quorum.domain.plan.plan import Plan, PlanTask, TaskChoice
from quorum.domain.review.permission_rules import Answer, BadRule, Rule
from quorum.domain.review.questions import ReviewRequest, RuleOffer, RulePreview, RuleScope
from quorum.domain.review.rule_replay import RuleReplay
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyed_app import READER, choose_sign, fill_in_keys
from quorum.tui.screens.review.choice_bar import Stage
from quorum.tui.screens.review.text.plan import find_plan, find_plan_text
from quorum.tui.screens.review.widgets import CallEditor, ReasonLine, Rows, TypedLine
from quorum.tui.transcript.cells.lines import fit_text
from quorum.tui.transcript.kinds.rows import Line, LineKind, Row, StyledPart, clean_line, fold

if TYPE_CHECKING:
    from quorum.application.ports.people import ReviewContext


ReplayTexts: TypeAlias = Callable[[Sequence[str]], Awaitable["RuleReplay | None"]]
"""Replays rules, as text; None where they are none."""

_PAUSE_SECS = 0.2  # a rule that is being typed is another one at each key


class FormGrown(Message):
    """A form needs more lines than it was given."""


class ReplayRows(Rows):
    """Takes one line, and from when an answer needs it a second one, which it keeps."""

    def __init__(self) -> None:
        super().__init__(id="replay")
        self.hold(None)

    def hold(self, replay: ReplayTexts | None) -> None:
        """Ask this from now on; None: nobody knows of past calls, and there are no lines."""
        self._replay = replay
        self._width = 0
        self.lines = 0 if replay is None else 1

    def ask(self, rules: Sequence[str], width: int) -> None:
        """Tell about these rules, in place of those asked about before."""
        self._width = width
        if self._replay is None:
            self.show([], height=0)
            return
        self._fill([(StyledPart("  past calls: …", LineKind.QUIET),)])
        self._tell(self._replay, tuple(rules), width)

    def fit(self, rules: Sequence[str], width: int) -> None:
        """Ask about these rules where none were asked about at this width; else leave what it tells."""
        if width != self._width:
            self.ask(rules, width)

    def _fill(self, rows: list[Row]) -> None:
        is_grown, self.lines = len(rows) > self.lines, max(self.lines, len(rows))
        self.show(rows, height=self.lines)
        if is_grown:
            self.post_message(FormGrown())

    @work(group="replay", exclusive=True)
    async def _tell(self, replay: ReplayTexts, rules: tuple[str, ...], width: int) -> None:
        await asyncio.sleep(_PAUSE_SECS)
        try:
            found = await replay(rules)
        except QuorumError as error:
            problem = f"  past calls cannot be read: {clean_line(str(error))}"
            self._fill([(StyledPart(fit_text(problem, width), LineKind.BAD),)])
        else:
            self._fill([] if found is None else render_replay(found, width, bad=choose_sign(self.app, "✗ ")))


def render_replay(replay: RuleReplay, width: int, *, bad: str = "✗ ") -> list[Row]:
    """What would run although somebody said no, with an example, behind `bad`; then the rest in numbers."""
    loosened = [group for group in replay.groups if group.loosens]
    others = [group for group in replay.groups if not group.loosens]
    newest = "the newest " if replay.newest is not None else ""
    among = f"of {newest}{format_amount(replay.calls, 'past call')} here"
    if not replay.groups:
        return [(StyledPart(fit_text(f"  {among}, none is like it", width), LineKind.QUIET),)]
    head = StyledPart("  none that you rejected would run", LineKind.GOOD)
    if loosened:
        told = " · ".join(f"{group.sentence}: {clean_line(group.examples[0])}" for group in loosened)
        head = StyledPart(fit_text(f"  {bad}{told}", width), LineKind.BAD)
    rest = " · ".join((*(group.sentence for group in others), among))
    return [(head,), (StyledPart(fit_text(f"  {rest}", width), LineKind.QUIET),)]


SCOPES = {
    RuleScope.SESSION: "this session",
    RuleScope.PROJECT: "this project",
    RuleScope.USER: "everywhere",
}
_NOT_THIS = "it does not cover this call; change it, or esc goes back"
_SCOPE_KEY = "  tab"
_RULE_AND_SCOPE = 2
_BESIDE_TEXT = 4


def select_offered(proposals: Sequence[str]) -> tuple[str, ...]:
    """The proposals that can be edited: what holds hidden characters cannot be read, and so is not offered."""
    return tuple(proposal for proposal in proposals if clean_line(proposal) == proposal)


def render_scope_row(chosen: RuleScope, width: int, *, spoken: bool) -> Row:
    """The scopes, the chosen one marked, and the key that chooses another; that one alone in few columns, and
    for a screen reader, which has no signs read out."""
    scopes = "  ".join(f"({'•' if scope is chosen else ' '}) {word}" for scope, word in SCOPES.items())
    if spoken or len(scopes) + len(_SCOPE_KEY) > width:
        sign = "for " if spoken else "(•) "
        scopes = f"{sign}{SCOPES[chosen]}, {[*SCOPES].index(chosen) + 1} of {len(SCOPES)}"
    return (StyledPart(scopes, LineKind.PLAIN), StyledPart(_SCOPE_KEY, LineKind.QUIET))


class RuleForm(VerticalGroup):
    """Offers proposals, the narrowest first. What is typed into one of them stays with it.

    Its preview has the lines that the longest one so far needs, so that little moves and nothing stays empty.
    """

    DEFAULT_CSS: ClassVar[str] = """
    RuleForm {
        margin-top: 1;
        & > #rule { background: $panel; padding: 0 1; }
    }
    """

    class Changed(Message):
        """Another rule or scope is in the form."""

    def __init__(self, proposals: Sequence[str], preview: Callable[[str], RulePreview]) -> None:
        super().__init__(id="rule_form")
        self._most, self._lines = 4, 1
        self._has_head = True
        self._replay = ReplayRows()
        self.propose(proposals, preview)

    def propose(
        self,
        proposals: Sequence[str],
        preview: Callable[[str], RulePreview],
        replay: ReplayTexts | None = None,
    ) -> None:
        """Hold these proposals when it is opened next, and nothing of what was typed or chosen before."""
        self._replay.hold(replay)
        self._proposals = select_offered(proposals)
        self._texts = list(self._proposals)
        self._preview_of = preview
        self._place, self._lines = 0, 1
        self.scope = RuleScope.SESSION

    def compose(self) -> ComposeResult:
        """Heading, rule, scope, preview and replay."""
        yield Rows(id="rule_head")
        yield TypedLine(id="rule", select_on_focus=False)
        yield Rows(id="scopes")
        yield Rows(id="preview")
        yield self._replay

    @property
    def _input(self) -> Input:
        return self.query_one("#rule", Input)

    @property
    def text(self) -> str:
        """The rule as it stands."""
        return self._input.value.strip()

    @property
    def own_text(self) -> str:
        """The rule, if it is none of those that were proposed."""
        return "" if self.text in self._proposals else self.text

    def find_problem(self) -> str:
        """Why the rule cannot be saved for this call; empty where it can."""
        preview = self._preview_of(self.text)
        return clean_line(preview.problem) if preview.problem else "" if preview.covers_this else _NOT_THIS

    def open(self) -> None:
        """Offer the present proposal, and take the focus."""
        self._offer()
        self._input.focus()

    def turn(self, step: int) -> None:
        """Offer the next proposal, or the one before."""
        self._texts[self._place] = self._input.value
        self._place = (self._place + step) % len(self._texts)
        self._offer()

    def widen(self, step: int) -> None:
        """Choose the next scope, or the one before."""
        scopes = list(SCOPES)
        self.scope = scopes[(scopes.index(self.scope) + step) % len(scopes)]
        self._tell()

    def _offer(self) -> None:
        self._input.value = self._texts[self._place]
        self._input.cursor_position = len(self._input.value)
        self._tell()

    @on(Input.Changed)
    def _on_typed(self, message: Input.Changed) -> None:
        message.stop()
        self._tell()

    def lay_out(self, *, roomy: bool, room: int, width: int) -> int:
        """Take the lines that belong to the room there is; how many these are, the margin included.

        Where they are few the rule, its scope, what it covers and past calls come first.
        """
        left = room - _RULE_AND_SCOPE - self._replay.lines - 1
        self._has_head, gap = left > 0, int(left > 1)
        self._most = max(1, min(6 if roomy else 4, left - gap))
        self.styles.margin = (gap, 0, 0, 0)
        known = (self.text, *self._proposals) if self.is_mounted else self._proposals
        needed = (len(_preview_rows(self._preview_of(rule), width, self._most)) for rule in known)
        self._lines = min(self._most, max((self._lines, *needed)))
        if self.is_mounted:
            self._draw(width)
            self._replay.fit([self.text], width)
        return gap + self._has_head + _RULE_AND_SCOPE + self._lines + self._replay.lines

    def _tell(self) -> None:
        width = self.app.size.width - _BESIDE_TEXT
        self._draw(width)
        self._replay.ask([self.text], width)
        self.post_message(self.Changed())

    def _draw(self, width: int) -> None:
        keys = fill_in_keys(f" · {self._place + 1} of {len(self._texts)}, ↑ ↓ choose", self.app)
        several, spoken = keys if len(self._texts) > 1 else "", self.app.has_class(READER)
        head = (StyledPart("always let run", LineKind.STRONG), StyledPart(several, LineKind.QUIET))
        self.query_one("#rule_head", Rows).show([head] if self._has_head else [], height=int(self._has_head))
        self.query_one("#scopes", Rows).show([render_scope_row(self.scope, width, spoken=spoken)], height=1)
        rows = _preview_rows(self._preview_of(self.text), width, self._most, spoken=spoken)
        self.query_one("#preview", Rows).show(rows[: self._lines], height=self._lines)
        if len(rows) > self._lines:
            self.post_message(FormGrown())


def _preview_rows(preview: RulePreview, width: int, height: int, *, spoken: bool = False) -> list[Row]:
    """What a rule would do, in at most so many rows; what does not fit is counted."""
    good, bad = ("", "problem: ") if spoken else ("✓ ", "✗ ")
    if preview.problem:
        rows = fold([Line(bad, clean_line(preview.problem), LineKind.BAD, LineKind.BAD)], width)
    elif not preview.covers_this:
        rows = fold([Line(bad, _NOT_THIS, LineKind.BAD, LineKind.BAD)], width)
    else:
        others = f" and {len(preview.covers)} known others" if preview.covers and height == 1 else ""
        rows = [(StyledPart(fit_text(f"{good}covers this call{others}", width), LineKind.GOOD),)]
        if preview.family and height > 2:
            rows += fold([Line("  ", clean_line(preview.family), LineKind.QUIET)], width)[: height - 2]
        if height > 1:
            rows += list_covered(preview.covers, width, height - len(rows))
    return rows[:height]


def list_covered(
    covers: Sequence[str],
    width: int,
    room: int,
    *,
    head: str = "  would also allow  ",
    nothing: str = "  it would allow no other known call",
) -> list[Row]:
    """What a rule covers, in at most so many rows, `head` before the first; what does not fit is counted."""
    if not covers:
        return [(StyledPart(nothing, LineKind.QUIET),)]
    fitting = len(covers) if len(covers) <= room else room - 1
    rows: list[Row] = []
    for call in covers[:fitting]:
        rows.append(
            (
                StyledPart(head, LineKind.QUIET),
                StyledPart(fit_text(clean_line(call), width - len(head)), LineKind.PLAIN),
            )
        )
        head = " " * len(head)
    if fitting < len(covers):
        rows.append((StyledPart(f"{' ' * len(head)}… and {len(covers) - fitting} more", LineKind.WARNING),))
    return rows


def select_readable_offer(offer: RuleOffer | None) -> RuleOffer | None:
    """The offer, if all that would be saved can be read: hidden characters cannot."""
    if offer is None or any(clean_line(rule) != rule for rule in offer.rules):
        return None
    return offer


def render_offer_row(offer: RuleOffer, key: str, width: int) -> Row:
    """What is offered and the key that shows it in full."""
    head = f"{'approved':<14}"
    what = "a rule" if len(offer.rules) == 1 else f"{len(offer.rules)} rules"
    rules = " · ".join(map(_name_rule, offer.rules))
    text = f"{format_amount(offer.approvals, 'call')} like it; {key} offers {what}: {rules}"
    return (StyledPart(head, LineKind.QUIET), StyledPart(fit_text(text, width - len(head)), LineKind.GOOD))


def _name_rule(text: str) -> str:
    """What a rule is about where that is plainer than its text, which stands where it is saved."""
    try:
        return Rule.parse(text, Answer.ALLOW, "").about_files or text
    except BadRule:
        return text


class OfferForm(VerticalGroup):
    """Shows the rules in full, what else they would let run, and their scope, which can be chosen."""

    DEFAULT_CSS: ClassVar[str] = """
    OfferForm {
        margin-top: 1;
    }
    """

    def __init__(self, offer: RuleOffer) -> None:
        super().__init__(id="offer_form")
        self._most_covered = 2
        self._replay = ReplayRows()
        self.propose(offer)

    def propose(self, offer: RuleOffer, replay: ReplayTexts | None = None) -> None:
        """Hold this offer, with the narrowest scope, from the next drawing on."""
        self._replay.hold(replay)
        self._offer = offer
        self.scope = RuleScope.SESSION

    def compose(self) -> ComposeResult:
        """All of it is text."""
        yield Rows(id="offer")
        yield self._replay

    def on_mount(self) -> None:
        self._draw()

    @property
    def rules(self) -> tuple[str, ...]:
        """What would be saved."""
        return self._offer.rules

    def widen(self, step: int) -> None:
        """Choose the next scope, or the one before."""
        scopes = list(SCOPES)
        self.scope = scopes[(scopes.index(self.scope) + step) % len(scopes)]
        self._draw()

    def lay_out(self, *, roomy: bool, width: int) -> int:
        """Take the lines that belong to the room there is; how many these are, the margin included."""
        self._most_covered = 5 if roomy else 2
        if self.is_mounted:
            self._draw()
        return 1 + len(self._render_rows(width)) + self._replay.lines

    def _draw(self) -> None:
        width = self.app.size.width - _BESIDE_TEXT
        rows = self._render_rows(width)
        self.query_one("#offer", Rows).show(rows, height=len(rows))
        self._replay.fit(self.rules, width)

    def _render_rows(self, width: int) -> list[Row]:
        offer = self._offer
        like = f" · you approved {format_amount(offer.approvals, 'call')} like this one"
        return [
            (
                StyledPart("from now on let run", LineKind.STRONG),
                StyledPart(fit_text(like, width - 19), LineKind.QUIET),
            ),
            *fold([Line("  ", rule, is_code=True) for rule in offer.rules], width),
            *fold([Line("  ", clean_line(each), LineKind.QUIET) for each in offer.families], width),
            render_scope_row(self.scope, width, spoken=self.app.has_class(READER)),
            *list_covered(offer.covers, width, self._most_covered),
        ]


_MOST_ROWS = {False: 5, True: 10}


class TaskForm(Rows):
    """Lists the tasks with boxes, one of them marked, and what depends on the marked one below."""

    DEFAULT_CSS: ClassVar[str] = """
    TaskForm {
        margin-top: 1;
    }
    """

    def __init__(self, plan: Plan) -> None:
        super().__init__(id="task_form")
        self._most = _MOST_ROWS[False]
        self.propose(plan)

    def propose(self, plan: Plan) -> None:
        """Hold the tasks of this plan, all of them kept, from the next drawing on."""
        self.choice, self._place = TaskChoice(plan), 0

    def mark(self, step: int) -> None:
        """Mark the next task, or the one before."""
        self._place = (self._place + step) % len(self.choice.plan.tasks)
        self._draw()

    def toggle(self) -> None:
        """Drop the marked task, or keep it again."""
        self.choice = self.choice.toggle(self._marked.id)
        self._draw()

    def on_mount(self) -> None:
        self._draw()

    def lay_out(self, *, roomy: bool) -> int:
        """Take the lines that belong to the room there is; how many these are, the margin included."""
        self._most = _MOST_ROWS[roomy]
        if self.is_mounted:
            self._draw()
        return 2 + self._shown

    @property
    def _marked(self) -> PlanTask:
        return self.choice.plan.tasks[self._place]

    @property
    def _shown(self) -> int:
        return min(self._most, len(self.choice.plan.tasks))

    def _draw(self) -> None:
        width, tasks = self.app.size.width - _BESIDE_TEXT, self.choice.plan.tasks
        first = max(0, min(self._place - self._shown // 2, len(tasks) - self._shown))
        rows = [self._build_row(task, width) for task in tasks[first : first + self._shown]]
        note = (StyledPart(fit_text(self._explain(len(tasks)), width), LineKind.QUIET),)
        self.show([*rows, note], height=self._shown + 1)

    def _build_row(self, task: PlanTask, width: int) -> Row:
        is_dropped = task.id in self.choice.dropped
        head = f"{'>' if task is self._marked else ' '} [{' ' if is_dropped else 'x'}] "
        text = fit_text(make_printable(f"{task.id}: {task.description}", newlines=False), width - len(head))
        kind = LineKind.QUIET if is_dropped else LineKind.STRONG if task is self._marked else LineKind.PLAIN
        return (StyledPart(head, kind), StyledPart(text, kind))

    def _explain(self, count: int) -> str:
        task_id, place = self._marked.id, f"{self._place + 1} of {count}"
        if behind := ", ".join(self.choice.list_behind(task_id)):
            return f"{place} · {behind} cannot be done without {task_id}"
        return f"{place} · no other task depends on {task_id}"


_EDITOR_LINES = 8


class ReviewForms:
    """The forms of one card. Each is made when it is first wanted, and kept for further requests.

    `offer` are the rules that the request offers, if all of them can be read.
    """

    def __init__(self, request: ReviewRequest, review_context: ReviewContext) -> None:
        self._made: dict[Stage, Widget] = {}
        self.rule = RuleForm(request.proposals, review_context.preview)
        self.propose(request, review_context)

    def propose(self, request: ReviewRequest, review_context: ReviewContext) -> None:
        """Hold what belongs to this request, and nothing of what was typed or chosen before."""
        self.can_rule = bool(select_offered(request.proposals))
        self.rule.propose(request.proposals, review_context.preview, review_context.replay)
        self.offer = select_readable_offer(request.offer)
        self.offered: OfferForm | None = None
        if self.offer is not None:
            form = self._made.get("offering")
            self.offered = form if isinstance(form, OfferForm) else OfferForm(self.offer)
            self.offered.propose(self.offer, review_context.replay)
        self.tasks: TaskForm | None = None
        is_editable = request.can_be_edited and find_plan_text(request.packet) is not None
        if is_editable and (plan := find_plan(request.packet)) is not None and len(plan.tasks) > 1:
            tasks = self._made.get("dropping")
            self.tasks = tasks if isinstance(tasks, TaskForm) else TaskForm(plan)
            self.tasks.propose(plan)
        if isinstance(reason := self._made.get("reasoning"), ReasonLine):
            reason.clear()

    def find(self, stage: Stage) -> tuple[Widget | None, bool]:
        """The form of a stage, if it has one, and whether it was only made now."""
        if (form := self._made.get(stage)) is not None:
            return form, False
        if (form := self._make(stage)) is not None:
            self._made[stage] = form
        return form, form is not None

    def show(self, shown: Widget | None) -> None:
        """Show this form and no other."""
        for form in self._made.values():
            form.display = form is shown

    def focus(self, form: Widget | None, otherwise: Widget) -> None:
        """Have what is typed go to the form, or keys to the choices where nothing is typed into it."""
        if form is self.rule:
            self.rule.open()
        elif form is None or form in (self.offered, self.tasks):
            otherwise.focus()
        else:
            form.focus()

    def lay_out(self, stage: Stage, *, roomy: bool, room: int, width: int) -> int:
        """Have the forms take the lines that belong to the room; how many that of the stage takes."""
        lines = {"reasoning": 2, "editing": 1 + _EDITOR_LINES}
        if stage == "ruling":
            lines["ruling"] = self.rule.lay_out(roomy=roomy, room=room, width=width)
        if self.offered is not None:
            lines["offering"] = self.offered.lay_out(roomy=roomy, width=width)
        if self.tasks is not None:
            lines["dropping"] = self.tasks.lay_out(roomy=roomy)
        return lines.get(stage, 0)

    def _make(self, stage: Stage) -> Widget | None:
        match stage:
            case "reasoning":
                return ReasonLine()
            case "editing":
                return CallEditor()
            case "ruling":
                return self.rule
            case "offering":
                return self.offered
            case "dropping":
                return self.tasks
            case "choosing" | "listing" | "polling" | "detailing":
                return None
            case _:
                assert_never(stage)
