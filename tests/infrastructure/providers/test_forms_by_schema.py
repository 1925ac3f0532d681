"""Answers in fields from servers that do not make a model call a tool."""

from __future__ import annotations

import json
from typing import Any

import pytest

from quorum.application.review.ballot_paper import make_ballot_form
from quorum.application.structured_answer import Unreadable, ask_in_form
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import LlmResponse
from quorum.domain.review.ballot import Ballot, Vote
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from tests.support.sse_server import Raw, Refuse, Reply, SseServer

GIVEN = {"verdict": "approve", "in_scope": "yes", "confidence": "0.9", "reason": "it reads"}
FORM = make_ballot_form("local/m")


def _say(text: str, finish: str = "stop") -> Raw:
    chunks = [
        {"choices": [{"index": 0, "delta": {"content": text}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2}},
    ]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    return Raw(body=f"{body}data: [DONE]\n\n".encode())


class Rig:
    """A server that answers as `respond` says, and ballots asked of it."""

    def __init__(self, server: SseServer) -> None:
        self.server = server
        settings = ProviderSettings(type="openai-chat", base_url=server.base_url, api_key_env="", max_retries=0)
        self.registry = ProviderRegistry({"local": settings}, environ={})
        self.responses: list[LlmResponse] = []

    async def ask(self) -> Ballot:
        async def count(response: LlmResponse) -> None:
            self.responses.append(response)

        conversation = Conversation()
        session = self.registry.open_session("local/m", conversation, "You vote.")
        return await ask_in_form(session, conversation, "May it run?", FORM, count=count)


def _ignores_tools(body: dict[str, Any]) -> Reply:
    """As llama-server answers: a forced call is ignored, a schema is kept."""
    return _say(json.dumps(GIVEN) if "response_format" in body else "I would approve it.")


async def test_a_ballot_is_asked_for_by_schema_where_forcing_a_call_is_ignored() -> None:
    async with SseServer("openai-chat") as server:
        server.respond = _ignores_tools
        rig = Rig(server)
        first, second = await rig.ask(), await rig.ask()
        await rig.registry.aclose()

    assert (first.vote, first.confidence) == (second.vote, second.confidence) == (Vote.APPROVE, 0.9)
    assert ["response_format" in body for body in server.bodies] == [False, True, True]
    asked = server.bodies[1]
    assert "tools" not in asked
    assert asked["response_format"]["json_schema"]["name"] == "cast_ballot"
    assert '"in_scope"' in asked["messages"][0]["content"]
    assert rig.responses[0].usage.input == 20


async def test_a_server_that_refuses_a_schema_is_asked_once_for_one() -> None:
    def respond(body: dict[str, Any]) -> Reply:
        if "response_format" in body:
            return Refuse(status=400, message="response_format is not supported")
        return _say("I would approve it.")

    async with SseServer("openai-chat") as server:
        server.respond = respond
        rig = Rig(server)
        with pytest.raises(Unreadable):
            await rig.ask()
        await rig.registry.aclose()

    assert ["response_format" in body for body in server.bodies] == [False, True, False]


async def test_prose_is_no_ballot_also_where_a_schema_was_asked_for() -> None:
    async with SseServer("openai-chat") as server:
        server.respond = lambda _body: _say('Approved: {"verdict": "approve"}')
        rig = Rig(server)
        with pytest.raises(Unreadable):
            await rig.ask()
        await rig.registry.aclose()


async def test_an_answer_that_is_cut_off_gets_a_larger_limit() -> None:
    def respond(body: dict[str, Any]) -> Reply:
        if "response_format" not in body:
            return _say("I would")
        return _say(json.dumps(GIVEN)) if body.get("max_tokens") else _say('{"verdict": "appr', "length")

    async with SseServer("openai-chat") as server:
        server.respond = respond
        rig = Rig(server)
        ballot = await rig.ask()
        await rig.registry.aclose()

    assert ballot.vote is Vote.APPROVE
    assert server.bodies[-1]["max_tokens"] >= 4_096
