from __future__ import annotations

import json
import os
import struct
import sys
import threading
import zlib
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from quorum.application.ports.models import LlmSession
from quorum.domain.conversation.history import Conversation
from quorum.domain.conversation.response import ToolUseBlock
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.domain.replacing import replace
from quorum.infrastructure.extras import render_install_command
from quorum.infrastructure.models.clouds.sign_in import SignIn
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from tests.support.loopback_net import NET_VARIABLES, Answer, Authority, LoopbackProxy, RecordingServer
from tests.support.sse_server import Say, ScriptedCall, anthropic_events, chat_events, responses_events

BEDROCK = ProviderSettings(type="anthropic", client="bedrock", region="eu-central-1", max_retries=0)
VERTEX = ProviderSettings(
    type="anthropic", client="vertex", region="europe-west1", project="my-project", max_retries=0
)
AZURE = ProviderSettings(
    type="openai-chat", client="azure", base_url="https://mine.openai.azure.com", max_retries=0
)
TOOL = {"name": "read_file", "description": "d", "input_schema": {"type": "object"}}
SAID = Say(
    pieces=("reading", " now"), calls=(ScriptedCall("call_1", "read_file", '{"path": "a"}'),), stop="tool_use"
)
AWS_KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "very-secret",
    "AWS_SESSION_TOKEN": "a-session",
}


