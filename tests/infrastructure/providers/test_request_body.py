"""The body of a request is the JSON that servers are meant to read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.text.json_value import JsonValue
from quorum.infrastructure.models.shared.request_body import encode_body
from tests.support.examples import examples

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@examples(100)
@given(body=st.dictionaries(TEXTS, VALUES, max_size=5))
def test_it_says_what_the_body_says_in_its_order(body: dict[str, JsonValue]) -> None:
    encoded = encode_body(body)

    assert json.loads(encoded) == body
    assert list(json.loads(encoded)) == list(body)


def test_letters_are_sent_as_they_are_and_what_json_lacks_as_null() -> None:
    assert encode_body({"a": "é\u2028\x00", "b": float("nan"), "c": (1, 2)}) == (
        '{"a":"é\u2028\\u0000","b":null,"c":[1,2]}'.encode()
    )


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        encode_body({"a": "\ud800"})
