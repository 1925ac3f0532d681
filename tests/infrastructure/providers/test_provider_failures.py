from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import Delta, Error, StreamEvent, StreamRetry
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.models.shared.failures import Failures
from tests.support.loopback_net import TricklingServer
from tests.support.refusing_port import refusing_port
from tests.support.session_rigs import SECRET, ServerRig, server_rig
from tests.support.sse_server import Hang, Raw, Refuse, Say, scripted_events

DIALECTS = ["anthropic", "openai", "openai-chat"]
IN_ONE_PIECE = {
    "anthropic": {"content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn"},
    "openai": {
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello"}]}],
    },
    "openai-chat": {"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]},
}


@pytest.fixture(params=DIALECTS)
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[ServerRig]:
    async with server_rig(request.param) as rig:
        yield rig


async def _failure(rig: ServerRig) -> tuple[ProviderError, list[StreamEvent]]:
    events: list[StreamEvent] = []
    with pytest.raises(ProviderError) as caught:
        await rig.session.send_streaming("hi", events.append)
    assert events[-1] == Error(caught.value)
    return caught.value, events


@pytest.mark.parametrize("status", [429, 529, 500, 503])
async def test_a_busy_provider_is_asked_again_and_then_answers(rig: ServerRig, status: int) -> None:
    rig.script(Refuse(status=status), Refuse(status=status), Say(pieces=("there",)))
    events: list[StreamEvent] = []
    response = await rig.session.send_streaming("hi", events.append)
    assert response.text_content() == "there"
    assert [e.attempt for e in events if isinstance(e, StreamRetry)] == [1, 2]
    assert all(f"({status})" in e.reason for e in events if isinstance(e, StreamRetry))


async def test_the_pause_that_a_provider_asks_for_is_kept(rig: ServerRig) -> None:
    rig.script(Refuse(status=429, headers={"retry-after-ms": "1"}), Say(pieces=("there",)))
    events: list[StreamEvent] = []
    await rig.session.send_streaming("hi", events.append)
    assert [e.delay_secs for e in events if isinstance(e, StreamRetry)] == [0.001]


async def test_a_pause_longer_than_is_waited_for_fails_at_once_and_says_so(rig: ServerRig) -> None:
    rig.script(Refuse(status=429, headers={"retry-after": "200"}))
    error, events = await _failure(rig)
    assert error.kind is ProviderErrorKind.RATE_LIMIT
    assert error.retry_after == 200
    assert "wait 200 s" in str(error)
    assert not any(isinstance(e, StreamRetry) for e in events)


@pytest.mark.parametrize("wish", ["soon", "-5", "nan", "inf", "-inf", ""])
async def test_a_pause_that_makes_no_sense_is_not_kept(rig: ServerRig, wish: str) -> None:
    rig.script(Refuse(status=429, headers={"retry-after": wish}), Say(pieces=("there",)))
    events: list[StreamEvent] = []
    await rig.session.send_streaming("hi", events.append)
    assert [e.delay_secs for e in events if isinstance(e, StreamRetry)] == [0.0]


@pytest.mark.parametrize(
    ("status", "wish", "requests"), [(503, "false", 1), (529, "false", 1), (400, "true", 3), (403, "true", 3)]
)
async def test_the_provider_has_the_last_word_on_trying_again(
    rig: ServerRig, status: int, wish: str, requests: int
) -> None:
    rig.script(*[Refuse(status=status, headers={"x-should-retry": wish}) for _ in range(3)])
    await _failure(rig)
    assert rig.requests() == requests


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        *(
            (hollow, "")
            for hollow in ("{}", " []\n", "null", '""', '{"error": {}}', '{"error": null, "detail": ""}')
        ),
        ('{"code": 1302}', '{"code": 1302}'),
        ('{"error": {"type": "busy"}}', '{"error": {"type": "busy"}}'),
        ("upstream is busy", "upstream is busy"),
        ("<html>busy</html>", "an HTML page"),
    ],
)
def test_a_body_that_says_nothing_is_not_shown(body: str, shown: str) -> None:
    failures = Failures(provider="local", address="http://127.0.0.1", key_env=None, secret="", timeout_secs=1)
    error = failures.explain_refusal(httpx2.Response(503, content=body.encode()))
    assert str(error).count(shown or body.strip()) == bool(shown)