def _machine(monkeypatch: pytest.MonkeyPatch, folder: Path, **variables: str) -> dict[str, str]:
    """A machine of which the clouds know nothing but these variables."""
    prefixes = ("AWS_", "GOOGLE_", "AZURE_", "ANTHROPIC_", "OPENAI_", "CLOUD", "GCE_", "BOTO_")
    for name in [name for name in os.environ if name.startswith(prefixes)]:
        monkeypatch.delenv(name)
    for name in NET_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    own = {
        "HOME": str(folder),
        "AWS_CONFIG_FILE": str(folder / "aws-config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "aws-credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "CLOUDSDK_CONFIG": str(folder / "gcloud"),
        "NO_GCE_CHECK": "true",
        **variables,
    }
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    return own


@asynccontextmanager
async def _in_the_cloud(
    monkeypatch: pytest.MonkeyPatch, folder: Path, host: str, *script: Answer
) -> AsyncIterator[tuple[RecordingServer, LoopbackProxy]]:
    """A server that is `host` to whoever goes through the proxy and trusts the authority."""
    authority = Authority(folder)
    async with (
        RecordingServer(*script, context=authority.server_context(host)) as server,
        LoopbackProxy(server.port) as proxy,
    ):
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        yield server, proxy


@asynccontextmanager
async def _session(
    settings: ProviderSettings, environ: dict[str, str], model: str = "m"
) -> AsyncIterator[LlmSession]:
    gateway = ProviderRegistry({"cloud": settings}, environ=environ)
    try:
        yield gateway.open_session(f"cloud/{model}", Conversation(), "be brief")
    finally:
        await gateway.aclose()


async def _called(session: LlmSession) -> tuple[str, list[ToolUseBlock]]:
    response = await session.send_with_tools("read a", [TOOL], on_event=lambda _event: None)
    return response.text_content(), [b for b in response.content if isinstance(b, ToolUseBlock)]


def _refusal(settings: ProviderSettings, environ: dict[str, str]) -> str:
    gateway = ProviderRegistry({"cloud": settings}, environ=environ)
    with pytest.raises(ProviderError) as caught:
        gateway.open_session("cloud/m", Conversation(), "")
    assert caught.value.kind is ProviderErrorKind.CONFIGURATION
    return str(caught.value)


async def _failure(settings: ProviderSettings, environ: dict[str, str]) -> ProviderError:
    async with _session(settings, environ) as session:
        with pytest.raises(ProviderError) as caught:
            await session.send("hi")
    return caught.value


def _frame(payload: bytes, **headers: str) -> bytes:
    """A message in the binary framing of Amazon's event streams."""
    fields = b"".join(
        bytes([len(name) + 1]) + b":" + name.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode()
        for name, value in ((name.replace("_", "-"), value) for name, value in headers.items())
    )
    prelude = struct.pack("!II", len(fields) + len(payload) + 16, len(fields))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + fields + payload
    return message + struct.pack("!I", zlib.crc32(message))


def _framed(events: Sequence[bytes]) -> bytes:
    data = [event.partition(b"data: ")[2].strip() for event in events]
    return b"".join(
        _frame(
            json.dumps({"bytes": b64encode(piece).decode(), "p": "abcd"}).encode(),
            event_type="chunk",
            content_type="application/json",
            message_type="event",
        )
        for piece in data
    )


def _cut(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def _bedrock_answer(body: bytes, size: int = 7) -> Answer:
    return Answer(pieces=_cut(body, size), content_type="application/vnd.amazon.eventstream")


@pytest.mark.long
async def test_bedrock_is_asked_where_it_lives_with_a_signature_for_its_region(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environ = _machine(monkeypatch, tmp_path, **AWS_KEYS)
    host = "bedrock-runtime.eu-central-1.amazonaws.com"
    reply = _bedrock_answer(_framed(anthropic_events(SAID)))
    async with (
        _in_the_cloud(monkeypatch, tmp_path, host, reply) as (server, proxy),
        _session(BEDROCK, environ, "eu.anthropic.claude-x-v1:0") as session,
    ):
        text, calls = await _called(session)
    (asked,) = server.asked
    assert proxy.asked_for == [f"{host}:443"]
    assert asked.target == "/model/eu.anthropic.claude-x-v1:0/invoke-with-response-stream"
    authorization = asked.headers["authorization"]
    assert authorization.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-central-1/bedrock/aws4_request" in authorization
    assert asked.headers["x-amz-security-token"] == "a-session"
    assert "very-secret" not in str(asked)
    assert {"model", "stream"}.isdisjoint(asked.json)
    assert asked.json["anthropic_version"]
    assert asked.json["tools"][-1]["cache_control"] == {"type": "ephemeral"}
    assert (text, [(c.id, c.name, c.input) for c in calls]) == (
        "reading now",
        [("call_1", "read_file", {"path": "a"})],
    )


async def test_bedrock_is_shown_a_bearer_token_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environ = _machine(monkeypatch, tmp_path, AWS_BEARER_TOKEN_BEDROCK="bedrock-key")
    async with (
        RecordingServer(_bedrock_answer(_framed(anthropic_events(SAID)))) as server,
        _session(replace(BEDROCK, base_url=server.url), environ) as session,
    ):
        await _called(session)
    assert server.asked[0].headers["authorization"] == "Bearer bedrock-key"


async def test_the_keys_and_the_region_of_an_aws_profile_are_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environ = _machine(monkeypatch, tmp_path, AWS_PROFILE="work")
    (tmp_path / "aws-config").write_text("[profile work]\nregion = ap-south-1\n")
    (tmp_path / "aws-credentials").write_text("[work]\naws_access_key_id = AKFILE\naws_secret_access_key = s\n")
    async with RecordingServer(_bedrock_answer(_framed(anthropic_events(SAID)))) as server:
        settings = replace(BEDROCK, region=None, base_url=server.url)
        async with _session(settings, environ) as session:
            await _called(session)
    assert "Credential=AKFILE/" in server.asked[0].headers["authorization"]
    assert "/ap-south-1/bedrock/" in server.asked[0].headers["authorization"]


def _exception(kind: str, message: str) -> bytes:
    payload = json.dumps({"message": message}).encode()
    return _frame(payload, exception_type=kind, content_type="application/json", message_type="exception")


@pytest.mark.parametrize(
    ("frames", "kind", "words"),
    [
        (
            _exception("throttlingException", "Slow"),
            ProviderErrorKind.RATE_LIMIT,
            "limited the request (429): Slow",
        ),
        (_exception("modelStreamErrorException", "Oh"), ProviderErrorKind.SERVER, "on its side (500): Oh"),
        (
            _frame(b"", message_type="error", error_code="Broken", error_message="away"),
            ProviderErrorKind.SERVER,
            "away",
        ),
    ],
)
async def test_an_exception_in_a_stream_of_bedrock_is_reported_like_any_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, frames: bytes, kind: ProviderErrorKind, words: str
) -> None:
    environ = _machine(monkeypatch, tmp_path, **AWS_KEYS)
    begun = _framed(anthropic_events(SAID)[:4])
    answer = _bedrock_answer(begun + frames)
    async with RecordingServer(answer, answer) as server:
        error = await _failure(replace(BEDROCK, base_url=server.url, max_retries=2), environ)
    assert (error.kind, error.partial, error.retryable) == (kind, True, False)
    assert words in str(error)
    assert len(server.asked) == 2  # it is continued once


def _damaged_streams() -> Iterator[tuple[str, bytes, str]]:
    whole = _framed(anthropic_events(SAID))
    yield "cut in a frame", whole[: len(whole) // 2 + 1], "ended before the answer was complete"
    yield "cut between frames", _framed(anthropic_events(SAID)[:-3]), "ended before the answer was complete"
    yield "a wrong checksum", whole[:-2] + b"xx", "a frame of the stream is broken"
    yield (
        "no frames at all",
        b"<html>please log in, this is no stream</html>",
        "a frame of the stream is broken",
    )
    yield "no JSON inside", _frame(b"{", message_type="event", event_type="chunk"), "a frame of the stream"
    yield "nothing", b"", "ended before the answer was complete"


@pytest.mark.parametrize(
    ("name", "body", "words"), _damaged_streams(), ids=lambda v: v if type(v) is str else ""
)
async def test_a_damaged_stream_of_bedrock_is_one_error_and_no_call(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, body: bytes, words: str
) -> None:
    environ = _machine(monkeypatch, tmp_path, **AWS_KEYS)
    answer = _bedrock_answer(body, 50)
    async with RecordingServer(answer, answer) as server:
        error = await _failure(replace(BEDROCK, base_url=server.url), environ)
    assert error.kind is ProviderErrorKind.DAMAGED_STREAM
    assert words in str(error)


async def test_keys_that_aws_does_not_know_end_with_the_way_to_sign_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environ = _machine(monkeypatch, tmp_path, **AWS_KEYS)
    message = Answer(
        pieces=[b'{"message": "The security token included in the request is expired"}'],
        status=403,
        content_type="application/json",
        headers={
            "x-amzn-errortype": "ExpiredTokenException:http://internal.amazon.com/",
            "x-amzn-requestid": "r",
        },
    )
    async with RecordingServer(message) as server:
        error = await _failure(replace(BEDROCK, base_url=server.url), environ)
    assert (error.kind, error.status) == (ProviderErrorKind.AUTHENTICATION, 403)
    assert "token included in the request is expired; sign in with `aws sso login`" in str(error)


async def test_nobody_signed_in_to_aws_is_reported_before_any_request(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environ = _machine(monkeypatch, tmp_path)
    async with RecordingServer() as server:
        error = await _failure(replace(BEDROCK, base_url=server.url), environ)
    assert error.kind is ProviderErrorKind.CONFIGURATION
    assert "no credentials of AWS were found; sign in with `aws sso login`" in str(error)
    assert server.asked == []


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("[profile other]\n", "The config profile (work) could not be found"),
        ("[profile work]\nmfa_serial = arn:aws:iam::1:mfa/me\n", "wants a code typed in each time"),
    ],
)
async def test_an_aws_profile_that_cannot_be_used_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: str, words: str
) -> None:
    environ = _machine(monkeypatch, tmp_path, AWS_PROFILE="work")
    (tmp_path / "aws-config").write_text(config)
    error = await _failure(BEDROCK, environ)
    assert error.kind is ProviderErrorKind.CONFIGURATION
    assert words in str(error)


async def test_credentials_that_never_come_are_not_waited_for() -> None:
    for_ever = threading.Event()
    sign_in = SignIn(provider="cloud", cloud="AWS", remedy="sign in")
    with pytest.raises(ProviderError, match=r"no credentials of AWS came within 0\.05 s; sign in") as caught:
        await sign_in.call_in_time(for_ever.wait, secs=0.05)
    for_ever.set()
    assert caught.value.kind is ProviderErrorKind.TIMEOUT


@pytest.fixture(scope="module")
def service_account() -> dict[str, Any]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {
        "type": "service_account",
        "project_id": "project-of-the-file",
        "private_key_id": "k",
        "private_key": pem.decode(),
        "client_email": "me@example.iam.gserviceaccount.com",
    }


def _token(text: str = "ya29.token", secs: int = 3600) -> Answer:
    body = json.dumps({"access_token": text, "expires_in": secs, "token_type": "Bearer"}).encode()
    return Answer(pieces=[body], content_type="application/json")


def _google_machine(
    monkeypatch: pytest.MonkeyPatch, folder: Path, account: dict[str, Any], tokens: RecordingServer
) -> dict[str, str]:
    file = folder / "account.json"
    file.write_text(json.dumps({**account, "token_uri": f"{tokens.url}/token"}))
    return _machine(monkeypatch, folder, GOOGLE_APPLICATION_CREDENTIALS=str(file))


async def test_vertex_is_asked_where_it_lives_with_a_token_of_google(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, service_account: dict[str, Any]
) -> None:
    host = "europe-west1-aiplatform.googleapis.com"
    reply = Answer(pieces=_cut(b"".join(anthropic_events(SAID)), 11))
    async with RecordingServer(_token()) as tokens:
        environ = _google_machine(monkeypatch, tmp_path, service_account, tokens)
        async with (
            _in_the_cloud(monkeypatch, tmp_path, host, reply) as (server, proxy),
            _session(VERTEX, environ, "claude-x@20261001") as session,
        ):
            text, calls = await _called(session)
    asked = server.asked[0]
    assert proxy.asked_for == [f"{host}:443"]
    where = "/v1/projects/my-project/locations/europe-west1/publishers/anthropic/models/"
    assert asked.target == f"{where}claude-x@20261001:streamRawPredict"
    assert asked.headers["authorization"] == "Bearer ya29.token"
    assert "model" not in asked.json
    assert asked.json["stream"] is True
    assert asked.json["system"][-1]["cache_control"] == {"type": "ephemeral"}
    assert (text, [c.input for c in calls]) == ("reading now", [{"path": "a"}])
    assert [t.target for t in tokens.asked] == ["/token"]


async def test_a_token_of_google_serves_many_requests_and_is_made_new_when_it_has_run_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, service_account: dict[str, Any]
) -> None:
    reply = Answer(pieces=anthropic_events(Say(pieces=("ok",))))
    async with (
        RecordingServer(_token("old", 1), _token("new")) as tokens,
        RecordingServer(*[reply] * 3) as server,
    ):
        environ = _google_machine(monkeypatch, tmp_path, service_account, tokens)
        async with _session(replace(VERTEX, base_url=f"{server.url}/v1", project=None), environ) as session:
            for _ in range(3):
                await session.send("hi")
    shown = [asked.headers["authorization"] for asked in server.asked]
    assert shown == ["Bearer old", "Bearer new", "Bearer new"]
    assert "/projects/project-of-the-file/" in server.asked[0].target


