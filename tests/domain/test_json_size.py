"""How many bytes a JSON value takes, however large or deep it is."""

from __future__ import annotations

import json
from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.text.json_text import count_json_bytes
from quorum.domain.text.json_value import JsonValue
from tests.support.examples import examples

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_VALUES)
@examples(100)
def test_it_is_the_size_of_the_compact_json(value: JsonValue) -> None:
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    assert count_json_bytes(value) == len(compact.encode("utf-8", "surrogatepass"))


def test_any_mapping_and_sequence_counts() -> None:
    assert count_json_bytes(MappingProxyType({"ü": (1, 2)})) == len('{"ü":[1,2]}'.encode())


def test_a_value_nested_deeper_than_python_can_follow_has_a_size() -> None:
    value: JsonValue = "x"
    for _ in range(100_000):
        value = [value]

    assert count_json_bytes(value) > 0
