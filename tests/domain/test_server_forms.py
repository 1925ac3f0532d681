"""Forms of MCP servers: read from schemas that may be hostile, and filled in with values that fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.errors import FormError
from quorum.domain.mcp.server_question import (
    MOST_CHOICES,
    MOST_FIELDS,
    FieldKind,
    FormField,
    ServerAddress,
    ServerForm,
    check_answer,
    check_value,
    parse_value,
    read_form,
    render_value,
)
from quorum.domain.text.json_value import JsonValue


def a_form(**fields: JsonValue) -> ServerForm:
    return read_form("srv", "deploy", "Where to?", {"type": "object", "properties": fields})


def a_field(**schema: JsonValue) -> FormField:
    (field,) = a_form(it=schema).fields
    return field


def test_each_kind_of_field_of_the_protocol_is_read() -> None:
    form = read_form(
        "srv",
        "deploy",
        "Where to?",
        {
            "type": "object",
            "required": ["host"],
            "properties": {
                "host": {"type": "string", "title": "Host", "minLength": 2, "maxLength": 40},
                "mail": {"type": "string", "format": "email"},
                "port": {"type": "integer", "minimum": 1, "maximum": 65535, "default": 22},
                "share": {"type": "number"},
                "sure": {"type": "boolean", "default": False},
                "zone": {"type": "string", "enum": ["a", "b"]},
                "named": {"type": "string", "enum": ["a", "b"], "enumNames": ["Alpha", "Beta"]},
                "titled": {"type": "string", "oneOf": [{"const": "x", "title": "Ex"}]},
                "tags": {"type": "array", "items": {"type": "string", "enum": ["p", "q"]}, "maxItems": 1},
                "more": {"type": "array", "items": {"anyOf": [{"const": "z", "title": "Zed"}]}},
            },
        },
    )

    kinds = {field.name: field.kind for field in form.fields}
    assert kinds == {
        "host": FieldKind.TEXT,
        "mail": FieldKind.TEXT,
        "port": FieldKind.INTEGER,
        "share": FieldKind.NUMBER,
        "sure": FieldKind.BOOLEAN,
        "zone": FieldKind.CHOICE,
        "named": FieldKind.CHOICE,
        "titled": FieldKind.CHOICE,
        "tags": FieldKind.CHOICES,
        "more": FieldKind.CHOICES,
    }
    assert [choice.title for field in form.fields for choice in field.choices] == [
        *("a", "b", "Alpha", "Beta", "Ex", "p", "q", "Zed")
    ]
    assert [field.name for field in form.fields if field.is_required] == ["host"]
    assert {field.name: field.default for field in form.fields if field.default is not None} == {
        "port": 22,
        "sure": False,
    }


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "array"}, "no object"),
        ({"properties": []}, "no object"),
        ({"properties": {}, "required": ["x"]}, "no list of its fields"),
        ({"properties": {}, "required": "x"}, "no list of its fields"),
        ({"properties": {f"f{n}": {"type": "string"} for n in range(MOST_FIELDS + 1)}}, "more than 40"),
        ({"properties": {"x": {"type": "object", "properties": {}}}}, "neither text, number"),
        ({"properties": {"x": {"type": ["string", "null"]}}}, "neither text, number"),
        ({"properties": {"x": []}}, "no object"),
        ({"properties": {"x": {"type": "string", "enum": [str(n) for n in range(MOST_CHOICES + 1)]}}}, "101"),
        ({"properties": {"x": {"type": "string", "enum": ["y" * 1_000_000]}}}, "1000000 characters"),
        ({"properties": {"x": {"type": "string", "enum": ["a", "a"]}}}, "twice"),
        ({"properties": {"x": {"type": "string", "enum": ["a", 1]}}}, "no list of texts"),
        ({"properties": {"x": {"type": "string", "enum": []}}}, "no list of texts"),
        ({"properties": {"x": {"type": "array", "items": {"type": "string"}}}}, "list of anything"),
        ({"properties": {"x": {"type": "string", "minLength": "3"}}}, "no number"),
        ({"properties": {"x": {"type": "number", "maximum": 10**400}}}, "no number"),
        ({"properties": {"x": {"type": "string", "title": 3}}}, "no text"),
        ({"properties": {"x": {"type": "string", "description": "d" * 2_001}}}, "more than 2000"),
        ({"properties": {"x\u202ey": {"type": "string"}}}, "cannot be shown"),
        ({"properties": {"n" * 101: {"type": "string"}}}, "cannot be shown"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_form_that_cannot_be_shown_whole_is_refused(schema: dict[str, JsonValue], said: str) -> None:
    with pytest.raises(FormError, match=said):
        read_form("srv", "", "m", schema)


def test_a_message_too_long_to_be_read_is_refused() -> None:
    with pytest.raises(FormError, match="the message has 2001 characters"):
        read_form("srv", "", "m" * 2_001, {})


def test_text_of_the_server_is_made_safe_to_draw() -> None:
    form = read_form("srv", "", "a\x1b[2Jb", {"properties": {"x": {"type": "string", "title": "T\u202e\nt"}}})

    assert "\x1b" not in form.message
    assert "\u202e" not in form.fields[0].title
    assert "\n" not in form.fields[0].title


def test_choices_with_one_title_are_told_apart_by_their_values() -> None:
    field = a_field(type="string", oneOf=[{"const": "prod", "title": "Go"}, {"const": "test", "title": "Go"}])

    assert [choice.title for choice in field.choices] == ["Go (prod)", "Go (test)"]


def test_a_default_that_does_not_fit_is_none() -> None:
    assert a_field(type="integer", default="many").default is None
    assert a_field(type="string", enum=["a"], default="b").default is None


@pytest.mark.parametrize(
    "words",
    [
        {"title": "Password"},
        {"title": "Your API key"},
        {"title": "apiKey"},
        {"description": "the access token of your account"},
        {"title": "PIN"},
        {"title": "Card number"},
    ],
    ids=str,
)
def test_a_field_that_asks_for_a_secret_is_found(words: dict[str, JsonValue]) -> None:
    assert a_field(type="string", **words).asks_for_secret


@pytest.mark.parametrize("title", ["Compass", "Spinning", "Keyboard", "Passenger name"])
def test_a_harmless_field_is_not_taken_for_one_that_asks_for_a_secret(title: str) -> None:
    assert not a_field(type="string", title=title).asks_for_secret


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, " as typed ", " as typed "),
        ({"type": "integer"}, " 12 ", 12),
        ({"type": "number"}, "-1.5e3", -1500.0),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "off", False),
        ({"type": "string", "oneOf": [{"const": "x", "title": "Ex"}]}, "Ex", "x"),
        ({"type": "string", "oneOf": [{"const": "x", "title": "Ex"}]}, "1", "x"),
        ({"type": "array", "items": {"enum": ["p", "q"]}}, "q, p", ("q", "p")),
        ({"type": "array", "items": {"enum": ["p, r", "q"]}}, "1,2", ("p, r", "q")),
        ({"type": "string", "format": "date"}, "2026-01-31", "2026-01-31"),
        ({"type": "string", "format": "date-time"}, "2026-01-31T10:00:00Z", "2026-01-31T10:00:00Z"),
        ({"type": "string", "format": "email"}, "a@b.example", "a@b.example"),
        ({"type": "string", "format": "uri"}, "https://b.example/x", "https://b.example/x"),
        ({"type": "integer"}, "", None),
    ],
)
def test_what_fits_is_taken(schema: dict[str, JsonValue], text: str, value: object) -> None:
    assert parse_value(a_field(**schema), text) == value


@pytest.mark.parametrize(
    ("schema", "text", "said"),
    [
        ({"type": "integer"}, "1.5", "no whole number"),
        ({"type": "integer"}, "9" * 5_000, "no whole number"),
        ({"type": "integer", "maximum": 5}, "6", "at most 5"),
        ({"type": "number"}, "nan", "no number"),
        ({"type": "number"}, "1e999", "no number"),
        ({"type": "boolean"}, "perhaps", "neither yes nor no"),
        ({"type": "string", "minLength": 3}, "ab", "at least 3 characters"),
        ({"type": "string", "enum": ["a"]}, "b", "none of: a"),
        ({"type": "array", "items": {"enum": ["p", "q"]}, "minItems": 2}, "p", "at least 2 of the values"),
        ({"type": "string", "format": "date"}, "31.1.2026", "no date"),
        ({"type": "string", "format": "date-time"}, "2026-01-31T10:00:00", "no time"),
        ({"type": "string", "format": "email"}, "a@b", "no e-mail"),
        ({"type": "string", "format": "uri"}, "//b", "no address"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(
    schema: dict[str, JsonValue], text: str, said: str
) -> None:
    with pytest.raises(FormError, match=said):
        parse_value(a_field(**schema), text)


@pytest.mark.parametrize("value", [10**400, -(10**400), float("inf"), float("nan")])
def test_what_is_too_large_for_a_number_is_no_number(value: float) -> None:
    assert check_value(a_field(type="number"), value) == "it is no number"


def test_an_answer_lacks_no_required_field_and_has_no_other() -> None:
    form = read_form(
        "srv", "", "m", {"properties": {"a": {"type": "string"}, "b": {"type": "boolean"}}, "required": ["a"]}
    )

    assert check_answer(form, {"a": "x"}) == ()
    assert check_answer(form, {"b": True}) == ("a: it is required",)
    assert check_answer(form, {"a": "x", "c": "y"}) == ("the form has no field c",)
    assert check_answer(form, {"a": "x", "b": "yes"}) == ("b: it is no boolean",)


def test_a_digest_is_of_everything_that_is_shown() -> None:
    form = a_form(x={"type": "string"})
    others = [
        a_form(x={"type": "string", "title": "y"}),
        a_form(x={"type": "integer"}),
        a_form(x={"type": "string", "description": "d"}),
        read_form("srv", "deploy", "Where now?", {"properties": {"x": {"type": "string"}}}),
        read_form("other", "deploy", "Where to?", {"properties": {"x": {"type": "string"}}}),
    ]

    assert form.digest == a_form(x={"type": "string"}).digest
    assert len({form.digest, *(other.digest for other in others)}) == 6


def test_the_host_of_an_address_is_that_a_browser_goes_to() -> None:
    def host(address: str) -> str:
        return ServerAddress(server="s", call="", message="", address=address).host

    assert host("https://good.example@evil.example/x") == "evil.example"
    assert host("https://[") == ""


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
_NAMES = st.sampled_from(
    ["type", "enum", "oneOf", "anyOf", "enumNames", "items", "default", "title", "minLength"]
)
_WORDS = st.sampled_from(["string", "integer", "array", "boolean", "number", "object"])
_FIELD = st.dictionaries(_NAMES, _WORDS | _JSON, max_size=6)


@pytest.mark.long
@given(properties=st.dictionaries(st.text(max_size=6), _FIELD | _JSON, max_size=4), rest=_JSON)
def test_any_schema_is_a_form_or_is_refused(properties: JsonValue, rest: JsonValue) -> None:
    try:
        form = read_form("srv", "", "m", {"type": "object", "properties": properties, "required": rest})
    except FormError:
        return
    for field in form.fields:
        if field.default is not None:
            assert check_value(field, field.default) == ""
            assert field.kind is not FieldKind.TEXT or render_value(field, field.default) == field.default


@pytest.mark.long
@given(values=st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=6, unique=True), data=st.data())
def test_chosen_values_survive_being_shown_and_typed_again(values: list[str], data: st.DataObject) -> None:
    try:
        field = a_field(type="array", items={"enum": values})
    except FormError:
        return
    chosen = tuple(data.draw(st.lists(st.sampled_from(values), unique=True, min_size=1)))

    typed = render_value(field, chosen)

    if len({choice.title.strip() for choice in field.choices}) == len(values) and all(
        choice.title.strip() == choice.title and not choice.title.isdecimal() for choice in field.choices
    ):
        parsed = parse_value(field, typed)
        assert isinstance(parsed, tuple)
        assert set(parsed) == set(chosen)
