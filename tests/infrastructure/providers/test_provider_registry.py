from __future__ import annotations

import subprocess
import sys

import pytest

from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.provider_types import ProviderType
from tests.support.sse_server import Dialect, Say, SseServer


def _gateway(environ: dict[str, str] | None = None, **settings: ProviderSettings) -> ProviderRegistry:
    return ProviderRegistry(settings, environ=environ or {})


def _refused(gateway: ProviderRegistry, model: str) -> str:
    with pytest.raises(ProviderError) as caught:
        gateway.open_session(model, Conversation(), "")
    assert caught.value.kind is ProviderErrorKind.CONFIGURATION
    return str(caught.value)


def test_an_unknown_provider_is_named_together_with_the_known_ones() -> None:
    gateway = _gateway(
        b=ProviderSettings(type="offline"), a=ProviderSettings(type="openai-chat", base_url="http://h/v1")
    )
    text = _refused(gateway, "claude-x")
    assert 'no provider "claude-x"' in text
    assert "a, b" in text


def test_a_provider_is_configured_by_a_key_or_by_a_server_that_wants_none() -> None:
    gateway = _gateway(
        {"MINE": "k", "OTHER": " "},
        mine=ProviderSettings(type="anthropic", api_key_env="MINE"),
        other=ProviderSettings(type="openai", base_url="https://h.example/v1", api_key_env="OTHER"),
        local=ProviderSettings(type="openai-chat", base_url="http://127.0.0.1:1/v1", api_key_env=""),
        cloud=ProviderSettings(type="anthropic", client="bedrock", api_key_env=""),
        copilot=ProviderSettings(type="copilot", program="copilot"),
        offline=ProviderSettings(type="offline"),
    )

    assert gateway.configured_providers == ("mine", "local", "cloud")


def test_a_model_without_a_name_is_refused() -> None:
    assert 'names no model; write "a/"' in _refused(_gateway(a=ProviderSettings(type="offline")), "a/")


def test_the_model_is_split_at_the_first_slash() -> None:
    settings = ProviderSettings(type="openai-chat", base_url="http://127.0.0.1:1/v1")
    session = _gateway(router=settings).open_session("router/vendor/model:free", Conversation(), "")
    assert session.model == "router/vendor/model:free"


@pytest.mark.parametrize(
    ("settings", "variable"),
    [
        (ProviderSettings(type="anthropic"), "ANTHROPIC_API_KEY"),
        (ProviderSettings(type="openai"), "OPENAI_API_KEY"),
        (ProviderSettings(type="openai-chat"), "OPENAI_API_KEY"),
        (ProviderSettings(type="anthropic", base_url="http://127.0.0.1:1", api_key_env="MINE"), "MINE"),
        (ProviderSettings(type="openai-chat", base_url="https://h.example/v1", api_key_env="MINE"), "MINE"),
    ],
)
def test_a_missing_key_names_the_variable_to_set(settings: ProviderSettings, variable: str) -> None:
    text = _refused(_gateway(p=settings), "p/m")
    assert f"the environment variable {variable} is not set" in text


@pytest.mark.parametrize("key", ["sk-ä", "sk-\x07"])
def test_a_key_that_cannot_be_one_is_refused_without_being_shown(key: str) -> None:
    text = _refused(_gateway({"OPENAI_API_KEY": key}, p=ProviderSettings(type="openai-chat")), "p/m")
    assert "OPENAI_API_KEY" in text
    assert key not in text


@pytest.mark.parametrize("address", ["localhost:11434", "http://", "http://[::1", "http://h:99999", "ftp://h"])
def test_an_address_that_is_none_is_refused_with_an_example(address: str) -> None:
    settings = ProviderSettings(type="openai-chat", base_url=address)
    assert "http://localhost:11434/v1" in _refused(_gateway(p=settings), "p/m")


