"""The app with everything behind it real: settings from files, container, tools, review, sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from quorum.application.ports.people import Approver, Observer
from quorum.application.session.agent_session import AgentSession
from quorum.domain.events.event import Event, TurnFinished
from quorum.domain.events.masking import SecretMask
from quorum.domain.events.report import RunReport
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import ReviewRequest
from quorum.domain.sessions.session_summary import SessionChoice
from quorum.infrastructure.config.loading import load_settings
from quorum.infrastructure.config.model_choice import AskedModels, choose_model
from quorum.infrastructure.container import Container, build_container
from quorum.infrastructure.session_inputs import SessionInputs
from quorum.infrastructure.trust_decisions import open_trust_decisions
from quorum.tui.app.app import QuorumApp
from quorum.tui.screens.review.dialog import ReviewDialog
from tests.support.app_stage import UNHURRIED, Clock, Stage
from tests.support.fake_ports import RecordingObserver
from tests.support.headless_run import environment
from tests.support.records import no_record

_PATIENCE_SECS = 120.0


class _Unheard:
    def notify(self, event: Event) -> None:
        """Nobody listens."""


def real_container(
    project: Path, home: Path, *, person: Approver, observer: Observer | None = None, mode: Mode = Mode.ASK
) -> Container:
    """A session in `project`, as the entry point composes it from the files in `home` and in the project."""
    environ = environment(home)
    loaded = load_settings(
        cwd=project, environ=environ, config_file=None, overrides={"review.mode": mode.value}
    )
    model = choose_model(loaded, environ).model
    return build_container(
        SessionInputs(
            record=no_record(),
            mask=SecretMask(),
            loaded=loaded,
            asked=AskedModels(models=(model,), participants=(model,), moderator=model),
            root=project,
            environ=environ,
            approver=person,
            observer=observer or _Unheard(),
            trust=open_trust_decisions(environ),
        )
    )


class RealApp(Stage):
    """A running app, and all that happened in it."""

    def __init__(self, app: QuorumApp, stage: Stage, received: RecordingObserver) -> None:
        super().__init__(app, stage.pilot, [])
        self.received = received

    @property
    def reports(self) -> list[RunReport]:
        """The report of each turn that ended."""
        return [event.report for event in self.received.events if isinstance(event, TurnFinished)]

    async def answer(self, *keys: str) -> None:
        """Press keys in the dialog that is there or comes next, each once all of it has been drawn, and wait
        until what it asks is answered."""
        dialog = await self.asked()
        request = dialog.request
        for key in keys:
            await self.until(lambda: not dialog.card.unseen)
            await self.pilot.press(key)
        await self.until(lambda: self._is_answered(dialog, request))

    def _is_answered(self, dialog: ReviewDialog, request: ReviewRequest) -> bool:
        """Whether the dialog is gone, or asks something else by now."""
        return self.app.screen is not dialog or dialog.request is not request

    async def finish(self, key: str = "n", *, turns: int = 1) -> RunReport:
        """Answer each question of the turn with one key until the turn has ended; its report."""
        async with asyncio.timeout(_PATIENCE_SECS):
            while len(self.reports) < turns:
                screen = self.app.screen
                if isinstance(screen, ReviewDialog) and screen.is_awake:
                    self.hit(key)
                    await self.until(partial(self._is_answered, screen, screen.request))
                await asyncio.sleep(0.002)
        return self.reports[turns - 1]


class _Both:
    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def notify(self, event: Event) -> None:
        for observer in self._observers:
            observer.notify(event)


@asynccontextmanager
async def real_app(
    project: Path,
    home: Path,
    *,
    mode: Mode = Mode.ASK,
    size: tuple[int, int] = (120, 40),
    clock: Callable[[], float] | None = None,
    person_for: Callable[[Approver], Approver] = lambda person: person,
) -> AsyncIterator[RealApp]:
    """Run the app in `project` until its agent is there. Its keyboard guard lets keys through at once.

    `person_for` may put somebody in front of the person at the screen.
    """
    received = RecordingObserver()
    containers: list[Container] = []

    async def compose(
        person: Approver, observer: Observer, choice: SessionChoice, folder: Path
    ) -> AgentSession:
        asked = person_for(person)
        container = real_container(project, home, person=asked, observer=_Both(received, observer), mode=mode)
        containers.append(container)
        agent: AgentSession = await asyncio.to_thread(container.agent)
        await agent.open()
        return agent

    app = QuorumApp(compose, cwd=project, clock=clock or Clock(), pace=UNHURRIED)
    try:
        async with app.run_test(size=size) as pilot:
            stage = RealApp(app, Stage(app, pilot, []), received)
            await stage.until(lambda: received.events)
            yield stage
    finally:
        for container in containers:
            await container.gateway().aclose()
