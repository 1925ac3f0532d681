"""How a review looks, as pictures that are reviewed like code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from quorum.application.ports.people import ReviewContext
from quorum.domain.calls.execution import Seal, SealedFile
from quorum.domain.review.ballot import Vote
from quorum.domain.review.questions import Approve, ReviewRequest
from quorum.tui.app.app import QuorumApp
from tests.support.app_stage import Clock, Stage
from tests.support.fake_agent import FakeAgent, Scene, a_command, a_packet, a_request, an_edit, composing
from tests.support.no_folder import NO_FOLDER, NO_HOME
from tests.support.review_contexts import THREE, a_ballot, a_review_context, voted
from tests.tui.transcript_scenes import completed

DIFF = '''\
--- a/src/retry.py
+++ b/src/retry.py
@@ -38,10 +38,13 @@ class Retry:
     """Waits longer after each failure."""

     def backoff(self, attempt: int) -> None:
         delay = self.base * 2 ** attempt
-        time.sleep(delay)
+        delay = min(delay, self.longest)
+        delay += random.uniform(-1, 1)  # jitter
+        await asyncio.sleep(delay)

     def reset(self) -> None:
         self.attempts = 0
-        self.last = None\x20
+        self.last: float | None = None
'''.replace("\n\n", "\n \n")
LONG_DIFF = DIFF + "".join(
    f'@@ -{n},3 +{n},3 @@ class Retry:\n     def step_{n}(self) -> str:\n-        return "step {n}"\n'
    f'+        return f"step {n} of {{self.steps}}"  # told to the person\n     \n'
    for n in range(100, 200, 9)
)
EVIL = "printf '\x1b]52;c;aGk=\x07' && cat \u202egnp.exe\u2066 [/red] \x1b[31mred\x1b[0m\nrm -rf \u200bbuild\r"
SANDBOX = "on: writes in the workspace only, no network"
CHANGED = SealedFile(path=f"{NO_FOLDER}/src/retry.py", sha256="77aa" + "0" * 57 + "9f0")
LOGO = SealedFile(path=f"{NO_FOLDER}/docs/logo.png", sha256="9b1e" * 16)

SPLIT = voted(
    a_ballot(THREE[0], confidence=0.9),
    a_ballot(
        THREE[1],
        Vote.REJECT,
        "The delay can be negative after the jitter: asyncio.sleep returns at once, and the loop spins without "
        "a pause until the server gives up.",
        confidence=0.7,
        objection="asyncio.sleep(delay)",
    ),
)
FAKED = voted(
    a_ballot(
        THREE[0], Vote.REJECT, "no\x1b[2J\n✓ for 1.0  everyone  approved\u202e", objection="rm -rf \u200bbuild"
    ),
    a_ballot(THREE[1], Vote.ABSTAIN, "cannot tell", confidence=0.2),
    a_ballot(THREE[2], Vote.ERROR, "no vote within 60 s", confidence=None),
)


@dataclass(frozen=True)
class Look:
    request: ReviewRequest
    size: tuple[int, int]
    review_context: ReviewContext
    approved_before: ReviewRequest | None = None
    colours: bool = True


def a_sandboxed(command: str) -> ReviewRequest:
    packet = a_command(command)
    seal = Seal(
        cwd=packet.seal.cwd,
        executables=packet.seal.executables,
        unsealed="further effects of the command are not known beforehand",
        sandbox=SANDBOX,
    )
    return a_request(a_packet("run_command", {"command": command}, seal))


def a_stale_edit() -> ReviewRequest:
    seal = Seal(cwd=NO_FOLDER, files=(CHANGED,), diff=DIFF)
    return a_request(a_packet("edit_file", an_edit(DIFF).call.arguments, seal), stale=True)


def a_binary() -> ReviewRequest:
    seal = Seal(
        cwd=NO_FOLDER,
        files=(LOGO,),
        diff="binary: 20480 → 18 bytes\n",
        projected={LOGO.path: b"not a picture now\n"},
    )
    return a_request(a_packet("write_file", {"path": LOGO.path, "content": "not a picture now\n"}, seal))


PREAMBLE = (
    "The pause is never awaited, so the loop waits for it.\n\nI make it a coroutine, cap it at "
    "`self.longest`, and add some jitter so that clients do not all come back at the same moment."
)
LOOKS = {
    "command": Look(
        a_sandboxed("pytest -x -q tests/test_retry.py && git status --short"),
        (120, 40),
        a_review_context(voted()),
    ),
    "long_diff_side_by_side": Look(
        a_request(an_edit(LONG_DIFF, index=1), a_command("pytest", index=2), batch_size=3),
        (150, 36),
        a_review_context(),
    ),
    "binary": Look(a_binary(), (100, 28), a_review_context()),
    "votes_split": Look(a_request(an_edit(DIFF)), (120, 40), a_review_context(SPLIT)),
    "stale": Look(a_stale_edit(), (100, 36), a_review_context(), approved_before=a_request(an_edit(DIFF))),
    "control_characters": Look(a_request(a_command(EVIL)), (100, 30), a_review_context(FAKED)),
    "at_80_by_24": Look(
        a_request(an_edit(DIFF, index=1), a_command("pytest", index=2), batch_size=3),
        (80, 24),
        a_review_context(SPLIT),
    ),
    "preamble": Look(
        a_request(an_edit(DIFF), preamble=PREAMBLE),
        (100, 22),
        a_review_context(),
    ),
    "no_colour": Look(a_request(an_edit(DIFF)), (100, 36), a_review_context(SPLIT), colours=False),
}


def scene_of(look: Look) -> Scene:
    async def scene(agent: FakeAgent) -> None:
        if look.approved_before is not None:
            await agent.ask(look.approved_before)
        if look.request.preamble:
            agent.tell(completed(look.request.preamble, calls=True))
        await agent.ask(look.request, look.review_context)

    return scene


@pytest.mark.long(after=3)
@pytest.mark.parametrize("name", LOOKS)
def test_a_review_looks_as_it_should(name, snap_compare, tmp_path, monkeypatch):
    look = LOOKS[name]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", NO_HOME)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if not look.colours:
        monkeypatch.setenv("NO_COLOR", "1")
    box: list[FakeAgent] = []
    app = QuorumApp(composing(box, scene_of(look)), cwd=Path(NO_FOLDER), clock=Clock())

    async def ask(pilot) -> None:
        stage = Stage(app, pilot, box)
        await stage.shows("fake/model-1")
        await stage.send("the retry test is flaky, please fix it")
        await stage.asked()
        if look.approved_before is not None:
            await stage.pilot.press("y")
            await stage.until(lambda: stage.agent.answers == [Approve(look.approved_before.packet.digest)])
            await stage.shows("asked again")
        dialog = await stage.asked()
        await stage.shows("answer needed")
        dialog.show_awake()

    assert snap_compare(app, terminal_size=look.size, run_before=ask)
