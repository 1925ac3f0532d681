"""How the transcript looks, as pictures that are reviewed like code."""

from __future__ import annotations

import pytest

from quorum.application.view.session_view import SessionView
from quorum.domain.events import event as ev
from quorum.tui.transcript.layout.transcript_layout import TranscriptLayout
from tests.tui.transcript_scenes import (
    BATCH_FINISHED,
    BATCH_RUNNING,
    Clock,
    TranscriptApp,
    completed,
    play,
)

ANSWER = """\
# Why it is flaky

`backoff()` sleeps for real, and the **jitter** may make the delay *negative*; see
[the docs](https://docs.python.org/3/library/asyncio-task.html#sleeping).

1. Clamp the delay at zero.
2. Await `asyncio.sleep` instead of blocking:

   ```python
   await asyncio.sleep(max(delay, 0.0))
   ```
3. Inject the clock.

| attempt | delay | 待機 |
|--------:|------:|------|
| 1 | 0.5 s | 短い |
| 2 | 1.0 s | 長い |

> A test that waits is a test that fails on Mondays.

```python
def backoff(attempt: int, base: float = 0.5) -> float:
    \"\"\"Seconds to wait before an attempt.\"\"\"
    return base * 2**attempt  # no jitter yet
```

- one
- two
  - nested
"""


class Scene(TranscriptApp):
    """A transcript of a script, with a clock that only the script moves."""

    def __init__(self, script, *, unfold=False):
        super().__init__()
        self._script = script
        self._unfold = unfold

    def on_mount(self):
        clock = Clock()
        self.view._page = TranscriptLayout(SessionView(clock))
        play(self.view, clock, self._script)
        if self._unfold:
            self.view.toggle_fold_all()


@pytest.mark.parametrize(
    ("script", "size"),
    [
        pytest.param(BATCH_RUNNING, (120, 30), id="a batch that runs and waits"),
        pytest.param(BATCH_FINISHED, (120, 36), id="a batch that ended"),
        pytest.param(BATCH_RUNNING, (80, 24), id="the same in a small terminal"),
        pytest.param(
            (ev.TurnStarted(prompt="why does the retry test fail?"), completed(ANSWER)), (90, 46), id="markdown"
        ),
    ],
)
def test_it_looks_like_its_picture(snap_compare, script, size):
    assert snap_compare(Scene(script), terminal_size=size)
