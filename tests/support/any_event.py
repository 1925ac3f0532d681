"""Any event there can be, built from the hints of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from msgspec import Struct

from quorum.domain.conversation.response import StopKind, StopReason
from quorum.domain.struct_json import Amount

# Halves of surrogate pairs, ends of lines that are none, directions, marks: what outputs really hold.
ODD = "\ud800\udfff\x00\x85\u2028\u202e\ufeff\U0001f600e\u0301"
TEXT = st.text(st.characters(exclude_categories=()) | st.sampled_from(ODD), max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
# Amounts whose digits a JSON number holds: nothing costs more, or is stated more exactly.
AMOUNTS = st.integers(0, 10**15 - 1).map(lambda digits: Decimal(digits) / 10**9)
WORDS = TEXT.filter(bool) | st.sampled_from([kind.value for kind in StopKind]).flatmap(
    lambda word: st.sampled_from([word, f"other: {word}"])
)
STOPS = st.sampled_from(StopKind).map(StopReason) | WORDS.map(lambda word: StopReason(StopKind.OTHER, word))


_KNOWN: Mapping[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    float: st.floats(allow_nan=False, allow_infinity=False),
    Decimal: AMOUNTS,
    StopReason: STOPS,
    Any: JSON,
    Amount: AMOUNTS,
}


def of_type(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a type that events hold."""
    if hint in _KNOWN:
        return _KNOWN[hint]
    if isinstance(hint, type) and issubclass(hint, Struct):
        hints = get_type_hints(hint)
        shown = [name for name in hint.__struct_fields__ if name != "projected"]
        return st.builds(hint, **{name: of_type(hints[name]) for name in shown})
    match get_origin(hint), get_args(hint):
        case (origin, members) if origin in (Union, UnionType):
            return st.one_of(*map(of_type, members))
        case (origin, values) if origin is Literal:
            return st.sampled_from(values)
        case (origin, (item, *_)) if origin is tuple:
            return st.lists(of_type(item), max_size=2).map(tuple)
        case (origin, (_, value)) if origin is Mapping:
            return st.dictionaries(TEXT, of_type(value), max_size=2)
        case _:
            return st.from_type(hint)
