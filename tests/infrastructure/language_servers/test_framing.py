from __future__ import annotations

import json
import random

import pytest

from quorum.infrastructure.language_servers.channel import MessageReader, OversizedMessage, encode_message


def frame(value: object) -> bytes:
    return encode_message({"value": value})  # type: ignore[dict-item]


def values(reader: MessageReader, data: bytes) -> list[object]:
    return [message.get("value") for message in reader.feed(data)]


def test_messages_are_found_however_the_bytes_are_cut() -> None:
    stream = frame("é") + frame([1, 2]) + frame("😀" * 500)
    dice = random.Random(3)
    for _ in range(50):
        reader, found, rest = MessageReader(), [], stream
        while rest:
            size = dice.randint(1, 60)
            found += values(reader, rest[:size])
            rest = rest[size:]

        assert found == ["é", [1, 2], "😀" * 500]


@pytest.mark.parametrize(
    "noise",
    [
        b"Starting the server\n",
        b"no line end",
        b"Content-Length: many\r\n\r\n",
        b"Content-Length: 12 is what it says\n",
        b"\x00\xff\x1b[31m",
        b"Content-Length: 3\r\n\r\n{]}",
        b"Content-Length: 2\r\n\r\n[]",
    ],
)
def test_what_is_printed_between_messages_is_passed_over(noise: bytes) -> None:
    reader = MessageReader()

    assert values(reader, noise + frame(1) + noise + frame(2)) == [1, 2]


def test_other_headers_and_bare_line_feeds_are_taken() -> None:
    body = json.dumps({"value": 1}).encode()
    whole = b"Content-Type: x; charset=utf-8\nCONTENT-LENGTH: %d\nOther: y\n\n" % len(body) + body

    assert values(MessageReader(), whole + frame(2)) == [1, 2]


def test_a_length_that_counts_characters_costs_one_message_and_no_more() -> None:
    body = json.dumps({"value": "é" * 40}, ensure_ascii=False)
    short = f"Content-Length: {len(body)}\r\n\r\n{body}".encode()

    assert values(MessageReader(), short + frame(2) + frame(3)) == [2, 3]


def test_a_length_that_is_too_long_gives_back_the_message_that_begins_within() -> None:
    body = json.dumps({"value": 1}).encode()
    long = b"Content-Length: %d\r\n\r\n" % (len(body) + 30) + body

    assert 3 in values(MessageReader(), long + frame(2) + frame(3))


def test_an_announcement_beyond_all_reason_ends_the_reading() -> None:
    with pytest.raises(OversizedMessage, match="99,999,999,999 bytes"):
        MessageReader().feed(b"Content-Length: 99999999999\r\n\r\n")


def test_endless_noise_is_not_kept() -> None:
    reader = MessageReader()
    for _ in range(300):
        reader.feed(b"Content-Length: 5\r\n" + b"x: y\r\n" * 1000)
        reader.feed(b"z" * 10_000)

    assert len(reader._unread) < 20_000
    assert len(reader.noise) <= 4_000


def test_headers_without_end_are_looked_through_once() -> None:
    reader = MessageReader()

    for _ in range(20):
        assert reader.feed(b"Content-Length: 5\n" * 10_000 + b"Content-") == []
        assert len(reader._unread) < 10_000
    assert values(reader, b"\n" * 30 + frame(1)) == [1]