async def test_an_account_that_google_refuses_is_reported_with_the_way_to_sign_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, service_account: dict[str, Any]
) -> None:
    body = b'{"error": "invalid_grant", "error_description": "account not found"}'
    refusal = Answer(pieces=[body], status=400, content_type="application/json")
    async with RecordingServer(refusal) as tokens:
        environ = _google_machine(monkeypatch, tmp_path, service_account, tokens)
        error = await _failure(VERTEX, environ)
    assert error.kind is ProviderErrorKind.AUTHENTICATION
    assert "account not found" in str(error)
    assert "gcloud auth application-default login" in str(error)


async def test_nobody_signed_in_to_google_is_reported_before_any_request(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environ = _machine(monkeypatch, tmp_path)
    error = await _failure(VERTEX, environ)
    assert error.kind is ProviderErrorKind.CONFIGURATION
    assert "sign in with `gcloud auth application-default login`" in str(error)


async def test_a_project_that_nobody_names_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environ = _machine(monkeypatch, tmp_path, TOKEN="ya29.mine")
    error = await _failure(replace(VERTEX, project=None, api_key_env="TOKEN"), environ)
    assert error.kind is ProviderErrorKind.CONFIGURATION
    assert "set project in [providers.cloud], or ANTHROPIC_VERTEX_PROJECT_ID" in str(error)


async def test_azure_chat_is_asked_for_the_deployment_with_its_key_and_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environ = _machine(monkeypatch, tmp_path, AZURE_OPENAI_API_KEY="azure-key")
    host = "mine.openai.azure.com"
    reply = Answer(pieces=chat_events(SAID))
    async with (
        _in_the_cloud(monkeypatch, tmp_path, host, reply) as (server, proxy),
        _session(replace(AZURE, api_version="2026-01-01"), environ, "my-gpt") as session,
    ):
        text, calls = await _called(session)
    (asked,) = server.asked
    assert proxy.asked_for == [f"{host}:443"]
    assert asked.target == "/openai/deployments/my-gpt/chat/completions?api-version=2026-01-01"
    assert asked.headers["api-key"] == "azure-key"
    assert "authorization" not in asked.headers
    assert (text, [c.input for c in calls]) == ("reading now", [{"path": "a"}])


@pytest.mark.parametrize(
    "path", ["", "/", "/openai", "/openai/v1/", "/openai/deployments/x/chat/completions?y=1"]
)
async def test_azure_responses_are_asked_at_the_resource_whatever_address_the_portal_showed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str
) -> None:
    environ = _machine(monkeypatch, tmp_path, MY_KEY="azure-key")
    async with RecordingServer(Answer(pieces=responses_events(SAID))) as server:
        settings = replace(AZURE, type="openai", base_url=server.url + path, api_key_env="MY_KEY")
        async with _session(settings, environ, "my-gpt") as session:
            text, calls = await _called(session)
    assert server.asked[0].target == "/openai/responses?api-version=2025-04-01-preview"
    assert server.asked[0].headers["api-key"] == "azure-key"
    assert server.asked[0].json["model"] == "my-gpt"
    assert (text, [c.input for c in calls]) == ("reading now", [{"path": "a"}])


