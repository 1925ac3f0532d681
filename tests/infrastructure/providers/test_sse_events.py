from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from quorum.infrastructure.models.shared.answer_reading import EventDecoder, ServerEvent

BODY = (
    "\ufeff: hello\r\nevent: a\r\ndata: ä🌍\u2028\r\n\r\ndata:one\rdata: two\r\rid: 7\n\ndata: last\n\n"
).encode()
EVENTS = [ServerEvent("a", "ä🌍\u2028"), ServerEvent("", "one\ntwo"), ServerEvent("", "last")]


def _decoded(pieces: list[bytes]) -> list[ServerEvent]:
    decoder = EventDecoder()
    found = [event for piece in pieces for event in decoder.feed(piece)]
    return found + decoder.close()


@given(st.lists(st.integers(min_value=0, max_value=len(BODY))))
def test_events_are_the_same_however_the_bytes_are_cut(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(BODY)]
    pieces = [BODY[start:end] for start, end in pairwise(places)]
    assert _decoded(pieces) == EVENTS


def test_the_last_event_needs_no_empty_line_after_it() -> None:
    assert _decoded([b"data: [DONE]"]) == [ServerEvent("", "[DONE]")]


def test_comments_and_unknown_fields_are_no_events() -> None:
    assert _decoded([b": ping\n\nretry: 10\n\nnonsense\n\n"]) == []


def test_what_is_held_of_an_unfinished_event_is_counted() -> None:
    decoder = EventDecoder()
    decoder.feed(b"data: 1234\ndata: 56")
    assert decoder.pending == len(b"1234") + len(b"data: 56")
    decoder.feed(b"\n\n")
    assert decoder.pending == 0
