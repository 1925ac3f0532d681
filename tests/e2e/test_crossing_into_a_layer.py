"""A session in the app goes on in a layer and comes back out of it, as if it were one app."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.infrastructure.sandbox.sandbox_bench import needs_bubblewrap
from tests.support.layer_process import layers
from tests.support.terminal import Terminal

pytestmark = [pytest.mark.usefixtures("layers"), pytest.mark.long, needs_bubblewrap]
__all__ = ["layers"]

_SHIFT_TAB = "\x1b[Z"
_OTHER_SCREEN, _USUAL_SCREEN = "\x1b[?1049h", "\x1b[?1049l"


def test_the_screen_the_draft_and_what_is_typed_meanwhile_stay(tmp_path: Path) -> None:
    project = (tmp_path / "project").resolve()
    project.mkdir()
    (project / "a.py").write_text("first = 1\n")
    with Terminal(project, tmp_path / "home", rows=40, columns=120, arguments=[], is_program=True) as terminal:
        terminal.wait_for("offline")
        terminal.wait_for("sandbox on")
        terminal.submit("read a.py")
        terminal.wait_for("1 first = 1")
        terminal.type("half a dra")
        with terminal.fresh():
            for _ in range(5):
                terminal.type(_SHIFT_TAB)
            terminal.wait_for("staged: nothing reaches your folder before")
            terminal.type("ft")
            terminal.wait_for("mode: staged")
            terminal.wait_for("half a draft")
            terminal.type("\x15")
            terminal.submit("/unstage")
            terminal.wait_for("mode: ask")
            assert _OTHER_SCREEN not in terminal.raw
            assert _USUAL_SCREEN not in terminal.raw
        terminal.quit()
