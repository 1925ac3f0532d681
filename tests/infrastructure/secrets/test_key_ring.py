from __future__ import annotations

import json
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.core
import pytest
from keyring.backends import fail, null

from quorum.domain.conversation.history import Conversation
from quorum.domain.errors import ConfigError, ProviderError
from quorum.domain.events.masking import SecretMask
from quorum.infrastructure.config.model_choice import choose_model
from quorum.infrastructure.doctor.diagnosis import check_readiness
from quorum.infrastructure.extras import render_install_command
from quorum.infrastructure.models.registry import ProviderRegistry
from quorum.infrastructure.models.shared.api_client import ProviderSettings
from quorum.infrastructure.secrets.key_ring import KeyRing
from tests.infrastructure.secrets.keyrings import (
    BrokenKeyring,
    BytesKeyring,
    FileKeyring,
    LockedKeyring,
    PanickingKeyring,
    QuotingKeyring,
    SilentKeyring,
)
from tests.support.settings_machine import Machine

ROOT = Path(__file__).parents[3]
KEY = "q7Zrt9vX2m4kPwd3Ls8Y"


@pytest.fixture
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a keyring that works."""
    file = tmp_path / "entries.json"
    monkeypatch.setenv("KEYRING_TEST_FILE", str(file))
    before = keyring.core._keyring_backend
    keyring.set_keyring(FileKeyring())
    yield file
    keyring.core._keyring_backend = before


def test_what_is_kept_is_found_by_a_later_run_and_removed_once(entries: Path) -> None:
    KeyRing().keep("anthropic", KEY)

    assert json.loads(entries.read_text()) == {"quorum/anthropic": KEY}
    assert KeyRing().get_key("anthropic") == KEY
    assert (KeyRing().remove("anthropic"), KeyRing().remove("anthropic")) == (True, False)
    assert KeyRing().get_key("anthropic") is None


def test_every_key_that_is_read_reaches_the_mask(entries: Path) -> None:
    mask = SecretMask()
    KeyRing().keep("anthropic", KEY)

    KeyRing(mask.learn).get_key("anthropic")

    assert mask.mask_text(f"x {KEY}") == "x [secret:anthropic-key]"


@pytest.mark.parametrize("backend", [fail.Keyring, null.Keyring])
def test_a_machine_without_a_keyring_has_no_keys_and_says_so_only_where_one_is_to_be_kept(
    backend: type, entries: Path
) -> None:
    keyring.set_keyring(backend())

    assert KeyRing().get_key("anthropic") is None
    assert KeyRing().remove("anthropic") is False
    with pytest.raises(ConfigError, match="no keyring that keeps keys; install one"):
        KeyRing().keep("anthropic", KEY)


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        (LockedKeyring, "Failed to unlock the collection!"),
        (BrokenKeyring, "ServiceUnknown: The name is not activatable"),
        (PanickingKeyring, "the native library panicked"),
        (BytesKeyring, "its entry for anthropic is bytes, not a text"),
    ],
)
def test_a_keyring_that_cannot_be_read_is_reported_in_one_sentence_with_the_remedy(
    backend: type, reason: str, entries: Path
) -> None:
    keyring.set_keyring(backend())

    with pytest.raises(ConfigError) as caught:
        KeyRing().get_key("anthropic")

    assert str(caught.value).startswith("the keyring cannot be used: ")
    assert reason in str(caught.value)
    assert "unlock it, or put the key into" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_keyring_that_quotes_what_it_could_not_store_does_not_spread_it(entries: Path) -> None:
    keyring.set_keyring(QuotingKeyring())

    with pytest.raises(ConfigError, match="cannot store '…' for anthropic") as caught:
        KeyRing().keep("anthropic", KEY)

    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_blanks_around_a_stored_key_are_no_part_of_it(entries: Path) -> None:
    entries.write_text(json.dumps({"quorum/anthropic": f"{KEY}\n", "quorum/openai": " \n"}))
    mask = SecretMask()
    ring = KeyRing(mask.learn)

    assert (ring.get_key("anthropic"), ring.get_key("openai")) == (KEY, None)
    assert mask.mask_text(f"x {KEY}") == "x [secret:anthropic-key]"


def test_a_keyring_that_never_answers_is_not_waited_for_and_not_asked_twice(entries: Path) -> None:
    keyring.set_keyring(SilentKeyring())
    ring = KeyRing(reading_secs=0.05)

    with pytest.raises(ConfigError, match=r"did not answer within 0\.05 s"):
        ring.get_key("anthropic")
    keyring.set_keyring(FileKeyring())
    with pytest.raises(ConfigError, match="did not answer"):
        ring.get_key("openai")


# -- where a key is wanted ------------------------------------------------------------------------------------


def opened(environ: dict[str, str], stored: dict[str, str], **settings: str) -> list[str]:
    """Open a session with the provider p; for which providers a key was asked."""
    asked: list[str] = []

    def key(provider: str) -> str | None:
        asked.append(provider)
        return stored.get(provider)

    gateway = ProviderRegistry({"p": ProviderSettings(**settings)}, environ=environ, stored_key=key)  # type: ignore[arg-type]
    gateway.open_session("p/m", Conversation(), "")
    return asked


def test_the_environment_wins_and_then_nothing_is_asked() -> None:
    assert opened({"ANTHROPIC_API_KEY": KEY}, {"p": "other"}, type="anthropic") == []


@pytest.mark.parametrize(
    "settings",
    [
        {"type": "anthropic"},
        {"type": "openai"},
        {"type": "openai-chat", "base_url": "https://h.example/v1", "api_key_env": "H_KEY"},
        {"type": "openai", "client": "azure", "base_url": "https://h.example"},
        {"type": "anthropic", "client": "azure", "base_url": "https://h.example"},
    ],
)
def test_a_key_that_is_not_set_is_taken_from_the_keyring(settings: dict[str, str]) -> None:
    assert set(opened({}, {"p": KEY}, **settings)) == {"p"}


@pytest.mark.parametrize(
    "settings",
    [
        {"type": "openai-chat", "base_url": "http://127.0.0.1:1/v1"},
        {"type": "openai-chat", "base_url": "http://127.0.0.1:1/v1", "api_key_env": ""},
        {"type": "offline"},
    ],
)
def test_a_server_that_wants_no_key_is_given_none(settings: dict[str, str]) -> None:
    assert opened({}, {"p": KEY}, **settings) == []


def test_a_key_that_is_nowhere_is_reported_with_both_places_to_put_it() -> None:
    with pytest.raises(ProviderError, match=r"ANTHROPIC_API_KEY is not set; .*`quorum keys set p`"):
        opened({}, {}, type="anthropic")


def test_a_keyring_that_fails_is_no_missing_key_but_reported_as_what_it_is() -> None:
    def key(provider: str) -> str | None:
        raise ConfigError("the keyring cannot be used: locked; unlock it")

    gateway = ProviderRegistry({"p": ProviderSettings(type="anthropic")}, environ={}, stored_key=key)

    with pytest.raises(
        ProviderError, match="ANTHROPIC_API_KEY is not set, and the keyring cannot be used: locked"
    ):
        gateway.open_session("p/m", Conversation(), "")


def test_a_stored_key_chooses_its_model_before_the_offline_interpreter_is(tmp_path: Path) -> None:
    loaded = Machine(tmp_path).load()

    chosen = choose_model(loaded, {}, {"openai": KEY}.get)

    assert chosen.model.startswith("openai/")
    assert chosen.reason == "models.decision is not set, and the keyring has a key for openai"
    assert choose_model(loaded, {"ANTHROPIC_API_KEY": KEY}, {"openai": KEY}.get).provider == "anthropic"


async def test_the_doctor_says_where_a_key_comes_from(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.environ |= {"OPENAI_API_KEY": KEY, "PATH": ""}

    found = await check_readiness(machine.load(), machine.environ, {"anthropic": KEY}.get)

    reported = {each.provider: each.build_finding(used=True, set_up=True).text for each in found}
    assert "its key is in the keyring" in reported["anthropic"]
    assert "OPENAI_API_KEY is set" in reported["openai"]
    assert KEY not in "".join(reported.values())


@pytest.mark.long
def test_the_package_behind_it_is_loaded_when_a_key_is_looked_for_and_not_before() -> None:
    code = (
        "import sys\nfrom quorum.infrastructure.secrets.key_ring import KeyRing\n"
        "import quorum.infrastructure.bootstrap\n"
        "ring = KeyRing()\nassert 'keyring' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


def test_without_its_package_there_is_no_key_and_none_is_kept_or_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    ring = KeyRing()

    assert ring.get_key("anthropic") is None
    for change in (lambda: ring.keep("anthropic", KEY), lambda: ring.remove("anthropic")):
        with pytest.raises(ConfigError, match="or put the key into") as raised:
            change()
        assert f"{render_install_command('keyring')}, or" in str(raised.value)
        assert KEY not in str(raised.value)