@pytest.mark.parametrize("how", ["close", "reset"])
async def test_a_connection_that_ends_before_the_answer_is_made_again(rig: ServerRig, how: Any) -> None:
    rig.script(Hang(how), Hang(how), Say(pieces=("there",)))
    assert (await rig.session.send("hi")).text_content() == "there"
    assert rig.requests() == 3


@pytest.mark.parametrize("ending", ["drop", "reset", "failed", "error", "garbage"])
async def test_an_answer_that_was_only_announced_is_asked_for_again(rig: ServerRig, ending: Any) -> None:
    rig.script(Say(ending=ending), Say(pieces=("there",)))
    assert (await rig.session.send("hi")).text_content() == "there"
    assert rig.requests() == 2


@pytest.mark.long(after=1)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_signs_of_life_hold_off_the_timeout(dialect: Any) -> None:
    async with server_rig(dialect, timeout_secs=4.0, max_retries=0) as rig:
        rig.script(Say(pieces=("at last",), pings=10, ping_secs=0.5))
        response = await rig.session.send("hi")
    assert response.text_content() == "at last"


@pytest.mark.parametrize(
    "sign",
    [b": OPENROUTER PROCESSING\n\n", b"data:\n\n", b"data: \r\n\r\n", b"event: ping\ndata: now\n\n", b"\n"],
)
async def test_signs_of_life_of_all_kinds_are_no_part_of_the_answer(rig: ServerRig, sign: bytes) -> None:
    events = scripted_events(rig.server.dialect, Say(pieces=("He", "llo")))
    rig.script(Raw(body=sign + sign.join(events) + sign))
    assert (await rig.session.send("hi")).text_content() == "Hello"


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/octet-stream", ""])
async def test_a_stream_under_a_wrong_name_is_read(rig: ServerRig, content_type: str) -> None:
    body = b"".join(scripted_events(rig.server.dialect, Say(pieces=("Hello",))))
    rig.script(Raw(body=body, content_type=content_type))
    assert (await rig.session.send("hi")).text_content() == "Hello"


@pytest.mark.parametrize("opening", [b"", b"\n \r\n", b"\xef\xbb\xbf"])
async def test_an_answer_in_one_piece_under_the_name_of_a_stream_is_read(
    rig: ServerRig, opening: bytes
) -> None:
    rig.script(Raw(body=opening + json.dumps(IN_ONE_PIECE[rig.server.dialect]).encode()))
    events: list[StreamEvent] = []
    response = await rig.session.send_streaming("hi", events.append)
    assert response.text_content() == "Hello"
    assert Delta("Hello") in events


@pytest.mark.parametrize(
    "event", [b"event: error\ndata: no room left\n\n", b'event: error\ndata: "no room left"\n\n']
)
async def test_an_error_in_plain_words_is_reported(rig: ServerRig, event: bytes) -> None:
    rig.script(*[Raw(body=event)] * 3)
    error, _ = await _failure(rig)
    assert "no room left" in str(error)


async def test_repetitions_are_bounded(rig: ServerRig) -> None:
    rig.script(*[Refuse(status=529) for _ in range(3)], Say(pieces=("too late",)))
    error, _ = await _failure(rig)
    assert error.kind is ProviderErrorKind.OVERLOADED
    assert rig.requests() == 3


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (400, ProviderErrorKind.BAD_REQUEST, "scripted refused the request (400): no"),
        (401, ProviderErrorKind.AUTHENTICATION, "refused the key (401): no; set SCRIPTED_KEY"),
        (403, ProviderErrorKind.PERMISSION, "does not permit the request (403): no"),
        (404, ProviderErrorKind.NOT_FOUND, "does not know the model or the address (404): no"),
        (422, ProviderErrorKind.BAD_REQUEST, "refused the request (422): no"),
    ],
)
async def test_a_refused_request_is_not_repeated(
    rig: ServerRig, status: int, kind: ProviderErrorKind, words: str
) -> None:
    rig.script(Refuse(status=status, headers={"request-id": "req_1", "x-request-id": "req_1"}))
    error, _ = await _failure(rig)
    assert error.kind is kind
    assert (error.status, error.request_id, error.retryable) == (status, "req_1", False)
    assert words in str(error)
    assert rig.requests() == 1


