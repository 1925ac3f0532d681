from pathlib import Path

import pytest

from tests.support.app_stage import Clock, Stage
from tests.support.fake_agent import FakeAgent, a_command, a_request, an_edit, composing, review
from tui.app import QuorumApp

DIFF = '''\
--- a/src/retry.py
+++ b/src/retry.py
@@ -38,10 +38,13 @@ class Retry:
     """Waits longer after each failure."""

     def backoff(self, attempt: int) -> None:
         delay = self.base * 2 ** attempt
-        time.sleep(delay)
+        delay = min(delay, self.longest)
+        delay += random.uniform(0, delay / 10)
+        await asyncio.sleep(delay)

     def reset(self) -> None:
         self.attempts = 0
-        self.last = None\x20
+        self.last: float | None = None
'''.replace("\n\n", "\n \n")
EVIL = "printf '\x1b]52;c;aGk=\x07' && cat \u202egnp.exe\u2066 [/red] \x1b[31mred\x1b[0m\nrm -rf \u200bbuild\r"
SCENES = {
    "command": (a_request(a_command("pytest -x -q tests/test_retry.py && git status --short")), (120, 40)),
    "diff_side_by_side": (
        a_request(an_edit(DIFF, index=1), a_command("pytest", index=2), batch_size=3),
        (150, 36),
    ),
    "control_characters": (a_request(a_command(EVIL)), (100, 30)),
    "diff_at_80_by_24": (
        a_request(an_edit(DIFF, index=1), a_command("pytest", index=2), batch_size=3),
        (80, 24),
    ),
}


@pytest.mark.parametrize("scene", SCENES)
def test_a_review_looks_as_it_should(scene, snap_compare, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", "/home/me")
    request, size = SCENES[scene]
    box: list[FakeAgent] = []
    app = QuorumApp(composing(box, review(request)), cwd=Path("/home/me/app"), clock=Clock())

    async def ask(pilot) -> None:
        stage = Stage(app, pilot, box)
        await stage.shows("fake/model-1")
        await stage.send("the retry test is flaky, please fix it")
        dialog = await stage.asked()
        await stage.shows("answer needed")
        dialog.show_awake()

    assert snap_compare(app, terminal_size=size, run_before=ask)
