"""The app on a stage: run headless with a scripted agent, looked at and typed into."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from rich.console import Console
from textual import events
from textual.pilot import Pilot

from quorum.domain.sessions.session_summary import SessionChoice
from quorum.tui.agent.opening import OpenArchive
from quorum.tui.app.app import QuorumApp
from quorum.tui.keys.keyboard_guard import TypingPace
from quorum.tui.prompt_box.prompt import Prompt
from quorum.tui.screens.review.dialog import ReviewDialog
from quorum.tui.tabs.carrying import CarriedApp
from tests.support.fake_agent import ComposeFake, FakeAgent, Scene, composing

_PATIENCE_SECS = 120.0
UNHURRIED = TypingPace(hold_secs=0, burst_secs=0, enter_secs=0)
"""Of keys that tests press: each is deliberate, however soon it comes."""
_PLACING = re.compile(r"\x1b\[\d+;1H")


class Clock:
    """A clock that stands still; at 0 every key of the real keyboard is long after any dead time."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Stage:
    """A running app."""

    def __init__(self, app: QuorumApp, pilot: Pilot[None], box: list[FakeAgent]) -> None:
        self.app, self.pilot, self._box = app, pilot, box

    @property
    def agent(self) -> FakeAgent:
        """The agent; there once the app is ready."""
        return self._box[-1]

    @property
    def agents(self) -> list[FakeAgent]:
        """Those of all sessions opened so far."""
        return self._box

    @property
    def prompt(self) -> Prompt:
        """The prompt."""
        return self.app.chat.prompt

    @property
    def dialog(self) -> ReviewDialog:
        """The review dialog on top."""
        assert isinstance(self.app.screen, ReviewDialog)
        return self.app.screen

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something holds."""
        async with asyncio.timeout(_PATIENCE_SECS):
            # Looked at again and again, for any condition; the pilot's pause never returns from an ended app.
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async def shows(self, text: str) -> None:
        """Wait until the screen shows a text, also where it wraps between two words."""
        try:
            await self.until(lambda: text in (shown := self.text()) or text in " ".join(shown.split()))
        except TimeoutError:
            raise AssertionError(f"{text!r} is not on the screen:\n{self.text()}") from None

    async def asked(self) -> ReviewDialog:
        """Wait for a dialog that is painted and waits for keys."""
        await self.until(lambda: isinstance(self.app.screen, ReviewDialog) and self.app.screen.is_awake)
        return self.dialog

    async def unasked(self) -> None:
        """Wait until no dialog is open, and whoever asked has the answer."""
        await self.until(lambda: self.app.screen is self.app.chat and not self.app.chat.questions.asking)

    async def send(self, text: str) -> None:
        """Type a prompt and send it."""
        self.prompt.replace_text(text)
        await self.pilot.press("enter")

    def hit(self, key: str) -> None:
        """Press a key and wait for nothing: the pilot's own press never returns from one that ends the app."""
        self.app.post_message(events.Key(key, key if len(key) == 1 else None))

    async def press_at(self, key: str, arrived: float) -> None:
        """Press a key at a moment of the clock that the dialogs go by."""
        event = events.Key(key, key if len(key) == 1 else None)
        event.time = arrived
        self.app.post_message(event)
        await self.pilot.pause()

    def text(self) -> str:
        """All that is on the screen, as plain text."""
        width, height = self.app.size
        paper = io.StringIO()
        console = Console(width=width, height=height, file=paper, force_terminal=True, color_system=None)
        update = self.app.screen._compositor.render_update(
            full=True, screen_stack=self.app._background_screens, simplify=True
        )
        with console.capture() as capture:
            console.print(update, end="")
        return _PLACING.sub("", capture.get())


@asynccontextmanager
async def on_stage(
    cwd: Path,
    *scenes: Scene,
    size: tuple[int, int] = (100, 30),
    model: str = "fake/model-1",
    clock: Callable[[], float] | None = None,
    pace: TypingPace = UNHURRIED,
    compose: ComposeFake | None = None,
    ready: bool = True,
    initial_prompt: str | None = None,
    prepare: Callable[[FakeAgent], object] | None = None,
    choose: Callable[[], SessionChoice] | None = None,
    open_archive: OpenArchive | None = None,
    carried: CarriedApp | None = None,
) -> AsyncIterator[Stage]:
    """Run the app in `cwd`; by default until its agent is there. It takes the place of one that left what is
    `carried`."""
    box: list[FakeAgent] = []
    composed = compose or composing(box, *scenes, model=model, prepare=prepare)
    app = QuorumApp(
        composed,
        cwd=cwd,
        choose=choose,
        open_archive=open_archive,
        clock=clock or Clock(),
        pace=pace,
        initial_prompt=initial_prompt,
    )
    if carried is not None:
        app.take_over(carried)
    async with app.run_test(size=size) as pilot:
        stage = Stage(app, pilot, box)
        if ready:
            await stage.shows(model)
        yield stage