async def test_a_message_from_the_provider_cannot_draw_and_never_holds_the_key(rig: ServerRig) -> None:
    rig.script(Refuse(status=401, message=f"key {SECRET}\x1b[31m\nred\u202e {'x' * 1000}"))
    error, _ = await _failure(rig)
    assert SECRET not in str(error)
    assert str(error).isprintable()
    assert len(str(error)) < 500


async def test_an_empty_account_is_not_asked_again(rig: ServerRig) -> None:
    rig.script(Refuse(status=429, type="insufficient_quota", message="pay first"))
    error, _ = await _failure(rig)
    assert error.kind is ProviderErrorKind.RATE_LIMIT
    assert "pay first" in str(error)
    assert rig.requests() == 1


@pytest.mark.parametrize(
    "message",
    [
        "Insufficient balance or no resource package. Please recharge.",
        "You have no remaining credits",
        "余额不足或无可用资源包,请充值。",
        "Your account is suspended, please check your plan and billing details",
    ],
)
async def test_nor_is_one_that_says_so_in_words_and_names_no_wait(rig: ServerRig, message: str) -> None:
    rig.script(Refuse(status=429, message=message))
    await _failure(rig)
    assert rig.requests() == 1


async def test_a_stream_that_breaks_off_is_not_repeated(rig: ServerRig) -> None:
    rig.script(Say(pieces=("so",), ending="drop"), Say(pieces=("again",)))
    error, _ = await _failure(rig)
    assert error.kind is ProviderErrorKind.DAMAGED_STREAM
    assert "broke off" in str(error)
    assert rig.requests() == 1


async def test_an_error_in_the_stream_is_reported_in_the_providers_words(rig: ServerRig) -> None:
    rig.script(Say(pieces=("so",), ending="error"))
    error, _ = await _failure(rig)
    assert error.kind is ProviderErrorKind.OVERLOADED
    assert "is overloaded (529): Overloaded" in str(error)


async def test_an_error_instead_of_an_answer_may_be_tried_again(rig: ServerRig) -> None:
    if rig.server.dialect == "anthropic":
        error = b'data: {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}\n\n'
    elif rig.server.dialect == "openai":
        failed = b'{"status": "failed", "error": {"code": "server_error", "message": "x"}}'
        error = b'data: {"type": "response.created"}\n\n'
        error += b'data: {"type": "response.failed", "response": ' + failed + b"}\n\n"
    else:
        error = b'data: {"error": {"code": 529, "message": "x"}}\n\n'
    rig.script(Raw(body=error), Say(pieces=("there",)))
    assert (await rig.session.send("hi")).text_content() == "there"


@pytest.mark.long(after=1)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_silent_stream_times_out_and_keeps_what_came(dialect: Any) -> None:
    async with server_rig(dialect, timeout_secs=3) as rig:
        rig.script(Say(pieces=("so",), ending="stall"))
        error, _ = await _failure(rig)
        assert error.kind is ProviderErrorKind.TIMEOUT
        assert "sent nothing for 3 s" in str(error)
        assert len(rig.conversation.messages) == 2
        async with asyncio.timeout(60):
            await rig.server.disconnected.wait()


_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
_EMPTY_CHUNK = b'data: {"choices": [{"index": 0, "delta": {"content": ""}}]}\n\n'
_EMPTY_DELTA = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ""}}


