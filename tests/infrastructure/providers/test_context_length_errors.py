from __future__ import annotations

import json
from typing import Any

import pytest

from quorum.domain.errors import ProviderError, ProviderErrorKind
from tests.support.session_rigs import server_rig
from tests.support.sse_server import Raw, Refuse

# What each API answers to a request that is longer than its model's window.
_REFUSALS: list[tuple[Any, Refuse]] = [
    (
        "anthropic",
        Refuse(
            status=400,
            type="invalid_request_error",
            message="prompt is too long: 208656 tokens > 200000 maximum",
        ),
    ),
    (
        "anthropic",
        Refuse(
            status=400,
            type="invalid_request_error",
            message="input length and `max_tokens` exceed context limit: 189136 + 20000 > 204648, decrease "
            "input length or `max_tokens` and try again",
        ),
    ),
    ("anthropic", Refuse(status=413, type="request_too_large", message="Request exceeds the maximum size")),
    ("anthropic", Refuse(status=400, message="Input is too long for requested model.")),
    (
        "openai",
        Refuse(
            status=400,
            type="invalid_request_error",
            message="Your input exceeds the context window of this model. Please adjust your input.",
        ),
    ),
    (
        "openai-chat",
        Refuse(
            status=400,
            type="invalid_request_error",
            message="This model's maximum context length is 8192 tokens. However, yours resulted in 8545 "
            "tokens. Please reduce the length of the messages.",
        ),
    ),
    (
        "openai-chat",
        Refuse(
            status=400,
            type="exceed_context_size_error",
            message="the request exceeds the available context size, try increasing it",
        ),
    ),
    ("openai-chat", Refuse(status=500, message="the request exceeds the available context size")),
    (
        "openai-chat",
        Refuse(
            status=400,
            message="The number of tokens to keep from the initial prompt is greater than the context length.",
        ),
    ),
    (
        "openai-chat",
        Refuse(
            status=400,
            message="This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        ),
    ),
    (
        "anthropic",
        Refuse(
            status=400,
            message="Malformed input request: expected maxLength: 200000, actual: 340000, please reformat "
            "your input and try again.",
        ),
    ),
    ("openai-chat", Refuse(status=413, message="Payload Too Large")),
    ("openai-chat", Refuse(status=400, message="max_tokens must be at least 1, got -523.")),
    (
        "openai-chat",
        Refuse(
            status=429,
            message="Request too large for m in organization o on tokens per min (TPM): Limit 30000, "
            "Requested 48000. The input or output tokens must be reduced in order to run successfully.",
        ),
    ),
]


@pytest.mark.parametrize(("dialect", "refusal"), _REFUSALS)
async def test_a_request_refused_for_its_length_is_distinguished_from_every_other(
    dialect: Any, refusal: Refuse
) -> None:
    async with server_rig(dialect) as rig:
        rig.script(refusal)
        with pytest.raises(ProviderError, match="refused the request as too long") as caught:
            await rig.session.send("hi")
        requests = rig.requests()
    assert caught.value.kind is ProviderErrorKind.TOO_LONG
    assert not caught.value.retryable
    assert requests == 1


@pytest.mark.parametrize(
    ("dialect", "event"),
    [
        (
            "anthropic",
            {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}},
        ),
        (
            "openai",
            {
                "type": "response.failed",
                "response": {"status": "failed", "error": {"code": "context_length_exceeded", "message": "no"}},
            },
        ),
        ("openai-chat", {"error": {"code": 400, "message": "maximum context length is 10 tokens"}}),
    ],
)
async def test_so_is_one_that_is_refused_inside_a_stream(dialect: Any, event: dict[str, Any]) -> None:
    name = f"event: {event['type']}\n" if "type" in event else ""
    async with server_rig(dialect) as rig:
        rig.script(Raw(body=f"{name}data: {json.dumps(event)}\n\n".encode()))
        with pytest.raises(ProviderError) as caught:
            await rig.session.send("hi")
    assert (caught.value.kind, caught.value.partial) == (ProviderErrorKind.TOO_LONG, False)


@pytest.mark.long(after=3)
@pytest.mark.parametrize("dialect", ["anthropic", "openai", "openai-chat"])
@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (Refuse(status=400, message="no such field: context"), ProviderErrorKind.BAD_REQUEST),
        (
            Refuse(status=429, message="Request too large: maximum context length per minute"),
            ProviderErrorKind.RATE_LIMIT,
        ),
        (Refuse(status=401, message="prompt is too long"), ProviderErrorKind.AUTHENTICATION),
        (
            Refuse(status=429, message="Request too large: TPM: Limit 30000, Requested 2000. Come again."),
            ProviderErrorKind.RATE_LIMIT,
        ),
        (
            Refuse(status=400, message="API key not valid. Pass a valid API key."),
            ProviderErrorKind.AUTHENTICATION,
        ),
        (Refuse(status=403, message="Invalid API-key provided"), ProviderErrorKind.AUTHENTICATION),
        (Refuse(status=403, message="this key may not use m"), ProviderErrorKind.PERMISSION),
    ],
)
async def test_other_refusals_stay_what_they_are(
    dialect: Any, refusal: Refuse, kind: ProviderErrorKind
) -> None:
    async with server_rig(dialect, max_retries=0) as rig:
        rig.script(refusal)
        with pytest.raises(ProviderError) as caught:
            await rig.session.send("hi")
    assert caught.value.kind is kind


@pytest.mark.parametrize(
    "message",
    [
        "your token count of 300k is over our limit of 256k",
        "context_window_exceeded",
        "conversation history exceeds the 128000 limit",
        "输入超过模型最大上下文长度",
        "Prompt 超长",
        "proxy.ContextWindowExceededError: the provider refused",
        "输入长度超过限制",
        "Number of tokens exceeds the maximum tokens the model supports",
        "total length (prompt 30000 + generated 3000) over token limit",
        "The request holds 190000 tokens and 10000 are left to generate; the maximum is 128000",
    ],
)
async def test_words_of_length_in_no_known_wording_may_be_about_it(message: str) -> None:
    async with server_rig("openai-chat") as rig:
        rig.server.script = [Refuse(status=400, message=message)]
        with pytest.raises(ProviderError) as caught:
            await rig.session.send("go")

    assert caught.value.kind is ProviderErrorKind.TOO_LONG or caught.value.may_be_length


@pytest.mark.parametrize(
    "message",
    [
        "this token is invalid",
        "the conversation is locked",
        "no such model",
        # what may be answered at most, by Bedrock in two ways, Cohere, and others
        "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum "
        "tokens value that is lower than 4096.",
        "Malformed input request: #/max_tokens: 10000 is not less or equal to 4096, please reformat your input "
        "and try again.",
        "too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model",
        "Requested output length of 64000 tokens exceeds the 8192 that this model can generate",
        "The thinking budget of 40000 tokens exceeds the limit of 32768",
        "输出长度超过限制",
    ],
)
async def test_words_of_anything_else_are_not(message: str) -> None:
    async with server_rig("openai-chat") as rig:
        rig.server.script = [Refuse(status=400, message=message)]
        with pytest.raises(ProviderError) as caught:
            await rig.session.send("go")

    assert not caught.value.may_be_length