async def test_a_password_in_an_address_is_not_shown() -> None:
    settings = ProviderSettings(type="openai-chat", base_url="http://me:hunter2@127.0.0.1:1/v1", max_retries=0)
    gateway = _gateway(p=settings)
    with pytest.raises(ProviderError, match="cannot connect to http://127") as caught:
        await gateway.open_session("p/m", Conversation(), "").send("hi")
    await gateway.aclose()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("type_", ["anthropic", "openai", "openai-chat"])
async def test_an_unusable_certificate_file_is_a_clear_error(
    type_: ProviderType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent/ca.pem")
    gateway = _gateway({"KEY": "k"}, p=ProviderSettings(type=type_, api_key_env="KEY"))
    gateway.warm_up("p/m")
    with pytest.raises(ProviderError, match="SSL_CERT_FILE") as caught:
        await gateway.open_session("p/m", Conversation(), "").send("hi")
    assert caught.value.kind is ProviderErrorKind.CONFIGURATION


@pytest.mark.parametrize("type_", ["openai", "openai-chat"])
async def test_a_local_server_needs_no_key(type_: Dialect) -> None:
    async with SseServer(type_) as server:
        server.script = [Say(pieces=("ok",))]
        settings = ProviderSettings(type=type_, base_url=server.base_url, api_key_env="UNSET_KEY")
        gateway = _gateway(p=settings)
        response = await gateway.open_session("p/m", Conversation(), "").send("hi")
        await gateway.aclose()
    assert response.text_content() == "ok"


async def test_a_key_goes_to_its_owner_and_to_no_other_server() -> None:
    async with SseServer("openai-chat") as server:
        server.script = [Say(pieces=("ok",))]
        settings = ProviderSettings(type="openai-chat", base_url=server.base_url)
        gateway = _gateway({"OPENAI_API_KEY": "sk-secret"}, p=settings)
        await gateway.open_session("p/m", Conversation(), "").send("hi")
        await gateway.aclose()
    assert "sk-secret" not in str(server.headers)


async def test_sessions_of_a_provider_share_its_connection_and_send_its_headers() -> None:
    async with SseServer("anthropic") as server:
        server.script = [Say(pieces=("one",)), Say(pieces=("two",))]
        settings = ProviderSettings(
            type="anthropic", base_url=server.base_url + "/v1", api_key_env="KEY", headers={"X-Team": "tools"}
        )
        gateway = _gateway({"KEY": "k"}, p=settings)
        gateway.warm_up("p/m")
        await gateway.open_session("p/m", Conversation(), "").send("hi")
        await gateway.open_session("p/n", Conversation(), "").send("hi")
        await gateway.aclose()
    assert server.connections == 1
    assert [headers["x-team"] for headers in server.headers] == ["tools", "tools"]
    assert [body["model"] for body in server.bodies] == ["m", "n"]


async def test_the_offline_provider_answers_without_key_or_network() -> None:
    gateway = _gateway(offline=ProviderSettings(type="offline"))
    gateway.warm_up("offline/offline")
    response = await gateway.open_session("offline/offline", Conversation(), "").send("hello")
    await gateway.aclose()
    assert response.text_content()


def test_warming_up_a_model_that_cannot_be_had_is_silent() -> None:
    _gateway(p=ProviderSettings(type="anthropic")).warm_up("p/m")
    _gateway().warm_up("nobody/m")


@pytest.mark.long
@pytest.mark.parametrize("type_", ["anthropic", "openai", "openai-chat"])
def test_opening_a_session_imports_no_sdk(type_: str) -> None:
    code = (
        "import sys\n"
        "from quorum.domain.conversation.history import Conversation\n"
        "from quorum.infrastructure.models.registry import ProviderRegistry\n"
        "from quorum.infrastructure.models.shared.api_client import ProviderSettings\n"
        f"settings = ProviderSettings(type={type_!r}, api_key_env='KEY')\n"
        "gateway = ProviderRegistry({'p': settings}, environ={'KEY': 'k'})\n"
        "gateway.open_session('p/m', Conversation(), '')\n"
        "assert not {'openai', 'anthropic'} & set(sys.modules)\n"
        "gateway.warm_up('p/m')\n"
        "assert {'openai', 'anthropic'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
