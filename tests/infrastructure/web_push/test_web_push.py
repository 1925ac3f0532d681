"""Web push against a receiver on loopback that decrypts: what is sent, to whom, and what fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec

from quorum.application.review.pushing import PushMessage
from quorum.domain.errors import ConfigError, PushFailed
from quorum.infrastructure.config.session_tables import PushTable
from quorum.infrastructure.push import build_pushes
from quorum.infrastructure.web_push.browsers import (
    MOST_BYTES,
    Browser,
    PushBrowsers,
    decode_base64,
    encrypt,
    open_push_browsers,
)
from quorum.infrastructure.web_push.sending import push_to_browsers
from tests.support.push_receiver import PushReceiver, read_message

MESSAGE = PushMessage(digest="5f" * 32, session_id="s", tool="run_command", folder="shop", waiting=1)


@pytest.fixture
def browsers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PushBrowsers:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = open_push_browsers({"XDG_STATE_HOME": str(tmp_path / "state")})
    assert found is not None
    return found


async def push(tmp_path: Path, link: str = "https://q.example/{digest}") -> None:
    (push,) = build_pushes([PushTable(browsers=True, link=link)], {}, tmp_path)
    await push.send(MESSAGE)


def test_the_receiver_reads_the_example_of_rfc_8291() -> None:
    private = decode_base64("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94")
    body = decode_base64(
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6Tlz"
        "AC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )
    key = ec.derive_private_key(int.from_bytes(private, "big"), ec.SECP256R1())

    assert read_message(body, key, decode_base64("BTBZMqHH6r4Tts7J_aSIgg")) == (
        b"When I grow up, I want to be a watermelon"
    )


async def test_a_browser_gets_the_sentence_and_the_link_and_the_service_reads_neither(
    browsers: PushBrowsers, tmp_path: Path
) -> None:
    async with PushReceiver() as receiver:
        browsers.add(Browser(**receiver.subscription, origin="https://q.example"))
        await push(tmp_path)
        await push(tmp_path)

    assert receiver.messages[0] == {
        "title": "quorum",
        "text": MESSAGE.text,
        "tag": MESSAGE.digest,
        "link": f"https://q.example/{MESSAGE.digest}",
    }
    headers = receiver.headers[0]
    assert headers["content-encoding"] == "aes128gcm"
    assert (headers["ttl"], headers["urgency"], headers["topic"]) == ("3600", "high", MESSAGE.digest[:32])
    claims, key = receiver.claims[0]
    assert (claims["aud"], claims["sub"]) == (receiver.origin, "https://q.example")
    assert key == browsers.find_key().public
    first, second = receiver.bodies
    assert b"run_command" not in first
    assert first[:16] != second[:16]
    assert first[21:86] != second[21:86]  # a key of its own for each


async def test_a_browser_that_its_service_knows_no_more_is_forgotten_and_the_others_are_told(
    browsers: PushBrowsers, tmp_path: Path
) -> None:
    async with PushReceiver("410 Gone") as gone, PushReceiver() as other:
        browsers.add(Browser(**gone.subscription))
        browsers.add(Browser(**other.subscription))
        await push(tmp_path)

    assert len(other.messages) == 1
    assert [each.endpoint for each in browsers.list()] == [other.subscription["endpoint"]]


async def test_a_browser_that_is_gone_and_cannot_be_forgotten_keeps_nobody_from_being_told(
    browsers: PushBrowsers, tmp_path: Path
) -> None:
    async with PushReceiver("410 Gone") as gone, PushReceiver() as other:
        browsers.add(Browser(**gone.subscription))
        browsers.add(Browser(**other.subscription))
        lock = tmp_path / "state" / "quorum" / "web-push.json.lock"
        lock.unlink()
        lock.mkdir()
        await push(tmp_path)

    assert len(other.messages) == 1
    assert len(browsers.list()) == 2


async def test_what_a_service_says_beside_the_head_of_its_answer_is_not_waited_for(
    browsers: PushBrowsers, tmp_path: Path
) -> None:
    async with PushReceiver(never_ends=True) as receiver:
        browsers.add(Browser(**receiver.subscription))
        await push(tmp_path)  # or it fails: the body never ends

    assert len(receiver.messages) == 1


@pytest.mark.parametrize("status", ["429 Too Many Requests", "500 Oh", "307 Elsewhere"])
async def test_a_service_that_does_not_take_it_is_an_error_without_the_address(
    browsers: PushBrowsers, tmp_path: Path, status: str
) -> None:
    async with PushReceiver(status) as receiver:
        browsers.add(Browser(**receiver.subscription))
        with pytest.raises(PushFailed, match=status[:3]) as failed:
            await push(tmp_path)

    assert "a-browser" not in str(failed.value)
    assert len(browsers.list()) == 1


async def test_a_link_that_no_service_would_take_is_told_as_that(
    browsers: PushBrowsers, tmp_path: Path
) -> None:
    async with PushReceiver() as receiver:
        browsers.add(Browser(**receiver.subscription))
        with pytest.raises(PushFailed, match="shorten link"):
            await push_to_browsers(browsers, MESSAGE, "https://inbox.example/" + 3000 * "a")


async def test_without_a_browser_the_error_says_where_one_is_subscribed(
    browsers: PushBrowsers, tmp_path: Path
) -> None:
    with pytest.raises(PushFailed, match="/approvals/notify"):
        await push(tmp_path)


def test_the_file_is_of_the_person_alone_and_holds_the_latest_twenty(browsers: PushBrowsers) -> None:
    key = browsers.find_key().public
    for number in range(21):
        receiver = PushReceiver()
        receiver.origin = f"https://push.example/{number}"
        browsers.add(Browser(**receiver.subscription))

    file = browsers._file.path
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(browsers.list()) == 20
    assert "push.example/0/" not in file.read_text()
    assert browsers.find_key().public == key
    file.write_text(json.dumps({"key": "x"}))
    with pytest.raises(ConfigError, match="is damaged"):
        browsers.list()


@pytest.mark.parametrize(
    "changed",
    [
        *(
            {"endpoint": "http://push.example/1"},
            {"endpoint": "file:///etc"},
            {"p256dh": "BA"},
            {"auth": "AAAA"},
        ),
        {"endpoint": f"https://push.example/{'a' * 2000}"},
    ],
)
def test_a_browser_that_cannot_be_told_is_refused(browsers: PushBrowsers, changed: dict[str, str]) -> None:
    receiver = PushReceiver()
    receiver.origin = "https://push.example"

    with pytest.raises(ConfigError, match="this browser cannot be told"):
        browsers.add(Browser(**{**receiver.subscription, **changed}))
    assert browsers.list() == ()


def test_a_message_is_for_its_browser_alone_and_no_longer_than_services_take() -> None:
    receiver, other = PushReceiver(), PushReceiver()
    receiver.origin = "https://push.example"
    keys = (receiver.subscription["p256dh"], receiver.subscription["auth"])

    sealed = encrypt(b"x" * MOST_BYTES, *keys)

    assert len(sealed) <= 4096
    assert read_message(sealed, receiver._key, receiver._auth) == b"x" * MOST_BYTES
    with pytest.raises(InvalidTag):
        read_message(sealed, other._key, receiver._auth)
    with pytest.raises(ValueError, match="at most"):
        encrypt(b"x" * (MOST_BYTES + 1), *keys)
