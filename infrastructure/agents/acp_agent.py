"""An agent that speaks version 1 of the Agent Client Protocol, read as what our sessions know.

JSON-RPC with a program over its stdin and stdout, a message a line: both sides ask, tell and answer.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Protocol

from quorum.application.cancellation import run_to_end
from quorum.application.ports.agents import (
    AgentEnd,
    AgentHost,
    AgentTerms,
    ReportedCall,
    ReportedDiff,
)
from quorum.application.program_lookup import (
    explain_local_package,
    find_local_package,
    pin_runner,
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
from quorum.domain.text.json_text import make_encoder
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.infrastructure.agents.launch import AgentLaunch
from quorum.infrastructure.execution.program import open_program
from quorum.infrastructure.models.shared.error_bodies import fit_to_line
from quorum.infrastructure.models.shared.json_fields import (
    parse_foreign_json,
    read_count_field,
    read_object_field,
    read_objects_field,
    read_text_field,
    replace_surrogates,
)

_JSON = make_encoder()
_CHUNK = 1 << 16
_LONGEST_LINE = 64_000_000
_MOST_NOISE = 4_000  # characters of what is no message, kept to be quoted
_METHOD_NOT_FOUND, INTERNAL_ERROR, NOT_FOUND = -32601, -32603, -32002
_AUTH_REQUIRED = -32000
_CLOSING_SECS = 2.0


class UnknownMethod(Exception):
    """What the program asks for is not offered."""


class RefusedRequest(Exception):
    """What the program asks for cannot be had; the text says why."""

    def __init__(self, message: str, code: int = INTERNAL_ERROR) -> None:
        super().__init__(message)
        self.code = code


class ChannelPeer(Protocol):
    """Who answers the program."""

    def take_notification(self, method: str, params: JsonObject) -> None:
        """It tells something, in order with its answers."""
        ...

    async def answer_request(self, method: str, params: JsonObject) -> JsonValue:
        """It asks for something. Raises UnknownMethod and RefusedRequest."""
        ...


class AgentChannel:
    """A running agent. What it writes that is no JSON object is passed over, and quoted if it ends."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        resources: AsyncExitStack,
        launch: AgentLaunch,
        peer: ChannelPeer,
    ) -> None:
        self._process, self._resources, self._launch, self._peer = process, resources, launch, peer
        self._waiting: dict[int, asyncio.Future[JsonObject]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._next_id = 1
        self._noise = self._errors = ""
        self._end: ProviderError | None = None
        self._reading = asyncio.create_task(self._read())
        self._reading_errors = asyncio.create_task(self._read_errors())
        self._heard_at = asyncio.get_running_loop().time()

    @classmethod
    async def open(cls, launch: AgentLaunch, cwd: str, peer: ChannelPeer) -> AgentChannel:
        """Start the program. Raises ProviderError."""
        if local := find_local_package(launch.words, cwd):
            text = explain_local_package(launch.words, local)
            raise ProviderError(text, kind=ProviderErrorKind.CONFIGURATION)
        async with AsyncExitStack() as resources:
            words, settings = pin_runner(launch.words, launch.words[0], cwd)
            try:
                process = await resources.enter_async_context(
                    open_program(
                        words,
                        environment={**launch.environ, **settings},
                        cwd=cwd,
                        stdin=asyncio.subprocess.PIPE,
                        stderr=asyncio.subprocess.PIPE,
                    )
                )
            except OSError as error:
                text = f"{launch.words[0]} cannot be run: {error.strerror or error}"
                raise ProviderError(text, kind=ProviderErrorKind.CONFIGURATION) from error
            return cls(process, resources.pop_all(), launch, peer)

    async def request(self, method: str, params: JsonObject) -> JsonObject:
        """The result of a request. Raises ProviderError where it fails, or the program is silent too long while
        nothing of it is being answered."""
        number, self._next_id = self._next_id, self._next_id + 1
        answer: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._heard_at = asyncio.get_running_loop().time()
        try:
            await self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await self._wait(answer)
        finally:
            self._waiting.pop(number, None)

    async def notify(self, method: str, params: JsonObject) -> None:
        """Tell it something. Raises ProviderError."""
        await self._write({"jsonrpc": "2.0", "method": method, "params": params})

    async def aclose(self) -> None:
        """Close its input, and kill it with all that it started where that is not enough."""
        for task in self._answering:
            task.cancel()
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_SECS):
                await self._process.wait()
        with suppress(ProcessLookupError, PermissionError):  # what it leaves behind in its group
            os.killpg(self._process.pid, signal.SIGKILL)
        for reading in (self._reading, self._reading_errors):
            reading.cancel()
        await asyncio.gather(self._reading, self._reading_errors, *self._answering, return_exceptions=True)
        await run_to_end(self._resources.aclose())

    async def _wait(self, answer: asyncio.Future[JsonObject]) -> JsonObject:
        loop, patience = asyncio.get_running_loop(), self._launch.timeout_secs
        if self._end is not None:
            raise self._end
        while True:
            if self._answering:
                self._heard_at = loop.time()
            left = self._heard_at + patience - loop.time()
            if left <= 0:
                raise ProviderError(
                    f"the agent {self._launch.name} said nothing for {patience:g} s, and was ended; it may "
                    f"wait for a login: start {self._launch.words[0]} once yourself",
                    kind=ProviderErrorKind.TIMEOUT,
                )
            await asyncio.wait({answer}, timeout=left)
            if answer.done():
                return answer.result()

    async def _write(self, message: JsonObject) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write((replace_surrogates(_JSON.encode(message)) + "\n").encode())
            await self._process.stdin.drain()
        except OSError as error:
            await asyncio.wait({self._reading}, timeout=1)
            raise self._end or self._explain_end() from error

    async def _read(self) -> None:
        """Until the program closes its output."""
        assert self._process.stdout is not None
        unread, searched = bytearray(), 0
        try:
            while chunk := await self._process.stdout.read(_CHUNK):
                self._heard_at = asyncio.get_running_loop().time()
                unread += chunk
                while (end := unread.find(b"\n", searched)) >= 0:
                    line = bytes(unread[:end])
                    del unread[: end + 1]
                    searched = 0
                    self._take_line(line)
                searched = len(unread)
                if searched > _LONGEST_LINE:
                    self._end = self._describe("it wrote a line that is too long to be a message")
                    return
            with suppress(TimeoutError):  # what it started may hold the pipe open
                async with asyncio.timeout(1):
                    await asyncio.shield(self._reading_errors)
        finally:
            self._end = self._end or self._explain_end()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(self._end)

    def _take_line(self, line: bytes) -> None:
        try:
            message = parse_foreign_json(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            self._noise = (self._noise + line.decode("utf-8", "replace") + "\n")[-_MOST_NOISE:]
            return
        method, number = read_text_field(message, "method"), message.get("id")
        params = read_object_field(message, "params")
        if method and "id" in message:
            task = asyncio.create_task(self._answer(number, method, params))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        elif method:
            self._peer.take_notification(method, params)
        elif (
            isinstance(number, int) and (answer := self._waiting.get(number)) is not None and not answer.done()
        ):
            if "error" in message:
                answer.set_exception(self._explain_error(read_object_field(message, "error")))
            else:
                answer.set_result(read_object_field(message, "result"))

    async def _answer(self, number: JsonValue, method: str, params: JsonObject) -> None:
        try:
            outcome: JsonObject = {"result": await self._peer.answer_request(method, params)}
        except UnknownMethod:
            outcome = {"error": {"code": _METHOD_NOT_FOUND, "message": f"quorum does not offer {method}"}}
        except RefusedRequest as refused:
            outcome = {"error": {"code": refused.code, "message": str(refused)}}
        with suppress(ProviderError):  # it is gone: whoever waits for its answer is told
            await self._write({"jsonrpc": "2.0", "id": number, **outcome})

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(_CHUNK):
            self._errors = (self._errors + chunk.decode("utf-8", "replace"))[-_MOST_NOISE:]

    def _explain_end(self) -> ProviderError:
        """By the last line that it said for people."""
        lines = (self._errors.strip() or self._noise.strip()).splitlines()
        return self._describe(f"its program ended{': ' + fit_to_line(lines[-1]) if lines else ''}")

    def _describe(self, what: str) -> ProviderError:
        return ProviderError(f"the agent {self._launch.name}: {what}", kind=ProviderErrorKind.CONNECTION)

    def _explain_error(self, error: JsonObject) -> ProviderError:
        details = read_object_field(error, "data")
        told = (
            read_text_field(error, "message"),
            *(read_text_field(details, key) for key in ("details", "message")),
        )
        said = fit_to_line(": ".join(dict.fromkeys(filter(None, told)))) or "it gave no reason"
        kind, remedy = ProviderErrorKind.BAD_REQUEST, ""
        if error.get("code") == _AUTH_REQUIRED:
            kind = ProviderErrorKind.AUTHENTICATION
            remedy = f"; sign in to it first: start {self._launch.words[0]} once yourself"
        return ProviderError(f"the agent {self._launch.name} refused: {said}{remedy}", kind=kind)


_VERSION = 1
_STOPS = {"end_turn": END_TURN, "max_tokens": MAX_TOKENS, "refusal": REFUSAL}
_MOST_CALLS = 10_000  # of one session: more are not told apart


class DrivenAgent:
    """Implements `Agent`. The program is started by `open`, works in `cwd`, and reaches the `host`."""

    def __init__(self, launch: AgentLaunch, cwd: str, host: AgentHost, *, version: str) -> None:
        self._launch, self._cwd, self._host, self._version = launch, cwd, host, version
        self._channel: AgentChannel | None = None
        self._session = ""
        self._mode = self._model = ""
        self._calls: dict[str, ReportedCall] = {}
        self._is_prompted = self._is_cancelled = False

    # ---------------------------------------------------------------- what a session asks of it

    async def open(self, terms: AgentTerms) -> AgentConnected:
        """Begin or continue a session. Raises ProviderError."""
        self._channel = channel = await AgentChannel.open(self._launch, self._cwd, self)
        known = await channel.request(
            "initialize",
            {
                "protocolVersion": _VERSION,
                "clientCapabilities": {
                    "fs": dict.fromkeys(("readTextFile", "writeTextFile"), self._launch.takes_files),
                    "terminal": False,
                },
                "clientInfo": {"name": "quorum", "title": "quorum", "version": self._version},
            },
        )
        if known.get("protocolVersion") != _VERSION:
            raise self._fail("it does not speak version 1 of the Agent Client Protocol")
        try:
            opened = await self._open_session(channel, known, terms.session)
        except ProviderError as error:
            raise self._add_logins(error, known) from error
        await self._choose("mode", terms.mode or self._launch.asking_mode, opened, is_wanted=bool(terms.mode))
        await self._choose("model", terms.model, opened, is_wanted=bool(terms.model))
        about = read_object_field(known, "agentInfo")
        name = read_text_field(about, "title") or read_text_field(about, "name") or self._launch.name
        return AgentConnected(
            agent=self._launch.name,
            program=fit_to_line(f"{name} {read_text_field(about, 'version')}".strip()),
            agent_session=self._session,
            mode=self._mode,
            model=self._model,
        )

    async def prompt(self, text: str) -> AgentEnd:
        """Have it answer. Raises ProviderError."""
        self._is_prompted, self._is_cancelled = True, False
        asked: JsonObject = {"sessionId": self._session, "prompt": [{"type": "text", "text": text}]}
        try:
            ended = await self._require_channel().request("session/prompt", asked)
        finally:
            self._is_prompted = False
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

    async def cancel(self) -> None:
        """Tell it to end its answer. Raises ProviderError."""
        self._is_cancelled = True
        await self._require_channel().notify("session/cancel", {"sessionId": self._session})

    async def aclose(self) -> None:
        """End its process with all that it started."""
        if self._channel is not None:
            await self._channel.aclose()

    # ---------------------------------------------------------------- opening

    async def _open_session(self, channel: AgentChannel, known: JsonObject, former: str) -> JsonObject:
        place: JsonObject = {"cwd": self._cwd, "mcpServers": []}
        if not former:
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
        return await channel.request(method, {"sessionId": former, **place})

    async def _choose(self, category: str, wanted: str, opened: JsonObject, *, is_wanted: bool) -> None:
        """Choose a mode or model, which agents offer as an option of the session or in the older list. One that
        nobody named is chosen where it is offered."""
        options = [
            each
            for each in read_objects_field(opened, "configOptions")
            if category in (read_text_field(each, "category"), read_text_field(each, "id"))
        ]
        older = read_object_field(opened, f"{category}s")
        listed = read_objects_field(older, f"available{category.title()}s")
        key = "id" if category == "mode" else "modelId"
        known = [read_text_field(each, key) for each in listed]
        current = read_text_field(older, f"current{category.title()}Id")
        offered = _list_values(options[0]) if options else known
        if options:
            current = read_text_field(options[0], "currentValue") or current
        if wanted and wanted in offered and wanted != current:
            params: JsonObject
            if options:
                method = "session/set_config_option"
                params = {"configId": read_text_field(options[0], "id"), "value": wanted}
            else:
                method, params = f"session/set_{category}", {f"{category}Id": wanted}
            await self._require_channel().request(method, {"sessionId": self._session, **params})
            current = wanted
        elif wanted not in offered and is_wanted:
            choice = ", ".join(map(fit_to_line, offered)) or "none to choose from"
            raise self._fail(f"it does not offer the {category} {fit_to_line(wanted)}; it offers {choice}")
        if category == "mode":
            self._mode = fit_to_line(current) if current else ""
        else:
            self._model = fit_to_line(current) if current else ""

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
        if mode and (mode := fit_to_line(mode)) != self._mode:
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
        """The call as it is known by now: what is told later counts in place of what was told before."""
        call_id = read_text_field(told, "toolCallId")
        former = self._calls.get(call_id) or ReportedCall(call_id=call_id)
        content = read_objects_field(told, "content")
        locations = read_objects_field(told, "locations")
        arguments = read_object_field(told, "rawInput") or _read_shown_arguments(content)
        call = ReportedCall(
            call_id=call_id,
            title=read_text_field(told, "title") or former.title,
            kind=read_text_field(told, "kind") or former.kind,
            status=read_text_field(told, "status") or former.status,
            tool=_find_tool(told) or former.tool,
            arguments={**former.arguments, **arguments},
            diffs=_read_diffs(content) or former.diffs,
            paths=tuple(filter(None, (read_text_field(each, "path") for each in locations))) or former.paths,
            output=_read_output(content) or former.output,
        )
        if call_id in self._calls or len(self._calls) < _MOST_CALLS:
            self._calls[call_id] = call
        return call

    def _require_channel(self) -> AgentChannel:
        assert self._channel is not None, "the agent is not open"
        return self._channel

    def _fail(self, what: str) -> ProviderError:
        return ProviderError(f"the agent {self._launch.name}: {what}", kind=ProviderErrorKind.CONFIGURATION)


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
    text = _read_output(content)
    try:
        shown = parse_foreign_json(text) if text.startswith("{") else None
    except ValueError:  # not all of them
        return {}
    return shown if isinstance(shown, dict) else {}


def _read_diffs(content: Sequence[JsonObject]) -> tuple[ReportedDiff, ...]:
    found = []
    for each in content:
        path, after, before = each.get("path"), each.get("newText"), each.get("oldText")
        if each.get("type") == "diff" and isinstance(path, str) and isinstance(after, str):
            found.append(
                ReportedDiff(path=path, before=before if isinstance(before, str) else None, after=after)
            )
    return tuple(found)


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
