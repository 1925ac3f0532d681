"""The app with a guide in its first tab, and the steps of its tour."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from quorum.tui.app.app import QuorumApp
from quorum.tui.prompt_box.prompt import Prompt

if TYPE_CHECKING:
    from quorum.domain.events.event import Event


class TourStep(NamedTuple):
    """One step. `on`: the name of the event that leads on; empty: only the person's key does.

    `if_rejected` is said instead of `says` where the person rejected the change of the step before, and
    `if_unchanged` where there was none for another reason.
    """

    says: str
    prompt: str = ""
    on: str = ""
    if_rejected: str = ""
    if_unchanged: str = ""


_REVIEW = "review_requested"
TOUR = (
    TourStep(
        "Welcome. This temporary folder is for the tour and is deleted after it. A simple interpreter"
        " takes the place of the model. Tools, reviews and the ledger are real. Enter sends the text "
        "in the prompt.",
        "read shop.py and test_shop.py, find TODO",
        "turn_finished",
    ),
    TourStep(
        "Three read-only calls: they ran in parallel, without asking. Ctrl+O opens and closes "
        "details. Next, a change of a file: press Enter.",
        'replace "price + quantity" with "price * quantity" in shop.py',
        _REVIEW,
    ),
    TourStep(
        "A review: the exact change, bound to the file as it is now. The dialog ignores keys for a "
        "moment, so that your typing cannot answer it. y is yes, n is no, r gives a "
        "reason, e changes the call, a creates a rule.",
        "",
        "turn_finished",
    ),
    TourStep(
        "The card shows what really changed. In mode ask, commands are reviewed in the same way, "
        "unless they are proven to be read-only. Enter asks to run the tests; asked, y is yes.",
        "run `python3 -m unittest -q`",
        "turn_finished",
        if_rejected="You rejected the change: nothing was changed, and the model reads that. In mode "
        "ask, commands are reviewed in the same way, unless they are proven to be read-only. Enter "
        "asks to run the tests, which find the mistake; asked, y is yes.",
        if_unchanged="No change was made: the file is as it was. In mode ask, commands are reviewed in "
        "the same way, unless they are proven to be read-only. Enter asks to run the tests, which "
        "find the mistake; asked, y is yes.",
    ),
    TourStep(
        "Your own commands begin with ! and need no review. The model sees the output (with !! it "
        "does not). Press Enter.",
        "!cat shop.py",
        "own_command_finished",
    ),
    TourStep(
        "Everything is recorded and can be undone, files too. Enter lists what you asked for. On one "
        "of them, Enter shows what undo would change; then choose, or leave with Esc.",
        "/rewind",
        "session_rewound",
    ),
    TourStep(
        "Look around: Ctrl+T opens another session and Alt+← returns, Ctrl+S shows the timeline, "
        "Ctrl+F finds, @ mentions files, / lists commands, ? shows all keys. F2 continues.",
    ),
    TourStep(
        "End of the tour. /quit leaves and deletes this folder. In your own project, with "
        "ANTHROPIC_API_KEY or OPENAI_API_KEY set or a server in quorum.toml, quorum works like this "
        "with a model.",
    ),
)


class Guide(Static):
    """Says what there is to see and what to do next. `suggest` puts a prompt where the person can send it."""

    DEFAULT_CSS = """
    Guide {
        height: auto;
        padding: 0 1;
        border-left: thick $accent;
        background: $surface;
        color: $text;
    }
    """

    def __init__(self, suggest: Callable[[str], object]) -> None:
        super().__init__(id="guide", markup=False)
        self._suggest = suggest
        self._place = 0
        # What became of the change that was reviewed last.
        self._is_changed = self._is_rejected = False

    @property
    def step(self) -> TourStep:
        return TOUR[self._place]

    def on_mount(self) -> None:
        self._show()

    def apply(self, event: Event) -> None:
        """Continue where this is what the step waits for."""
        from quorum.domain.events.event import CallFinished  # there by now, and not needed for the first frame

        if isinstance(event, CallFinished):
            self._is_changed, self._is_rejected = event.outcome == "ok", event.decision == "rejected"
        if event.type == self.step.on:
            self.advance()
        elif self.step.on == _REVIEW and event.type == "turn_finished":
            self.skip()  # in this mode the change was not asked about

    def repeat(self) -> None:
        """Suggest the prompt of this step again."""
        if self.step.prompt:
            self._suggest(self.step.prompt)

    def skip(self) -> None:
        """To the next step that does not explain a review: without one there is nothing to see in it."""
        self.advance(2 if self.step.on == _REVIEW else 1)

    def advance(self, steps: int = 1) -> None:
        """To a later step; the last one stays."""
        if self._place + steps < len(TOUR):
            self._place += steps
            self._show()
            self._is_changed = self._is_rejected = False

    def _render_text(self) -> str:
        """What the step says, after what became of the change before it."""
        step = self.step
        if self._is_rejected:
            return step.if_rejected or step.says
        return step.says if self._is_changed else step.if_unchanged or step.says

    def _show(self) -> None:
        number = Content(f"{self._place + 1}/{len(TOUR)} ").stylize("bold $text-accent")
        skip = Content(" F2 skips." if self.step.on else "").stylize("$text-muted")
        self.update(number + Content(self._render_text()) + skip)
        self.repeat()


class DemoApp(QuorumApp):
    """The real app, led through the tour."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *QuorumApp.BINDINGS,
        Binding("f2", "next_step", "Next step of the tour", priority=True, id="next_step"),
    ]

    def on_mount(self) -> None:
        """The guide is there with the first frame. Textual calls this beside that of the class above."""
        chat = self.chat
        self._guide = Guide(chat.prompt.replace_text)
        self.call_after_refresh(chat.start_guide, self._guide, self._guide.apply)

    def action_next_step(self) -> None:
        """Leave out what the step asks for."""
        self._guide.skip()

    def action_copy_or_stop(self) -> None:
        """As elsewhere; but a prompt that was cleared holds what the tour suggests again."""
        super().action_copy_or_stop()
        if not self.chat.prompt.text:
            self._guide.repeat()

    @on(Prompt.SentNothing)
    def _suggest_again(self) -> None:
        """Enter in an empty prompt does so, too, unless it had another use."""
        if not self.chat.prompt.text and not self.chat.turns.running:
            self._guide.repeat()
