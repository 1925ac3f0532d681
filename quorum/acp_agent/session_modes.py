"""The review modes of a session, as the protocol's session modes."""

from __future__ import annotations

from acp.schema import SessionMode, SessionModeState

from quorum.application.session.agent_session import AgentSession
from quorum.application.session.session_record import SessionRecord
from quorum.domain.errors import ModeRefused
from quorum.domain.events.event import ModeChanged
from quorum.domain.review.mode import Mode


async def list_modes(agent: AgentSession) -> SessionModeState:
    """The mode in force, and those that a client may switch to.

    Clients switch with one key. So they are offered what one key reaches in the app, which `auto` is not; it is
    there in a session that was begun in it.
    """
    available = [
        mode
        for mode in Mode
        if mode is agent.review.mode or (mode.traits.in_cycle and await agent.review.find_refusal(mode) is None)
    ]
    return SessionModeState(
        current_mode_id=agent.review.mode.value,
        available_modes=[
            SessionMode(id=mode.value, name=mode.value, description=mode.traits.meaning) for mode in available
        ],
    )


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
    chosen = (event.mode for event in reversed(record.past) if isinstance(event, ModeChanged))
    mode = next(chosen, agent.review.mode)
    if mode.is_as_strict_as(agent.review.mode) and await agent.review.find_refusal(mode) is None:
        await agent.review.set_mode(mode)
