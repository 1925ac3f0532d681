"""The screen of `/permissions`: the rules in force, one more or less, and a call to try them on.

From it the person also judges calls that a mode let run unasked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalGroup, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import Worker

from quorum.domain.errors import QuorumError
from quorum.domain.review.permission_rules import Answer, HeldRule
from quorum.domain.review.questions import RulePreview, RuleScope
from quorum.domain.review.rule_replay import RuleReplay
from quorum.domain.review.unasked_calls import CallKind, SampledCall
from quorum.domain.text.amounts import shorten_home
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyboard_guard import HoldsLetters
from quorum.tui.keys.keyed_app import choose_sign
from quorum.tui.screens.review.forms import SCOPES, ReplayRows, list_covered
from quorum.tui.screens.review.widgets import Rows, TypedLine
from quorum.tui.transcript.kinds.rows import Line, LineKind, Row, StyledPart, clean_line, fold
from quorum.tui.widgets.colours import QUIET
from quorum.tui.widgets.dialog_parts import ChoiceList, ClosesItself, DialogFrame

if TYPE_CHECKING:
    from quorum.application.ports.rules import RuleService, SampleStore


RuleRow: TypeAlias = "HeldRule | Answer | str"
"""A rule, the heading of those that give an answer, or a sentence."""

_HEADINGS = {
    Answer.DENY: ("deny", "never runs; has precedence over all others", "$text-error"),
    Answer.ASK: ("ask", "you are asked, in every mode", "$text-warning"),
    Answer.ALLOW: ("allow", "runs without asking, unless something above objects", "$text-success"),
}
_HOLDS = {
    None: "settings",
    RuleScope.SESSION: "this session",
    RuleScope.PROJECT: "this project",
    RuleScope.USER: "everywhere",
}
_HOLDS_CELLS = 14

_KEYS = {
    "listing": "{permissions_add=a} adds · {permissions_remove=d} removes · {permissions_try=t} tries a call"
    " · {permissions_judge=v} judges calls · esc closes",
    "adding": "enter adds it · ↑↓ answer · {permissions_scope=tab} how far it holds · esc back",
    "trying": "esc back",
}
_HINT = 'a shell command, or a tool and JSON: write_file {"path": "a.py", "content": ""}'
_ANSWERED = {
    Answer.ALLOW: ("it would run", "$text-success"),
    Answer.ASK: ("you would be asked", "$text-warning"),
    Answer.DENY: ("it would not run", "$text-error"),
}


class PermissionsScreen(HoldsLetters, ClosesItself, ModalScreen[None]):
    """Lists the rules in the order in which they count. What is changed here counts from the next call on."""

    AUTO_FOCUS = ""
    ALONE = frozenset({"add", "judge", "remove", "try"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", "Add a rule", id="permissions_add"),
        Binding("d", "remove", "Delete the selected rule; press twice", id="permissions_remove"),
        Binding("t", "try", "Test a call against the rules", id="permissions_try"),
        Binding("v", "judge", "Judge calls that ran unasked", id="permissions_judge"),
        Binding("up,k", "move('up')", "Up; while adding a rule: previous answer", id="permissions_up"),
        Binding("down,j", "move('down')", "Down; while adding a rule: next answer", id="permissions_down"),
        Binding("pageup", "move('page_up')", "A page up", id="permissions_page_up"),
        Binding("pagedown", "move('page_down')", "A page down", id="permissions_page_down"),
        Binding("tab", "widen", "While adding a rule: its scope", priority=True, id="permissions_scope"),
        Binding("q", "close", "Close", id="permissions_close"),
        Binding("escape", "back", "Back, or close", id="permissions_back"),
    ]
    DEFAULT_CSS = """
    PermissionsScreen {
        align: center middle;
        RuleEntry { display: none; }
        #trial { height: auto; display: none; margin-top: 1; }
        #call { background: $panel; padding: 0 1; border: none; height: 1; }
        #account { height: auto; max-height: 12; }
        #marked { height: auto; max-height: 2; color: $text-muted; margin-top: 1; }
        #notice { height: auto; max-height: 4; text-style: bold; color: $text-warning; }
        &.-adding #marked, &.-trying #marked { display: none; }
        &.-adding RuleEntry { display: block; }
        &.-trying #trial { display: block; }
    }
    """

    def __init__(self, service: RuleService) -> None:
        super().__init__()
        self._service = service
        self._rows: list[RuleRow] = []
        self._stage: Literal["listing", "adding", "trying"] = "listing"
        self._doomed: HeldRule | None = None

    def compose(self) -> ComposeResult:
        with DialogFrame(id="permissions") as box:
            box.border_title = Content("Permissions")
            yield ChoiceList()
            yield RuleEntry(self._service.preview_rule, self._service.replay_rule)
            with VerticalGroup(id="trial"):
                yield TypedLine(placeholder=_HINT, select_on_focus=False, id="call")
                yield Static(id="account", markup=False)
            yield Static(id="marked", markup=False)
            yield Static(id="notice", markup=False)

    def on_mount(self) -> None:
        self._enter("listing")
        self.run_worker(self._read(), group="reading")

    def on_resize(self, event: events.Resize) -> None:
        """Draw the lines anew for another width."""
        if self._rows:
            self.call_after_refresh(self._draw)

    async def _read(self, added: str = "") -> None:
        try:
            self._rows = build_rows(await self._service.list_rules(), self._service.last_word)
        except QuorumError as error:
            self._tell(str(error))
            return
        self._draw(added)

    @property
    def _marked(self) -> HeldRule | None:
        place = self.query_one(OptionList).highlighted
        row = self._rows[place] if place is not None and place < len(self._rows) else None
        return row if isinstance(row, HeldRule) else None

    def _draw(self, added: str = "") -> None:
        """Draw them anew. What was just added is marked, or else what stands where the mark was."""
        rules = self.query_one(OptionList)
        kept, width = rules.highlighted or 0, max(20, rules.size.width - 1)
        rules.set_options(
            Option(render_row(row, width), disabled=not isinstance(row, HeldRule)) for row in self._rows
        )
        held = {place: row.rule.id for place, row in enumerate(self._rows) if isinstance(row, HeldRule)}
        near = min(held, key=lambda place: (held[place] != added, abs(place - kept)), default=None)
        rules.highlighted = near

    def _enter(self, stage: Literal["listing", "adding", "trying"]) -> None:
        self._stage = stage
        self.set_class(stage == "adding", "-adding")
        self.set_class(stage == "trying", "-trying")
        self.query_one(DialogFrame).name_keys(_KEYS[stage])
        if stage == "listing":
            self.set_focus(None)

    # -- keys ---------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Letters are keys only where nothing is typed."""
        if action in ("add", "remove", "try", "judge", "close"):
            return self._stage == "listing"
        return super().check_action(action, parameters)

    def action_move(self, how: str) -> None:
        """Mark another rule; of a new one, take another answer."""
        if self._stage == "adding":
            self.query_one(RuleEntry).turn_answer(1 if how == "down" else -1)
            return
        self.query_one(ChoiceList).move(how)

    def action_widen(self) -> None:
        """How far the new rule holds."""
        if self._stage == "adding":
            self.query_one(RuleEntry).turn_scope(1)

    def action_back(self) -> None:
        """Back to the list, or close."""
        if self._stage == "listing":
            self.dismiss()
        else:
            self._enter("listing")

    def action_close(self) -> None:
        self.dismiss()

    # -- a new rule, and one less -------------------------------------------------------------------------

    def action_add(self) -> None:
        """Take a new rule."""
        self._tell("")
        self._enter("adding")
        self.query_one(RuleEntry).open()

    @on(Input.Submitted, "#rule")
    def _on_entered(self, message: Input.Submitted) -> None:
        message.stop()
        entry = self.query_one(RuleEntry)
        if problem := self._service.preview_rule(entry.text, entry.answer).problem:
            self._tell(problem)
        else:
            self.run_worker(self._add(entry), group="changing")

    async def _add(self, entry: RuleEntry) -> None:
        text, answer = entry.text, entry.answer
        self._enter("listing")
        try:
            await self._service.add(text, answer, entry.scope)
            self._tell(f"{answer} {text} is in force")
        except QuorumError as error:
            self._tell(str(error))
        await self._read(f"{answer} {text}")

    def action_remove(self) -> None:
        """Remove the marked rule, if that is wished twice in a row."""
        if (held := self._marked) is None:
            return
        if held.scope is not None and held != self._doomed:
            self._doomed = held
            self._tell(f"d again removes {held.rule.id}")
            return
        self._doomed = None
        self.run_worker(self._remove(held), group="changing")

    async def _remove(self, held: HeldRule) -> None:
        try:
            await self._service.remove(held)
            self._tell(f"removed {held.rule.id}")
        except QuorumError as error:
            self._tell(str(error))
        await self._read()

    @on(OptionList.OptionHighlighted)
    def _on_marked(self) -> None:
        held = self._marked
        line = f"{held.rule.id}  ·  {shorten_home(held.place)}" if held is not None else ""
        self.query_one("#marked", Static).update(Content(make_printable(line)))
        if self._doomed is not None and held != self._doomed:
            self._doomed = None
            self._tell("")

    def action_judge(self) -> None:
        """Judge calls that a mode let run unasked."""
        if (samples := self._service.samples) is None:
            self._tell("no calls are kept for a verdict: there is no state folder")
        else:
            self.app.push_screen(VerdictScreen(samples))

    # -- a call to try ------------------------------------------------------------------------------------

    def action_try(self) -> None:
        """Take a call and tell what would be decided about it."""
        self._tell("")
        self._enter("trying")
        self.query_one("#call", Input).focus()

    @on(Input.Changed, "#call")
    def _on_call_typed(self, message: Input.Changed) -> None:
        message.stop()
        trying: Callable[[], Coroutine[None, None, None]] = partial(self._try, message.value)
        self._trial: Worker[None] = self.run_worker(trying, group="trying", exclusive=True)

    @on(Input.Submitted, "#call")
    def _on_call_entered(self, message: Input.Submitted) -> None:
        message.stop()

    async def _try(self, text: str) -> None:
        account = self.query_one("#account", Static)
        if not text.strip():
            account.update("")
            return
        try:
            answer, lines = await self._service.try_call(text)
        except QuorumError as error:
            account.update(Content(make_printable(str(error))).stylize("$text-error"))
            return
        words, style = _ANSWERED[answer]
        head = Content.assemble((f"{answer}: {words}", f"bold {style}"))
        account.update(Content("\n").join([head, *(Content(make_printable(line)) for line in lines[1:])]))

    def _tell(self, text: str) -> None:
        self.query_one("#notice", Static).update(Content(make_printable(text)))


