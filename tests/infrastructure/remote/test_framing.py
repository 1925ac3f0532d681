from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.infrastructure.remote.framing import MOST_HEADER_BYTES, FrameError, FrameReader, encode_frame

bodies = st.lists(st.binary(max_size=200), max_size=6)


def taken(reader: FrameReader, pieces: list[bytes]) -> list[bytes]:
    found: list[bytes] = []
    for piece in pieces:
        reader.feed(piece)
        while (body := reader.pop_body()) is not None:
            found.append(body)
    return found


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(stream) + 1) for place in places} | {0, len(stream)})
    return [stream[start:end] for start, end in pairwise(ends)]


@given(bodies, st.lists(st.integers(min_value=0, max_value=10_000), max_size=30))
def test_frames_come_out_whole_however_the_bytes_were_cut(sent: list[bytes], places: list[int]) -> None:
    reader = FrameReader()

    assert taken(reader, cut(b"".join(map(encode_frame, sent)), places)) == sent
    assert not reader.is_midway


@given(st.lists(st.binary(max_size=4000), max_size=40))
def test_garbage_ends_in_an_error_or_waits_for_more_and_never_holds_more_than_it_may(
    pieces: list[bytes],
) -> None:
    reader = FrameReader(most_bytes=1000)
    try:
        for body in taken(reader, pieces):
            assert len(body) <= 1000
    except FrameError:
        return
    assert len(reader._held) <= MOST_HEADER_BYTES + 4000


def test_the_name_of_the_header_is_known_in_any_case_and_other_headers_are_passed_over() -> None:
    reader = FrameReader()

    assert taken(reader, [b"Content-Type: x/y; charset=utf-8\r\ncontent-LENGTH:  2 \r\n\r\n{}"]) == [b"{}"]


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 5\r\nContent-Length: 5",
        b"Content-Length: -1",
        b"Content-Length: +5",
        b"Content-Length: 5_0",
        b"Content-Length: \xd9\xa3",
        b"Content-Length:",
        b"Content-Length: 99999999999999999999999",
        b"Content-Type: x",
        b"GET / HTTP/1.1",
        b"",
    ],
)
def test_a_header_that_does_not_say_one_length_is_an_error(header: bytes) -> None:
    reader = FrameReader()
    reader.feed(header + b"\r\n\r\n")

    with pytest.raises(FrameError):
        reader.pop_body()


def test_a_body_that_is_too_long_is_refused_before_it_arrives() -> None:
    reader = FrameReader(most_bytes=10)
    reader.feed(b"Content-Length: 11\r\n\r\n")

    with pytest.raises(FrameError, match="at most 10 bytes, not 11"):
        reader.pop_body()


def test_a_header_without_an_end_is_refused() -> None:
    reader = FrameReader()
    reader.feed(b"x" * (MOST_HEADER_BYTES + 1))

    with pytest.raises(FrameError, match="header may have at most"):
        reader.pop_body()
