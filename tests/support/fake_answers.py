"""Answers from other processes, kept in memory."""

from __future__ import annotations

import math
from collections.abc import Collection

from quorum.domain.replacing import replace
from quorum.domain.review.questions import RemoteAnswer
from quorum.domain.review.signing import ApprovalSignature
from quorum.domain.sessions.redaction import redact_name


class FakeAnswers:
    """Implements `AnswerStore`."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], RemoteAnswer] = {}
        self.signatures: dict[tuple[str, str, str], ApprovalSignature] = {}
        self.seen: set[tuple[str, str]] = set()

    async def add(self, answer: RemoteAnswer) -> RemoteAnswer:
        """The first one counts."""
        return self.kept.setdefault((answer.session_id, answer.digest), answer)

    async def find(self, session_id: str, digest: str) -> RemoteAnswer | None:
        """The one that is kept."""
        return self.kept.get((session_id, digest))

    async def add_signature(self, signature: ApprovalSignature) -> None:
        """The last one of each person is kept."""
        self.signatures[signature.session_id, signature.digest, signature.person] = signature

    async def list_signatures(self, session_id: str, digest: str) -> tuple[ApprovalSignature, ...]:
        """Those that are kept, the oldest first."""
        found = [each for key, each in self.signatures.items() if key[:2] == (session_id, digest)]
        return tuple(sorted(found, key=lambda each: (each.at_ms, each.person)))

    async def note_seen(self, session_id: str, digest: str) -> None:
        """It was just looked at, whenever that is asked."""
        self.seen.add((session_id, digest))

    async def find_seen_age_secs(self, session_id: str, digest: str) -> float:
        """Nothing or infinitely long."""
        return 0.0 if (session_id, digest) in self.seen else math.inf

    def redact(self, session_id: str, text: str) -> None:
        """Take a text out of the reasons given in a session."""
        for key, answer in self.kept.items():
            if key[0] == session_id and answer.reason is not None:
                self.kept[key] = replace(answer, reason=redact_name(answer.reason, text))

    def forget(self, sessions: Collection[str]) -> None:
        """Remove the answers in these sessions."""
        self.seen = {key for key in self.seen if key[0] not in sessions}
        self.kept = {key: answer for key, answer in self.kept.items() if key[0] not in sessions}
        self.signatures = {key: one for key, one in self.signatures.items() if key[0] not in sessions}
