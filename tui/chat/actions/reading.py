"""What commands and keys do with the text of the transcript: find in it, copy it, follow its links."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType

from tui.chat.actions.base import ChatActions
from tui.transcript.layout.view import TranscriptView

if TYPE_CHECKING:
    from tui.copying.pieces import Piece
    from tui.copying.stop_bar import StopBar
    from tui.finding.bar import FindBar


_MOST_DIGITS = 9


class ReadingActions(ChatActions):
    """The part of the chat that is about what stands in its transcript."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+f,f3", "find", "Find in the transcript", priority=True, id="find"),
        Binding("ctrl+y", "copy", "Copy the last answer", priority=True, id="copy_answer"),
        Binding(
            "alt+up",
            "mark(True)",
            "Mark a part of the transcript, then the one above",
            priority=True,
            id="mark_up",
        ),
        Binding("alt+down", "mark(False)", "The marked part below", priority=True, id="mark_down"),
    ]

    _cwd: Path
    _bar: FindBar | StopBar | None = None
    _looked_for = ""
    _told_target = ""

    # -- finding ------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Where the person is in the line below the transcript, Esc leaves that, and does nothing else."""
        if action == "interrupt" and self._bar is not None and self._bar.has_focus_within:
            return False
        return super().check_action(action, parameters)

    async def action_find(self, text: str = "") -> None:
        """Find in the transcript; while that is going on, go to the next place."""
        from tui.finding.bar import FindBar

        bar = self._bar
        if not isinstance(bar, FindBar):
            await self._open_bar(FindBar(self.transcript, text or self._looked_for))
        elif text:
            bar.look_for(text)
        elif not bar.has_focus_within:
            bar.take_focus()
        else:
            bar.action_go_on(False)

    async def on_find_bar_search_ended(self, message: FindBar.SearchEnded) -> None:
        """Back to the prompt and the draft in it."""
        message.stop()
        self._looked_for = message.text
        await self._close_bar()

    async def _open_bar(self, bar: FindBar | StopBar) -> None:
        """Below the transcript there is room for one."""
        if self._bar is not None:
            await self._bar.remove()
        self._bar = bar
        await self.mount(bar, after=self.query_one("#main"))

    async def _close_bar(self) -> None:
        if self._bar is not None:
            await self._bar.remove()
            self._bar = None
        self.prompt.focus()

    # -- going through it by keys -------------------------------------------------------------------------

    async def action_mark(self, backwards: bool) -> None:
        """Mark the latest part of the transcript; after that, the one above or below."""
        from tui.copying.stop_bar import StopBar

        if isinstance(self._bar, StopBar):
            self._bar.focus()
            self._bar.action_move(backwards)
        elif backwards:
            await self._open_bar(StopBar(self.transcript))

    async def on_stop_bar_copying_ended(self, message: StopBar.CopyingEnded) -> None:
        """Back to the prompt, with what was typed."""
        message.stop()
        await self._close_bar()
        if message.typed:
            self.prompt.insert(message.typed)

    def on_stop_bar_wanted(self, message: StopBar.Wanted) -> None:
        """Copy what is marked."""
        message.stop()
        self.run_worker(self._copy_piece(message.piece), group="copying")

    # -- copying ------------------------------------------------------------------------------------------

    def action_copy(self, wish: str = "") -> None:
        """Copy the latest answer, or what is wished for: a kind of piece, a number, or both."""
        from tui.copying.pieces import KINDS, piece

        kind, nth = "answer", 1
        for word in wish.split():
            if word.isdecimal() and len(word) <= _MOST_DIGITS and int(word) > 0:
                nth = int(word)
            elif word in KINDS:
                kind = word
            else:
                self.say(f"/copy takes {', '.join(KINDS)} and a number from 1 on, 1 being the latest")
                return
        found = piece(self.transcript.entries, kind, nth)
        if found is None:
            noun = "code" if kind == "code" else kind
            self.say(
                f"there is no {noun} yet" if nth == 1 else f"there are fewer than {nth} of that kind: {noun}"
            )
        else:
            self.run_worker(self._copy_piece(found), group="copying")

    async def _copy_piece(self, piece: Piece) -> None:
        from domain.errors import BlobError
        from tui.copying.copier import copy
        from tui.copying.whole_output import whole_output

        text, more = piece.text, ""
        if piece.call is not None and piece.call.stored is not None and self.session is not None:
            try:
                text, is_whole = await whole_output(
                    self.session.agent.outputs.open_lines(piece.call.stored.blob_id)
                )
                more = "" if is_whole else " · only its beginning: it is longer than 20 million characters"
            except BlobError as error:
                more = f" · only what is kept of it here: {error}"
        self.say(await copy(self.app, text, piece.what, workspace=self._cwd) + more)

    def copy_selected(self, text: str) -> None:
        """Copy what is selected."""

        async def copying() -> None:
            from tui.copying.copier import copy

            self.say(await copy(self.app, text, "", workspace=self._cwd))

        self.run_worker(copying(), group="copying")

    # -- links --------------------------------------------------------------------------------------------

    @on(TranscriptView.LinkPressed)
    def _link_pressed(self, message: TranscriptView.LinkPressed) -> None:
        """At first say where it leads; at the second time go there, if that is the web."""
        from tui.transcript.cells.links import is_web

        message.stop()
        target = message.target
        if not is_web(target):
            self.say(f"leads to {target} · no web address: not opened")
        elif self._told_target != target:
            self.say(f"leads to {target} · another click opens it")
        else:
            self.run_worker(self._open(target), group="links")
        self._told_target = target

    async def _open(self, address: str) -> None:
        from tui.copying.copier import copy
        from tui.terminal.browser import opened

        if await opened(address):
            self.say(f"opened {address}")
        else:
            copied = await copy(self.app, address, "the address", workspace=self._cwd)
            self.say(f"no browser can be opened here · {copied}")