def build_rows(held: Sequence[HeldRule], last_word: str) -> list[RuleRow]:
    """The rules below their headings, and at the end what decides where none of them speaks."""
    rows: list[RuleRow] = []
    for answer in _HEADINGS:
        rows.append(answer)
        rows += _render_none([one for one in held if one.rule.answer is answer])
    return [*rows, f"else  {last_word}"]


def _render_none(held: list[HeldRule]) -> Sequence[RuleRow]:
    return held or ["none"]


def render_row(row: RuleRow, width: int) -> Content:
    """One line: what the rule says, how far it holds, and where it stands."""
    if isinstance(row, Answer):
        name, meaning, style = _HEADINGS[row]
        return Content.assemble((name, f"bold {style}"), (f"  {meaning}", QUIET))
    if isinstance(row, str):
        return Content(row if row.startswith("else") else f"    {row}").stylize(QUIET)
    text = Content(make_printable(row.rule.text, newlines=False))
    room = max(20, width * 2 // 5)  # so that "permissions.allow, default" fits beside it in 80 columns
    text = text.truncate(room - 1, ellipsis=True)
    place = f"not used: {row.unused}" if row.unused else shorten_home(row.place)
    holds = f"{_HOLDS[row.scope]:<{_HOLDS_CELLS}}"
    line = Content("    ") + text + Content(" " * (room - text.cell_length)) + Content(holds)
    return line + Content(make_printable(place, newlines=False)).stylize(QUIET)


_VERDICT_KEYS = "{verdicts_right=r} right · {verdicts_wrong=w} wrong · {verdicts_skip=s} skip · esc closes"


class VerdictScreen(HoldsLetters, ClosesItself, ModalScreen[None]):
    """Asks about each call without a verdict, and then tells how often such calls were wrong."""

    AUTO_FOCUS = ""
    ALONE = frozenset({"judge"})
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "judge(True)", "It was right to run it unasked", id="verdicts_right"),
        Binding("w", "judge(False)", "It was wrong to run it unasked", id="verdicts_wrong"),
        Binding("s", "skip", "Leave it for another time", id="verdicts_skip"),
        Binding("q,escape", "close", "Close", id="verdicts_close"),
    ]
    DEFAULT_CSS = """
    VerdictScreen {
        align: center middle;
        #shown { height: auto; max-height: 60vh; }
        #asked { height: auto; }
    }
    """

    class Judged(Message):
        """A verdict is kept: what is known of the modes has changed."""

    def __init__(self, samples: SampleStore) -> None:
        super().__init__()
        self._samples = samples
        self._waiting: list[SampledCall] = []

    def compose(self) -> ComposeResult:
        """The call, and what is asked about it."""
        with DialogFrame(id="verdicts") as box:
            box.border_title = Content("Calls that ran unasked")
            with VerticalScroll(id="shown"):
                yield Static(id="asked", markup=False)

    def on_mount(self) -> None:
        """Read them."""
        self.query_one(DialogFrame).name_keys(_VERDICT_KEYS)
        self.run_worker(self._read(), group="judging")

    async def _read(self) -> None:
        try:
            self._waiting = list(await self._samples.list_waiting())
        except QuorumError as error:
            self._tell(Content(make_printable(str(error))).stylize("$text-error"))
            return
        self._show()

    def _show(self) -> None:
        """Show the next call; after the last one what the verdicts come to."""
        if not self._waiting:
            self._tell(Content("\n").join(self._list_figures()))
            return
        call = self._waiting[0]
        when = datetime.fromtimestamp(call.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
        lines = (
            Content("Should it have run without asking you?").stylize("bold"),
            Content(make_printable(call.text)),
            *((Content(make_printable(call.change)),) if call.change else ()),
            Content(f"mode {call.mode} · {when} · {len(self._waiting)} left").stylize("$text-muted"),
        )
        self._tell(Content("\n").join(lines))

    def _list_figures(self) -> list[Content]:
        try:
            return [Content("No further call to judge."), *map(self._describe, CallKind)]
        except QuorumError as error:
            return [Content(make_printable(str(error))).stylize("$text-error")]

    def _describe(self, kind: CallKind) -> Content:
        return Content(self._samples.count(kind).sentence)

    def _tell(self, content: Content) -> None:
        self.query_one("#asked", Static).update(content)

    def action_judge(self, is_right: bool) -> None:
        """Keep the verdict on the call that is shown."""
        if self._waiting:
            self.run_worker(self._judge(self._waiting.pop(0), is_right=is_right), group="judging")

    async def _judge(self, call: SampledCall, *, is_right: bool) -> None:
        try:
            await self._samples.judge(call.id, is_right=is_right)
        except QuorumError as error:
            self._waiting.insert(0, call)
            self._tell(Content(make_printable(str(error))).stylize("$text-error"))
            return
        self.app.post_message(self.Judged())
        self._show()

    def action_skip(self) -> None:
        """Leave the call that is shown for another time."""
        if self._waiting:
            self._waiting.pop(0)
            self._show()

    def action_close(self) -> None:
        """Close."""
        self.dismiss()


_ANSWERS = (Answer.ALLOW, Answer.ASK, Answer.DENY)
_PREVIEW_LINES = 6
_HEADS = {
    Answer.ALLOW: ("  would let run  ", "  no call of this session would run by it"),
    Answer.ASK: ("  would ask about  ", "  it would hold up no call of this session"),
    Answer.DENY: ("  would deny  ", "  it would deny no call of this session"),
}


class RuleEntry(VerticalGroup):
    """Takes a rule; `outlook` says what it would change, `replay` what it would have decided in the past."""

    DEFAULT_CSS: ClassVar[str] = """
    RuleEntry {
        margin-top: 1;
        & > #rule { background: $panel; padding: 0 1; border: none; height: 1; }
    }
    """

    def __init__(
        self,
        outlook: Callable[[str, Answer], RulePreview],
        replay: Callable[[str, Answer], Awaitable[RuleReplay | None]],
    ) -> None:
        super().__init__()
        self._replay = ReplayRows()
        self._replay.hold(lambda rules: replay(rules[0], self.answer))
        self._outlook = outlook
        self.answer, self.scope = _ANSWERS[0], RuleScope.SESSION

    def compose(self) -> ComposeResult:
        """Answer, rule, scope, preview and replay."""
        yield Rows(id="answers")
        yield TypedLine(id="rule", select_on_focus=False, placeholder="TOOL or TOOL(PATTERN)")
        yield Rows(id="scopes")
        yield Rows(id="preview")
        yield self._replay

    def open(self) -> None:
        """Begin with an empty rule, and take the focus."""
        typed = self.query_one("#rule", Input)
        typed.value = ""
        self._tell()
        typed.focus()

    @property
    def text(self) -> str:
        return self.query_one("#rule", Input).value.strip()

    def turn_answer(self, step: int) -> None:
        self.answer = _ANSWERS[(_ANSWERS.index(self.answer) + step) % len(_ANSWERS)]
        self._tell()

    def turn_scope(self, step: int) -> None:
        scopes = list(SCOPES)
        self.scope = scopes[(scopes.index(self.scope) + step) % len(scopes)]
        self._tell()

    @on(Input.Changed)
    def _on_typed(self, message: Input.Changed) -> None:
        message.stop()
        self._tell()

    def _tell(self) -> None:
        answers = "  ".join(f"({'•' if each is self.answer else ' '}) {each}" for each in _ANSWERS)
        scopes = "  ".join(f"({'•' if each is self.scope else ' '}) {word}" for each, word in SCOPES.items())
        for name, text, keys in (("#answers", answers, "↑ ↓"), ("#scopes", scopes, "tab")):
            row = (StyledPart(text, LineKind.PLAIN), StyledPart(f"  {keys}", LineKind.QUIET))
            self.query_one(name, Rows).show([row], height=1)
        self.query_one("#preview", Rows).show(self._preview(), height=_PREVIEW_LINES)
        if self.text:
            self._replay.ask([self.text], self._width)
        else:
            self._replay.show([], height=0)

    @property
    def _width(self) -> int:
        return max(20, self.size.width or self.app.size.width - 4)

    def _preview(self) -> list[Row]:
        width = self._width
        if not self.text:
            examples = "such as write_file(src/**), run_command(npm test *) or web_fetch"
            return fold([Line("  ", examples, LineKind.QUIET)], width)
        preview = self._outlook(self.text, self.answer)
        if preview.problem:
            return fold(
                [
                    Line(
                        choose_sign(self.app, "✗ ", "problem: "),
                        clean_line(preview.problem),
                        LineKind.BAD,
                        LineKind.BAD,
                    )
                ],
                width,
            )[:_PREVIEW_LINES]
        head, nothing = _HEADS[self.answer]
        return list_covered(preview.covers, width, _PREVIEW_LINES, head=head, nothing=nothing)
