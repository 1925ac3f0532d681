"""A gate that hangs is ended before the agent that waits for it runs the call."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from quorum.__main__ import _GATE_GRACE_SECS, _end_in_time
from tests.support.headless_run import QUORUM


@pytest.mark.parametrize("words", [["--timeout", "7"], ["--timeout=7"]], ids=" ".join)
def test_the_end_follows_the_timeout_however_it_is_written(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    timers: list[float] = []
    monkeypatch.setattr(signal, "setitimer", lambda _which, secs: timers.append(secs))

    _end_in_time(["gate", *words])

    assert timers == [7 + _GATE_GRACE_SECS]


@pytest.mark.long
def test_a_gate_that_gets_no_call_is_ended_and_the_recipe_blocks() -> None:
    """Nothing is ever written to its standard input."""
    recipe = f"'{QUORUM}' gate --dialect claude --timeout 1 || {{ echo 'no answer' >&2; exit 2; }}"
    reading, writing = os.pipe()
    try:
        done = subprocess.run(["sh", "-c", recipe], stdin=reading, capture_output=True, text=True)
    finally:
        os.close(reading)
        os.close(writing)

    assert (done.returncode, done.stdout) == (2, "")
    assert "no answer" in done.stderr
