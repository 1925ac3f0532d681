"""The screen as text: what a person would see, also where there is no terminal to see it on."""

from __future__ import annotations

import asyncio
import io
import re
from typing import TYPE_CHECKING

from rich.console import Console
from textual import events
from textual.geometry import Size

from quorum.rpc.json_rpc import make_refusal

if TYPE_CHECKING:
    from quorum.tui.app.app import QuorumApp

_PLACING = re.compile(r"\x1b\[\d+;\d+H")
_PATIENCE_SECS = 5.0


class Camera:
    """Takes pictures of an app, one at a time. One without a terminal is laid out anew for another size."""

    def __init__(self, app: QuorumApp) -> None:
        self._app = app
        self._one_at_a_time = asyncio.Lock()

    async def capture(self, width: int | None, height: int | None, *, styles: bool) -> dict[str, object]:
        """The lines of the screen; with `styles` they hold the SGR sequences of their colours.

        Raises RpcError for another size than that of a real terminal.
        """
        async with self._one_at_a_time:
            usual = self._app.size
            wanted = Size(width or usual.width, height or usual.height)
            if wanted == usual:
                return self._take_picture(styles)
            if not self._app.is_headless:
                raise make_refusal(
                    f"the app is on a terminal of {usual.width}x{usual.height}; another size is for --headless",
                    "on_a_terminal",
                )
            await self._resize(wanted)
            try:
                return self._take_picture(styles)
            finally:
                await self._resize(usual)

    async def _resize(self, size: Size) -> None:
        drawn = asyncio.Event()
        self._app.post_message(events.Resize(size, size))
        self._app.call_later(lambda: self._app.call_after_refresh(drawn.set))
        try:
            async with asyncio.timeout(_PATIENCE_SECS):
                await drawn.wait()
        except TimeoutError:
            raise make_refusal("the app did not answer in time", "busy") from None

    def _take_picture(self, styles: bool) -> dict[str, object]:
        width, height = self._app.size
        console = Console(
            width=width,
            height=height,
            file=io.StringIO(),
            force_terminal=True,
            color_system="truecolor" if styles else None,
            legacy_windows=False,
        )
        update = self._app.screen._compositor.render_update(
            full=True, screen_stack=self._app._background_screens, simplify=True
        )
        with console.capture() as taken:
            console.print(update, end="")
        lines = _PLACING.sub("", taken.get()).split("\n")
        return {"width": width, "height": height, "lines": [line.rstrip() for line in lines[:height]]}
