import tomllib

from hypothesis import given
from hypothesis import strategies as st

from quorum.infrastructure.config.toml_text import (
    escape_unprintable,
    format_key,
    format_literal,
    hide_credentials,
    shorten_text,
)

_SCALARS = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text()
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@given(_VALUES)
def test_a_literal_is_the_value_again_and_shows_no_control_characters(value: object):
    text = format_literal(value)

    assert tomllib.loads(f"value = {text}") == {"value": value}
    assert text.isprintable()


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_a_dotted_key_is_the_path_again(path: list[str]):
    data: object = tomllib.loads(f"{format_key(tuple(path))} = 1")
    for name in path:
        assert isinstance(data, dict)
        data = data[name]

    assert data == 1


@given(st.text(st.characters()))
def test_text_of_any_origin_becomes_printable(text: str):
    assert escape_unprintable(text).isprintable()


def test_what_is_too_long_is_cut_and_says_so():
    assert shorten_text("x" * 60, 60) == "x" * 60
    assert shorten_text("x" * 61, 60) == "x" * 59 + "…"


def test_credentials_in_an_address_are_hidden():
    assert hide_credentials('"http://me:pass@host/a@b"') == '"http://…@host/a@b"'
    assert hide_credentials("a plain text @ home") == "a plain text @ home"
