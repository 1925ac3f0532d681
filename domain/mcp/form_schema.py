"""The schema of a form as a server sends it, read into fields. It comes from outside: all of it is bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quorum.domain.errors import FormError
from quorum.domain.mcp.form_values import check_value, fits_a_float
from quorum.domain.mcp.server_question import (
    FieldChoice,
    FieldKind,
    FieldValue,
    FormField,
    ServerForm,
    TextFormat,
)
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.printable import make_printable

MOST_FIELDS = 40
MOST_CHOICES = 100
_LONGEST_NAME = 100
_LONGEST_TITLE = 200
_LONGEST_TEXT = 2_000

_KINDS = {"integer": FieldKind.INTEGER, "number": FieldKind.NUMBER, "boolean": FieldKind.BOOLEAN}


def read_form(server: str, call: str, message: str, schema: Mapping[str, JsonValue]) -> ServerForm:
    """The form of a server. Raises FormError where it is not one of flat fields, or is too long to be read."""
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if schema.get("type", "object") != "object" or not isinstance(properties, Mapping):
        raise FormError("the form is no object with properties")
    if len(properties) > MOST_FIELDS:
        raise FormError(f"the form has {len(properties)} fields, more than {MOST_FIELDS}")
    names = _read_texts(required)
    if names is None or not set(names) <= set(properties):
        raise FormError('"required" of the form is no list of its fields')
    return ServerForm(
        server=server,
        call=call,
        message=read_text(message, "the message", _LONGEST_TEXT),
        fields=tuple(_read_field(name, field, is_required=name in names) for name, field in properties.items()),
    )


def read_text(text: JsonValue, what: str, longest: int = _LONGEST_TEXT) -> str:
    """Text of a server as it may be drawn. Raises FormError where it is none, or is too long to be read."""
    if not isinstance(text, str):
        raise FormError(f"{what} is no text")
    if len(text) > longest:
        raise FormError(f"{what} has {len(text)} characters, more than {longest}")
    return make_printable(text)


def _read_field(name: str, field: JsonValue, *, is_required: bool) -> FormField:
    if not isinstance(field, Mapping):
        raise FormError(f"the field {make_printable(name, newlines=False)[:_LONGEST_NAME]} is no object")
    if len(name) > _LONGEST_NAME or make_printable(name, newlines=False) != name:
        raise FormError(
            f"the name of the field {make_printable(name, newlines=False)[:_LONGEST_NAME]} cannot be shown"
        )
    kind, choices = _read_kind(name, field)
    least, most = _read_bounds(name, field, kind)
    title = field.get("title", name)
    read = FormField(
        name=name,
        title=read_text(title, f"the title of {name}", _LONGEST_TITLE).replace("\n", " ") or name,
        kind=kind,
        description=read_text(field.get("description", ""), f"the description of {name}"),
        is_required=is_required,
        choices=choices,
        format=_read_format(field) if kind is FieldKind.TEXT else None,
        least=least,
        most=most,
    )
    default = _read_default(field.get("default"))
    if default is None or check_value(read, default):
        return read  # a default that does not fit is none
    return replace(read, default=default)


def _read_kind(name: str, field: Mapping[str, JsonValue]) -> tuple[FieldKind, tuple[FieldChoice, ...]]:
    type_ = field.get("type", "string")
    if type_ == "string":
        choices = _read_choices(name, field)
        return (FieldKind.CHOICE if choices else FieldKind.TEXT), choices
    if type_ == "array":
        items = field.get("items")
        choices = _read_choices(name, items) if isinstance(items, Mapping) else ()
        if not choices:
            raise FormError(
                f"the field {name} is a list of anything; only lists of given values can be asked for"
            )
        return FieldKind.CHOICES, choices
    kind = _KINDS.get(type_) if isinstance(type_, str) else None
    if kind is None:
        raise FormError(f"the field {name} is neither text, number, boolean nor a choice")
    return kind, ()


def _read_choices(name: str, field: Mapping[str, JsonValue]) -> tuple[FieldChoice, ...]:
    """The values to choose from, in each of the ways that versions of the protocol have for them."""
    values = field.get("enum")
    titled = field.get("oneOf", field.get("anyOf"))
    if values is None and titled is None:
        return ()
    if isinstance(titled, Sequence) and not isinstance(titled, str):
        pairs = [(one.get("const"), one.get("title")) for one in titled if isinstance(one, Mapping)]
        whole = len(pairs) == len(titled)
    else:
        listed = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else []
        titles = _read_texts(field.get("enumNames"))
        named = list(titles) if titles is not None and len(titles) == len(listed) else listed
        pairs, whole = list(zip(listed, named, strict=True)), bool(listed)
    if not whole or not pairs or not all(isinstance(value, str) for value, _ in pairs):
        raise FormError(f"the values of the field {name} are no list of texts")
    if len(pairs) > MOST_CHOICES:
        raise FormError(f"the field {name} has {len(pairs)} values to choose from, more than {MOST_CHOICES}")
    choices = tuple(
        FieldChoice(
            value=str(value),
            title=read_text(
                title if title is not None else value, f"a value of {name}", _LONGEST_TITLE
            ).replace("\n", " "),
        )
        for value, title in pairs
    )
    if len({choice.value for choice in choices}) < len(choices):
        raise FormError(f"the field {name} lists a value twice")
    if len({choice.title for choice in choices}) < len(choices):
        return tuple(
            FieldChoice(
                value=choice.value, title=f"{choice.title} ({make_printable(choice.value, newlines=False)})"
            )
            for choice in choices
        )
    return choices


def _read_bounds(
    name: str, field: Mapping[str, JsonValue], kind: FieldKind
) -> tuple[float | None, float | None]:
    match kind:
        case FieldKind.TEXT:
            keys = ("minLength", "maxLength")
        case FieldKind.INTEGER | FieldKind.NUMBER:
            keys = ("minimum", "maximum")
        case FieldKind.CHOICES:
            keys = ("minItems", "maxItems")
        case FieldKind.BOOLEAN | FieldKind.CHOICE:
            return None, None
    bounds: list[float | None] = []
    for key in keys:
        bound = field.get(key)
        if bound is not None and (
            isinstance(bound, bool) or not isinstance(bound, int | float) or not fits_a_float(bound)
        ):
            raise FormError(f"{key} of the field {name} is no number")
        bounds.append(bound)
    return bounds[0], bounds[1]


def _read_format(field: Mapping[str, JsonValue]) -> TextFormat | None:
    name = field.get("format")
    return TextFormat(name) if isinstance(name, str) and name in set(TextFormat) else None


def _read_default(value: JsonValue) -> FieldValue | None:
    match value:
        case str() | bool() | int() | float():
            return value
        case _:
            return _read_texts(value)


def _read_texts(value: JsonValue) -> tuple[str, ...] | None:
    """A list of texts; None where it is none."""
    if not isinstance(value, list | tuple):
        return None
    texts = tuple(one for one in value if isinstance(one, str))
    return texts if len(texts) == len(value) else None