@pytest.mark.parametrize(
    ("dialect", "sign"),
    [
        ("anthropic", b'event: ping\ndata: {"type": "ping"}\n\n'),
        ("anthropic", b"data: %s\n\n" % json.dumps(_EMPTY_DELTA).encode()),
        ("openai", b": keep-alive\n\n"),
        ("openai-chat", _EMPTY_CHUNK),
    ],
)
async def test_a_stream_of_mere_signs_of_life_has_a_limit_that_its_error_names(
    dialect: Any, sign: bytes
) -> None:
    announced = scripted_events(dialect, Say(pieces=("x",), ending="drop"))[:-1]
    async with TricklingServer(_HEAD + b"\r\n" + b"".join(announced), sign) as server:
        error = await _fail_at(server.url, dialect, content_timeout_secs=0.2)
    assert (error.kind, error.partial, error.retryable) == (ProviderErrorKind.TIMEOUT, False, False)
    assert "nothing of an answer for 0.2 s; content_timeout_secs of [providers.mine]" in str(error)


@pytest.mark.long
async def test_so_has_one_whose_answer_has_begun_and_what_came_is_kept() -> None:
    begun = b"".join(scripted_events("openai-chat", Say(pieces=("so",), ending="drop")))
    async with TricklingServer(_HEAD + b"\r\n" + begun, _EMPTY_CHUNK) as server:
        error = await _fail_at(server.url, "openai-chat", content_timeout_secs=2)
    assert (error.kind, error.partial) == (ProviderErrorKind.TIMEOUT, True)


async def test_a_head_that_never_ends_has_a_limit() -> None:
    async with TricklingServer(_HEAD, b"x-more: of this\r\n") as server:
        error = await _fail_at(server.url, "anthropic", timeout_secs=1)
    assert (error.kind, error.partial, error.retryable) == (ProviderErrorKind.TIMEOUT, False, True)
    assert str(error) == "mine did not begin its answer within 1 s"


@pytest.mark.parametrize("dialect", ["anthropic", "openai"])
async def test_a_list_of_models_that_never_ends_has_a_limit(dialect: Any) -> None:
    async with TricklingServer(_HEAD + b'\r\n{"data": [', b" ") as server:
        gateway = _open_gateway(server.url, dialect, timeout_secs=1)
        with pytest.raises(ProviderError, match="the list of models had no end after 1 s"):
            await gateway.list_models("mine")
        await gateway.aclose()


@pytest.mark.long
async def test_an_answer_that_keeps_arriving_has_no_limit() -> None:
    piece = _EMPTY_CHUNK.replace(b'""', b'"more "')
    async with TricklingServer(_HEAD + b"\r\n", piece) as server:
        gateway = _open_gateway(server.url, "openai-chat", content_timeout_secs=1)
        sending = asyncio.create_task(gateway.open_session("mine/m", Conversation(), "").send("hi"))
        ended, _ = await asyncio.wait({sending}, timeout=2)
        sending.cancel()
        await asyncio.wait({sending})
        await gateway.aclose()
    assert not ended


def _open_gateway(url: str, dialect: Any, **settings: Any) -> ProviderRegistry:
    given = ProviderSettings(type=dialect, base_url=url, api_key_env="", max_retries=0, **settings)
    gateway = ProviderRegistry({"mine": given}, environ={})
    gateway.warm_up("mine/m")  # the limits of these tests are shorter than an import may take
    return gateway


async def _fail_at(url: str, dialect: Any, **settings: Any) -> ProviderError:
    gateway = _open_gateway(url, dialect, **settings)
    with pytest.raises(ProviderError) as caught:
        await gateway.open_session("mine/m", Conversation(), "").send("hi")
    await gateway.aclose()
    return caught.value


async def test_cancelling_closes_the_connection(rig: ServerRig) -> None:
    rig.script(Say(pieces=("so",), ending="stall"))
    received = asyncio.Event()
    sending = asyncio.create_task(rig.session.send_streaming("hi", lambda _event: received.set()))
    async with asyncio.timeout(60):
        await received.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await rig.server.disconnected.wait()


