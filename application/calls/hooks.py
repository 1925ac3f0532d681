"""Hooks: code of the person's own around requests, calls, results and the end of a turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from domain.calls.execution import Outcome, ToolExecutionContext
from domain.calls.hook import Continue, Finish, HookAnswer, HookPoint, OnHookError, TurnEndAnswer
from domain.calls.tool import RiskLevel
from domain.conversation.history import Message
from domain.text.json_value import JsonValue


@dataclass(slots=True)
class RequestDraft:
    """A request about to be sent. What a hook does to `messages` shapes this one request only."""

    messages: list[Message]


@dataclass(slots=True, kw_only=True)
class CallDraft:
    """A call about to be decided on. Changed `arguments` are validated again and are what runs."""

    context: ToolExecutionContext
    tool: str
    risk: RiskLevel
    arguments: dict[str, JsonValue]
    paths: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class ResultDraft:
    """A result about to go back, whole. Changed `output` is what the model sees and what is kept."""

    context: ToolExecutionContext
    tool: str
    risk: RiskLevel
    outcome: Outcome
    output: str
    paths: tuple[str, ...] = ()


class Hook:
    """The four points, each with a default that changes nothing: override those you need.

    Methods may be coroutines or plain functions; a plain one runs in a thread. They hold no locks for tools
    and may be called for several sessions at once.
    """

    async def on_message_send(self, request: RequestDraft) -> HookAnswer:
        """Before each request to the model."""
        return Continue()

    async def before_tool_call(self, call: CallDraft) -> HookAnswer:
        """Before a call is decided on: for all calls of a batch, in their order, before any of them runs."""
        return Continue()

    async def after_tool_call(self, result: ResultDraft) -> HookAnswer:
        """After all calls of a batch have ended, for each result in the order of the calls."""
        return Continue()

    async def on_turn_end(self, messages: Sequence[Message]) -> TurnEndAnswer:
        """When the model answered without calls and the turn is about to end."""
        return Finish()


@dataclass(frozen=True, slots=True, kw_only=True)
class HookMatcher:
    """Which calls a hook is asked about. Empty means all; `tools` and `paths` are glob patterns."""

    tools: tuple[str, ...] = ()
    risk: RiskLevel | None = None
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRegistration:
    """A hook in its place: lower `priority` runs first, then the order of registration.

    It is asked at its `points` only.
    `on_error` of None means what the point means by itself: before a request or a call a failing hook
    closes, after a call and at the turn's end it leaves things as they are and warns.
    """

    name: str
    hook: Hook
    priority: int = 0
    timeout_secs: float = 30.0
    on_error: OnHookError | None = None
    matcher: HookMatcher = HookMatcher()
    points: frozenset[HookPoint] = frozenset(HookPoint)
