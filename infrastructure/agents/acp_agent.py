"""An agent that speaks version 1 of the Agent Client Protocol, read as what our sessions know."""

from __future__ import annotations

import asyncio
import math
import os
import re
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal

from msgspec import UNSET, UnsetType

from quorum.application.agents.agent_run import AgentRun
from quorum.application.cancellation import run_to_end
from quorum.application.ports.agents import (
    AgentEnd,
    AgentOffers,
    AgentTerms,
    ReportedCall,
    ReportedDiff,
    TerminalRequest,
    TerminalState,
)
from quorum.domain.conversation.response import (
    END_TURN,
    MAX_TOKENS,
    REFUSAL,
    Delta,
    StopKind,
    StopReason,
    StreamedReasoning,
    Usage,
)
from quorum.domain.errors import ProviderError, ProviderErrorKind, ToolError
from quorum.domain.events.agents import AgentConnected, AgentModeChanged, AgentPlanUpdated, AgentTask
from quorum.domain.events.event import NoticeGiven
from quorum.domain.text.amounts import format_amount
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.agents.channel import (
    AgentChannel,
    Confine,
    ObeyedPlaces,
    RefusedRequest,
    UnknownMethod,
)
from quorum.infrastructure.agents.launch import AgentLaunch
from quorum.infrastructure.execution.commands.environment import name_signal
from quorum.infrastructure.models.shared.error_bodies import fit_to_line
from quorum.infrastructure.models.shared.json_fields import (
    parse_foreign_json,
    read_count_field,
    read_object_field,
    read_objects_field,
    read_text_field,
)

NOT_FOUND = -32002
_MOST_OUTPUT = 1 << 20  # bytes of a command's
_VERSION = 1
_UNCONFINED = "with your rights, outside of the sandbox: what it does without asking is not prevented"
_STOPS = {"end_turn": END_TURN, "max_tokens": MAX_TOKENS, "refusal": REFUSAL}
_MOST_CALLS = 10_000  # of one session: more are not told apart