async def test_azure_is_shown_a_token_of_entra_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with RecordingServer(Answer(pieces=chat_events(SAID))) as server:
        environ = _machine(
            monkeypatch,
            tmp_path,
            AZURE_OPENAI_AD_TOKEN="entra",
            AZURE_OPENAI_ENDPOINT=server.url,
            OPENAI_API_VERSION="2024-10-21",
        )
        async with _session(replace(AZURE, base_url=None), environ) as session:
            await _called(session)
    assert server.asked[0].headers["authorization"] == "Bearer entra"
    assert "api-key" not in server.asked[0].headers
    assert server.asked[0].target.endswith("?api-version=2024-10-21")


async def test_azure_serves_anthropic_models_with_its_own_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environ = _machine(
        monkeypatch, tmp_path, ANTHROPIC_FOUNDRY_API_KEY="foundry", ANTHROPIC_FOUNDRY_RESOURCE="mine"
    )
    host = "mine.services.ai.azure.com"
    reply = Answer(pieces=anthropic_events(SAID))
    settings = ProviderSettings(type="anthropic", client="azure", max_retries=0)
    async with (
        _in_the_cloud(monkeypatch, tmp_path, host, reply) as (server, proxy),
        _session(settings, environ) as session,
    ):
        text, _ = await _called(session)
    assert (proxy.asked_for, server.asked[0].target) == ([f"{host}:443"], "/anthropic/v1/messages")
    assert server.asked[0].headers["api-key"] == "foundry"
    assert "authorization" not in server.asked[0].headers
    assert text == "reading now"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            replace(BEDROCK, region=None),
            'set region in [providers.cloud], for example "us-east-1", or AWS_REGION',
        ),
        (replace(VERTEX, region=None), "set region in [providers.cloud]"),
        (replace(AZURE, base_url=None), "set base_url in [providers.cloud], or AZURE_OPENAI_ENDPOINT"),
        (AZURE, "the environment variable AZURE_OPENAI_API_KEY is not set"),
        (replace(BEDROCK, type="openai"), 'does not go with type = "openai"; set type to "anthropic"'),
        (replace(VERTEX, type="openai-chat"), 'client = "vertex" of [providers.cloud] does not go with type'),
        (
            replace(AZURE, type="offline"),
            'set type to "openai" or "openai-chat" or "anthropic", or remove client',
        ),
        (replace(BEDROCK, api_key_env="MINE"), "the environment variable MINE is not set"),
    ],
)
def test_what_is_missing_for_a_cloud_is_reported_when_a_session_is_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: ProviderSettings, words: str
) -> None:
    assert words in _refusal(settings, _machine(monkeypatch, tmp_path))


