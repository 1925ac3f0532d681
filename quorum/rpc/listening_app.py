"""The app that a remote control listens for, with a terminal or without one, and the methods it answers.

Calls of other agents come over the socket as well: the app decides about them, and asks on its screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from textual import events

from quorum.gate.plain_arguments import DIALECTS
from quorum.rpc.app_port import AppPort
from quorum.rpc.json_rpc import Code, JsonParams, RpcError, build_invalid_params, handle_request, make_refusal
from quorum.rpc.key_feed import KeyFeed, read_keys
from quorum.rpc.panes import Camera, find_tab, read_pane
from quorum.rpc.power import TOKEN, Hand, RemoteApproval, find_power
from quorum.rpc.questions import note_seen, respond
from quorum.rpc.settings import LiveSettings, LoadSettings, RemoteSetting
from quorum.tui.app.app import QuorumApp
from quorum.tui.keys.choices import LAYOUTS
from quorum.tui.keys.slash_commands import COMMANDS

if TYPE_CHECKING:
    from quorum.gate.gate_service import GateService


OpenGate: TypeAlias = Callable[[], Awaitable["GateService"]]
"""Makes what decides, with the first call that comes."""

MOST_SECS = 86_400


class RemoteGate:
    """What decides in this app, there from the first call on."""

    def __init__(self, open_gate: OpenGate) -> None:
        self._open = open_gate
        self._service: GateService | None = None
        self._is_closed = False

    async def decide(self, params: JsonParams) -> dict[str, object]:
        """What the asking process prints, and its exit code. Raises RpcError."""
        environment = params["environment"]
        if not isinstance(environment, dict) or not all(isinstance(each, str) for each in environment.values()):
            raise build_invalid_params("'environment' has to be an object of texts")
        if self._is_closed:
            raise make_refusal("the app is about to end", "closing")
        if self._service is None:
            service = await self._open()
            self._service = self._service or service  # another call may have come meanwhile
        reply = await self._service.decide(
            params["dialect"],
            params["call"],
            environment,
            params["folder"],
            timeout_secs=params["timeout_secs"],
        )
        return {"out": reply.out, "err": reply.err, "code": reply.code}

    async def aclose(self) -> None:
        """Close the sessions of callers. Raises LedgerError where something could not be written."""
        self._is_closed = True
        if self._service is not None:
            await self._service.aclose()


_CLASSES = {"string": str, "integer": int, "boolean": bool, "strings": list, "value": object}


class Param(NamedTuple):
    """One parameter. Without a `default` it has to be given; `choices` and `bounds` (both ends belong to it)
    say what fits.
    """

    name: str
    type: Literal["string", "integer", "boolean", "strings", "value"]
    does: str
    default: Any = ...
    choices: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None

    @property
    def is_required(self) -> bool:
        return self.default is ...

    def describe(self) -> dict[str, object]:
        """How a client sees it."""
        schema: dict[str, object] = {"name": self.name, "type": self.type, "does": self.does}
        schema["required"] = self.is_required
        if self.choices:
            schema["choices"] = list(self.choices)
        if self.bounds:
            schema["least"], schema["most"] = self.bounds
        return schema


TOKEN_PARAM = Param(TOKEN, "string", "the token of --listen-approve, for what takes approval", default=None)


def fit_parameters(given: JsonParams, params: Sequence[Param]) -> JsonParams:
    """A value for each parameter; the token is left aside. Raises RpcError for what does not fit."""
    known = {param.name for param in params} | {TOKEN}
    if strange := sorted(set(given) - known):
        names = ", ".join(param.name for param in params) or "none"
        raise build_invalid_params(f"there is no parameter {strange[0]!r}; there are: {names}")
    return {param.name: _read_value(param, given) for param in params if param.name != TOKEN}


def _read_value(param: Param, given: JsonParams) -> Any:
    if param.name not in given:
        if param.is_required:
            raise build_invalid_params(f"the parameter {param.name!r} is missing: {param.does}")
        return param.default
    value = given[param.name]
    fits = isinstance(value, _CLASSES[param.type]) and (param.type != "integer" or not isinstance(value, bool))
    if not fits or (param.type == "strings" and not all(isinstance(each, str) for each in value)):
        what = "an array of strings" if param.type == "strings" else f"of type {param.type}"
        raise build_invalid_params(f"{param.name!r} has to be {what}")
    if param.choices and value not in param.choices:
        raise build_invalid_params(f"{param.name!r} has to be one of {', '.join(param.choices)}")
    if param.bounds and not param.bounds[0] <= value <= param.bounds[1]:
        raise build_invalid_params(f"{param.name!r} has to be from {param.bounds[0]} to {param.bounds[1]}")
    return value


API_VERSION = 1

_TAB = Param("tab", "string", "the id of a tab, of panes.list; empty: the one in front", default="")


class Method(NamedTuple):
    """One method. `approval` says which of what it does takes the token; empty: nothing."""

    name: str
    does: str
    run: Callable[[JsonParams, Hand], Awaitable[object]]
    params: tuple[Param, ...] = ()
    approval: str = ""

    def describe(self) -> dict[str, object]:
        """How a client sees it."""
        params = (*self.params, TOKEN_PARAM) if self.approval else self.params
        return {
            "name": self.name,
            "does": self.does,
            "params": [param.describe() for param in params],
            "approval": self.approval,
        }


class Methods:
    """All methods of an app. `feed` presses its keys, `load_settings` reads its settings."""

    def __init__(
        self,
        app: QuorumApp,
        feed: KeyFeed,
        approval: RemoteApproval,
        load_settings: LoadSettings,
        gate: RemoteGate,
    ) -> None:
        self._gate = gate
        self._app, self._feed, self._approval, self._load = app, feed, approval, load_settings
        self._port, self._camera, self._live = AppPort(app), Camera(app), LiveSettings(app)
        self._all = {
            method.name: method
            for method in (*self._list_reading_methods(), *self._list_actions(), *self._list_settings_methods())
        }

    async def invoke(self, name: str, params: JsonParams) -> object:
        """Carry a method out. Raises RpcError."""
        if (method := self._all.get(name)) is None:
            raise RpcError(Code.METHOD_NOT_FOUND, f"there is no method {name!r}; rpc.discover lists them")
        hand = self._approval.hand(params)
        return await method.run(fit_parameters(params, method.params), hand)

    def _list_reading_methods(self) -> tuple[Method, ...]:
        return (
            Method("rpc.discover", "The version of this interface, and every method", self._discover),
            Method("state.get", "What the app is doing, and what is asked", self._answer_state),
            Method("panes.list", "All tabs", self._answer_panes),
            Method(
                "pane.read",
                "The last entries of a tab's transcript",
                self._read,
                (_TAB, Param("last", "integer", "how many of them", default=20, bounds=(1, 200))),
            ),
            Method(
                "screen.capture",
                "The screen as lines of text; another size only without a terminal",
                self._capture,
                (
                    Param("width", "integer", "columns", default=None, bounds=(10, 500)),
                    Param("height", "integer", "lines", default=None, bounds=(5, 300)),
                    Param("styles", "boolean", "keep colours, as SGR sequences", default=False),
                ),
            ),
            Method("commands.list", "Every command that command.exec takes", self._answer_commands),
            Method("keymaps.list", "Every key, where it acts and what it does", self._answer_keymaps),
            Method("layout.get", "The layout asked for", self._answer_layout),
        )

    def _list_actions(self) -> tuple[Method, ...]:
        beyond = "commands of your own (!), and commands that loosen reviews"
        return (
            Method(
                "input.send",
                "Send a prompt or a command as if it were typed",
                self._send,
                (Param("text", "string", "the prompt"), _TAB),
                beyond,
            ),
            Method(
                "command.exec",
                "Carry out a command of commands.list",
                self._execute,
                (Param("command", "string", "as it is typed, with or without the slash"), _TAB),
                "commands that loosen reviews",
            ),
            Method(
                "interaction.spawn",
                "Open a tab, and send its first prompt",
                self._spawn,
                (
                    Param(
                        "form", "string", "what for", choices=("agent", "ask", "discuss", "debate", "review")
                    ),
                    Param("query", "string", "the first prompt; empty: none", default=""),
                ),
            ),
            Method(
                "interaction.activate",
                "Bring a tab to the front",
                self._activate,
                (Param("interaction_id", "string", "the id of the tab"),),
            ),
            Method(
                "hil.respond",
                "Answer the question that is open in the tab in front",
                self._respond,
                (
                    Param("decision", "string", "the answer", choices=("approve", "reject")),
                    Param("digest", "string", "what the question is about, of state.get"),
                    Param("reason", "string", "of a rejection, for the model", default=""),
                ),
                "approving",
            ),
            Method(
                "hil.seen",
                "Say that a person looks at the open question: others are told of it later",
                self._note_seen,
                (Param("digest", "string", "what the question is about, of state.get"),),
            ),
            Method(
                "keys.feed",
                "Press keys, all of which are read before the first is pressed",
                self._feed_keys,
                (Param("keys", "strings", "characters, and names such as enter, ctrl+o, shift+tab"),),
                "keys of dialogs and of all that loosens reviews, and sending commands key by key",
            ),
            Method(
                "gate.decide",
                "Decide about a call of another agent; what is to be asked about is asked on the screen",
                self._decide,
                (
                    Param("dialect", "string", "whose form the call has", choices=DIALECTS),
                    Param("call", "string", "what quorum gate reads from its standard input"),
                    Param("environment", "value", "what commands of the caller get: an object", default={}),
                    Param("folder", "string", "the folder that the hook was started in", default=""),
                    Param("timeout_secs", "integer", "ask by then", default=55, bounds=(1, MOST_SECS)),
                ),
            ),
            Method(
                "layout.set",
                "Arrange the screen",
                self._set_layout,
                (Param("preset", "string", "the layout", choices=LAYOUTS),),
            ),
            Method(
                "route.set",
                "Where a part of the screen is shown",
                self._set_route,
                (
                    Param("content", "string", "the part", choices=("panel",)),
                    Param("surface", "string", "beside the transcript, or nowhere", choices=("side", "none")),
                ),
            ),
        )

    def _list_settings_methods(self) -> tuple[Method, ...]:
        key = Param("key", "string", "the setting, as in a quorum.toml: SECTION.KEY")
        return (
            Method("config.keys", "The keys of all settings, and which can be set at once", self._answer_keys),
            Method("config.get", "A setting, and where it came from; secrets are hidden", self._get, (key,)),
            Method(
                "config.set",
                "Have another value count until the app ends; no file is written",
                self._set,
                (key, Param("value", "value", "the value")),
                "modes in which risky calls may run unasked",
            ),
        )

    # -- looking --------------------------------------------------------------------------------------------

    async def _discover(self, _params: JsonParams, _hand: Hand) -> object:
        return {
            "api_version": API_VERSION,
            "approval": self._approval.is_on,
            "methods": [method.describe() for method in self._all.values()],
        }

    async def _answer_state(self, _params: JsonParams, _hand: Hand) -> object:
        return self._port.describe_state()

    async def _answer_panes(self, _params: JsonParams, _hand: Hand) -> object:
        return self._port.list_panes()

    async def _read(self, params: JsonParams, _hand: Hand) -> object:
        tab = find_tab(self._app.tabs, params["tab"])
        return {"tab": tab.mode, **read_pane(tab.chat, params["last"])}

    async def _capture(self, params: JsonParams, _hand: Hand) -> object:
        return await self._camera.capture(params["width"], params["height"], styles=params["styles"])

    async def _answer_commands(self, _params: JsonParams, _hand: Hand) -> object:
        if (session := self._app.chat.current.session) is not None:
            await session.agent.custom_commands.refresh()
        custom = self._app.chat.prompt.known.list_custom_commands()
        return [
            {
                "name": command.name,
                "usage": command.usage,
                "does": command.does,
                "power": "approval" if command.action == "set_mode" else find_power(command.action),
            }
            for command in COMMANDS
        ] + [
            {"name": command.name, "usage": command.usage, "does": command.does, "power": "free"}
            for command in custom
        ]

    async def _answer_keymaps(self, _params: JsonParams, _hand: Hand) -> object:
        return self._port.list_keymaps()

    async def _answer_layout(self, _params: JsonParams, _hand: Hand) -> object:
        return {"preset": self._app.layout_wish, "presets": list(LAYOUTS)}

    # -- doing ----------------------------------------------------------------------------------------------

    async def _send(self, params: JsonParams, hand: Hand) -> object:
        return await self._port.send(params["text"], params["tab"], hand)

    async def _execute(self, params: JsonParams, hand: Hand) -> object:
        return await self._port.execute(params["command"], params["tab"], hand)

    async def _spawn(self, params: JsonParams, _hand: Hand) -> object:
        return await self._port.spawn(params["form"], params["query"])

    async def _activate(self, params: JsonParams, _hand: Hand) -> object:
        return await self._port.activate(params["interaction_id"])

    async def _respond(self, params: JsonParams, hand: Hand) -> object:
        return respond(self._app, params["decision"], params["digest"], params["reason"], hand)

    async def _note_seen(self, params: JsonParams, _hand: Hand) -> object:
        return await note_seen(self._app, params["digest"])

    async def _feed_keys(self, params: JsonParams, hand: Hand) -> object:
        keys = read_keys(params["keys"])
        await self._feed.press(keys, hand)
        return {"pressed": len(keys)}

    async def _decide(self, params: JsonParams, _hand: Hand) -> object:
        return await self._gate.decide(params)

    async def _set_layout(self, params: JsonParams, _hand: Hand) -> object:
        self._app.action_set_layout(params["preset"])
        return {"preset": self._app.layout_wish}

    async def _set_route(self, params: JsonParams, _hand: Hand) -> object:
        panel = self._app.chat.side_panel
        panel.set_wanted(params["surface"] == "side")
        surface = "side" if panel.is_wanted else "none"
        return {"content": params["content"], "surface": surface, "seen": panel.display}

    # -- settings -------------------------------------------------------------------------------------------

    async def _answer_keys(self, _params: JsonParams, _hand: Hand) -> object:
        return [
            {"key": each.key, "at_once": each.key in LiveSettings.KEYS} for each in await self._load_settings()
        ]

    async def _get(self, params: JsonParams, _hand: Hand) -> object:
        setting = await self._find_setting(params["key"])
        reported = {"key": setting.key, "value": setting.value, "origin": setting.origin}
        present = self._live.present(setting.key)
        return reported if present is None else {**reported, "present": present}

    async def _set(self, params: JsonParams, hand: Hand) -> object:
        await self._find_setting(params["key"])
        await self._live.change(params["key"], params["value"], hand)
        return {"key": params["key"], "present": self._live.present(params["key"])}

    async def _find_setting(self, key: str) -> RemoteSetting:
        for setting in await self._load_settings():
            if setting.key == key:
                return setting
        raise build_invalid_params(f"there is no setting {key!r}; config.keys lists them")

    async def _load_settings(self) -> tuple[RemoteSetting, ...]:
        from quorum.domain.errors import QuorumError

        try:
            return tuple(await asyncio.to_thread(self._load))
        except QuorumError as problem:
            raise make_refusal(f"the settings cannot be read: {problem}", "settings") from problem


Serve: TypeAlias = Callable[[Callable[[bytes], Awaitable[bytes | None]]], Awaitable[None]]
"""Has bodies answered until it is cancelled."""


class ListeningApp(QuorumApp):
    """An app whose keys may come over a socket as well. Each of those is looked at before it acts."""

    def __init__(
        self,
        *args: Any,
        serve: Serve,
        approval: RemoteApproval,
        load_settings: LoadSettings,
        gate: RemoteGate,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self._serve_remote = serve
        self._feed = KeyFeed(self)
        self._methods = Methods(self, self._feed, approval, load_settings, gate)

    def on_mount(self) -> None:
        self.run_worker(self._serve_remote(self._answer), name="remote")

    def leave(self, return_code: int) -> None:
        """End with this exit code, when what runs has been stopped."""
        self._leave_soon(return_code)

    async def _answer(self, body: bytes) -> bytes | None:
        return await handle_request(body, self._methods.invoke)

    def is_deliberate(self, event: events.Key) -> bool:
        """Whether a client fed the key: it means the screen that is in front, and nobody types like that."""
        return self._feed.has_fed(event)

    async def on_event(self, event: events.Event) -> None:
        """Keep keys of the socket from what takes approval."""
        if isinstance(event, events.Key) and self.screen_stack:
            if self._feed.keeps_back(event):
                return
            if notice := self._feed.explain_withholding(event):
                self.chat.say(notice)
                return
        await super().on_event(event)