@pytest.mark.long(after=9)
@pytest.mark.parametrize(
    ("body", "content_type", "words"),
    [
        (b'{"choices": []}', "application/json", "answered with application/json"),
        (b'{"choices": [{"mess', "application/json", "the answer is not valid JSON"),
        (b"<html>login</html>", "text/html", "answered with text/html"),
        (b"The server is running", "text/plain; charset=utf-8", "answered with text/plain"),
        (b'{"error": {"message": "no such plan"}}', "application/json", "no such plan"),
        (b"", "text/event-stream", "ended before the answer was complete"),
        (b"data: {\n\n", "text/event-stream", "is not valid JSON"),
        (b"data: {", "text/event-stream", "the connection ended in the middle of the answer"),
        (
            b'data: {"choices": [{"del\n',
            "text/event-stream",
            "the connection ended in the middle of the answer",
        ),
        (b"data: [1]\n\n", "text/event-stream", "is not a JSON object"),
    ],
)
async def test_a_body_that_is_no_answer_is_a_clear_error(
    rig: ServerRig, body: bytes, content_type: str, words: str
) -> None:
    rig.script(*[Raw(body=body, content_type=content_type)] * 3)
    error, _ = await _failure(rig)
    assert words in str(error)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_refused_connection_names_the_address(dialect: Any) -> None:
    with refusing_port() as port:
        settings = ProviderSettings(
            type=dialect, base_url=f"http://127.0.0.1:{port}", api_key_env="KEY", max_retries=0
        )
        gateway = ProviderRegistry({"mine": settings}, environ={"KEY": "k"})
        with pytest.raises(ProviderError) as caught:
            await gateway.open_session("mine/m", Conversation(), "").send("hi")
        await gateway.aclose()
    expected = f"cannot connect to http://127.0.0.1:{port}: connection refused (does the server run?)"
    assert str(caught.value) == expected
    assert caught.value.retryable


def _failures() -> Failures:
    return Failures(provider="mine", address="https://h.example", key_env="KEY", secret="", timeout_secs=3.0)


def _raised_from(cause: Exception) -> httpx2.ConnectError:
    try:
        raise httpx2.ConnectError("all attempts failed") from cause
    except httpx2.ConnectError as error:
        return error


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (
            socket.gaierror(-2, "Name or service not known"),
            "the name of the host is not known (is there a network?)",
        ),
        (OSError(113, "No route to host"), "no route to host"),
        (
            ExceptionGroup("both", [ConnectionRefusedError(111, "Connection refused")]),
            "connection refused (does the server run?)",
        ),
    ],
)
def test_a_failed_connection_says_what_the_system_said(cause: Exception, words: str) -> None:
    error = _failures().explain_unreachable(_raised_from(cause), started=False)
    assert str(error) == f"cannot connect to https://h.example: {words}"
    assert error.retryable


def test_an_untrusted_certificate_is_not_tried_again() -> None:
    cause = ssl.SSLCertVerificationError(1, "certificate verify failed")
    cause.verify_message = "self-signed certificate"
    error = _failures().explain_unreachable(_raised_from(cause), started=False)
    assert str(error).startswith(
        "the certificate of https://h.example is not trusted: self-signed certificate; "
    )
    assert not error.retryable


async def test_a_server_that_speaks_no_http_is_an_error(rig: ServerRig) -> None:
    async def babble(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail ready\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = ProviderSettings(type=rig.server.dialect, base_url=f"http://127.0.0.1:{port}", max_retries=0)
    gateway = ProviderRegistry({"mine": settings}, environ={})
    with pytest.raises(ProviderError) as caught:
        await gateway.open_session("mine/m", Conversation(), "").send("hi")
    await gateway.aclose()
    server.close()
    await server.wait_closed()
    assert caught.value.kind is ProviderErrorKind.CONNECTION


async def test_one_connection_serves_many_requests(rig: ServerRig) -> None:
    rig.script(*[Say(pieces=("ok",)) for _ in range(5)])
    for _ in range(5):
        await rig.session.send("hi")
    assert rig.server.connections == 1
