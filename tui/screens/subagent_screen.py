"""The transcript of a subagent's session, live while it works, and from its record afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from quorum.application.view.entries import Call, FollowedSubagent
from quorum.domain.errors import BlobError, LedgerError, UnreadableEvent
from quorum.domain.events.event import event_from_json
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyed_app import fill_in_keys
from quorum.tui.transcript.layout.view import TranscriptView
from quorum.tui.widgets.dialog_parts import ClosesItself

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession

_LOOK_SECS = 1 / 20
_MOST_AT_ONCE = 200
_KEYS = "{subagent_fold=f} unfolds all · ↑↓ scroll · {subagent_close=esc} closes"


class SubagentScreen(ClosesItself, Screen[None]):
    """Shows the session of `subagent`, whose owner is the session of `agent`. Nothing can be said into it."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll(-1)", "Scroll back by a line", id="subagent_up"),
        Binding("down,j", "scroll(1)", "Scroll on by a line", id="subagent_down"),
        Binding("pageup,b", "scroll('page_up')", "Scroll back by a page", id="subagent_page_up"),
        Binding("pagedown,space", "scroll('page_down')", "Scroll on by a page", id="subagent_page_down"),
        Binding("home,g", "scroll('scroll_home')", "To the beginning", id="subagent_start"),
        Binding("end,G", "scroll('scroll_end')", "To the end, and stay there", id="subagent_end"),
        Binding("f", "fold", "Unfold all details, or fold them", id="subagent_fold"),
        Binding("escape,q", "dismiss", "Back to the session", id="subagent_close"),
    ]
    DEFAULT_CSS = """
    SubagentScreen {
        background: $background;
        #title, #notice, #keys { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
        #title { background: $surface; color: $text; }
        #notice, #keys { color: $text-muted; }
        TranscriptView { height: 1fr; }
    }
    """

    def __init__(self, subagent: FollowedSubagent, agent: AgentSession) -> None:
        super().__init__()
        self._subagent, self._agent = subagent, agent
        self._events = subagent.events
        self._applied = 0
        self._looking: Timer | None = None
        self._transcript = TranscriptView()

    def compose(self) -> ComposeResult:
        yield Static(Content(make_printable(self._subagent.title, newlines=False)), id="title")
        yield self._transcript
        yield Static(id="notice", markup=False)
        yield Static(Content(fill_in_keys(_KEYS, self.app)), id="keys")

    def on_mount(self) -> None:
        """Show what there is; of one that works, also what follows."""
        self._transcript.session_view.is_followed = True
        self._tell(f"session {self._subagent.session_id}, read-only")
        if self._subagent.is_live:
            self._looking = self.set_interval(_LOOK_SECS, self._follow)
            self._follow()
        else:
            self.run_worker(self._show_record(), group="record", exclusive=True)

    def _follow(self) -> None:
        """Apply what has happened since, in pieces."""
        new = self._events[self._applied : self._applied + _MOST_AT_ONCE]
        self._applied += len(new)
        for each in new:
            try:
                event = event_from_json(each)
            except UnreadableEvent as error:
                self._tell(str(error))
                continue
            self._transcript.apply(event)
        if not new and not self._subagent.is_live and self._looking is not None:
            self._looking.stop()

    async def _show_record(self) -> None:
        from quorum.application.view.wording import PROCESS_ENDED
        from quorum.tui.transcript.layout.view import replay_events

        try:
            records = await self._agent.record.archive.read(self._subagent.session_id)
        except LedgerError as error:
            self._tell(f"there is nothing to show: {error}")
            return
        known = [(each.event, each.at_ms) for each in records if each.event is not None]
        hide = self._agent.mask.mask_known_in_event
        events = [hide(event) for event, _ in known]
        await replay_events(events, [at_ms for _, at_ms in known], self._transcript, cut=PROCESS_ENDED)
        if len(known) < len(records):
            self._tell(
                "some records of this session cannot be understood: they are damaged, or of a newer quorum"
            )

    def _tell(self, text: str) -> None:
        self.query_one("#notice", Static).update(Content(make_printable(text, newlines=False)))

    # -- keys ---------------------------------------------------------------------------------------------

    def action_scroll(self, how: int | Literal["page_up", "page_down", "scroll_home", "scroll_end"]) -> None:
        """Scroll by lines, by a page or to an end."""
        view = self._transcript
        match how:
            case "page_up":
                view.action_page_up()
            case "page_down":
                view.action_page_down()
            case "scroll_home":
                view.action_scroll_home()
            case "scroll_end":
                view.action_scroll_end()
            case _:
                view.scroll_to(y=view.scroll_y + how, animate=False)

    def action_fold(self) -> None:
        self._transcript.toggle_fold_all()

    @on(TranscriptView.OutputWanted)
    def _open_output(self, message: TranscriptView.OutputWanted) -> None:
        message.stop()
        self.run_worker(self._open_pager(message.call), group="output", exclusive=True)

    async def _open_pager(self, call: Call) -> None:
        from quorum.tui.screens.pager_screen import open_pager

        try:
            self.app.push_screen(await open_pager(call, self._agent))
        except BlobError as error:
            self._tell(str(error))

    @on(TranscriptView.LinkPressed)
    def _show_link(self, message: TranscriptView.LinkPressed) -> None:
        message.stop()
        self._tell(message.target)
