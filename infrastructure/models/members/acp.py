"""An agent that speaks the Agent Client Protocol, version 1: JSON-RPC in lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from quorum.domain.conversation.response import END_TURN, Usage
from quorum.domain.text.json_text import make_encoder
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.members.dialect import OWN_MODEL, STOPS, MemberAnswer, MemberTask
from quorum.infrastructure.models.members.failures import MemberFailures
from quorum.infrastructure.models.members.process import MemberProcess
from quorum.infrastructure.models.shared.json_fields import (
    read_count_field,
    read_object_field,
    read_objects_field,
    read_text_field,
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
        pieces: list[str] = []

        def take(piece: str) -> None:
            pieces.append(piece)
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
            text="".join(pieces),
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
        on_text: Callable[[str], None] = lambda _piece: None,
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

    def _read_update(self, process: MemberProcess, update: JsonObject, on_text: Callable[[str], None]) -> None:
        kind = read_text_field(update, "sessionUpdate")
        if kind in _DOES:
            raise self._failures.explain_call(read_text_field(update, "title") or "a tool")
        if kind == "agent_message_chunk":
            process.note_progress()
            on_text(read_text_field(read_object_field(update, "content"), "text"))
        elif kind == "agent_thought_chunk":
            process.note_progress()


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
