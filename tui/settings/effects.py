"""What a setting changes as soon as it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from textual.app import App

from quorum.tui.keys.keyed_app import KeyedApp
from quorum.tui.themes.looks import Looks

if TYPE_CHECKING:
    from quorum.domain.settings import TuiTable
    from quorum.tui.agent.services import SettingsService, Target
    from quorum.tui.session.session import Session
    from quorum.tui.terminal.notifications import NotifyBy

_AT_ONCE = frozenset({"agent.consensus_level", "agent.phase_scope", "agent.strategy", "review.mode"})
_TUI, _KEYS = "tui.", "tui.keys."
_LATER = frozenset({"tui.statusline"})  # its program is started with a session


def is_immediate(key: str) -> bool:
    """Whether the app goes by it from now on; all else begins with the next session."""
    return key in _AT_ONCE or (key.startswith(_TUI) and key not in _LATER)


async def apply_setting(
    key: str,
    value: object,
    *,
    app: App[Any],
    session: Session | None,
    keys: Mapping[str, str | Sequence[str]],
) -> str:
    """Go by a setting that holds at once; why it cannot be, empty where it can. `keys` are those wished for."""
    assert isinstance(app, Looks)
    assert isinstance(app, KeyedApp)
    if key.startswith(_KEYS):
        app.rebind(keys)
    elif key.startswith(_TUI):
        app.settings = _change(app.settings, key.removeprefix(_TUI), value)
    match key:
        case "tui.theme":
            app.action_change_theme(str(value))
        case "tui.layout":
            app.layout_wish = str(value)
        case "tui.notifications":
            app.notifier.wanted = bool(value)
        case "tui.notify_by":
            app.notifier.by = cast("NotifyBy", value)
        case "tui.screen_reader":
            app.screen_reader = bool(value)
        case _ if session is not None and key in _AT_ONCE:
            return await _apply_to_session(session, key, str(value))
    return ""


def _change(table: TuiTable, name: str, value: object) -> TuiTable:
    from msgspec import convert
    from msgspec.structs import asdict

    return convert({**asdict(table), name: value}, type(table))


async def _apply_to_session(session: Session, key: str, value: str) -> str:
    from quorum.domain.errors import QuorumError

    try:
        match key:
            case "review.mode":
                return await session.set_mode(value)
            case "agent.phase_scope":
                return await session.set_scope(value)
            case "agent.consensus_level":
                await session.choose_consensus(value, "")
            case "agent.strategy":
                await session.choose_consensus("", value)
    except QuorumError as error:
        return str(error)
    return ""


async def write_setting(
    service: SettingsService,
    key: str,
    text: str | None,
    target: Target,
    *,
    app: App[Any],
    session: Session | None,
) -> str:
    """Write a setting as it was typed, or take it out of the file, and go by it where it holds at once. Returns
    what there is to say of it; raises ConfigError."""
    written = await service.change(key, text, target)
    if not is_immediate(key):
        return f"{written.message}; it counts with the next session"
    keys = await service.read_keys() if key.startswith(_KEYS) else {}
    problem = await apply_setting(key, written.value, app=app, session=session, keys=keys)
    return f"{written.message}{f'; {problem}' if problem else ''}"
