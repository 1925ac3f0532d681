"""Review mode, model and reasoning effort of a session, as config options and session modes of the protocol."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeGuard

from acp.schema import (
    ConfigOptionUpdate,
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from quorum.acp_agent.tool_calls import show_line
from quorum.application.session.agent_session import AgentSession
from quorum.application.session.session_record import SessionRecord
from quorum.domain.conversation.effort import Effort
from quorum.domain.errors import ModeRefused, ProviderError
from quorum.domain.events import event as ev
from quorum.domain.events.event import ModeChanged, SessionResumed, SessionStarted
from quorum.domain.review.mode import Mode
from quorum.infrastructure.config.loading import LoadedSettings
from quorum.infrastructure.config.model_choice import ROLES
from quorum.infrastructure.known_names import list_known_models


async def list_modes(agent: AgentSession) -> SessionModeState:
    """The mode in force, and those that a client may switch to.

    Clients switch with one key. So they are offered what one key reaches in the app, which `auto` is not; it is
    there in a session that was begun in it.
    """
    available = [mode for mode in Mode if await _is_offered(agent, mode)]
    return SessionModeState(
        current_mode_id=agent.review.mode.value,
        available_modes=[
            SessionMode(id=mode.value, name=mode.value, description=mode.traits.meaning) for mode in available
        ],
    )


async def _is_offered(agent: AgentSession, mode: Mode) -> bool:
    """A session goes into a layer, and out of it, in another process. Whether it can is found out then."""
    if mode is agent.review.mode:
        return True
    if mode.traits.needs_layer:
        return sys.platform == "linux"
    is_elsewhere = agent.effects is not None and mode is not Mode.READ_ONLY
    return mode.traits.in_cycle and (is_elsewhere or await agent.review.find_refusal(mode) is None)


async def set_mode(agent: AgentSession, mode_id: str) -> None:
    """Choose a mode. Raises ModeRefused for one that is not offered, or cannot be had."""
    state = await list_modes(agent)
    offered = [mode.id for mode in state.available_modes]
    if mode_id not in offered:
        auto = "; auto is chosen when a session begins: quorum acp --mode auto" if mode_id == Mode.AUTO else ""
        raise ModeRefused(f"there is no mode {mode_id!a} to switch to here, only {', '.join(offered)}{auto}")
    await agent.review.set_mode(Mode(mode_id))


async def restore_mode(agent: AgentSession, record: SessionRecord) -> None:
    """Choose the mode again that was chosen last in the session, where less runs in it than in the present one.

    Clients open a session anew for each prompt, or after a restart, and do not repeat the choice.
    """
    chosen = (
        event.mode
        for event in reversed(record.past)
        if isinstance(event, ModeChanged) or (_begins(event) and event.mode is Mode.STAGED)
    )
    mode = next(chosen, agent.review.mode)
    if mode.is_as_strict_as(agent.review.mode) and await agent.review.find_refusal(mode) is None:
        await agent.review.set_mode(mode)


def was_staged(record: SessionRecord) -> bool:
    """Whether the session was in a layer last."""
    modes = (event.mode for event in reversed(record.past) if isinstance(event, ModeChanged) or _begins(event))
    return next(modes, None) is Mode.STAGED


def _begins(event: ev.Event) -> TypeGuard[SessionStarted | SessionResumed]:
    return isinstance(event, SessionStarted | SessionResumed)


ConfigOption = SessionConfigOptionSelect | SessionConfigOptionBoolean

_MODE, _MODEL, _EFFORT = "mode", "model", "effort"


class ConfigOptions:
    """What a client may choose in a session: one of `modes`, a model, and an effort that the model's API takes.

    `models` are offered beside the current one; any other can be chosen by its name.
    """

    def __init__(self, agent: AgentSession, modes: SessionModeState, models: Sequence[str]) -> None:
        self._agent = agent
        self.modes = modes
        self._models = models

    def list(self) -> list[ConfigOption]:
        """All options with the current values."""
        models = self._agent.models
        return [*self._build(self._agent.review.mode.value, models.current, models.effort)]

    async def find_models(self) -> ConfigOptionUpdate | None:
        """Ask the current provider for its models; the update that offers them, None where it lists none."""
        provider = self._agent.models.current.partition("/")[0]
        try:
            listed = await self._agent.models.list_models(provider)
        except ProviderError:
            return None  # what it answers is told where a model is asked
        self._models = tuple(dict.fromkeys((*self._models, *listed)))
        return ConfigOptionUpdate(session_update="config_option_update", config_options=self.list())

    def map_event(self, event: ev.Event) -> ConfigOptionUpdate | None:
        """The update for an event that changes a value. The event is ahead of the session."""
        mode, models = self._agent.review.mode.value, self._agent.models
        match event:
            case ev.ModeChanged():
                options = self._build(event.mode.value, models.current, models.effort)
            case ev.ModelChanged():
                effort = models.get_effort(event.model) if event.effort is None else event.effort
                options = self._build(mode, event.model, effort)
            case _:
                return None
        return ConfigOptionUpdate(session_update="config_option_update", config_options=[*options])

    async def choose(self, option: str, value: str) -> None:
        """Set one of them. Raises ModeRefused and ProviderError for what cannot be had, and LedgerError."""
        models = self._agent.models
        match option:
            case "mode":
                await set_mode(self._agent, value)
            case "model":
                await models.choose(value)
            case "effort":
                taken = models.list_efforts(models.current)
                if value not in taken:
                    offered = ", ".join(taken) or "none"
                    raise ModeRefused(
                        f"{models.current} takes no effort {show_line(value)!a}; it takes {offered}"
                    )
                await models.choose(models.current, Effort(value))
            case _:
                known = ", ".join(each.id for each in self.list())
                raise ModeRefused(f"there is no option {show_line(option)!a}, only {known}")

    def _build(self, mode: str, model: str, effort: Effort) -> Iterator[SessionConfigOptionSelect]:
        offered = [
            SessionConfigSelectOption(value=each.id, name=each.name, description=each.description)
            for each in self.modes.available_modes
            if each.id == mode or each.id != Mode.AUTO
        ]
        yield SessionConfigOptionSelect(
            type="select", id=_MODE, name="Review mode", category="mode", current_value=mode, options=offered
        )
        yield SessionConfigOptionSelect(
            type="select",
            id=_MODEL,
            name="Model",
            category="model",
            current_value=model,
            options=_name_values(dict.fromkeys((model, *self._models))),
        )
        if taken := self._agent.models.list_efforts(model):
            yield SessionConfigOptionSelect(
                type="select",
                id=_EFFORT,
                name="Reasoning effort",
                category="thought_level",
                current_value=effort.value,
                options=_name_values(each.value for each in taken),
            )


def list_offered_models(loaded: LoadedSettings, providers: Sequence[str]) -> tuple[str, ...]:
    """The models that the settings name and those with a known price, of these providers; none is asked."""
    settings = loaded.settings
    named = {role: _list_values(getattr(settings.models, role)) for role in ROLES}
    return tuple(
        model
        for model in list_known_models({"models": named}, ())
        if model.partition("/")[0] in providers
        and loaded.policy.explain_model_refusal(model, settings.providers) is None
    )


def _list_values(value: str | Sequence[str]) -> list[str]:
    return [value] if isinstance(value, str) else [*value]


def _name_values(values: Iterable[str]) -> list[SessionConfigSelectOption]:
    return [SessionConfigSelectOption(value=value, name=show_line(value)) for value in values]
