"""What is loaded before the first connection, so that no request waits for it."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
import threading
from pathlib import Path
from typing import Literal

import httpx2
import pytest
from httpcore2 import _ssl

from quorum.domain.conversation.history import Conversation
from quorum.infrastructure.models.clouds.endpoint import Endpoint
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared import network_loading
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.models.shared.network_loading import (
    FirstRequest,
    load_certificates,
    read_certificates,
)
from quorum.infrastructure.provider_types import PublicService
from tests.support.certificates import Authority
from tests.support.loopback_net import NET_VARIABLES
from tests.support.sse_server import Say, SseServer


@pytest.fixture(autouse=True)
def no_network_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NET_VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_certificates_are_read_to_verify_servers() -> None:
    context = read_certificates(are_needed=True)()

    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_where_no_certificates_are_needed_nobody_is_trusted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))

    context = read_certificates(are_needed=False)()

    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.cert_store_stats()["x509"] == 0


@pytest.mark.parametrize(
    ("address", "needs"),
    [
        ("http://127.0.0.1:8080/v1", False),
        ("http://localhost:8080", False),
        ("https://localhost:8080", True),
        ("http://models.example.com", True),  # which may send the client on to another place
    ],
)
def test_only_a_server_on_this_machine_needs_no_certificates(address: str, needs: bool) -> None:
    settings = ProviderSettings(type="openai-chat", base_url=address)

    endpoint = Endpoint.of("p", settings, {}, PublicService(vendor="", address="", address_env="", key_env=""))

    assert endpoint.needs_certificates is needs


def test_certificates_that_cannot_be_read_are_an_error_for_whoever_needs_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))

    with pytest.raises(OSError, match="No such file"):
        read_certificates(are_needed=True)()


def test_certificates_are_read_once_and_again_where_they_have_changed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, second = (Authority(tmp_path, name).file.read_bytes() for name in ("first", "second"))
    file = tmp_path / "trusted.pem"
    monkeypatch.setenv("SSL_CERT_FILE", str(file))

    def read() -> tuple[ssl.SSLContext, list[bytes]]:
        context = load_certificates()
        return context, context.get_ca_certs(binary_form=True)

    file.write_bytes(first)
    (once, trusted), (again, _) = read(), read()
    file.write_bytes(first + second)
    _, more = read()

    assert once is again
    assert (len(trusted), len(more)) == (1, 2)


def test_certificates_in_the_place_of_others_are_read_though_nothing_of_the_folder_tells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    first, second = (Authority(tmp_path, name).file.read_bytes() for name in ("first", "second"))
    file = tmp_path / "folder/bundle.pem"
    file.write_bytes(first)
    # As where the system has a folder of them that OpenSSL can look nothing up in.
    places = ssl.get_default_verify_paths()._replace(
        openssl_cafile=str(tmp_path / "none"), openssl_capath=str(tmp_path / "folder")
    )
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: places)
    monkeypatch.setattr(_ssl, "CA_FILE_CANDIDATES", (str(file),))

    before = load_certificates().get_ca_certs(binary_form=True)
    file.write_bytes(second)
    after = load_certificates().get_ca_certs(binary_form=True)

    assert (len(before), len(after)) == (1, 1)
    assert before != after


def test_nobody_waits_for_a_thread_that_ended_before_it_read_certificates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threading.Thread, "run", lambda _thread: None)  # as where there is no memory for it

    with pytest.raises(MemoryError):
        read_certificates(are_needed=True)()


def test_what_runs_on_an_event_loop_is_loaded_ahead() -> None:
    code = (
        "from quorum.infrastructure.models.shared.network_loading import prepare_first_request\n"
        "import asyncio, sys\n"
        "prepare_first_request(); before = set(sys.modules)\n"
        "import anyio; asyncio.run(anyio.lowlevel.checkpoint())\n"
        "print(sorted(set(sys.modules) - before))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert result.stdout.strip() == "[]"


def test_no_program_is_run_for_the_name_of_the_platform_once_a_request_comes() -> None:
    code = (
        "from quorum.infrastructure.models.shared.network_loading import prepare_first_request\n"
        "import platform, subprocess\n"
        "prepare_first_request(); subprocess.check_output = None\n"
        "print(platform.platform() != '')"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert result.stdout.strip() == "True"


@pytest.mark.parametrize(("log", "is_whole"), [(None, False), ("info", True)])
def test_an_sdk_is_loaded_whole_where_it_is_to_log(log: str | None, is_whole: bool) -> None:
    code = (
        "import sys\nfrom quorum.infrastructure.models.shared.network_loading import load_sdk_lazily\n"
        "with load_sdk_lazily('openai'): from openai import AsyncOpenAI\n"
        "print('openai.resources.batches' in sys.modules or 'openai.types.batch' in sys.modules)"
    )
    variables = {**os.environ, **({"OPENAI_LOG": log} if log is not None else {})}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, env=variables
    )

    assert result.stdout.strip() == str(is_whole)


def test_nothing_waits_where_there_is_no_request() -> None:
    FirstRequest().let_pass()


async def test_a_request_that_waits_for_its_sdk_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_loading, "_LONGEST_WAIT_SECS", 60.0)
    first = FirstRequest()
    first.wait_for_sdk()
    passed = threading.Event()

    def load_more() -> None:
        first.let_pass()
        passed.set()

    loading = threading.Thread(target=load_more, daemon=True)
    loading.start()
    before = passed.is_set()
    await first.note_request(httpx2.Request("GET", "http://localhost/props"))
    after_question = passed.is_set()
    await first.note_request(httpx2.Request("POST", "http://localhost/"))
    loading.join(timeout=60)

    assert (before, after_question, passed.is_set()) == (False, False, True)


@pytest.mark.parametrize("api", ["openai-chat", "anthropic"])
async def test_warming_up_beside_a_request_ends_with_it(api: Literal["openai-chat", "anthropic"]) -> None:
    async with SseServer(api) as server:
        server.script = [Say(pieces=("ok",))]
        base = server.base_url + ("/v1" if api == "anthropic" else "")
        settings = ProviderSettings(type=api, base_url=base, api_key_env="KEY")
        registry = ProviderRegistry({"p": settings}, environ={"KEY": "k"})
        sending = asyncio.create_task(registry.open_session("p/m", Conversation(), "").send("hi"))
        warming = asyncio.create_task(asyncio.to_thread(registry.warm_up, "p/m"))
        answer, _ = await asyncio.gather(sending, warming)
        await registry.aclose()

    assert answer.text_content() == "ok"
    assert len(server.bodies) == 1
