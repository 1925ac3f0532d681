from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from quorum.infrastructure.tools.json_schema import build_accepted_type, is_accepted
from tests.support.examples import examples

NAMES = ("a", "b", "class", "with space", "é")
PLAIN = st.one_of(
    st.sampled_from(["string", "number", "integer", "boolean"]).map(lambda name: {"type": name}),
    st.integers(-3, 3).map(lambda least: {"type": "integer", "minimum": least}),
    st.integers(0, 2).map(lambda least: {"type": "string", "minLength": least}),
    st.sampled_from([["a"], ["a", "é"], ["a", 1], []]).map(lambda words: {"type": "string", "enum": words}),
)


def objects(inside: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {
            "type": st.just("object"),
            "properties": st.dictionaries(st.sampled_from(NAMES), inside, max_size=3),
            "required": st.lists(st.sampled_from(NAMES), unique=True, max_size=2),
            "additionalProperties": st.just(False),
        }
    )


SCHEMAS = objects(
    st.recursive(
        PLAIN, lambda inside: objects(inside) | inside.map(lambda each: {"type": "array", "items": each})
    )
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.sampled_from([10**18, 10**30, -(10**400), 1.0, 0.5, float("inf")]),
    st.sampled_from(["", "a", "é", "\ud800"]),
)
VALUES = st.dictionaries(
    st.sampled_from([*NAMES, "\ud800"]),
    st.recursive(
        SCALARS,
        lambda inside: (
            st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inside, max_size=3)
        ),
        max_leaves=6,
    ),
    max_size=3,
)


@given(schema=SCHEMAS, value=VALUES)
@examples(2_000)
def test_what_the_type_accepts_the_schema_accepts(schema: dict[str, Any], value: dict[str, Any]) -> None:
    accepted = build_accepted_type(schema)

    if accepted is not None and is_accepted(value, accepted):
        assert list(Draft202012Validator(schema).iter_errors(value)) == []


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"path": "a"}, True),
        ({"path": "a", "offset": 1}, True),
        ({"path": "a", "offset": 0}, False),
        ({"path": "a", "offset": True}, False),
        ({"path": "a", "offset": None}, False),
        ({"path": 1}, False),
        ({}, False),
        ({"path": "a", "more": 1}, False),
    ],
)
def test_a_type_takes_what_fits_and_refuses_the_rest(value: dict[str, Any], fits: bool) -> None:
    accepted = build_accepted_type(
        {
            "type": "object",
            "properties": {"path": {"type": "string"}, "offset": {"type": "integer", "minimum": 1}},
            "required": ["path"],
            "additionalProperties": False,
        }
    )

    assert accepted is not None
    assert is_accepted(value, accepted) == fits


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {}},  # anything more may be there
        {
            "type": "object",
            "properties": {"a": {"type": "string", "pattern": "x"}},
            "additionalProperties": False,
        },
        {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
        {"type": "object", "properties": {}, "required": ["a"], "additionalProperties": False},
        {"type": "array", "items": {"type": "string"}, "maxItems": 1},
        {"type": ["string", "null"]},
        {"type": "integer", "minimum": 1.5},
        {"$ref": "#"},
    ],
)
def test_schemas_of_other_words_have_no_type(schema: dict[str, Any]) -> None:
    assert build_accepted_type(schema) is None
