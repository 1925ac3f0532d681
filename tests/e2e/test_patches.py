"""apply_patch in a session: rules bind all its files, and it is taken back as one."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from quorum.application.review.approvers import NonInteractiveApprover
from quorum.domain.calls.execution import Outcome
from tests.support.real_session import SessionStage, call

PATCHING_MODEL = "fake/gpt-5"
PATCH = """*** Begin Patch
*** Update File: a.txt
@@
-one
+1
*** Add File: new/b.txt
+b
*** Delete File: c.txt
*** Update File: d.txt
*** Move to: e.txt
*** End Patch"""
BEFORE = {"a.txt": "one\n", "c.txt": "c\n", "d.txt": "d\n"}
AFTER = {"a.txt": "1\n", "new/b.txt": "b\n", "e.txt": "d\n"}
_DIES_IN_THE_MIDDLE = """
import asyncio, os, signal, sys
from pathlib import Path
from quorum.infrastructure.files import replacing
from tests.e2e.test_patches import PATCH, PATCHING_MODEL
from quorum.application.review.approvers import NonInteractiveApprover
from tests.support.real_session import SessionStage, call

steps = iter(range(9))
real = replacing._StagedStep.change

def die(step):
    if next(steps) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    real(step)

async def live():
    settings = '[review]\\nmode = "auto"\\n'
    stage = SessionStage(Path(sys.argv[1]), more_settings=settings, model=PATCHING_MODEL)
    async with stage.opened() as session:
        await session.turn(call("apply_patch", patch=PATCH))

replacing._StagedStep.change = die
asyncio.run(live())
"""


def a_stage(folder: Path, settings: str = '[review]\nmode = "auto"\n') -> SessionStage:
    stage = SessionStage(folder, more_settings=settings, model=PATCHING_MODEL)
    for name, content in BEFORE.items():
        (stage.root / name).write_text(content)
    return stage


def files_in(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file() and ".quorum-" not in path.name)
    return {str(path.relative_to(root)): path.read_text() for path in files}


def die_in_the_middle(stage: SessionStage, step: int) -> None:
    """Let a session of another process apply the patch, and die before this step of it."""
    words = [sys.executable, "-c", _DIES_IN_THE_MIDDLE, str(stage.folder), str(step)]
    repository = Path(__file__).parents[2]
    done = subprocess.run(words, cwd=repository, timeout=60, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.mark.long
async def test_a_patch_is_applied_and_taken_back_as_one(tmp_path: Path) -> None:
    stage = a_stage(tmp_path)
    async with stage.opened() as session:
        report = await session.turn(call("apply_patch", patch=PATCH))
        assert [record.outcome for record in report.calls] == [Outcome.OK]
        assert files_in(stage.root) == AFTER
        await session.undo()
        assert files_in(stage.root) == BEFORE
        await session.continue_turn()


@pytest.mark.long
@pytest.mark.parametrize("step", range(5))
async def test_a_patch_that_was_killed_in_the_middle_is_taken_back(tmp_path: Path, step: int) -> None:
    stage = a_stage(tmp_path)
    die_in_the_middle(stage, step)

    assert "d\n" in files_in(stage.root).values()
    async with stage.opened() as session:
        await session.undo(overwrite=["a.txt", "c.txt", "d.txt", "e.txt", "new/b.txt"])
        assert files_in(stage.root) == BEFORE


@pytest.mark.parametrize(
    ("mode", "rules", "outcome"),
    [
        ("ask", 'allow = ["write_file(**)"]', Outcome.OK),
        ("ask", 'allow = ["apply_patch(*.txt)"]', Outcome.REJECTED),
        ("auto", 'ask = ["edit_file(new/**)"]', Outcome.REJECTED),
        ("auto", 'deny = ["apply_patch(e.txt)"]', Outcome.REJECTED),
        ("accept-edits", "", Outcome.OK),
        ("read-only", "", Outcome.REJECTED),
    ],
)
async def test_rules_and_modes_bind_every_path_of_a_patch(
    tmp_path: Path, mode: str, rules: str, outcome: Outcome
) -> None:
    stage = a_stage(tmp_path, f'[review]\nmode = "{mode}"\n[permissions]\n{rules}\n')

    async with stage.opened(person=NonInteractiveApprover()) as session:
        report = await session.turn(call("apply_patch", patch=PATCH))

    assert [record.outcome for record in report.calls] == [outcome]
    assert files_in(stage.root) == (AFTER if outcome is Outcome.OK else BEFORE)
