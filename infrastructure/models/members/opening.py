"""Members as API clients, made by the type of their provider, and agents that speak ACP among them.

Each question goes to a process of its own, and the next one is made ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from quorum.application.cancellation import run_shielded
from quorum.application.ports.models import OnStreamEvent
from quorum.domain.conversation.response import (
    END_TURN,
    TOOL_USE,
    ContentBlock,
    Delta,
    LlmResponse,
    StopKind,
    TextBlock,
    Usage,
)
from quorum.domain.errors import ProviderError
from quorum.domain.text.json_text import make_encoder
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.members.claude_cli import ClaudeCli
from quorum.infrastructure.models.members.codex import CodexExec
from quorum.infrastructure.models.members.dialect import (
    OWN_MODEL,
    STOPS,
    MemberAnswer,
    MemberDialect,
    MemberTask,
)
from quorum.infrastructure.models.members.failures import MemberFailures
from quorum.infrastructure.models.members.launch import MemberLaunch
from quorum.infrastructure.models.members.process import MemberProcess
from quorum.infrastructure.models.shared.api_client import ApiRequest, ProviderSettings
from quorum.infrastructure.models.shared.call_arguments import CallIds, build_call_block
from quorum.infrastructure.models.shared.form_by_schema import find_forced_tool
from quorum.infrastructure.models.shared.json_fields import (
    parse_foreign_json,
    read_count_field,
    read_object_field,
    read_objects_field,
    read_text_field,
)
from quorum.infrastructure.models.shared.rendered_history import render_opening_prompt

_MOST_READY = 3
_ONLY_ANSWERS = (
    "You have no tools here, and no files: answer from what you are given. Where you are told to call a tool, "
    "give its arguments as your answer."
)


class MemberApiClient:
    """Implements `ApiClient`. No process is asked twice: no answer can depend on an earlier question.

    A few processes wait for the next question of the same kind, which then costs no start.
    """

    def __init__(self, launch: MemberLaunch, make_dialect: Callable[[MemberFailures], MemberDialect]) -> None:
        self._launch = launch
        self._failures = MemberFailures(launch)
        self._dialect = make_dialect(self._failures)
        self._ready: list[tuple[MemberTask, asyncio.Task[MemberProcess]]] = []
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def provider(self) -> str:
        """The provider's name in the settings."""
        return self._launch.provider

    async def exchange(self, request: ApiRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Have a process answer the last of the messages, and end it. Raises ProviderError."""
        tool = find_forced_tool(request)
        if tool is None and request.tools and request.tool_choice == "auto":
            raise self._failures.explain_tools_offered()
        task = _make_task(request, tool)
        process = await self._take_process(task)
        try:
            process.note_progress()
            answer = await self._dialect.ask(
                process, task, render_opening_prompt(request.messages), _tell_text(tool, on_event)
            )
        finally:
            self._close(process)
        await self._make_next_ready(task)
        return _build_response(answer, tool, await process.describe_program())

    async def list_models(self) -> tuple[str, ...]:
        """The one that the program chooses: these programs list no others."""
        return (OWN_MODEL,)

    async def aclose(self) -> None:
        """End the processes that wait, and see those gone that have answered."""
        waiting, self._ready = self._ready, []
        await asyncio.gather(*(_end(starting) for _, starting in waiting))
        await asyncio.gather(*self._closing)

    def _close(self, process: MemberProcess) -> None:
        """End a process at once. Nobody waits for that with an answer, nor for its folder to be removed."""
        closing = asyncio.create_task(process.aclose())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _take_process(self, task: MemberTask) -> MemberProcess:
        """One that waits for this task, or else a new one. Raises ProviderError."""
        for entry in [each for each in self._ready if each[0] == task]:
            self._ready.remove(entry)
            with suppress(ProviderError):  # what failed ahead of time is tried again now
                process = await _await_start(entry[1])
                if not process.has_ended:
                    return process
                await run_shielded(process.aclose())
        return await self._start(task)

    async def _start(self, task: MemberTask) -> MemberProcess:
        process = await MemberProcess.start(
            self._launch,
            self._failures,
            lambda folder: self._dialect.list_words(self._launch.words, task, folder),
            self._dialect.find_call,
        )
        try:
            await self._dialect.make_ready(process, task)
        except BaseException:
            await run_shielded(process.aclose())
            raise
        return process

    async def _make_next_ready(self, task: MemberTask) -> None:
        self._ready.append((task, asyncio.create_task(self._start(task))))
        while len(self._ready) > _MOST_READY:
            await run_shielded(_end(self._ready.pop(0)[1]))


async def _await_start(starting: asyncio.Task[MemberProcess]) -> MemberProcess:
    """The process once it is ready. Whoever gives up waiting for it ends it."""
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await run_shielded(_end(starting))
        raise


async def _end(starting: asyncio.Task[MemberProcess]) -> None:
    starting.cancel()
    with suppress(ProviderError, asyncio.CancelledError):
        await (await starting).aclose()


def _make_task(request: ApiRequest, tool: JsonObject | None) -> MemberTask:
    schema = tool.get("input_schema") if tool is not None else None
    return MemberTask(
        model=request.model,
        system=f"{request.system}\n\n{_ONLY_ANSWERS}".lstrip(),
        schema=schema if isinstance(schema, dict) else None,
        effort=request.effort,
    )


def _tell_text(tool: JsonObject | None, on_event: OnStreamEvent) -> Callable[[str], None]:
    """Tells text as it arrives; the fields of a form are told by nobody."""

    def tell(text: str) -> None:
        if tool is None and text:
            on_event(Delta(text))

    return tell


def _build_response(answer: MemberAnswer, tool: JsonObject | None, program: str) -> LlmResponse:
    stop, content = answer.stop, tuple[ContentBlock, ...]()
    if tool is not None:
        content = (build_call_block(CallIds().claim(""), str(tool["name"]), answer.text.strip()),)
        stop = stop if stop.kind in (StopKind.MAX_TOKENS, StopKind.REFUSAL) else TOOL_USE
    elif answer.text:
        content = (TextBlock(answer.text),)
    return LlmResponse(
        content=content, stop_reason=stop, model=answer.model, usage=answer.usage, program=program
    )


_JSON = make_encoder()
_VERSION = 1
_FORM = "Answer with one JSON object of this schema, and with nothing else:\n{schema}"
_DOES = frozenset({"tool_call", "tool_call_update"})


class AcpAgent:
    """Implements `MemberDialect`. The agent is offered neither files nor a terminal of a client."""

    def __init__(self, failures: MemberFailures) -> None:
        self._failures = failures

    def list_words(self, words: Sequence[str], task: MemberTask, folder: Path) -> Sequence[str]:
        """The command as it stands in the settings: agents have no options in common."""
        return words

    def find_call(self, line: str) -> str:
        """Its messages tell of each call."""
        return ""

    async def make_ready(self, process: MemberProcess, task: MemberTask) -> None:
        """Open a session, with the model of the task. Raises ProviderError."""
        known = await self._request(
            process,
            "initialize",
            {
                "protocolVersion": _VERSION,
                "clientCapabilities": {
                    "fs": {"readTextFile": False, "writeTextFile": False},
                    "terminal": False,
                },
                "clientInfo": {"name": "quorum", "version": "1"},
            },
        )
        if known.get("protocolVersion") != _VERSION:
            raise self._failures.explain_damage("it does not speak version 1 of the protocol")
        agent = read_object_field(known, "agentInfo")
        name = read_text_field(agent, "title") or read_text_field(agent, "name")
        process.note_version(read_text_field(agent, "version"), name)
        opened = await self._request(process, "session/new", {"cwd": str(process.folder), "mcpServers": []})
        session = read_text_field(opened, "sessionId")
        if not session:
            raise self._failures.explain_damage("it opened a session without an id")
        if task.model != OWN_MODEL:
            await self._choose_model(process, session, opened, task.model)
        process.session = session

    async def ask(
        self, process: MemberProcess, task: MemberTask, prompt: str, on_text: Callable[[str], None]
    ) -> MemberAnswer:
        """Ask, and tell the text that arrives. Raises ProviderError."""
        messages: dict[str, str] = {}

        def take(message_id: str, piece: str) -> None:
            messages[message_id] = messages.get(message_id, "") + piece
            on_text(piece)

        form = () if task.schema is None else (_FORM.format(schema=_JSON.encode(task.schema)),)
        text = "\n\n".join((task.system, prompt, *form))
        asked: JsonObject = {
            "sessionId": process.session,
            "prompt": [{"type": "text", "text": text}],
        }
        ended = await self._request(process, "session/prompt", asked, take)
        stop = read_text_field(ended, "stopReason")
        if stop == "cancelled":
            raise self._failures.explain_reported("it cancelled its own turn")
        used = read_object_field(ended, "usage")
        return MemberAnswer(
            text="".join(messages.values()) if task.schema is None else _find_object(messages.values()),
            usage=Usage(
                input=read_count_field(used, "inputTokens") or 0,
                output=read_count_field(used, "outputTokens") or 0,
                cache_read=read_count_field(used, "cachedReadTokens") or 0,
                cache_write=read_count_field(used, "cachedWriteTokens") or 0,
                reasoning=read_count_field(used, "thoughtTokens") or 0,
            ),
            stop=STOPS.get(stop, END_TURN),
        )

    async def _choose_model(self, process: MemberProcess, session: str, opened: JsonObject, model: str) -> None:
        """Agents offer their models as an option of the session, or as the older list of models."""
        known: list[str] = []
        for option in read_objects_field(opened, "configOptions"):
            if read_text_field(option, "category") == "model":
                values = [read_text_field(each, "value") for each in read_objects_field(option, "options")]
                known += values
                if model in values:
                    chosen = {"configId": read_text_field(option, "id"), "value": model}
                    await self._request(process, "session/set_config_option", {"sessionId": session, **chosen})
                    return
        listed = read_objects_field(read_object_field(opened, "models"), "availableModels")
        older = [read_text_field(each, "modelId") for each in listed]
        if model not in older:
            raise self._failures.explain_unknown_model(model, known or older)
        await self._request(process, "session/set_model", {"sessionId": session, "modelId": model})

    async def _request(
        self,
        process: MemberProcess,
        method: str,
        params: JsonObject,
        on_text: Callable[[str, str], None] = lambda _message_id, _piece: None,
    ) -> JsonObject:
        """The result of a request, whose name is its id: each is sent once. Raises ProviderError."""
        await process.write_message({"jsonrpc": "2.0", "id": method, "method": method, "params": params})
        while True:
            message = await process.read_message()
            asked = read_text_field(message, "method")
            if asked and "id" in message:
                raise self._failures.explain_call(_name_asked(asked, message))
            if asked == "session/update":
                self._read_update(
                    process, read_object_field(read_object_field(message, "params"), "update"), on_text
                )
            elif not asked and message.get("id") == method:
                process.note_progress()
                if "error" in message:
                    raise self._failures.explain_reported(_render_error(read_object_field(message, "error")))
                return read_object_field(message, "result")

    def _read_update(
        self, process: MemberProcess, update: JsonObject, on_text: Callable[[str, str], None]
    ) -> None:
        kind = read_text_field(update, "sessionUpdate")
        if kind in _DOES:
            raise self._failures.explain_call(read_text_field(update, "title") or "a tool")
        if kind == "agent_message_chunk":
            process.note_progress()
            said = read_text_field(read_object_field(update, "content"), "text")
            on_text(read_text_field(update, "messageId"), said)
        elif kind == "agent_thought_chunk":
            process.note_progress()


def _find_object(messages: Collection[str]) -> str:
    """The one message that is a JSON object: agents say more beside it, of their own. Otherwise all of them,
    so that whoever reads the answer says what is wrong with it."""
    objects = [message for message in messages if _is_object(message)]
    return objects[0] if len(objects) == 1 else "".join(messages)


def _is_object(text: str) -> bool:
    try:
        return isinstance(parse_foreign_json(text), dict)
    except ValueError:
        return False


def _name_asked(method: str, message: JsonObject) -> str:
    call = read_object_field(read_object_field(message, "params"), "toolCall")
    return read_text_field(call, "title") or method


def _render_error(error: JsonObject) -> str:
    details = read_object_field(error, "data")
    said = (
        read_text_field(error, "message"),
        read_text_field(details, "details"),
        read_text_field(details, "message"),
    )
    return ": ".join(dict.fromkeys(filter(None, said)))


_DIALECTS: Mapping[str, Callable[[MemberFailures], MemberDialect]] = {
    "claude-cli": ClaudeCli,
    "codex": CodexExec,
    "acp": AcpAgent,
}


def open_member(provider: str, settings: ProviderSettings, environ: Mapping[str, str]) -> MemberApiClient:
    """The client of the program that the settings name. Raises ProviderError(CONFIGURATION)."""
    return MemberApiClient(MemberLaunch.of(provider, settings, environ), _DIALECTS[settings.type])
