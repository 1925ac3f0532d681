"""What providers, gateways and local servers report as errors, over each API: one error of the right kind."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.shared.failures import Failures
from tests.support.session_rigs import server_rig
from tests.support.sse_server import Raw

_Kind = ProviderErrorKind
_FAILURES = Failures(provider="local", address="http://127.0.0.1", key_env=None, secret="", timeout_secs=1)
_NESTED = {"error": {"message": "prompt is too long: 300 > 200"}}


def _explain(status: int, error: Any) -> ProviderError:
    return _FAILURES.explain_refusal(httpx2.Response(status, json=error))


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (500, "Context size has been exceeded."),
        (500, "Requested tokens (9000) exceed context window of 4096"),
        (400, "The prompt (total length 9000) is too long to fit into the model (context length 4096)."),
        (400, "The input (9000 tokens) is longer than the model's context length (4096 tokens)."),
        (400, "ContextWindowExceededError: Your prompt is 20 too big"),
        (400, "You passed 9000 input tokens. Please reduce the length of the input prompt."),
        (400, "Trying to keep the first 9000 tokens when context the overflows."),
        (413, "The estimated input and output tokens (9000) exceeded this model context window limit (4096)."),
    ],
)
def test_a_request_that_is_too_long_is_told_by_its_words_whatever_the_status(status: int, message: str) -> None:
    refusal = _explain(status, {"error": {"message": message}})
    reported = _FAILURES.explain_reported({"message": message}, started=False)

    assert [(each.kind, each.retryable) for each in (refusal, reported)] == [(_Kind.TOO_LONG, False)] * 2


def test_so_it_is_behind_a_gateway_however_deep_the_words_are() -> None:
    raw = {"message": "Provider returned error", "code": 400}
    for body in (
        {"error": {**raw, "metadata": {"raw": json.dumps(_NESTED)}}},
        {"error": {**raw, "metadata": {"raw": _NESTED}}},
        {"error": _NESTED},
        {"errors": [_NESTED["error"]]},
    ):
        assert _explain(400, body).kind is _Kind.TOO_LONG


def test_limits_of_an_answer_of_images_and_of_a_rate_are_not_about_the_request() -> None:
    for status, message in (
        (400, "max_tokens 9000 is too large for a completion of this model"),
        (400, "the image is too large for this model"),
        (429, "tokens per minute exceed the context limit of your tier"),
    ):
        assert _explain(status, {"error": {"message": message}}).kind is not _Kind.TOO_LONG


def test_the_words_of_a_provider_behind_a_gateway_are_shown_without_their_frame() -> None:
    body = {"error": {"message": "Provider returned error", "metadata": {"raw": json.dumps(_NESTED)}}}

    assert str(_explain(400, body)).endswith("Provider returned error prompt is too long: 300 > 200")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "no", "type": "None", "code": "400"}, _Kind.BAD_REQUEST),
        ({"message": "no", "type": "auth_error", "code": "401"}, _Kind.AUTHENTICATION),
        ({"message": "no", "type": "throttling_error", "code": "429"}, _Kind.RATE_LIMIT),
        ({"message": "no", "type": "BadRequestError"}, _Kind.BAD_REQUEST),
        ({"message": "no", "code": "invalid_image_format"}, _Kind.BAD_REQUEST),
        ({"message": "no", "code": "image_parse_error"}, _Kind.BAD_REQUEST),
        ({"message": "no", "code": "vector_store_timeout"}, _Kind.SERVER),
        ({"message": "no"}, _Kind.SERVER),
    ],
)
def test_an_error_in_a_stream_has_the_kind_that_its_code_or_type_says(
    error: dict[str, Any], kind: ProviderErrorKind
) -> None:
    assert _FAILURES.explain_reported(error, started=False).kind is kind


@pytest.mark.parametrize("dialect", ["anthropic", "openai", "openai-chat"])
async def test_each_form_in_which_a_stream_reports_an_error_is_one_error(dialect: Any) -> None:
    told = {"code": 400, "message": "no such thing", "type": "server_error"}
    for body in (
        f"data: {json.dumps({'error': told})}\n\n",
        f"event: error\ndata: {json.dumps(told)}\n\n",
        f"error: {json.dumps(told)}\n\n",
    ):
        async with server_rig(dialect, max_retries=0) as rig:
            rig.script(Raw(body=body.encode()))
            with pytest.raises(ProviderError, match=r"refused the request \(400\): no such thing") as caught:
                await rig.session.send("hi")
        assert not caught.value.retryable


@pytest.mark.parametrize("status", ["completed", "incomplete", "failed"])
async def test_an_answer_that_ends_with_an_error_is_none_whatever_its_status(status: str) -> None:
    final = {"id": "r", "status": status, "error": {"code": "server_error", "message": "boom"}, "output": []}
    event = {"type": f"response.{status}", "response": final}
    async with server_rig("openai", max_retries=0) as rig:
        rig.script(Raw(body=f"data: {json.dumps(event)}\n\n".encode()))
        with pytest.raises(ProviderError, match=r"failed on its side \(500\): boom"):
            await rig.session.send("hi")