class DrivenAgent:
    """Implements `Agent`. The program is started by `open`, works in `cwd`, and reaches the `host`, also for
    commands if this `runs_commands`. `confine` is the sandbox, if it is to run in one; `clock` gives seconds
    since 1970."""

    def __init__(
        self,
        launch: AgentLaunch,
        cwd: str,
        host: AgentRun,
        *,
        version: str,
        runs_commands: bool,
        confine: Confine | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._runs_commands, self._confine = runs_commands, confine
        self._clock, self._sleep = clock, sleep
        self._launch, self._cwd, self._host, self._version = launch, cwd, host, version
        self._channel: AgentChannel | None = None
        self._places = ObeyedPlaces(())
        self._session = ""
        self._mode = self._model = ""
        self._calls: dict[str, ReportedCall] = {}
        self._arguments: dict[str, JsonObject] = {}  # of the calls, told as such
        self._is_prompted = self._is_cancelled = self._is_ready = False
        self._opened: JsonObject = {}
        self._made = 0
        self.offers = AgentOffers()

    # ---------------------------------------------------------------- what a session asks of it

    @property
    def is_open(self) -> bool:
        return self._is_ready and self._channel is not None and not self._channel.has_ended

    async def choose(self, category: Literal["mode", "model"], name: str) -> None:
        """Have it work so from now on. Raises ProviderError."""
        await self._choose(category, name, self._opened, is_wanted=True)

    async def open(self, terms: AgentTerms) -> AgentConnected:
        """Start it anew, and begin or continue a session. Raises ProviderError."""
        await self.aclose()
        obeyed = self._launch.obeyed if self._confine is not None else ()
        self._places = await asyncio.to_thread(ObeyedPlaces, obeyed)
        channel = AgentChannel(self._launch, self._cwd, self, self._confine, self._places)
        await channel.open()
        self._channel = channel
        known = await channel.request(
            "initialize",
            {
                "protocolVersion": _VERSION,
                "clientCapabilities": {
                    "fs": dict.fromkeys(("readTextFile", "writeTextFile"), self._launch.takes_files),
                    "terminal": self._runs_commands,
                },
                "clientInfo": {"name": "quorum", "title": "quorum", "version": self._version},
            },
        )
        if known.get("protocolVersion") != _VERSION:
            raise self._fail("it does not speak version 1 of the Agent Client Protocol")
        try:
            opened = await self._open_session(channel, known, terms)
        except ProviderError as error:
            raise self._add_logins(error, known) from error
        self._opened, opened_ms = opened, int(self._clock() * 1000)
        self.offers = AgentOffers(
            modes=tuple(map(_shorten, _list_choices("mode", opened))),
            models=tuple(map(_shorten, _list_choices("model", opened))),
        )
        mode, model = terms.mode, terms.model
        if terms.is_remembered:
            mode, model = (
                mode if mode in self.offers.modes else "",
                model if model in self.offers.models else "",
            )
        await self._choose("mode", mode or self._launch.asking_mode, opened, is_wanted=bool(mode))
        await self._choose("model", model, opened, is_wanted=bool(model))
        about = read_object_field(known, "agentInfo")
        self._is_ready = True
        name = read_text_field(about, "title") or read_text_field(about, "name") or self._launch.name
        return AgentConnected(
            agent=self._launch.name,
            program=fit_to_line(f"{name} {read_text_field(about, 'version')}".strip()),
            agent_session=self._session,
            mode=self._mode,
            model=self._model,
            confinement=_UNCONFINED if self._confine is None else self._describe_confinement(),
            is_confined=self._confine is not None,
            began_ms=terms.began_ms if terms.session else opened_ms,
        )

    def _describe_confinement(self) -> str:
        folders = f" and to {', '.join(self._launch.folders)}" if self._launch.folders else ""
        kept = ", but not to its settings," if self._launch.obeyed else ","
        return f"in the sandbox: it writes to the workspace{folders}{kept} and reaches the network"

    async def prompt(self, text: str) -> AgentEnd:
        """Have it answer. Raises ProviderError."""
        self._is_prompted, self._is_cancelled = True, False
        asked: JsonObject = {"sessionId": self._session, "prompt": [{"type": "text", "text": text}]}
        try:
            ended = await self._require_channel().request("session/prompt", asked)
        finally:
            self._is_prompted = False
            await run_to_end(self._set_aside())
        stop, used = read_text_field(ended, "stopReason"), read_object_field(ended, "usage")
        return AgentEnd(
            stop=_STOPS.get(stop, StopReason(StopKind.OTHER, fit_to_line(stop) or "no reason")),
            usage=Usage(
                input=read_count_field(used, "inputTokens") or 0,
                output=read_count_field(used, "outputTokens") or 0,
                cache_read=read_count_field(used, "cachedReadTokens") or 0,
                cache_write=read_count_field(used, "cachedWriteTokens") or 0,
                reasoning=read_count_field(used, "thoughtTokens") or 0,
            ),
        )

    async def _set_aside(self) -> None:
        """Tell what it has made in places that it obeys outside of the sandbox: it is obeyed nowhere now."""
        for made in await asyncio.to_thread(lambda: list(self._places.set_aside())):
            self._made += 1
            told = ReportedCall(
                call_id=f"set aside {self._made}",
                title="a place that it obeys",
                kind="edit",
                status=made.outcome,
                paths=(made.path,),
            )
            self._host.note_update(told)

    async def cancel(self) -> None:
        """Tell it to end its answer, if it gives one. Raises ProviderError."""
        self._is_cancelled = True
        if self.is_open:
            await self._require_channel().notify("session/cancel", {"sessionId": self._session})

    async def aclose(self) -> None:
        """End its process with all that it started."""
        self._is_ready = False
        channel, self._channel = self._channel, None
        if channel is not None:
            await run_to_end(channel.aclose())

    # ---------------------------------------------------------------- opening

    async def _open_session(self, channel: AgentChannel, known: JsonObject, terms: AgentTerms) -> JsonObject:
        place: JsonObject = {"cwd": self._cwd, "mcpServers": []}
        if not (former := terms.session):
            opened = await channel.request("session/new", place)
            self._session = read_text_field(opened, "sessionId")
            if not self._session:
                raise self._fail("it opened a session without an id")
            return opened
        able = read_object_field(known, "agentCapabilities")
        self._session = former
        if able.get("loadSession") is True:
            method = "session/load"
        elif "resume" in read_object_field(able, "sessionCapabilities"):
            method = "session/resume"
        else:
            raise self._fail("it cannot continue a session; begin a new one, without --continue and --resume")
        await self._wait_out_minute(terms.began_ms)
        return await channel.request(method, {"sessionId": former, **place})

    async def _wait_out_minute(self, began_ms: int | UnsetType) -> None:
        """Where it would lose the session now, wait, and say so."""
        if not self._launch.loads_next_minute or began_ms is UNSET:
            return
        is_told, minute = False, began_ms // 60_000
        while int(now := self._clock()) // 60 == minute:
            left = 60 * (minute + 1) - now
            if not is_told:
                is_told, how_long = True, format_amount(math.ceil(left), "second")
                why = f"the agent {self._launch.name} loses a session that it continues in its first minute"
                self._host.note_update(NoticeGiven(message=f"{why}: its start waits for {how_long}"))
            await self._sleep(left)

    async def _choose(self, category: str, wanted: str, opened: JsonObject, *, is_wanted: bool) -> None:
        """Choose a mode or model, which agents offer as an option of the session or in the older list. One that
        is wanted is always asked for, since the agent may have left the one that it began with; one that nobody
        named is chosen where it is offered."""
        options, offered = _find_options(category, opened), _list_choices(category, opened)
        current = read_text_field(read_object_field(opened, f"{category}s"), f"current{category.title()}Id")
        if options:
            current = read_text_field(options[0], "currentValue") or current
        wanted = next((each for each in offered if wanted in (each, _shorten(each))), wanted)
        if wanted and wanted in offered and (is_wanted or wanted != current):
            params: JsonObject
            if options:
                method = "session/set_config_option"
                params = {"configId": read_text_field(options[0], "id"), "value": wanted}
            else:
                method, params = f"session/set_{category}", {f"{category}Id": wanted}
            await self._require_channel().request(method, {"sessionId": self._session, **params})
            current = wanted
        elif wanted not in offered and is_wanted:
            choice = ", ".join(map(_shorten, offered)) or "none to choose from"
            raise self._fail(f"it does not offer the {category} {fit_to_line(wanted)}; it offers {choice}")
        if category == "mode":
            self._mode = _shorten(current)
        else:
            self._model = _shorten(current)

    def _add_logins(self, error: ProviderError, known: JsonObject) -> ProviderError:
        if error.kind is not ProviderErrorKind.AUTHENTICATION:
            return error
        ways = [fit_to_line(read_text_field(each, "name")) for each in read_objects_field(known, "authMethods")]
        offered = f"; it offers: {', '.join(ways)}" if ways else ""
        return ProviderError(f"{error}{offered}", kind=error.kind)

    # ---------------------------------------------------------------- what it tells and asks

    def take_notification(self, method: str, params: JsonObject) -> None:
        """What it tells of the prompt under way. Loading a session, it tells what was said before: that is on
        record already."""
        if method != "session/update" or not self._is_prompted:
            return
        update = read_object_field(params, "update")
        match read_text_field(update, "sessionUpdate"):
            case "agent_message_chunk":
                if text := read_text_field(read_object_field(update, "content"), "text"):
                    self._host.note_update(Delta(text))
            case "agent_thought_chunk":
                if text := read_text_field(read_object_field(update, "content"), "text"):
                    self._host.note_update(StreamedReasoning(text))
            case "plan":
                tasks = tuple(
                    AgentTask(content=read_text_field(each, "content"), status=read_text_field(each, "status"))
                    for each in read_objects_field(update, "entries")
                )
                self._host.note_update(AgentPlanUpdated(tasks=tasks))
            case "current_mode_update":
                self._note_mode(read_text_field(update, "currentModeId"))
            case "config_option_update":
                for option in read_objects_field(update, "configOptions"):
                    if "mode" in (read_text_field(option, "category"), read_text_field(option, "id")):
                        self._note_mode(read_text_field(option, "currentValue"))
            case "tool_call" | "tool_call_update":
                self._host.note_update(self._merge_call(update))
            case _:
                return

    def _note_mode(self, mode: str) -> None:
        if mode and (mode := _shorten(mode)) != self._mode:
            self._mode = mode
            self._host.note_update(AgentModeChanged(mode=mode))

    async def answer_request(self, method: str, params: JsonObject) -> JsonValue:
        """Decide, or serve a file. Raises UnknownMethod and RefusedRequest."""
        try:
            match method:
                case "session/request_permission":
                    return await self._answer_permission(params)
                case "fs/read_text_file":
                    return {"content": _cut_lines(await self._read_file(_require_path(params)), params)}
                case "fs/write_text_file":
                    content = params.get("content")
                    if not isinstance(content, str):
                        raise RefusedRequest("content is not a text")
                    await self._host.write_file(_require_path(params), content)
                    return {}
                case "terminal/create" if self._runs_commands:
                    return {"terminalId": await self._host.create_terminal(_read_terminal_request(params))}
                case "terminal/output":
                    state = self._host.read_terminal(read_text_field(params, "terminalId"))
                    exited = {"exitStatus": _describe_exit(state)} if state.has_ended else {}
                    return {"output": state.output, "truncated": state.is_cut, **exited}
                case "terminal/wait_for_exit":
                    waited = self._host.wait_for_terminal(read_text_field(params, "terminalId"))
                    return _describe_exit(await waited)
                case "terminal/kill" | "terminal/release":
                    terminal_id, forget = read_text_field(params, "terminalId"), method == "terminal/release"
                    await self._host.end_terminal(terminal_id, forget=forget)
                    return {}
                case _:
                    raise UnknownMethod
        except ToolError as error:
            raise RefusedRequest(str(error)) from error

    async def _read_file(self, path: str) -> str:
        """Agents look whether a file is there by reading it, and know by this error that it is not."""
        if not await asyncio.to_thread(os.path.lexists, path):
            raise RefusedRequest(f"Resource not found: {path}", NOT_FOUND)
        return await self._host.read_file(path)

    async def _answer_permission(self, params: JsonObject) -> JsonObject:
        """Allowed is what is asked about and nothing more: an answer that would hold for later calls, too, is
        never chosen."""
        allowed = await self._host.decide(self._merge_call(read_object_field(params, "toolCall")))
        options = {
            read_text_field(each, "kind"): read_text_field(each, "optionId")
            for each in reversed(read_objects_field(params, "options"))
        }
        wanted = ("allow_once",) if allowed else ("reject_once", "reject_always")
        chosen = next((options[kind] for kind in wanted if options.get(kind)), "")
        if self._is_cancelled or not chosen:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    def _merge_call(self, told: JsonObject) -> ReportedCall:
        """The call as it is known by now: what is told later counts in place of what was told before, and
        arguments that are told as such in place of a text that looks like some."""
        call_id = read_text_field(told, "toolCallId")
        former = self._calls.get(call_id) or ReportedCall(call_id=call_id)
        content = read_objects_field(told, "content")
        locations = read_objects_field(told, "locations")
        arguments = {**self._arguments.get(call_id, {}), **_read_raw_input(told.get("rawInput"))}
        call = ReportedCall(
            call_id=call_id,
            title=read_text_field(told, "title") or former.title,
            kind=read_text_field(told, "kind") or former.kind,
            status=read_text_field(told, "status") or former.status,
            tool=_find_tool(told) or former.tool,
            arguments={**former.arguments, **_read_shown_arguments(content), **arguments},
            diffs=_read_diffs(content) or former.diffs,
            paths=tuple(filter(None, (read_text_field(each, "path") for each in locations))) or former.paths,
            output=_read_output(content) or former.output,
            unread=_list_unread(told) or former.unread,
        )
        if call_id in self._calls or len(self._calls) < _MOST_CALLS:
            self._calls[call_id], self._arguments[call_id] = call, arguments
        return call

    def _require_channel(self) -> AgentChannel:
        assert self._channel is not None, "the agent is not open"
        return self._channel

    def _fail(self, what: str) -> ProviderError:
        return ProviderError(f"the agent {self._launch.name}: {what}", kind=ProviderErrorKind.CONFIGURATION)


def _find_options(category: str, opened: JsonObject) -> list[JsonObject]:
    return [
        each
        for each in read_objects_field(opened, "configOptions")
        if category in (read_text_field(each, "category"), read_text_field(each, "id"))
    ]


def _list_choices(category: str, opened: JsonObject) -> list[str]:
    """The modes or models that a session offers, as an option or in the older list."""
    if options := _find_options(category, opened):
        return _list_values(options[0])
    listed = read_objects_field(read_object_field(opened, f"{category}s"), f"available{category.title()}s")
    return [read_text_field(each, "id" if category == "mode" else "modelId") for each in listed]


def _shorten(name: str) -> str:
    """The name of a mode or model on a line; of an address, by which Copilot CLI names modes, the end."""
    _, mark, end = name.rpartition("#")
    return fit_to_line(end if mark and "://" in name else name) if name else ""


def _list_values(option: JsonObject) -> list[str]:
    """The values of an option, which may stand in groups."""
    listed = read_objects_field(option, "options")
    grouped = [value for group in listed for value in read_objects_field(group, "options")]
    return [value for each in (*listed, *grouped) if (value := read_text_field(each, "value"))]


def _find_tool(told: JsonObject) -> str:
    """The name of the tool: a field of newer versions, or what adapters tell beside the protocol."""
    if name := read_text_field(told, "name"):
        return name
    beside = read_object_field(told, "_meta")
    for about in (beside, *beside.values()):
        fields = about if isinstance(about, Mapping) else {}
        if name := read_text_field(fields, "toolName") or read_text_field(fields, "tool_name"):
            return name
    return ""


def _read_shown_arguments(content: Sequence[JsonObject]) -> JsonObject:
    """The arguments where they are shown as text, as some agents do while they arrive."""
    return _parse_object(_read_output(content))


def _read_raw_input(value: JsonValue) -> JsonObject:
    """The arguments, which the protocol lets be any JSON. What is no object makes a call that is not known."""
    if isinstance(value, str):
        value = _parse_object(value) or value
    return value if isinstance(value, Mapping) else {"rawInput": value} if value else {}


def _parse_object(text: str) -> JsonObject:
    try:
        value = parse_foreign_json(text) if text.lstrip().startswith("{") else None
    except ValueError:  # not all of it
        return {}
    return value if isinstance(value, dict) else {}


def _read_diffs(content: Sequence[JsonObject]) -> tuple[ReportedDiff, ...]:
    found = []
    for each in content:
        path, after, before = each.get("path"), each.get("newText"), each.get("oldText")
        if each.get("type") == "diff" and isinstance(path, str) and isinstance(after, str):
            found.append(
                ReportedDiff(
                    path=path,
                    before=before if isinstance(before, str) else None,
                    after=after,
                    kind=read_text_field(read_object_field(each, "_meta"), "kind"),
                )
            )
    return tuple(found)


def _list_unread(told: JsonObject) -> tuple[JsonValue, ...]:
    """What is shown of a call in forms that are not known: it may be of further files."""
    shown, places = (
        value if isinstance(value := told.get(key), list) else [] for key in ("content", "locations")
    )
    places = [each for each in places if not (isinstance(each, Mapping) and isinstance(each.get("path"), str))]
    return (*(each for each in shown if not _is_read(each)), *places)


def _is_read(shown: JsonValue) -> bool:
    if not isinstance(shown, Mapping):
        return False
    return shown.get("type") in {"content", "terminal"} or bool(_read_diffs([shown]))


def _read_output(content: Sequence[JsonObject]) -> str:
    texts = [read_text_field(read_object_field(each, "content"), "text") for each in content]
    return "\n".join(filter(None, texts))


def _require_path(params: JsonObject) -> str:
    path = read_text_field(params, "path")
    if not path.startswith("/") or "\0" in path:
        raise RefusedRequest("path is not an absolute path")
    return path


def _cut_lines(text: str, params: JsonObject) -> str:
    first, most = read_count_field(params, "line"), read_count_field(params, "limit")
    if first is None and most is None:
        return text
    lines = text.splitlines(keepends=True)[max((first or 1) - 1, 0) :]
    return "".join(lines if most is None else lines[:most])


_SHELLS = frozenset(f"{folder}{name}" for folder in ("", "/bin/", "/usr/bin/") for name in ("bash", "sh"))
_DIRECTLY = frozenset({"-c", "-lc"})
_FOR_LOOKS = frozenset({"NO_COLOR", "TERM", "COLUMNS", "LINES", "GIT_TERMINAL_PROMPT"})
_PLAIN = re.compile(r"[A-Za-z0-9_-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _read_terminal_request(params: JsonObject) -> TerminalRequest:
    """A command without arguments is a line for a shell. Raises RefusedRequest."""
    command, given = read_text_field(params, "command"), params.get("args")
    words = [each for each in given if isinstance(each, str)] if isinstance(given, list) else []
    if not command.strip() or (isinstance(given, list) and len(words) != len(given)):
        raise RefusedRequest("command and args are not texts")
    wanted = read_objects_field(params, "env")
    is_shell = command in _SHELLS and len(words) == 2 and words[0] in _DIRECTLY
    text = shlex.join([command, *words]) if words else command
    cwd = params.get("cwd")
    if cwd is not None:
        cwd = _require_path({"path": cwd})
    shell_text = words[1] if is_shell and all(_is_harmless(each, command) for each in wanted) else ""
    if cwd:  # some agents go there in the text as well
        shell_text = shell_text.removeprefix(f"cd {shlex.quote(cwd)} && ")
        shell_text = shell_text.removeprefix(f"cd '{cwd}' && ") if "'" not in cwd else shell_text
    limit = read_count_field(params, "outputByteLimit")
    return TerminalRequest(
        command=_set_variables(wanted) + text,
        shell_text=shell_text,
        cwd=os.path.normpath(cwd) if cwd else "",
        most_bytes=min(_MOST_OUTPUT, _MOST_OUTPUT if limit is None else limit),
    )


def _is_harmless(variable: JsonObject, shell: str) -> bool:
    """Whether it changes nothing of what a command does but how that looks, or names the shell that is run."""
    name, value = read_text_field(variable, "name"), read_text_field(variable, "value")
    return value == shell if name == "SHELL" else name in _FOR_LOOKS and _PLAIN.fullmatch(value) is not None


def _set_variables(wanted: Sequence[JsonObject]) -> str:
    """What sets these before the command, for the person to read with it. Raises RefusedRequest."""
    set_ = []
    for each in wanted:
        name = read_text_field(each, "name")
        if not _VARIABLE.fullmatch(name):
            raise RefusedRequest(f"{name!r} is not the name of a variable")
        set_.append(f"{name}={shlex.quote(read_text_field(each, 'value'))}")
    return f"export {' '.join(set_)}; " if set_ else ""


def _describe_exit(state: TerminalState) -> JsonObject:
    code = state.exit_code
    if code is None or code >= 0:
        return {"exitCode": code, "signal": None}
    return {"exitCode": None, "signal": name_signal(-code)}
