"""What opening a review dialog costs. Run `python benchmarks/review_dialog.py [OPENINGS]`.

Prints, for one kind of request each, the median of the CPU milliseconds from the question to a dialog that is
painted and takes keys: `opened` where none is on the screen, `kept` where the one before it in the batch was
answered and keeps its place. No two requests are alike, so that nothing of one is found ready for the next.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))

from quorum.domain.review.questions import ReviewRequest
from tests.support.app_stage import Stage, on_stage
from tests.support.fake_agent import FakeAgent, Scene, a_command, a_request, an_edit

_WARM_UP = 3


def _one_edit(number: int) -> str:
    return (
        f"--- a/src/retry.py\n+++ b/src/retry.py\n@@ -{number},5 +{number},6 @@ class Retry:\n"
        "     def backoff(self, attempt: int) -> None:\n"
        f"         delay = self.base * {number} ** attempt\n"
        "-        time.sleep(delay)\n"
        f"+        delay += random.uniform(-1, {number})  # jitter\n"
        "+        await asyncio.sleep(delay)\n"
        " \n     def reset(self) -> None:\n"
    )


def _new_file(number: int) -> str:
    lines = "".join(
        f'+def step_{line}(count: int = {number}) -> str:\n+    return f"step {line} of {{count}}"  # said\n'
        for line in range(150)
    )
    return f"--- /dev/null\n+++ b/src/retry.py\n@@ -0,0 +1,300 @@\n{lines}"


def _many_places(number: int) -> str:
    hunks = "".join(
        f"@@ -{line},3 +{line},3 @@ class Retry:\n     def step_{line}(self) -> str:\n"
        f'-        return "step {line}"\n'
        f'+        return f"step {number} of {{self.steps}}"  # said to the user\n     \n'
        for line in range(100, 550, 9)
    )
    return f"--- a/src/retry.py\n+++ b/src/retry.py\n{hunks}"


KINDS: dict[str, Callable[[int, int], ReviewRequest]] = {
    "command": lambda n, of: a_request(
        a_command(f"pytest -x -q tests/test_{n}.py", index=n % of), batch_size=of
    ),
    "edit of one place": lambda n, of: a_request(an_edit(_one_edit(n), index=n % of), batch_size=of),
    "edit of 50 places": lambda n, of: a_request(an_edit(_many_places(n), index=n % of), batch_size=of),
    "file of 300 lines": lambda n, of: a_request(an_edit(_new_file(n), index=n % of), batch_size=of),
}


class _Openings:
    """A scene that asks when it is let, one request after the other, and notes when it does."""

    def __init__(self, requests: list[ReviewRequest]) -> None:
        self._requests = requests
        self.turn = asyncio.Event()
        self.asked_at = 0.0
        self.asked = 0

    def scene(self) -> Scene:
        async def ask_all(agent: FakeAgent) -> object:
            for request in self._requests:
                await self.turn.wait()
                self.turn.clear()
                self.asked_at = time.process_time()
                self.asked += 1
                await agent.ask(request)
            return None

        return ask_all


def _is_asked(openings: _Openings, times: int) -> bool:
    return openings.asked == times


def _is_answered(stage: Stage, times: int) -> bool:
    return len(stage.agent.answers) == times


async def _measure(kind: str, count: int, folder: Path, *, kept: bool) -> float:
    """The median of `count` openings, in milliseconds of CPU."""
    total = count + _WARM_UP
    openings = _Openings([KINDS[kind](n + 1, 1 if not kept else total + 2) for n in range(total)])
    spent: list[float] = []
    async with on_stage(folder, openings.scene(), size=(120, 40)) as stage:
        await stage.send("go")
        for place in range(total):
            openings.turn.set()
            await stage.until(partial(_is_asked, openings, place + 1))
            await stage.asked()
            spent.append(time.process_time() - openings.asked_at)
            stage.hit("n")
            await stage.until(partial(_is_answered, stage, place + 1))
            if not kept:
                await _closed(stage)
    return median(spent[_WARM_UP:]) * 1000


async def _closed(stage: Stage) -> None:
    await stage.unasked()
    await stage.pilot.pause()


def main(count: int) -> None:
    """Measure every kind, both ways."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        print(f"{'CPU ms, median of ' + str(count):<28}{'opened':>8}{'kept':>8}")
        for kind in KINDS:
            opened, kept = (
                asyncio.run(_measure(kind, count, Path(folder), kept=is_kept)) for is_kept in (False, True)
            )
            print(f"{kind:<28}{opened:>8.1f}{kept:>8.1f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