@pytest.mark.parametrize(
    ("settings", "module", "extra"), [(BEDROCK, "boto3", "bedrock"), (VERTEX, "google.auth", "vertex")]
)
def test_packages_that_are_not_installed_are_reported_with_the_command_that_installs_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: ProviderSettings, module: str, extra: str
) -> None:
    environ = _machine(monkeypatch, tmp_path)
    monkeypatch.setitem(sys.modules, module, None)  # type: ignore[arg-type]
    assert _refusal(settings, environ).endswith(f"install them with: {render_install_command(extra)}")


async def test_the_public_services_address_and_key_stay_out_of_a_cloud(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environ = _machine(monkeypatch, tmp_path, OPENAI_API_KEY="sk-public", AZURE_OPENAI_API_KEY="azure-key")
    async with RecordingServer(Answer(pieces=chat_events(SAID))) as server:
        environ["AZURE_OPENAI_ENDPOINT"] = server.url
        settings = replace(AZURE, base_url="https://api.openai.com/v1", api_key_env="OPENAI_API_KEY")
        gateway = ProviderRegistry({"openai": settings}, environ=environ)
        await _called(gateway.open_session("openai/m", Conversation(), ""))
        await gateway.aclose()
    assert server.asked[0].headers["api-key"] == "azure-key"
    assert "sk-public" not in str(server.asked)
