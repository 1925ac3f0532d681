"""Recorded answers of real providers, played back byte for byte through the adapters."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest

from quorum.application.conversation_session import ConversationSession
from quorum.domain.conversation.history import Conversation, UserMessage
from quorum.domain.conversation.response import (
    Delta,
    LlmResponse,
    OpaqueBlock,
    ReasoningBlock,
    StopKind,
    StreamedReasoning,
    StreamedToolCall,
    StreamEvent,
    StreamRetry,
    ToolUseBlock,
)
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.anthropic.client import AnthropicMessages
from quorum.infrastructure.models.clouds.endpoint import Endpoint
from quorum.infrastructure.models.openai_chat.client import OpenAiChat
from quorum.infrastructure.models.openai_responses.client import OpenAiResponses
from quorum.infrastructure.models.shared.api_client import ApiClient, ApiRequest, ProviderSettings
from quorum.infrastructure.models.shared.exchange import ApiExchange
from quorum.infrastructure.provider_types import ProviderType, find_public_service
from tests.support.recordings import FOLDER, needs_recordings, replay_module


def _conversations() -> list[Any]:
    paths = sorted((FOLDER / "dev").glob("*.jsonl"))
    loaded = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    return [pytest.param(one, id=one["name"]) for one in loaded]


pytestmark = [
    needs_recordings,
    # the replay server leaves the connections that a client cut to the garbage collector
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def replay() -> ModuleType:
    return replay_module()


_TYPES: dict[str, ProviderType] = {"messages": "anthropic", "responses": "openai", "chat": "openai-chat"}


def _open_client(api: str, base_url: str, timeout_secs: float = 120.0) -> ApiClient:
    environ = {"KEY": "test"}
    type_ = _TYPES[api]
    path = "" if api == "messages" else "/v1"
    settings = ProviderSettings(
        type=type_, base_url=base_url + path, api_key_env="KEY", timeout_secs=timeout_secs
    )
    if api == "messages":
        return AnthropicMessages(Endpoint.of("vendor", settings, environ, find_public_service("anthropic")))
    endpoint = Endpoint.of("vendor", settings, environ, find_public_service("openai"))
    return OpenAiResponses(endpoint) if api == "responses" else OpenAiChat(endpoint)


async def _exchange(client: ApiClient) -> tuple[LlmResponse | ProviderError, list[StreamEvent]]:
    request = ApiRequest(
        model="some-model", system="", messages=(UserMessage("go"),), tools=(), tool_choice="auto"
    )
    events: list[StreamEvent] = []
    try:
        return await client.exchange(request, events.append), events
    except ProviderError as error:
        return error, events


def _check_answer(response: LlmResponse, events: list[StreamEvent], expect: dict[str, Any], api: str) -> None:
    said = (expect["text"] or "") + (expect.get("refusal") or "")  # a refusal is shown like an answer
    assert response.text_content() == said
    assert "".join(e.text for e in events if isinstance(e, Delta)) == said
    reasoning = "".join(b.text for b in response.content if isinstance(b, ReasoningBlock))
    assert reasoning == (expect["reasoning"] or "")
    assert "".join(e.text for e in events if isinstance(e, StreamedReasoning)) == reasoning
    calls = [b for b in response.content if isinstance(b, ToolUseBlock)]
    assert [(c.id, c.name, c.input) for c in calls] == [
        (c["id"], c["name"], c["arguments"]) for c in expect["tool_calls"]
    ]
    _check_call_events(events, calls)
    if expect["domain_stop_hint"]:
        assert response.stop_reason.kind.value == expect["domain_stop_hint"]
    _check_usage(response, expect["usage"] or {}, api)


def _check_call_events(events: list[StreamEvent], calls: list[ToolUseBlock]) -> None:
    reported = [e for e in events if isinstance(e, StreamedToolCall)]
    for index, call in enumerate(calls):
        pieces = [e for e in reported if e.index == index]
        assert [(p.id, p.name) for p in pieces] == [(call.id, call.name)] + [(None, None)] * (len(pieces) - 1)
        assert json.loads("".join(p.arguments_delta for p in pieces) or "{}") == call.input


def _check_usage(response: LlmResponse, usage: dict[str, int], api: str) -> None:
    cached = usage.get("cache_read_tokens", 0)
    total = usage.get("input_tokens", 0)
    written = usage.get("cache_write_tokens", 0)
    assert response.usage.input == (total if api == "messages" else total - cached - written)
    assert response.usage.output == usage.get("output_tokens", 0)
    assert response.usage.cache_read == cached
    assert response.usage.cache_write == written
    assert api == "messages" or response.usage.reasoning == usage.get("reasoning_tokens", 0)


def _check_error(outcome: LlmResponse | ProviderError, turn: dict[str, Any]) -> None:
    assert isinstance(outcome, ProviderError)
    assert "\n" not in str(outcome)
    status = turn["expect"]["status"]
    if status >= 400:
        assert outcome.status == status
        assert f"({status})" in str(outcome)
    reported = turn["expect"].get("stream_error") or turn["expect"].get("error") or {}
    assert (reported.get("message") or "")[:100] in str(outcome)


@pytest.mark.long(after=7)
@pytest.mark.parametrize("conversation", _conversations())
@pytest.mark.parametrize("split", ["whole", "event", "line", "utf8", "random:1", "random:2"])
async def test_a_recorded_conversation_is_read_as_it_was_meant(
    conversation: dict[str, Any], split: str, replay: ModuleType
) -> None:
    with replay.ReplayServer(conversation, split=split) as server:
        client = _open_client(conversation["api"], server.base_url)
        for turn in conversation["turns"]:
            outcome, events = await _exchange(client)
            if turn["expect"]["kind"] != "message":
                _check_error(outcome, turn)
            else:
                assert isinstance(outcome, LlmResponse), outcome
                _check_answer(outcome, events, turn["expect"], conversation["api"])
        await client.aclose()
        assert server.errors == []


def _named(name: str) -> dict[str, Any]:
    text = (FOLDER / "dev" / f"{name}.jsonl").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


async def test_blocks_of_an_unknown_kind_are_kept_as_they_came(replay: ModuleType) -> None:
    conversation = _named("anthropic-messages-stream-unknown-block")
    with replay.ReplayServer(conversation) as server:
        client = _open_client("messages", server.base_url)
        outcome, _ = await _exchange(client)
        await client.aclose()
    assert isinstance(outcome, LlmResponse)
    block = outcome.content[0]
    assert isinstance(block, OpaqueBlock)
    assert block.payload == {
        "type": "compaction",
        "content": "Earlier conversation summarized.",
        "encrypted_content": "EpwBCioIDxgCEAEYASJALd_opaque_compaction_payload",
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("anthropic-messages-stream-pause-turn", StopKind.PAUSE),
        ("anthropic-messages-stream-refusal", StopKind.REFUSAL),
        ("snowflake-chat-stream-no-finish-reason", StopKind.END_TURN),
    ],
)
async def test_the_reason_to_stop_is_understood(name: str, kind: StopKind, replay: ModuleType) -> None:
    conversation = _named(name)
    with replay.ReplayServer(conversation) as server:
        client = _open_client(conversation["api"], server.base_url)
        outcome, _ = await _exchange(client)
        await client.aclose()
    assert isinstance(outcome, LlmResponse)
    assert outcome.stop_reason.kind is kind


CUT = [
    "anthropic-messages-stream-parallel-tools",
    "openai-responses-stream-reasoning-text-tool",
    "openai-chat-stream-parallel-tools-3turns",
]


@pytest.mark.long(after=12)
@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("kind", ["truncate", "eof", "reset", "sse_error", "bad_json"])
@pytest.mark.parametrize("fraction", [0.3, 0.6, 0.9])
async def test_a_stream_cut_anywhere_is_an_error_and_never_a_call(
    name: str, kind: str, fraction: float, replay: ModuleType
) -> None:
    conversation = _named(name)
    body = conversation["turns"][0]["response"]["body"]
    place = {"fraction": fraction, "after_events": int(body.count("\n\n") * fraction)}
    with replay.ReplayServer(conversation, split="event", faults=[{"kind": kind, **place}]) as server:
        client = _open_client(conversation["api"], server.base_url)
        outcome, _ = await _exchange(client)
        await client.aclose()
    assert isinstance(outcome, ProviderError)
    assert outcome.partial
    assert not outcome.retryable


@pytest.mark.long(after=4)
@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("kind", ["crlf", "comments", "bom"])
@pytest.mark.parametrize("split", ["byte", "random:1"])
async def test_the_form_of_the_stream_does_not_matter(
    name: str, kind: str, split: str, replay: ModuleType
) -> None:
    conversation = _named(name)
    with replay.ReplayServer(conversation, split=split, faults=[{"kind": kind}]) as server:
        client = _open_client(conversation["api"], server.base_url)
        outcome, events = await _exchange(client)
        await client.aclose()
    assert isinstance(outcome, LlmResponse)
    _check_answer(outcome, events, conversation["turns"][0]["expect"], conversation["api"])


@pytest.mark.parametrize("name", CUT)
async def test_a_connection_refused_before_the_answer_may_be_tried_again(name: str, replay: ModuleType) -> None:
    conversation = _named(name)
    with replay.ReplayServer(conversation, faults=[{"kind": "refuse"}]) as server:
        client = _open_client(conversation["api"], server.base_url)
        outcome, _ = await _exchange(client)
        await client.aclose()
    assert isinstance(outcome, ProviderError)
    assert outcome.kind is ProviderErrorKind.CONNECTION
    assert outcome.retryable


@pytest.mark.long(after=1)
@pytest.mark.parametrize("name", CUT)
async def test_the_smallest_pieces_do_not_matter(name: str, replay: ModuleType) -> None:
    conversation = _named(name)
    with replay.ReplayServer(conversation, split="byte") as server:
        client = _open_client(conversation["api"], server.base_url)
        outcome, events = await _exchange(client)
        await client.aclose()
    assert isinstance(outcome, LlmResponse)
    _check_answer(outcome, events, conversation["turns"][0]["expect"], conversation["api"])


@pytest.mark.long(after=9)
@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize(
    "fault",
    [
        *({"kind": status, "retry_after": "0.01"} for status in ("429", "529", "500", "502", "503")),
        {"kind": "429", "retry_after_ms": "5"},
        {"kind": "refuse"},
        {"kind": "reset", "after_bytes": 0},
        {"kind": "eof", "after_bytes": 0},
        {"kind": "truncate", "after_bytes": 0},
        {"kind": "sse_error", "after_events": 0},
        {"kind": "bad_json", "after_events": 0},
    ],
    ids=lambda fault: str(fault["kind"]),
)
async def test_what_goes_wrong_before_the_answer_is_tried_again(
    name: str, fault: dict[str, Any], replay: ModuleType
) -> None:
    conversation = _named(name)
    events: list[StreamEvent] = []
    with replay.ReplayServer(conversation, faults=[fault]) as server:
        client = _open_client(conversation["api"], server.base_url)
        session = ConversationSession(
            ApiExchange(client, model="m", backoff=lambda _attempt: 0.0), Conversation()
        )
        response = await session.send_with_tools("go", (), on_event=events.append)
        await client.aclose()
        asked = len(server.requests)
    expect = conversation["turns"][0]["expect"]
    assert [c.native_id for c in response.tool_calls()] == [call["id"] for call in expect["tool_calls"]]
    assert asked == 2
    # A connection that the server has just closed may be found dead only when it is used again.
    assert sum(isinstance(event, StreamRetry) for event in events) in (1, 2)


@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("status", ["400", "401", "403", "404"])
async def test_what_cannot_get_better_is_not_tried_again(name: str, status: str, replay: ModuleType) -> None:
    conversation = _named(name)
    with replay.ReplayServer(conversation, faults=[{"kind": status}]) as server:
        client = _open_client(conversation["api"], server.base_url)
        session = ConversationSession(
            ApiExchange(client, model="m", backoff=lambda _attempt: 0.0), Conversation()
        )
        with pytest.raises(ProviderError) as caught:
            await session.send("go")
        await client.aclose()
        assert len(server.requests) == 1
    assert caught.value.status == int(status)


@pytest.mark.long(after=1)
@pytest.mark.parametrize("name", CUT)
async def test_an_answer_that_falls_silent_is_an_error_and_the_connection_is_closed(
    name: str, replay: ModuleType
) -> None:
    conversation = _named(name)
    with replay.ReplayServer(conversation, split="event", faults=[{"kind": "stall"}]) as server:
        client = _open_client(conversation["api"], server.base_url, timeout_secs=1)
        outcome, _ = await _exchange(client)
        await client.aclose()
    assert isinstance(outcome, ProviderError)
    assert (outcome.kind, outcome.partial) == (ProviderErrorKind.TIMEOUT, True)
