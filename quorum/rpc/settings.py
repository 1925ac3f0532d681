"""Settings over the socket: all are listed, and those are changed that the app can change at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from quorum.rpc.approval import Hand
from quorum.rpc.json_rpc import build_invalid_params, make_refusal
from quorum.rpc.power import CAREFUL_MODES
from tui.keys.choices import LAYOUTS, MODES

if TYPE_CHECKING:
    from tui.app.app import QuorumApp
    from tui.session.session import Session


class RemoteSetting(NamedTuple):
    """One setting as it was loaded. `value` is written as in TOML; a secret one is hidden."""

    key: str
    value: str
    origin: str


LoadSettings = Callable[[], Sequence[RemoteSetting]]
"""Reads all settings, the strongest source of each; it may block. Raises QuorumError."""


class LiveSettings:
    """The settings that the app can go by at once, in the session in front."""

    KEYS = (
        "models.decision",
        "review.mode",
        "tui.layout",
        "tui.notifications",
        "tui.screen_reader",
        "tui.theme",
    )

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
            case "tui.layout":
                return self._app.layout_wish
            case "tui.notifications":
                return self._app.notifier.wanted
            case "tui.screen_reader":
                return self._app.screen_reader
            case "tui.theme":
                return self._app.theme
            case _:
                return None

    async def change(self, key: str, value: object, hand: Hand) -> None:
        """Have another value count, until the app ends: no file is written. Raises RpcError."""
        match key:
            case "models.decision" if isinstance(value, str):
                problem = await self._require_session().set_model(value)
            case "review.mode" if value in MODES:
                if value not in CAREFUL_MODES:
                    hand.demand(f"the mode {value}")
                problem = await self._describe_effect(key, value)
                self._app.chat.refresh_state()
            case "tui.layout" if value in LAYOUTS:
                problem = await self._describe_effect(key, value)
            case "tui.notifications" | "tui.screen_reader" if isinstance(value, bool):
                problem = await self._describe_effect(key, value)
            case "tui.theme" if isinstance(value, str) and value in self._app.available_themes:
                problem = await self._describe_effect(key, value)
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

    async def _describe_effect(self, key: str, value: object) -> str:
        from tui.settings.effects import apply_setting

        session = self._require_session() if key == "review.mode" else self._app.chat.current.session
        return await apply_setting(key, value, app=self._app, session=session, keys={})

    def _describe_expected(self, key: str) -> str:
        match key:
            case "models.decision":
                return "it is a provider and a model, as provider/model"
            case "review.mode":
                return f"it is one of {', '.join(MODES)}"
            case "tui.layout":
                return f"it is one of {', '.join(LAYOUTS)}"
            case "tui.theme":
                return f"it is one of {', '.join(sorted(self._app.available_themes))}"
            case _:
                return "it is true or false"

    def _require_session(self) -> Session:
        session = self._app.chat.current.session
        if session is None:
            raise make_refusal("there is no session yet; try again in a moment", "starting")
        return session
