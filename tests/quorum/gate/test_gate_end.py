"""A gate that hangs is ended before the agent that waits for it runs the call."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.support.headless_run import QUORUM


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
