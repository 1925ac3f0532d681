"""The line below the transcript: finding text in it, and marking a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widget import Widget

from quorum.tui.prompt_box.prompt import Prompt
from quorum.tui.transcript.layout.view import TranscriptView

if TYPE_CHECKING:
    from quorum.tui.copying import StopBar
    from quorum.tui.finding_bar import FindBar


class FindController:
    """Has one line at a time below `main`, which holds the transcript; after it the prompt has the focus."""

    def __init__(self, transcript: TranscriptView, prompt: Prompt, main: Widget) -> None:
        self._transcript, self._prompt, self._main = transcript, prompt, main
        self._bar: FindBar | StopBar | None = None
        self._looked_for = ""

    @property
    def has_focus(self) -> bool:
        """Whether the person is in that line."""
        return self._bar is not None and self._bar.has_focus_within

    async def action_find(self, text: str = "") -> None:
        """Find in the transcript; during that, go to the next place."""
        from quorum.tui.finding_bar import FindBar

        bar = self._bar
        if not isinstance(bar, FindBar):
            await self._open(FindBar(self._transcript, text or self._looked_for))
        elif text:
            bar.look_for(text)
        elif not bar.has_focus_within:
            bar.take_focus()
        else:
            bar.action_find_next(False)

    async def action_mark(self, backwards: bool) -> None:
        """Mark the latest part of the transcript; after that, the one above or below."""
        from quorum.tui.copying import StopBar

        if isinstance(self._bar, StopBar):
            self._bar.focus()
            self._bar.action_move(backwards)
        elif backwards:
            await self._open(StopBar(self._transcript))

    async def end_search(self, looked_for: str) -> None:
        """Back to the prompt and the draft in it; the next search begins with what was looked for."""
        self._looked_for = looked_for
        await self._close()

    async def end_marking(self, typed: str) -> None:
        """Back to the prompt, with what was typed."""
        await self._close()
        if typed:
            self._prompt.insert(typed)

    async def _open(self, bar: FindBar | StopBar) -> None:
        """Below the transcript there is room for one."""
        if self._bar is not None:
            await self._bar.remove()
        self._bar = bar
        await self._main.screen.mount(bar, after=self._main)

    async def _close(self) -> None:
        if self._bar is not None:
            await self._bar.remove()
            self._bar = None
        self._prompt.focus()
