"""Decides about the calls of other agents inside an app that listens; its person is asked on its screen."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.application.ports.people import Approver, PersonAnswer, Question, ReviewQuestion
from quorum.application.review.approvers import NonInteractiveApprover
from quorum.command_line.options import StartOptions
from quorum.domain.replacing import replace
from quorum.gate.dialects import DIALECTS, Reply
from quorum.gate.gate_sessions import GateSessions, Load
from quorum.gate.payload import BadPayload, parse_payload
from quorum.infrastructure.gate.undecided import answer_undecided
from quorum.tui.session.approver import ReviewHost, ScreenApprover

if TYPE_CHECKING:
    from quorum.tui.app.app import QuorumApp

_LOOK_SECS = 0.1
_IDLE_SECS = 10.0


class FrontChat:
    """Implements `ReviewHost` over whichever chat is in front, once nothing else is asked there."""

    def __init__(self, app: QuorumApp) -> None:
        self._app = app
        self._tool = ""
        self._host: ReviewHost | None = None

    def begin_asking(self, tool: str = "") -> None:
        """Remember the tool: attention is called for once the question can be seen."""
        self._tool = tool

    async def wait_until_in_front(self) -> None:
        """Wait until the person looks at a chat with nothing over it."""
        while not self._app.screen_stack or self._app.screen is not self._app.chat:  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(_LOOK_SECS)
        self._host = self._app.chat.questions
        self._host.begin_asking(self._tool)

    def reserve_lines(self, lines: int) -> None:
        """The dialog covers that many lines from below."""
        if self._host is not None:
            self._host.reserve_lines(lines)

    def shows_answer(self, text: str, lines: int) -> bool:
        """No: another program's answer is not in the chat."""
        return False

    def end_asking(self, *, interrupts: bool) -> None:
        """The question is gone. It was not about a turn of the chat, so none is interrupted."""
        host, self._host = self._host, None
        if host is not None:
            host.end_asking(interrupts=False)


class CallerApprover(NonInteractiveApprover):
    """Implements `Approver`: reviews say which agent asks, and where. Nothing else is asked here: trust is
    asked in an app of that folder, and the mode is that of the settings."""

    is_there = True

    def __init__(self, person: ScreenApprover, caller: str, root: Path) -> None:
        self._person = person
        self._label = f"{caller} asks, working in {root}: this is no call of your session"

    async def ask(self, question: Question) -> PersonAnswer:
        if not isinstance(question, ReviewQuestion):
            return await super().ask(question)
        request = question.request
        labelled = replace(request, reasons=(self._label, *request.reasons))
        return await self._person.ask(replace(question, request=labelled))


class GateService:
    """All that the app decides for other agents. `options` are those that the app was started with."""

    def __init__(self, app: QuorumApp, options: StartOptions, load: Load) -> None:
        self._person = ScreenApprover(app, FrontChat(app))
        self._sessions = GateSessions(
            StartOptions(config_file=options.config_file),
            load,
            self._make_approver,
            idle_secs=_IDLE_SECS,
        )

    async def decide(
        self, dialect: str, call: str, environment: Mapping[str, str], folder: str, *, timeout_secs: float
    ) -> Reply:
        """What the process of the gate prints. Never raises for what a call holds."""
        form, event = DIALECTS[dialect], ""
        try:
            payload = parse_payload(call.encode("utf-8", "surrogatepass"))
            form = form.adapt(payload, environment)
            request = form.read(payload, environment, folder)
            event = request.event
            decision = await self._sessions.decide(request, timeout_secs=timeout_secs)
        except BadPayload as error:
            event = event or error.event
            decision = await asyncio.to_thread(answer_undecided, str(error))
        return form.reply(event, decision)

    async def aclose(self) -> None:
        """Close the sessions of callers. Raises LedgerError where something could not be written."""
        await self._sessions.aclose()

    def _make_approver(self, caller: str, root: Path) -> Approver:
        return CallerApprover(self._person, caller, root)
