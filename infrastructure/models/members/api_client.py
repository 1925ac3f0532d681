"""A member as an API client: each question goes to a process of its own, and the next one is made ready."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from quorum.application.cancellation import run_shielded
from quorum.application.ports.models import OnStreamEvent
from quorum.domain.conversation.response import (
    TOOL_USE,
    LlmResponse,
    StopKind,
    TextBlock,
)
from quorum.domain.conversation.stream import Delta
from quorum.domain.errors import ProviderError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.members.dialect import OWN_MODEL, MemberAnswer, MemberDialect, MemberTask
from quorum.infrastructure.models.members.failures import MemberFailures
from quorum.infrastructure.models.members.launch import MemberLaunch
from quorum.infrastructure.models.members.process import MemberProcess
from quorum.infrastructure.models.shared.api_client import ApiRequest
from quorum.infrastructure.models.shared.call_arguments import build_call_block
from quorum.infrastructure.models.shared.call_ids import CallIds
from quorum.infrastructure.models.shared.form_by_schema import find_forced_tool
from quorum.infrastructure.models.shared.opening_prompt import render_opening_prompt

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
            await run_shielded(process.aclose())
        await self._make_next_ready(task)
        return _build_response(answer, tool)

    async def list_models(self) -> tuple[str, ...]:
        """The one that the program chooses: these programs list no others."""
        return (OWN_MODEL,)

    async def aclose(self) -> None:
        """End the processes that wait."""
        waiting, self._ready = self._ready, []
        await asyncio.gather(*(_end(starting) for _, starting in waiting))

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


def _build_response(answer: MemberAnswer, tool: JsonObject | None) -> LlmResponse:
    is_cut = answer.stop.kind in (StopKind.MAX_TOKENS, StopKind.REFUSAL)
    if tool is None:
        content = (TextBlock(answer.text),) if answer.text else ()
        return LlmResponse(content=content, stop_reason=answer.stop, model=answer.model, usage=answer.usage)
    call = build_call_block(CallIds().claim(""), str(tool["name"]), answer.text.strip())
    return LlmResponse(
        content=(call,),
        stop_reason=answer.stop if is_cut else TOOL_USE,
        model=answer.model,
        usage=answer.usage,
    )
