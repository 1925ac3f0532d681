"""What stands for a storage where a session is only looked at: nothing is kept, and nothing is there."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Never

from quorum.application.ports.storage import BlobStore, OpenedSession, SessionArchive
from quorum.application.session.session_record import SessionRecord
from quorum.domain.errors import LedgerError
from quorum.domain.events.masking import SecretMask
from quorum.domain.review.questions import RemoteAnswer
from quorum.domain.review.signing import ApprovalSignature
from quorum.domain.sessions.session_summary import SessionChoice
from quorum.infrastructure.local_pacer import LocalPacer


def build_empty_record(outputs: BlobStore | None) -> SessionRecord:
    """The record of a session that never begins; `outputs` is where it would keep large ones."""

    async def release() -> None:
        """Nothing is held."""

    return SessionRecord(session_id="", ledger=None, storage=NoStorage(outputs), release=release)


class NoStorage:
    """Implements `Storage`, `ContentStore` and `AnswerStore`. What would be kept raises LedgerError."""

    notices: tuple[str, ...] = ()
    place = "nowhere"

    def __init__(self, outputs: BlobStore | None) -> None:
        self._outputs = outputs
        self.pacer = LocalPacer()

    @property
    def contents(self) -> NoStorage:
        return self

    @property
    def answers(self) -> NoStorage:
        return self

    @property
    def archive(self) -> SessionArchive:
        _refuse()

    def open_blobs(self, mask: SecretMask | None = None) -> BlobStore | None:
        return self._outputs

    def open_session(self, choice: SessionChoice, *, cwd: str, fork: bool = False) -> OpenedSession:
        _refuse()

    def mend(self) -> None:
        _refuse()

    def close(self) -> None:
        """Nothing is open."""

    async def put(self, contents: Sequence[bytes]) -> tuple[str, ...]:
        _refuse()

    async def get(self, sha256: str) -> bytes:
        _refuse()

    async def list_absent(self, hashes: Collection[str]) -> frozenset[str]:
        return frozenset(hashes)

    async def add(self, answer: RemoteAnswer) -> RemoteAnswer:
        _refuse()

    async def find(self, session_id: str, digest: str) -> RemoteAnswer | None:
        return None

    async def add_signature(self, signature: ApprovalSignature) -> None:
        _refuse()

    async def list_signatures(self, session_id: str, digest: str) -> tuple[ApprovalSignature, ...]:
        return ()

    async def note_seen(self, session_id: str, digest: str) -> None:
        _refuse()

    async def find_seen_age_secs(self, session_id: str, digest: str) -> float:
        return math.inf


def _refuse() -> Never:
    raise LedgerError("nothing of this session is kept: it is only looked at")
