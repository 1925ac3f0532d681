"""Settings over the socket: all are listed, and those are changed that the app can change at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from quorum.rpc.json_rpc import build_invalid_params, make_refusal
from quorum.rpc.power import CAREFUL_MODES, Hand
from quorum.tui.keys.choices import CONSENSUS_LEVELS, LAYOUTS, MODES, SCOPES, STRATEGIES

if TYPE_CHECKING:
    from quorum.tui.app.app import QuorumApp
    from quorum.tui.session.session import Session


class RemoteSetting(NamedTuple):
    """One setting as it was loaded. `value` is written as in TOML; a secret one is hidden."""

    key: str
    value: str
    origin: str


LoadSettings = Callable[[], Sequence[RemoteSetting]]
"""Reads all settings, the strongest source of each; it may block. Raises QuorumError."""


_CHOICES: Mapping[str, tuple[str, ...]] = {
    "agent.consensus_level": CONSENSUS_LEVELS,
    "agent.phase_scope": SCOPES,
    "agent.strategy": STRATEGIES,
    "review.mode": MODES,
    "tui.editing": ("emacs", "vim"),
    "tui.enter_while_running": ("queue", "steer"),
    "tui.layout": LAYOUTS,
    "tui.notify_by": ("auto", "bell", "desktop"),
}
_SWITCHES = ("tui.mark_approve_for_edits", "tui.notifications", "tui.screen_reader")
_LOOSENING = frozenset(
    {("agent.phase_scope", "fast"), ("agent.phase_scope", "full"), ("tui.mark_approve_for_edits", True)}
)
_OF_SESSION = frozenset({"agent.consensus_level", "agent.phase_scope", "agent.strategy", "review.mode"})


class LiveSettings:
    """The settings that the app can go by at once, in the session in front."""

    KEYS = ("models.decision", "tui.theme", *_CHOICES, *_SWITCHES)

    def __init__(self, app: QuorumApp) -> None:
        self._app = app

    def present(self, key: str) -> object:
        """What counts now; None for a setting that is not one of these, or has no session yet to be of."""
        session = self._app.chat.current.session
        match key:
            case "models.decision" if session is not None:
                return session.agent.models.current
            case "review.mode" if session is not None:
                return session.facts.mode
            case "agent.consensus_level" if session is not None:
                return session.agent.consensus.current.level.value
            case "agent.strategy" if session is not None:
                return session.agent.consensus.current.strategy.value
            case "agent.phase_scope" if session is not None:
                return session.agent.plans.phase.scope.value
            case "tui.layout":
                return self._app.layout_wish
            case "tui.notifications":
                return self._app.notifier.wanted
            case "tui.notify_by":
                return self._app.notifier.by
            case "tui.theme":
                return self._app.theme
            case "tui.editing" | "tui.enter_while_running" | "tui.mark_approve_for_edits" | "tui.screen_reader":
                present: object = getattr(self._app.settings, key.removeprefix("tui."))
                return present
            case _:
                return None

    async def change(self, key: str, value: object, hand: Hand) -> None:
        """Have another value count, until the app ends: no file is written. Raises RpcError."""
        match key:
            case "models.decision" if isinstance(value, str):
                problem = await self._require_session().set_model(value)
            case _ if key in _CHOICES and value in _CHOICES[key]:
                if key == "review.mode" and value not in CAREFUL_MODES:
                    hand.demand(f"the mode {value}")
                problem = await self._apply(key, value, hand)
            case _ if key in _SWITCHES and isinstance(value, bool):
                problem = await self._apply(key, value, hand)
            case "tui.theme" if isinstance(value, str) and value in self._app.available_themes:
                problem = await self._apply(key, value, hand)
            case _ if key in self.KEYS:
                raise build_invalid_params(f"{value!r} is not a value of {key}; {self._describe_expected(key)}")
            case _:
                at_once = ", ".join(self.KEYS)
                raise make_refusal(
                    f"{key} is not changed at once; write it into a quorum.toml. What is: {at_once}",
                    "not_at_once",
                )
        if problem:
            raise make_refusal(problem, "not_possible")

    async def _apply(self, key: str, value: object, hand: Hand) -> str:
        """Go by a value; why that cannot be, empty where it can. Raises RpcError."""
        from quorum.tui.settings.effects import apply_setting

        if (key, value) in _LOOSENING:
            hand.demand(f"{key} = {value}")
        session = self._require_session() if key in _OF_SESSION else self._app.chat.current.session
        try:
            return await apply_setting(key, value, app=self._app, session=session, keys={})
        finally:
            self._app.chat.refresh_state()

    def _describe_expected(self, key: str) -> str:
        match key:
            case "models.decision":
                return "it is a provider and a model, as provider/model"
            case _ if key in _CHOICES:
                return f"it is one of {', '.join(_CHOICES[key])}"
            case "tui.theme":
                return f"it is one of {', '.join(sorted(self._app.available_themes))}"
            case _:
                return "it is true or false"

    def _require_session(self) -> Session:
        session = self._app.chat.current.session
        if session is None:
            raise make_refusal("there is no session yet; try again in a moment", "starting")
        return session
