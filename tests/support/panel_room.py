"""A panel over scripted models, of which p/mod is the moderator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from quorum.application.conversation_session import ConversationSession
from quorum.application.event_bus import EventBus
from quorum.application.panel.panel import Panel
from quorum.application.panel.panel_session import PanelSession
from quorum.domain.conversation.cost import PriceTable
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import LlmResponse, StreamEvent
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.events.event import PanelAnswered, ResponseCompleted
from quorum.domain.panel.panel_answer import AnswerStatus
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.text.json_value import JsonValue
from tests.support.builders import a_call, calls_response
from tests.support.fake_gateway import Answers, FakeGateway
from tests.support.fake_ports import RecordingObserver

DOWN = ProviderError("it is down", kind=ProviderErrorKind.OVERLOADED)


def text(answer: str) -> LlmResponse:
    return LlmResponse.from_text(answer)


def reviews(**scores: JsonValue) -> LlmResponse:
    given: list[JsonValue] = [
        {"answer": label, "score": score, "agreement": "partly", "comment": f"on {label}"}
        for label, score in scores.items()
    ]
    return calls_response(a_call("review_answers", {"reviews": given}))


class PanelRoom:
    """A session in which a panel of this form answers; all models but the moderator take part."""

    def __init__(
        self,
        form: type[PanelSession],
        scripts: Mapping[str, Answers],
        *,
        past: tuple[LedgerRecord, ...] = (),
        secs: float = 5.0,
        conversation: Conversation | None = None,
        moderator: str = "p/mod",
    ) -> None:
        self.gateway = FakeGateway({f"p/{name}": answers for name, answers in scripts.items()})
        self.seen = RecordingObserver()
        self.events = EventBus([self.seen], past=past)
        self.panel = Panel(gateway=self.gateway, events=self.events, prices=PriceTable(), timeout_secs=secs)
        self.conversation = conversation or Conversation()
        self.answering = form(
            self.panel,
            system="you take part",
            moderator=moderator,
            models=tuple(model for model in self.gateway.scripts if model != "p/mod"),
            events=self.events,
        )
        self.session = ConversationSession(self.answering, self.conversation)
        self.streamed: list[StreamEvent] = []

    async def discuss(self, question: str | None = "queue or cron?") -> str:
        async with asyncio.timeout(60):
            response = await self.session.send_with_tools(question, (), on_event=self.streamed.append)
        return response.text_content()

    def records(self) -> tuple[LedgerRecord, ...]:
        """What a record of it holds."""
        durable = [event for event in self.seen.events if event.durable]
        return tuple(LedgerRecord(seq=n, at_ms=n, event=event) for n, event in enumerate(durable))

    def statuses(self) -> dict[str, AnswerStatus]:
        answered = [event for event in self.seen.events if isinstance(event, PanelAnswered)]
        return {event.answer.label: event.answer.status for event in answered}

    def requests(self, model: str) -> int:
        return sum(len(session.sent) for session in self.gateway.sessions if session.model == f"p/{model}")


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - what models do is not told
            await asyncio.sleep(0)


def answered(records: tuple[LedgerRecord, ...], said: str) -> tuple[LedgerRecord, ...]:
    """The records with the answer that came of a panel."""
    end = len(records)
    return (
        *records,
        LedgerRecord(seq=end, at_ms=end, event=ResponseCompleted(turn_index=0, response=text(said))),
    )
