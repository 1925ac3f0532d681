"""Questions of MCP servers, on their way to the person and back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from quorum.application.event_bus import EventBus
from quorum.application.ports.people import Approver
from quorum.domain.events.event import ErrorOccurred, ServerQuestionAnswered
from quorum.domain.mcp.server_question import (
    FieldValue,
    ServerAction,
    ServerAddress,
    ServerAnswer,
    ServerForm,
    ServerQuestion,
    check_answer,
)
from quorum.domain.replacing import replace
from quorum.domain.sessions.trust import TrustQuestion
from quorum.domain.text.json_value import JsonObject


class ServerQuestions:
    """Puts them to the person one at a time, and on the ledger before the server gets the answer."""

    def __init__(self, approver: Approver, events: EventBus) -> None:
        self._approver = approver
        self._events = events
        self._one_at_a_time = asyncio.Lock()

    @property
    def can_be_answered(self) -> bool:
        """Whether anybody is there; where nobody is, no server is told that it could ask."""
        return self._approver.is_there

    async def trust(self, question: TrustQuestion) -> bool:
        """Ask whether tools of a server may be offered as they are described now."""
        return await self._approver.ask(question) is True

    async def ask(self, question: ServerQuestion) -> ServerAnswer:
        """Ask it, and record the answer. Cancelled, the question is taken back. Raises LedgerError."""
        async with self._one_at_a_time:
            given = await self._approver.ask(question)
            answer = given if isinstance(given, ServerAnswer) else ServerAnswer(action=ServerAction.CANCEL)
            problems = _find_problems(question, answer)
            if problems:  # nothing that does not fit is sent, whatever the front end let through
                await self._events.record(ErrorOccurred(message=problems[0]))
                answer = ServerAnswer(action=ServerAction.CANCEL)
            if answer.action is not ServerAction.ACCEPT:
                answer = replace(answer, values={})
            await self._events.record(
                ServerQuestionAnswered(
                    server=question.server,
                    call=question.call,
                    message=question.message,
                    digest=question.digest,
                    action=answer.action,
                    address=question.address if isinstance(question, ServerAddress) else "",
                    values=_convert_values(answer.values),
                )
            )
            return answer


def _find_problems(question: ServerQuestion, answer: ServerAnswer) -> tuple[str, ...]:
    if answer.action is not ServerAction.ACCEPT or not isinstance(question, ServerForm):
        return ()
    return check_answer(question, answer.values)


def _convert_values(values: Mapping[str, FieldValue]) -> JsonObject:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
