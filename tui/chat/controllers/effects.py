"""The review of effects: opened when a turn in a layer has ended, and by `/effects`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from quorum.tui.agent.turns import Turns
from quorum.tui.chat.controllers.host import ChatHost, CurrentSession
from quorum.tui.prompt_box.prompt import Prompt

if TYPE_CHECKING:
    from quorum.application.staging.effects_review import EffectsReview
    from quorum.application.staging.effects_voting import EffectsPacket
    from quorum.tui.screens.effects.effects_screen import EffectsScreen, Perform

_NO_LAYER = (
    "this session works in your folder itself, in no layer; /stage enters one, or the one where changes wait"
)
_WAITS = "changes wait for your review: /effects"


class EffectsController:
    """Has the person review what stands in the layer. `send` puts their words in line as a prompt."""

    def __init__(
        self,
        host: ChatHost,
        current: CurrentSession,
        turns: Turns,
        prompt: Prompt,
        *,
        perform: Perform,
        send: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self._host, self._current, self._turns, self._prompt = host, current, turns, prompt
        self._perform, self._send, self._clock = perform, send, clock
        self._seen = ""
        """The digest of the effects shown last: the same, whatever ran since, are not shown again unasked."""
        self._last: tuple[EffectsReview, EffectsScreen] | None = None

    def action_show_effects(self) -> None:
        """Show what stands in the layer."""
        if (session := self._current.get_writable("review effects")) is None:
            return
        if (review := session.agent.effects) is None:
            self._host.refuse(_NO_LAYER)
        else:
            self._open(review, None)

    def note_turn_end(self) -> None:
        """A turn, or another task, has ended: show the effects of a turn, unless the person does something else
        by now."""
        session = self._current.session if self._turns.was_turn else None
        if session is not None and session.agent.effects is not None and not session.agent.record.in_use:
            self._host.run_worker(self._offer(session.agent.effects), group="effects", exclusive=True)

    async def _offer(self, review: EffectsReview) -> None:
        from quorum.domain.errors import QuorumError

        if self._turns.busy:
            return
        try:
            packet = await review.read_noted()
        except QuorumError as error:
            self._host.tell(str(error))
            return
        if packet.effects.is_empty or packet.effects.digest == self._seen or self._turns.busy:
            return
        if self._prompt.text or not self._prompt.has_focus:
            self._host.say(_WAITS)
            return
        self._seen = packet.effects.digest
        self._open(review, packet)

    def _open(self, review: EffectsReview, packet: EffectsPacket | None) -> None:
        from quorum.tui.screens.effects.effects_screen import EffectsScreen

        former = self._last[1].draft if self._last is not None and self._last[0] is review else None
        screen = EffectsScreen(
            review, self._perform, self._send, packet=packet, former=former, clock=self._clock
        )
        self._last = (review, screen)
        self._host.app.push_screen(screen, lambda _: self._host.say(_WAITS) if screen.is_put_off else None)
