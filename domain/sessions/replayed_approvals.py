"""The calls that the person approved, replayed from a session's events."""

from __future__ import annotations

from collections import deque
from typing import TypeAlias, assert_never

from quorum.domain.calls.execution import ToolExecutionContext
from quorum.domain.events.event import CallStarted, ReviewDecided, ReviewRequested
from quorum.domain.review.approved_call import ApprovedCall, GitApproval
from quorum.domain.review.permissions import COMMAND_TOOL
from quorum.domain.review.questions import DecisionLabel
from quorum.domain.shell.sandbox import OFFERS_GIT, OPENS_GIT

ApprovalEvent: TypeAlias = ReviewRequested | ReviewDecided | CallStarted

_MOST_KEPT = 300
_BY_THE_PERSON = frozenset({DecisionLabel.APPROVED, DecisionLabel.EDITED})


class ReplayedApprovals:
    """Collects the latest approved calls. A call counts once it has begun; those of undone turns do not count.

    What a file tool writes is known from the packet that was asked about: an edit that was approved together
    with a call before it was not asked about by itself, and is left out.
    """

    def __init__(self) -> None:
        self._session_id = self._workspace = ""
        self._git: list[tuple[int, GitApproval]] = []
        self._turn = -1
        self._asked: dict[ToolExecutionContext, ReviewRequested] = {}
        self._approved: dict[ToolExecutionContext, str] = {}
        self._calls: deque[tuple[int, ApprovedCall]] = deque(maxlen=_MOST_KEPT)

    @property
    def calls(self) -> tuple[ApprovedCall, ...]:
        """The approved calls, oldest first."""
        return tuple(call for _, call in self._calls)

    @property
    def git(self) -> frozenset[GitApproval]:
        """Where commands were let write to `.git`, and by which session."""
        return frozenset(approval for _, approval in self._git)

    def begin_session(self, session_id: str, workspace: str) -> None:
        """Start a session: later events happen in it, in this workspace."""
        self._session_id, self._workspace = session_id, workspace

    def begin_turn(self) -> None:
        """Start another turn: later events belong to it."""
        self._turn += 1
        self._asked.clear()
        self._approved.clear()

    def undo(self, turn: int) -> None:
        """Forget the approvals of this turn and of all later ones."""
        kept = [(number, call) for number, call in self._calls if number < turn]
        self._calls = deque(kept, maxlen=_MOST_KEPT)
        self._git = [(number, approval) for number, approval in self._git if number < turn]

    def apply(self, event: ApprovalEvent) -> None:
        match event:
            case ReviewRequested():
                self._asked[event.context] = event
            case ReviewDecided() if event.decision in _BY_THE_PERSON:
                self._approved[event.context] = event.digest
            case ReviewDecided():
                self._approved.pop(event.context, None)
            case CallStarted():
                self._start(event)
            case _:
                assert_never(event)

    def _start(self, event: CallStarted) -> None:
        asked = self._asked.pop(event.context, None)
        if (digest := self._approved.pop(event.context, None)) is None:
            return
        files = asked.packet.seal.files if asked is not None and asked.digest == digest else ()
        if asked is not None and _opens_git(event, asked, digest):
            self._git.append((self._turn, GitApproval(session_id=self._session_id, workspace=self._workspace)))
        call = ApprovedCall.of(event.tool, event.arguments, [file.path for file in files])
        if call is not None:
            self._calls.append((self._turn, call))


def _opens_git(event: CallStarted, asked: ReviewRequested, digest: str) -> bool:
    """Whether the person approved this very packet, and read in it that the call opens `.git`."""
    packet = asked.packet
    return (
        event.tool == COMMAND_TOOL
        and event.arguments == packet.call.arguments
        and packet.digest == digest
        and packet.seal.sandbox is not None
        and packet.seal.sandbox.endswith((OPENS_GIT, OFFERS_GIT))
    )
