"""The offline provider as an API client: reads the last message, answers with streamed text and calls."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from typing import assert_never

from quorum.application.ports.models import OnStreamEvent
from quorum.domain.conversation.history import AssistantMessage, Message, ToolResults, UserMessage
from quorum.domain.conversation.response import (
    END_TURN,
    TOOL_USE,
    Delta,
    LlmResponse,
    StreamedToolCall,
    TextBlock,
    ToolUseBlock,
)
from quorum.infrastructure.models.offline import phrases, wording
from quorum.infrastructure.models.offline.requests import (
    MAX_REQUESTS,
    HelpWanted,
    Misread,
    NothingAsked,
    NotUnderstood,
    Reading,
    Request,
    Scanner,
    Understood,
    Verb,
    begins_request,
    match_verb,
)
from quorum.infrastructure.models.shared.api_client import ApiRequest


def read_prompt(prompt: str) -> Reading:
    """What a prompt asks for. Total: any text has a reading, and a part not understood spoils the whole."""
    scanner = Scanner(prompt)
    requests: list[Request] = []
    scanner.skip_joints()
    while not scanner.at_end:
        here = scanner.pos
        if not requests and _asks_for_help(scanner):
            return HelpWanted()
        try:
            requests += _parse_next_requests(scanner)
        except Misread as misread:
            return NotUnderstood(_cut_clause(scanner, here), str(misread))
        if len(requests) > MAX_REQUESTS:
            hint = f"That is more than {MAX_REQUESTS} calls at once; ask in portions."
            return NotUnderstood(_cut_clause(scanner, here), hint)
        scanner.skip_joints()
    return Understood(tuple(requests)) if requests else NothingAsked()


def _cut_clause(scanner: Scanner, start: int) -> str:
    """The request that begins at `start`, as it was written."""
    verb = match_verb(scanner.text, start)
    scanner.pos = verb[2] if verb else start
    return scanner.text[start : scanner.find_clause_end()].strip()


def _asks_for_help(scanner: Scanner) -> bool:
    found = match_verb(scanner.text, scanner.pos)
    return found is not None and found[0] is Verb.HELP


def _parse_next_requests(scanner: Scanner) -> list[Request]:
    found = match_verb(scanner.text, scanner.pos)
    if found is None:
        if (spoken := phrases.parse_requests(scanner)) is not None:
            return spoken
        raise Misread(_explain_unknown(scanner))
    verb, phrase, scanner.pos = found
    match verb:
        case Verb.READ:
            return phrases.read(scanner)
        case Verb.LIST:
            return phrases.list_folders(scanner)
        case Verb.FIND | Verb.GREP | Verb.GLOB:
            return phrases.find(scanner, verb)
        case Verb.REPLACE:
            return phrases.replace(scanner, phrase)
        case Verb.WRITE:
            return phrases.write(scanner)
        case Verb.RUN:
            return phrases.run(scanner)
        case Verb.PLAN:
            return phrases.plan(scanner)
        case Verb.HELP:
            raise Misread("Ask for help on its own.")
        case _:
            assert_never(verb)


def _explain_unknown(scanner: Scanner) -> str:
    if begins_request(scanner.text, scanner.pos):
        return "That takes a model; if it belongs to a command or a text, put that in backticks or quotes."
    return (
        "A question, or a task in your own words, takes a model. Without one, no request begins like that; a "
        "name with spaces, or without a dot or slash, needs quotes."
    )


_MODEL = "offline/offline"
_PIECE = re.compile(r"\s*\S+\s*|\s+")
_ID = re.compile(r"offline_(\d{1,9})_\d+")
_ARGUMENT_CHARS = 4_096


class OfflineApiClient:
    """Interprets plain requests. Never calls a tool that is not offered, and never a part of a prompt only."""

    def __init__(self) -> None:
        self._answers = 0

    @property
    def provider(self) -> str:
        """Its name in the settings."""
        return "offline"

    async def exchange(self, request: ApiRequest, on_event: OnStreamEvent) -> LlmResponse:
        """Answer a prompt with calls or an explanation, results with a summary. Never fails."""
        text, requests = _answer(request)
        if _is_first(request.messages):
            text = f"{wording.LABEL}\n\n{text}"
        await _stream_text(text, on_event)
        blocks = self._build_blocks(requests, request.messages)
        for index, block in enumerate(blocks):
            await _stream_call(index, block, on_event)
        return LlmResponse(
            content=(TextBlock(text), *blocks),
            stop_reason=TOOL_USE if blocks else END_TURN,
            model=_MODEL,
        )

    async def list_models(self) -> tuple[str, ...]:
        """Its one name."""
        return (_MODEL.partition("/")[2],)

    async def aclose(self) -> None:
        """There is no connection to close."""

    def _build_blocks(
        self, requests: Sequence[Request], messages: Sequence[Message]
    ) -> tuple[ToolUseBlock, ...]:
        if not requests:
            return ()
        # A resumed conversation holds ids of an earlier process; a shortened one may lack ids of this process.
        self._answers = 1 + max(self._answers, _find_highest_answer(messages))
        return tuple(
            ToolUseBlock(id=f"offline_{self._answers}_{index}", name=request.tool, input=request.arguments)
            for index, request in enumerate(requests)
        )


def _answer(request: ApiRequest) -> tuple[str, tuple[Request, ...]]:
    messages = [m for m in request.messages if not (isinstance(m, UserMessage) and m.of_call)]
    match messages[-1:]:
        case [ToolResults(results)]:
            before = messages[-2:-1]
            calls = (
                before[0].response.tool_calls() if before and isinstance(before[0], AssistantMessage) else ()
            )
            return wording.summarise_results(calls, results), ()
        case [UserMessage(prompt, attachments=attachments)]:
            for each in attachments:
                prompt = prompt.replace(each.label, " ")
            text, requests = _answer_prompt(prompt, request)
            return (f"{wording.explain_cannot_see(attachments)}\n\n{text}" if attachments else text), requests
        case _:
            return wording.explain_nothing_open(), ()


def _answer_prompt(prompt: str, request: ApiRequest) -> tuple[str, tuple[Request, ...]]:
    match read_prompt(prompt):
        case NothingAsked():
            return wording.explain_no_request(), ()
        case HelpWanted():
            return wording.EXAMPLES, ()
        case NotUnderstood() as reading:
            return wording.explain_not_understood(reading), ()
        case Understood(requests):
            callable_tools = _list_callable(request)
            if not callable_tools:
                return wording.explain_no_tools(requests), ()
            if missing := [one.tool for one in requests if one.tool not in callable_tools]:
                return wording.explain_missing_tools(missing), ()
            return wording.announce_calls(requests), requests


def _list_callable(request: ApiRequest) -> frozenset[str]:
    offered = frozenset(str(tool.get("name")) for tool in request.tools)
    match request.tool_choice:
        case "auto":
            return offered
        case "none":
            return frozenset()
        case ("tool", name):
            return offered & {name}


def _is_first(messages: Sequence[Message]) -> bool:
    return not any(
        isinstance(message, AssistantMessage) and message.response.text_content().startswith(wording.LABEL)
        for message in messages
    )


def _find_highest_answer(messages: Sequence[Message]) -> int:
    found = (
        _ID.fullmatch(block.id)
        for message in messages
        if isinstance(message, AssistantMessage)
        for block in message.response.content
        if isinstance(block, ToolUseBlock)
    )
    return max((int(one[1]) for one in found if one), default=0)


async def _stream_text(text: str, on_event: OnStreamEvent) -> None:
    for piece in _PIECE.findall(text):
        on_event(Delta(piece))
        await asyncio.sleep(0)


async def _stream_call(index: int, block: ToolUseBlock, on_event: OnStreamEvent) -> None:
    on_event(StreamedToolCall(index=index, id=block.id, name=block.name))
    arguments = json.dumps(block.input, ensure_ascii=False)
    for start in range(0, len(arguments), _ARGUMENT_CHARS):
        on_event(StreamedToolCall(index=index, arguments_delta=arguments[start : start + _ARGUMENT_CHARS]))
        await asyncio.sleep(0)
