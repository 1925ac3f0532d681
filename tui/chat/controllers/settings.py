"""The settings of the session and of the app: mode, model, folders, rules, and the files they stand in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from quorum.tui.chat.controllers.host import CHANGES, ChatHost, CurrentSession
from quorum.tui.keys.choices import CYCLED_MODES, STAGED
from quorum.tui.keys.keyed_app import KeyedApp, Restart

if TYPE_CHECKING:
    from quorum.domain.events.event import CallLeaked
    from quorum.tui.agent.services import OpenSettings, SettingsService
    from quorum.tui.session.session import Session


_LAST_OF_CYCLE = "/stage works in a layer: nothing asks meanwhile, and you review the effects once"
_LAST_IN_LAYER = "/unstage goes on in your folder itself, where there are more modes"


class SettingsController:
    """Changes the mode, the model and the folders, and opens the screens of the settings and the rules."""

    def __init__(self, host: ChatHost, current: CurrentSession) -> None:
        self._host, self._current = host, current

    async def action_set_mode(self, name: str) -> None:
        """Change the review mode, once there is an agent to change it for."""
        if (session := self._current.require_session("choose the mode")) is None:
            return
        if session.crosses_layer(name):
            self._host.run_worker(self._begin_anew(name), group=CHANGES)
            return
        self._host.refuse(await session.set_mode(name))
        self._host.refresh_state()

    def action_stage(self) -> None:
        """Continue in a layer over the workspace, whose effects are reviewed at the end of each turn."""
        self._cross(STAGED, "this session works in a layer already; /effects shows what waits in it")

    def action_unstage(self) -> None:
        """Continue in the workspace itself. What waits in the layer stays there."""
        self._cross("ask", "this session works in your folder itself")

    def _cross(self, mode: str, done: str) -> None:
        if (session := self._current.require_session("choose the mode")) is None:
            return
        if session.crosses_layer(mode):
            self._host.run_worker(self._begin_anew(mode), group=CHANGES)
        else:
            self._host.say(done)

    async def _begin_anew(self, mode: str) -> None:
        """Have another process continue the session in this mode: it begins in a layer, or outside of one."""
        app = self._host.app
        assert isinstance(app, KeyedApp)
        if mode == STAGED and (obstacle := await asyncio.to_thread(app.find_layer_obstacle)):
            self._host.refuse(f"no layer can be had here: {obstacle}")
            return
        if (session := self._current.get_resting("choose the mode")) is None:
            return
        if (why := session.explain_no_continuation()) is None:
            name = session.agent.session_id if session.can_be_resumed else ""
            why = app.begin_anew(Restart(mode, name))
        self._host.refuse(why)

    async def action_cycle_mode(self) -> None:
        """The next of the modes that keep asking; never auto."""
        if (session := self._current.require_session("choose the mode")) is not None:
            problem = await session.cycle_mode()
            self._host.refuse(problem)
            self._host.refresh_state()
            if not problem and session.facts.mode == CYCLED_MODES[-1]:
                self._host.say(_LAST_OF_CYCLE if session.agent.effects is None else _LAST_IN_LAYER)

    def action_choose_model(self, name: str = "") -> None:
        """Set the model of that name; without one, let the person pick."""
        if (session := self._current.require_session("choose the model")) is None:
            return
        if name:
            self._host.run_worker(self._set_model(session, name), group=CHANGES)
        else:
            self._host.app.push_screen(session.build_model_picker())

    async def _set_model(self, session: Session, name: str) -> None:
        if problem := await session.set_model(name):
            self._host.say(f"the model is still {session.agent.models.current}")
            self._host.tell(problem)

    def action_add_dir(self, path: str = "") -> None:
        """Add a folder to the workspace; without one, say which are there."""
        if (session := self._current.require_session("add a folder")) is None:
            return
        if path and not session.refusal:
            self._host.run_worker(self._add_folder(session, path), group=CHANGES)
        elif path:
            self._host.refuse(session.refusal)
        elif added := session.agent.folders.added:
            self._host.say(f"added folders: {', '.join(added)}; /add-dir DIR adds another")
        else:
            self._host.say("no folder was added; /add-dir DIR adds one to the workspace of this session")

    async def _add_folder(self, session: Session, path: str) -> None:
        from quorum.domain.errors import ConfigError, LedgerError

        try:
            folder = await session.agent.folders.add(path)
        except (ConfigError, LedgerError) as error:
            self._host.tell(str(error))
        else:
            self._host.say(f"added {folder}" if folder else "that belongs to the workspace already")

    def action_show_config(self, query: str = "") -> None:
        """Show all settings, those first that fit the query; `KEY VALUE` sets one in the person's own file."""
        from quorum.domain.errors import QuorumError
        from quorum.tui.settings.settings_screen import SettingsScreen

        app = self._host.app
        open_settings = app.open_settings if isinstance(app, KeyedApp) else None
        if open_settings is None:
            self._host.refuse("there are no settings here")
            return
        try:
            service = open_settings()
        except QuorumError as error:
            self._host.tell(str(error))
            return
        key, _, value = query.strip().partition(" ")
        if value.strip():
            self._host.run_worker(self._set_setting(service, key, value.strip(), query), group="settings")
        else:
            app.push_screen(SettingsScreen(service, self._current.session, query))

    def action_read_calls(self) -> None:
        """Write the setting with which calls in the text of this model's answers are read."""
        session = self._current.require_session("have calls in the text read")
        app = self._host.app
        open_settings = app.open_settings if isinstance(app, KeyedApp) else None
        if session is None or open_settings is None:
            return
        if (leaked := session.leaked_call) is None:
            self._host.refuse("no answer here holds a call that a setting would have read")
            return
        self._host.run_worker(self._read_calls(open_settings, leaked), group="settings")

    async def _read_calls(self, open_settings: OpenSettings, leaked: CallLeaked) -> None:
        from quorum.domain.errors import QuorumError

        table = f"providers.{leaked.provider}"
        try:
            service = open_settings()
            settings = await service.list_settings()
        except QuorumError as error:
            self._host.tell(str(error))
            return
        kind = next((each.value for each in settings if each.key == f"{table}.type"), "")
        if "openai-chat" not in kind:
            self._host.refuse(f'[{table}] reads calls with type = "openai-chat" only (docs/local-models.md)')
            return
        key = f"{table}.tool_parser"
        await self._set_setting(service, key, leaked.parser, f"{key} {leaked.parser}")

    async def _set_setting(self, service: SettingsService, key: str, value: str, query: str) -> None:
        """Write a setting; where there is none of that name, the words are searched for."""
        from quorum.domain.errors import QuorumError
        from quorum.tui.settings.effects import write_setting
        from quorum.tui.settings.settings_screen import SettingsScreen

        app = self._host.app
        try:
            setting = next((each for each in await service.list_settings() if each.key == key), None)
            if setting is None:
                app.push_screen(SettingsScreen(service, self._current.session, query))
            elif setting.fixed or not service.targets:
                self._host.refuse(f"{key} {setting.fixed or 'has no file to go to: there is no home folder'}")
            elif key == "tui.theme" and value not in (*app.available_themes, "auto"):
                self._host.refuse(f"there is no theme {value!r}; /theme lists them")
            else:
                own, session = service.targets[0], self._current.session
                self._host.say(await write_setting(service, key, value, own, app=app, session=session))
                self._host.refresh_state()
        except QuorumError as error:
            self._host.tell(str(error))

    def action_show_permissions(self) -> None:
        if (session := self._current.require_session("look at the rules")) is not None:
            self._host.app.push_screen(session.build_permissions_screen())
