"""The reasoning effort reaches each provider in its own terms, and a model that refuses it is asked without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from quorum.application.conversation_session import ConversationSession
from quorum.domain.conversation.effort import Effort
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import StreamEvent, StreamRetry
from quorum.domain.errors import ProviderError
from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.shared.error_bodies import RefusedEfforts, list_efforts
from quorum.infrastructure.models.shared.exchange import ApiExchange
from quorum.infrastructure.provider_types import PROVIDER_TYPES
from tests.support.copilot_rig import copilot_rig
from tests.support.session_rigs import ServerRig, server_rig
from tests.support.sse_server import Dialect, Refuse, Say

TOOL: JsonObject = {"name": "vote", "description": "Votes.", "input_schema": {"type": "object"}}
SENT: dict[Dialect, dict[Effort, dict[str, Any]]] = {
    "anthropic": {
        Effort.DEFAULT: {},
        Effort.NONE: {"thinking": {"type": "disabled"}},
        Effort.HIGH: {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}},
    },
    "openai": {
        Effort.DEFAULT: {},
        Effort.NONE: {"reasoning": {"effort": "none"}},
        Effort.HIGH: {"reasoning": {"effort": "high"}},
    },
    "openai-chat": {
        Effort.DEFAULT: {},
        Effort.NONE: {"reasoning_effort": "none"},
        Effort.HIGH: {"reasoning_effort": "high"},
    },
}
FIELDS = ("thinking", "output_config", "reasoning", "reasoning_effort")
REFUSALS: dict[Dialect, str] = {
    "anthropic": "output_config.effort: this model does not support the effort parameter",
    "openai": "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
    "openai-chat": "Unrecognized request argument supplied: reasoning_effort",
}


def with_effort(rig: ServerRig, effort: Effort, refused: RefusedEfforts | None = None) -> ConversationSession:
    return ConversationSession(
        ApiExchange(rig.client, model="a-model", refused=refused, backoff=lambda _attempt: 0.0),
        Conversation(),
        effort=effort,
    )


def asked(body: dict[str, Any]) -> dict[str, Any]:
    return {name: body[name] for name in FIELDS if name in body}


@pytest.mark.parametrize("effort", [Effort.DEFAULT, Effort.NONE, Effort.HIGH])
@pytest.mark.parametrize("dialect", SENT)
async def test_each_api_is_asked_for_the_effort_in_its_own_terms(dialect: Dialect, effort: Effort) -> None:
    async with server_rig(dialect) as rig:
        rig.script(Say(pieces=("ok",)))
        await with_effort(rig, effort).send("hi")

        assert asked(rig.last_body) == SENT[dialect][effort]


@pytest.mark.parametrize("dialect", REFUSALS)
async def test_a_model_that_refuses_the_effort_is_asked_without_and_the_person_is_told(
    dialect: Dialect,
) -> None:
    refused, events = RefusedEfforts(), list[StreamEvent]()
    async with server_rig(dialect) as rig:
        rig.script(Refuse(status=400, message=REFUSALS[dialect]), Say(pieces=("ok",)), Say(pieces=("ok",)))
        session = with_effort(rig, Effort.HIGH, refused)
        answer = await session.send_streaming("hi", events.append)
        await with_effort(rig, Effort.HIGH, refused).send("again")

        assert answer.text_content() == "ok"
        assert [asked(body) for body in rig.server.bodies] == [SENT[dialect][Effort.HIGH], {}, {}]
        (told,) = [event for event in events if isinstance(event, StreamRetry)]
        assert told.reason.startswith("a-model is asked without the effort high: ")
        assert REFUSALS[dialect] in told.reason


@pytest.mark.parametrize("dialect", REFUSALS)
async def test_a_request_refused_for_another_reason_is_not_repeated_without_its_effort(
    dialect: Dialect,
) -> None:
    async with server_rig(dialect) as rig:
        rig.script(Refuse(status=400, message="the messages are not well formed"), Say(pieces=("ok",)))
        with pytest.raises(ProviderError, match="not well formed"):
            await with_effort(rig, Effort.HIGH).send("hi")

        assert rig.requests() == 1


async def test_messages_that_force_a_tool_ask_for_the_effort_without_thinking() -> None:
    async with server_rig("anthropic") as rig:
        rig.script(Say(pieces=("ok",)))
        session = with_effort(rig, Effort.LOW)
        await session.send_with_tools(
            "vote", (TOOL,), tool_choice=("tool", "vote"), on_event=lambda _event: None
        )

        assert asked(rig.last_body) == {"output_config": {"effort": "low"}}


async def test_the_copilot_cli_opens_its_session_with_the_effort(tmp_path: Path) -> None:
    async with copilot_rig(tmp_path) as rig:
        rig.script(Say(pieces=("ok",)), Say(pieces=("ok",)))
        for effort in (Effort.HIGH, Effort.DEFAULT):
            session = ConversationSession(rig.backend.open_exchange("a-model"), Conversation(), effort=effort)
            await session.send("hi")

        opened = [call.get("reasoningEffort") for call in rig.calls_of("session.create")]
        assert opened == ["high", None]


@pytest.mark.parametrize("type", PROVIDER_TYPES)
def test_every_api_takes_an_effort_where_it_has_a_field_for_it(type: Any) -> None:
    efforts = list_efforts(type)

    assert list(efforts) == [each for each in Effort if each in efforts], "the least comes first"
    assert (Effort.HIGH in efforts) == (Effort.DEFAULT in efforts) == (type not in ("acp", "offline"))
