"""Code reviews with scripted models over a change that a test makes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from quorum.application.event_bus import EventBus
from quorum.application.panel.code_review import CodeReview
from quorum.application.panel.panel import Panel
from quorum.application.ports.models import LlmRequest
from quorum.application.ports.workspace import OpenTools
from quorum.domain.code_review.change import (
    Change,
    ChangeHunk,
    CodeReviewPolicy,
    CodeReviewRequest,
    FileDiff,
    FileStatus,
)
from quorum.domain.code_review.review_result import ReviewResult
from quorum.domain.conversation.cost import PriceTable
from quorum.domain.conversation.history import UserMessage
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.errors import NothingToReview, ProviderError, ProviderErrorKind
from quorum.domain.events.event import ChangeReviewed
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.text.json_value import JsonValue
from tests.support.builders import a_call, calls_response
from tests.support.fake_gateway import Answers, FakeGateway
from tests.support.fake_ports import RecordingObserver

DOWN = ProviderError("it is down", kind=ProviderErrorKind.OVERLOADED)


def make_change(*paths: str, lines: int = 2) -> Change:
    files = tuple(
        FileDiff(
            path=path,
            status=FileStatus.MODIFIED,
            hunks=(ChangeHunk(old_start=1, new_start=1, lines=tuple(f"+{path} {n}" for n in range(lines))),),
        )
        for path in paths
    )
    return Change(description="the change", files=files, branch="b", commit="c" * 40)


def report(vote: str, *places: tuple[str, int, str], **more: JsonValue) -> LlmResponse:
    usual = {"severity": "high", "kind": "correctness", "evidence": "e"}
    findings: list[JsonValue] = [
        {"file": file, "line": line, "claim": claim, **usual} for file, line, claim in places
    ]
    given = {"findings": findings, "verdict": vote, "confidence": 0.9, "reason": f"I {vote}", **more}
    return calls_response(a_call("report_findings", given))


def trial(**rulings: str) -> LlmResponse:
    given: list[JsonValue] = [{"finding": id_, "ruling": how, "reason": "seen"} for id_, how in rulings.items()]
    return calls_response(a_call("try_findings", {"rulings": given}))


def synthesis(text: str = "repair it") -> LlmResponse:
    empty: list[JsonValue] = []
    given = {"conclusion": text, "key_points": empty, "agreement": empty, "disagreement": empty}
    return calls_response(a_call("synthesise", given))


class GivenChange:
    """Implements `ChangeSource`; the repository is not there."""

    def __init__(self, change: Change | None) -> None:
        self.change = change
        self.approved: list[str] = []

    async def read(self, request: CodeReviewRequest) -> Change:
        if self.change is None:
            raise NothingToReview("there is nothing to review")
        return self.change

    @asynccontextmanager
    async def open_repository(self, change: Change) -> AsyncIterator[OpenTools | None]:
        yield None

    async def keep_approval(self, change: Change, focus: str) -> None:
        self.approved.append(change.commit)


class Bench:
    """A code review over scripted models, of which p/mod is the moderator."""

    def __init__(
        self,
        scripts: Mapping[str, Answers],
        change: Change | None = None,
        *,
        past: tuple[LedgerRecord, ...] = (),
        policy: CodeReviewPolicy | None = None,
        secs: float = 5.0,
    ) -> None:
        self.gateway = FakeGateway({f"p/{name}": answers for name, answers in scripts.items()})
        self.seen = RecordingObserver()
        self.events = EventBus([self.seen], past=past)
        self.source = GivenChange(change)
        self.review = CodeReview(
            Panel(gateway=self.gateway, events=self.events, prices=PriceTable(), timeout_secs=secs),
            moderator="p/mod",
            models=tuple(model for model in self.gateway.scripts if model != "p/mod"),
            events=self.events,
            source=self.source,
            policy=policy or CodeReviewPolicy(),
        )

    async def run(self, text: str = "Review main..HEAD") -> str:
        async with asyncio.timeout(60):
            said = LlmRequest(messages=(UserMessage(text),))
            return (await self.review.respond(said)).text_content()

    @property
    def result(self) -> ReviewResult:
        (event,) = [event for event in self.seen.events if isinstance(event, ChangeReviewed)]
        return event.result

    def records(self) -> tuple[LedgerRecord, ...]:
        durable = [event for event in self.seen.events if event.durable]
        return tuple(LedgerRecord(seq=n, at_ms=n, event=event) for n, event in enumerate(durable))

    def requests(self, model: str) -> int:
        return sum(len(session.sent) for session in self.gateway.sessions if session.model == f"p/{model}")

    def asked(self, model: str) -> list[str]:
        sessions = [session for session in self.gateway.sessions if session.model == f"p/{model}"]
        return [str(session.sent[0]) for session in sessions]
