"""What the transcript costs. Run `python benchmarks/transcript.py`; it starts itself in a pseudo-terminal.

Prints CPU seconds for streams of Markdown at full speed and paced, the cost of one frame and one key press
beside transcripts of several lengths, of a resize, and of finding. `--one CASE…` runs a single case in this
terminal.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pexpect
from rich.style import Style
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import TextArea

sys.path.insert(0, str(Path(__file__).parent.parent))

from quorum.domain.conversation.response import LlmResponse
from quorum.domain.events import event as ev
from quorum.tui.transcript.layout.view import TranscriptView

_SECTION = (
    "## Heading\n\nSome **bold** text with `code` and a list:\n\n- one\n- two\n\n"
    "```python\ndef f(x):\n    return x\n```\n\n"
)
_PIECE = 6


class Watched(TranscriptView):
    """A transcript that tells when it has taken another size."""

    def __init__(self) -> None:
        super().__init__()
        self.resized = asyncio.Event()

    def on_resize(self, event: events.Resize) -> None:
        self.resized.set()


class Bench(App[dict[str, float]]):
    """A transcript above an input, and one case that is run and measured."""

    def __init__(self, case: Callable[[Bench], Awaitable[dict[str, float]]]) -> None:
        super().__init__()
        self._case = case

    def compose(self) -> ComposeResult:
        yield Watched()
        area = TextArea()
        area.cursor_blink = False
        yield area

    def on_mount(self) -> None:
        self.query_one(TextArea).styles.height = 3
        self.query_one(TextArea).focus()
        self.run_worker(self._measure())

    async def _measure(self) -> None:
        await asyncio.to_thread(TranscriptView.warm_up)
        await asyncio.sleep(0.3)
        self.exit(await self._case(self))

    @property
    def view(self) -> Watched:
        return self.query_one(Watched)


async def stream(app: Bench, pieces: int, pause: float) -> dict[str, float]:
    """Deltas one by one, with a pause between them; the turn of the event loop is taken after each."""
    text = _SECTION * (pieces * _PIECE // len(_SECTION) + 1)
    wall, cpu = time.perf_counter(), time.process_time()
    for number in range(pieces):
        app.view.apply(ev.TextDelta(text=text[number * _PIECE : (number + 1) * _PIECE]))
        await asyncio.sleep(pause)
    app.view.flush()
    await asyncio.sleep(0.1)
    return {"wall s": time.perf_counter() - wall, "cpu s": time.process_time() - cpu}


async def beside(app: Bench, entries: int) -> dict[str, float]:
    """Beside so many entries: a frame, a key press until it is painted, a resize, idling for a second."""
    await _filled(app, entries)
    key = await _each(50, lambda: app.query_one(TextArea).insert("x"))

    def draw_frame() -> None:
        app.view.apply(ev.TextDelta(text="word "))
        app.view.flush()

    frame = await _each(50, draw_frame)
    width = app.size.width
    app.view.resized.clear()
    begun = time.perf_counter()
    for columns in (80, width):
        app.view.styles.width = columns
        await app.view.resized.wait()
        app.view.resized.clear()
    resize = (time.perf_counter() - begun) / 2
    await asyncio.sleep(0.3)
    cpu = time.process_time()
    await asyncio.sleep(1)
    idle = time.process_time() - cpu
    return {
        "key ms": key * 1000,
        "frame ms": frame * 1000,
        "resize ms": resize * 1000,
        "idle ms/s": idle * 1000,
    }


async def found(app: Bench, entries: int) -> dict[str, float]:
    """Finding in so many entries: a step of the search, all of it, and going to the next place."""
    from quorum.tui.finding_bar import Finder

    await _filled(app, entries)
    finder = Finder(app.view, Style(underline=True), Style(reverse=True))
    steps: list[float] = []
    finder.look_for("some bold")
    complete = False
    while not complete:
        begun = time.process_time()
        complete = finder.search_further()
        steps.append(time.process_time() - begun)
        await asyncio.sleep(0)
    following = await _each(50, lambda: finder.find_next(backwards=False))
    finder.close()
    return {"step ms": max(steps[1:]) * 1000, "all ms": sum(steps) * 1000, "next ms": following * 1000}


async def _filled(app: Bench, entries: int) -> None:
    for number in range(entries // 2):
        app.view.apply(ev.TurnStarted(prompt=f"prompt {number}"))
        app.view.apply(
            ev.ResponseCompleted(turn_index=number, response=LlmResponse.from_text(_SECTION * (1 + number % 3)))
        )
    app.view.flush()
    await asyncio.sleep(0.3)


async def _each(times: int, act: Callable[[], object]) -> float:
    """Median CPU seconds of an act and the painting that follows from it."""
    costs = []
    for _ in range(times):
        begun = time.process_time()
        act()
        await asyncio.sleep(0.03)
        costs.append(time.process_time() - begun)
    return sorted(costs)[times // 2]


CASES: dict[str, Callable[[Bench], Awaitable[dict[str, float]]]] = {
    "stream 2,000": lambda app: stream(app, 2_000, 0),
    "stream 5,000": lambda app: stream(app, 5_000, 0),
    "stream 20,000": lambda app: stream(app, 20_000, 0),
    "stream 1,200 at 150/s": lambda app: stream(app, 1_200, 1 / 150),
    "beside 10 entries": lambda app: beside(app, 10),
    "beside 1,000 entries": lambda app: beside(app, 1_000),
    "beside 10,000 entries": lambda app: beside(app, 10_000),
    "found in 10,000 entries": lambda app: found(app, 10_000),
}


def in_terminal(case: str) -> dict[str, float]:
    """Run one case in a pseudo-terminal of 120×40 whose output is read and thrown away."""
    with tempfile.NamedTemporaryFile() as result:
        environment = {**os.environ, "QUORUM_BENCH_RESULT": result.name, "TERM": "xterm-256color"}
        child = pexpect.spawn(
            sys.executable, [__file__, "--one", case], dimensions=(40, 120), env=environment, timeout=120
        )
        child.expect(pexpect.EOF)
        child.close()
        return dict(json.loads(Path(result.name).read_text()))


def main() -> None:
    """Run all cases, or the one that is named."""
    if sys.argv[1:2] == ["--one"]:
        figures = Bench(CASES[sys.argv[2]]).run() or {}
        Path(os.environ["QUORUM_BENCH_RESULT"]).write_text(json.dumps(figures))
        return
    for case in sys.argv[1:] or CASES:
        figures = in_terminal(case)
        print(f"{case:24}", "  ".join(f"{name} {value:.2f}" for name, value in figures.items()), flush=True)


if __name__ == "__main__":
    main()
