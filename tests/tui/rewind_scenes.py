"""Turns that can be taken back, and what that would change."""

from __future__ import annotations

from quorum.domain.calls.effects import ChangeKind, FileChange, FileKind, FileState
from quorum.domain.conversation.history import Conversation, Moment
from quorum.domain.sessions.restoration import RestorePlan, RestoreStep
from quorum.domain.sessions.state import PastTurn
from tests.support.fake_agent import FakeAgent
from tests.support.no_folder import NO_FOLDER
from tests.tui.transcript_scenes import DIFF

ROOT = NO_FOLDER


def state(sha: str = "a" * 64, *, unkept: str | None = None) -> FileState:
    return FileState(kind=FileKind.FILE, mode=0o644, size=10, sha256=sha, unkept=unkept)


def a_turn(number: int, prompt: str, *paths: str, undone: bool = False) -> PastTurn:
    changes = tuple(
        FileChange(path=f"{ROOT}/{path}", kind=ChangeKind.MODIFIED, declared=True) for path in paths
    )
    return PastTurn(
        number=number,
        prompt=prompt,
        at_ms=0,
        before=Moment(Conversation(), 0, 0),
        values_before={},
        changes=changes,
        undone=undone,
    )


TURNS = (
    a_turn(0, "explain the parser"),
    a_turn(1, "fix the retry test\nand run it", "src/retry.py", "notes.md", "src/retry.py", ".git/index"),
    a_turn(2, "a mistake", "src/retry.py", undone=True),
    a_turn(3, "write the docs", "docs/retry.md"),
)

OVERWRITTEN = RestoreStep(path=f"{ROOT}/src/retry.py", wanted=state("b" * 64), now=state())
EDITED = RestoreStep(path=f"{ROOT}/notes.md", wanted=state("c" * 64), now=state(), edited_since=True)
REMOVED = RestoreStep(path=f"{ROOT}/docs/retry.md", wanted=None, now=state())
LOST = RestoreStep(
    path=f"{ROOT}/.env", wanted=state(unkept="sensitive"), now=None, trouble="its former content was not kept"
)
PLAN = RestorePlan(
    turn=1,
    steps=(OVERWRITTEN, EDITED, REMOVED, LOST),
    unseen=("What `make all` changed outside the workspace was not seen.",),
)


def with_turns(agent: FakeAgent) -> None:
    """Give the agent these turns, and something to take back."""
    agent.turns = TURNS
    agent.restore_plans = {1: PLAN, 3: RestorePlan(turn=3, steps=(REMOVED,))}
    agent.diffs = {OVERWRITTEN.path: DIFF, EDITED.path: "@@ -1 +1 @@\n-what I wrote since\n+what it was\n"}
