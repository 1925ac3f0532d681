"""The screen on which the person judges calls that a mode let run unasked, one after the other."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static

from quorum.domain.errors import QuorumError
from quorum.domain.review.unasked_calls import CallKind, SampledCall
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyboard_guard import HoldsLetters
from quorum.tui.widgets.dialog_parts import ClosesItself, DialogFrame

if TYPE_CHECKING:
    from quorum.application.ports.rules import SampleStore

_KEYS = "{verdicts_right=r} right · {verdicts_wrong=w} wrong · {verdicts_skip=s} skip · esc closes"


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
        self.query_one(DialogFrame).name_keys(_KEYS)
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
