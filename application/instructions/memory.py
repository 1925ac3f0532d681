"""Adds a line of the person's to an instruction file, once they have approved exactly this change."""

from __future__ import annotations

from quorum.application.cancellation import run_to_end
from quorum.application.event_bus import EventBus
from quorum.application.ports.instructions import MemoryFilesPort
from quorum.application.review.review import Review
from quorum.domain.calls.access import Access
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.errors import MemoryRefused
from quorum.domain.events.event import ErrorOccurred, MemoryAdded, MemoryApproved
from quorum.domain.instructions.instruction import (
    InstructionScope,
    MemoryDraft,
    MemoryProposal,
    require_memory_line,
)
from quorum.domain.review.permission_rules import Answer, Subject

_SCOPES = (InstructionScope.PROJECT, InstructionScope.USER)


class Memory:
    """Proposes the change and makes it. No model reads of it before it is part of the instructions.

    Rules and the review mode hold as for an edit of the same file: what they deny is refused. What they allow
    is still put to the person, since instruction files are protected paths; whoever calls `add` has asked them.
    """

    def __init__(self, files: MemoryFilesPort, *, review: Review, events: EventBus, kind: SessionKind) -> None:
        self._files = files
        self._review = review
        self._events = events
        self._kind = kind

    async def propose(self, text: str) -> MemoryProposal:
        """The changes among which the person chooses one. Raises MemoryRefused where there is none."""
        if self._kind not in {SessionKind.AGENT, SessionKind.EXTERNAL}:
            raise MemoryRefused("this session changes no file; add the line in another tab")
        line = require_memory_line(text)
        drafts: list[MemoryDraft] = []
        refusals: list[str] = []
        for scope in _SCOPES:
            try:
                draft = await self._files.draft(line, scope)
                self._require_not_denied(draft)
            except MemoryRefused as refused:
                refusals.append(str(refused))
            else:
                drafts.append(draft)
        if not drafts:
            raise MemoryRefused("; ".join(dict.fromkeys(refusals)))
        return MemoryProposal(drafts=tuple(drafts), refusals=tuple(refusals))

    async def add(self, draft: MemoryDraft) -> None:
        """Make the change that the person approved; what became of it is an event.

        Raises MemoryRefused where the mode or a rule denies it by now or the file is no longer as it was shown,
        and LedgerError where it cannot be recorded; nothing is written then.
        """
        await run_to_end(self._add(draft))

    async def _add(self, draft: MemoryDraft) -> None:
        self._require_not_denied(draft)
        await self._events.announce(
            MemoryApproved(
                file=draft.target,
                scope=draft.scope,
                line=draft.line,
                sha256=draft.sha256,
                former_sha256=draft.former_sha256,
            )
        )
        try:
            notices = await self._files.write(draft)
        except MemoryRefused as refused:
            await self._events.record(ErrorOccurred(message=f"the line was not added: {refused}"))
            raise
        await self._events.record(
            MemoryAdded(
                file=draft.target,
                scope=draft.scope,
                line=draft.line,
                sha256=draft.sha256,
                notices=notices,
            )
        )

    def _require_not_denied(self, draft: MemoryDraft) -> None:
        subject = Subject(
            tool="write_file" if draft.before is None else "edit_file",
            risk=RiskLevel.HIGH,
            access=Access.of(writes={draft.target, draft.file}),
            arguments={"path": draft.target, "new_text": draft.line},
        )
        decision = self._review.decide(subject)
        if decision.answer is Answer.DENY:
            raise MemoryRefused(f"nothing can be added to {draft.label}: {'; '.join(decision.reasons)}")
