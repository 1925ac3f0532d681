"""The settings of the session and of the app: mode, model, folders, rules, and the files they stand in."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from quorum.tui.chat.controllers.host import CHANGES, ChatHost, CurrentSession
from quorum.tui.keys.choices import CYCLED_MODES, SANDBOX_OFF, STAGED
from quorum.tui.keys.keyed_app import KeyedApp, Restart, fill_in_keys

if TYPE_CHECKING:
    from quorum.domain.events.event import CallLeaked
    from quorum.tui.agent.services import OpenSettings, SettingsService
    from quorum.tui.agent.turns import Turns
    from quorum.tui.session.session import Session


_INTO_LAYER = (
    "staged: nothing reaches your folder before you review all of it, once; {cycle_mode=shift+tab} goes on"
)
_OUT_OF_LAYER = (
    "ask: back in your folder itself; what you have not reviewed waits; {cycle_mode=shift+tab} goes on"
)
_IN_LAYER = "changes are staged already; /effects shows those that wait"
_IN_FOLDER = "this session works in your folder itself"


class SettingsController:
    """Changes the mode, the model and the folders, and opens the screens of the settings and the rules."""

    CROSSING_SECS: ClassVar[float] = 0.8
    """How long the key that goes through the modes rests on one before a process in that mode begins."""

    def __init__(self, host: ChatHost, current: CurrentSession, turns: Turns) -> None:
        self._host, self._current, self._turns = host, current, turns

    async def action_set_mode(self, name: str) -> None:
        """Change the review mode, once there is an agent to change it for."""
        if (session := self._current.require_session("choose the mode")) is None:
            return
        self._forget_wish(session)
        if session.crosses_layer(name):
            self._host.run_worker(self._begin_anew(session, name), group=CHANGES)
            return
        self._host.refuse(await session.set_mode(name))
        self._host.refresh_state()

    async def action_stage(self) -> None:
        """Continue in a layer over the workspace, whose effects are reviewed at the end of each turn."""
        await self._cross(STAGED, _IN_LAYER)

    async def action_unstage(self) -> None:
        """Continue in the workspace itself. What waits in the layer stays there."""
        await self._cross(CYCLED_MODES[0], _IN_FOLDER)

    async def _cross(self, mode: str, done: str) -> None:
        if (session := self._current.require_session("choose the mode")) is None:
            return
        if session.crosses_layer(mode):
            await self.action_set_mode(mode)
        else:
            self._host.say(done)

    async def action_cycle_mode(self) -> None:
        """The next of the modes that keep asking; never auto. One that cannot be had here is passed over.

        Where it takes another process, that begins once the key rests; what is sent meanwhile waits for it.
        """
        if (session := self._current.require_session("choose the mode")) is None:
            return
        following, problem = session.list_following_modes(), ""
        self._forget_wish(session)
        for mode in following:
            if not session.crosses_layer(mode):
                problem = await session.set_mode(mode) or problem
                if session.facts.mode == mode:
                    break
            elif obstacle := await self._find_obstacle(session, mode):
                problem = f"{mode} cannot be had: {obstacle}"
            else:
                self._wish(session, mode)
                return
        self._host.refuse(problem)
        self._host.refresh_state()

    def _wish(self, session: Session, mode: str) -> None:
        session.wished_mode = mode
        self._turns.hold()
        self._host.say(fill_in_keys(_INTO_LAYER if mode == STAGED else _OUT_OF_LAYER, self._host.app))
        self._host.refresh_state()
        self._host.run_worker(self._begin_wished(session, mode), group="crossing", exclusive=True)

    def _forget_wish(self, session: Session) -> None:
        if session.wished_mode:
            session.wished_mode = ""
            self._host.say("")
            self._turns.release()
            self._host.refresh_state()

    async def _begin_wished(self, session: Session, mode: str) -> None:
        await asyncio.sleep(self.CROSSING_SECS)
        if session.wished_mode == mode and session is self._current.session:
            await self._begin_anew(session, mode)

    async def _find_obstacle(self, session: Session, mode: str) -> str:
        """Why no process can continue in this mode, a clause; empty where one can."""
        app = self._host.app
        assert isinstance(app, KeyedApp)
        if (why := app.explain_staying(mode)) or mode != STAGED:
            return why
        if session.facts.sandbox == SANDBOX_OFF:
            return "it needs the sandbox, which is off here; quorum doctor says why"
        return await asyncio.to_thread(app.find_layer_obstacle)

    async def _begin_anew(self, session: Session, mode: str) -> None:
        """Have another process continue the session in this mode: it begins in a layer, or outside of one."""
        app = self._host.app
        assert isinstance(app, KeyedApp)
        if obstacle := await self._find_obstacle(session, mode):
            self._forget_wish(session)
            self._host.refuse(f"{mode} cannot be had: {obstacle}")
            return
        session.wished_mode = mode
        self._turns.hold()
        self._host.refresh_state()
        app.begin_anew(Restart(mode, session.agent.session_id if session.can_be_resumed else ""))

    def action_choose_model(self, name: str = "") -> None:
        """Set the model of that name; without one, let the person pick."""
        if (session := self._current.require_session("choose the model")) is None:
            return
        if name:
            self._host.run_worker(self._set_model(session, name), group=CHANGES)
        else:
            from quorum.tui.screens.model_picker import ModelPicker

            self._host.app.push_screen(ModelPicker(session.agent, has_model=session.facts.has_model))

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
            # What is judged there changes what the mode asks about.
            from quorum.tui.screens.permissions_screen import PermissionsScreen

            self._host.app.push_screen(
                PermissionsScreen(session.agent.rules), lambda _: self._host.refresh_state()
            )
