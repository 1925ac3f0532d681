"""What an MCP server asks the person while it works: a form to fill in, or an address to open.

A form comes from outside, so all of it is bounded, and typed values are checked against its fields.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from enum import StrEnum
from typing import TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct, field

from quorum.domain.errors import FormError
from quorum.domain.replacing import replace
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.printable import make_printable

FieldValue: TypeAlias = str | int | float | bool | tuple[str, ...]
"""A value of a form: a tuple holds the values of a field of which several can be chosen."""

_SECRET = (
    r"(?i)pass(word|phrase|code)s?\b|\bpass\b|secrets?\b|tokens?\b|api.?keys?\b|private.?keys?\b|credentials?\b|\bpins?\b"
    r"|\bcvv\b|card.?number"
)


class FieldKind(StrEnum):
    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    CHOICES = "choices"


class TextFormat(StrEnum):
    """The formats of text that a server can ask for."""

    EMAIL = "email"
    URI = "uri"
    DATE = "date"
    DATE_TIME = "date-time"


class FieldChoice(Struct, frozen=True, kw_only=True):
    """One of the values that can be chosen. `title` is what the person reads."""

    value: str
    title: str


class FormField(Struct, frozen=True, kw_only=True):
    """One field. `least` and `most` bound the characters of a text, the value of a number, and how many
    choices are taken."""

    name: str
    title: str
    kind: FieldKind
    description: str = ""
    is_required: bool = False
    default: FieldValue | None = None
    choices: tuple[FieldChoice, ...] = ()
    format: TextFormat | None = None
    least: float | None = None
    most: float | None = None

    @property
    def asks_for_secret(self) -> bool:
        """Whether its words name something that the protocol forbids a server to ask for in a form."""
        words = re.sub(r"[_\W]+|(?<=[a-z])(?=[A-Z])", " ", f"{self.name} {self.title}")
        return compile_once(_SECRET).search(f"{words} {self.description}") is not None


class ServerForm(Struct, frozen=True, kw_only=True):
    """A form. `call` is the tool that the server works on; empty where it is not known. Without a `server` the
    model asks."""

    server: str
    call: str
    message: str
    fields: tuple[FormField, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 over all of it: an answer is one to this and to nothing else."""
        fields = [
            [
                *(one.name, one.title, one.kind, one.description, one.is_required, one.default, one.format),
                *([[choice.value, choice.title] for choice in one.choices], one.least, one.most),
            ]
            for one in self.fields
        ]
        return _compute_digest("form", self.server, self.call, self.message, fields)


class ServerAddress(Struct, frozen=True, kw_only=True):
    """An address that the server wants opened in a browser."""

    server: str
    call: str
    message: str
    address: str

    @property
    def digest(self) -> str:
        """SHA-256 over all of it."""
        return _compute_digest("address", self.server, self.call, self.message, self.address)

    @property
    def host(self) -> str:
        """Where the address leads to; empty where it leads nowhere."""
        try:
            return urlsplit(self.address).hostname or ""
        except ValueError:
            return ""


ServerQuestion: TypeAlias = ServerForm | ServerAddress


class ServerAction(StrEnum):
    """What became of a question. `DECLINE` is a no; `CANCEL` means that nobody decided."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


class ServerAnswer(Struct, frozen=True, kw_only=True):
    """The answer to a question; `values` by name of the field, where a form is accepted."""

    action: ServerAction
    values: Mapping[str, FieldValue] = field(default_factory=dict)


def _compute_digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()


_EMAIL = r"[^@\s]+@[^@\s]+\.[^@\s.]+"
_YES = frozenset({"yes", "y", "true", "on", "1"})
_NO = frozenset({"no", "n", "false", "off", "0"})


def parse_value(field: FormField, text: str) -> FieldValue | None:
    """What the person typed; None for nothing. Raises FormError with the reason where it does not fit.

    Values to choose from are named by title, by value or by number, from 1; several are separated by commas.
    """
    if field.kind is not FieldKind.TEXT:
        text = text.strip()
    if not text:
        return None
    value = _convert(field, text)
    if problem := check_value(field, value):
        raise FormError(problem)
    return value


def render_value(field: FormField, value: FieldValue | None) -> str:
    """A value as `parse_value` takes it."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case tuple():
            titles = [_find_title(field, one) for one in value]
            has_comma = any("," in title for title in titles)
            return ", ".join(map(str, _number_options(field, value)) if has_comma else titles)
        case str() if field.kind is FieldKind.CHOICE:
            return _find_title(field, value)
        case _:
            return str(value)


def check_answer(form: ServerForm, values: Mapping[str, FieldValue]) -> tuple[str, ...]:
    """What is wrong with the values of a form, a sentence each; empty where it can be sent."""
    fields = {field.name: field for field in form.fields}
    problems = [f"the form has no field {name}" for name in values if name not in fields]
    for each in form.fields:
        if each.name in values:
            if problem := check_value(each, values[each.name]):
                problems.append(f"{each.title}: {problem}")
        elif each.is_required:
            problems.append(f"{each.title}: it is required")
    return tuple(problems)


def check_value(field: FormField, value: FieldValue) -> str:
    """What is wrong with a value; empty where it fits."""
    match field.kind, value:
        case FieldKind.BOOLEAN, bool():
            return ""
        case FieldKind.TEXT, str():
            return _check_size(field, len(value), "characters") or _check_format(field, value)
        case FieldKind.INTEGER, int() if not isinstance(value, bool):
            return _check_size(field, value, "")
        case FieldKind.NUMBER, int() | float() if not isinstance(value, bool):
            return _check_size(field, value, "") if fits_a_float(value) else "it is no number"
        case FieldKind.CHOICE, str():
            return "" if value in {choice.value for choice in field.choices} else "it is none of the values"
        case FieldKind.CHOICES, tuple():
            if not set(value) <= {choice.value for choice in field.choices} or len(set(value)) < len(value):
                return "these are not all different ones of the values"
            return _check_size(field, len(value), "of the values")
        case _:
            return f"it is no {field.kind}"


def fits_a_float(value: float) -> bool:
    """Whether it is a finite number that is not too large: integers of JSON have any length."""
    return -sys.float_info.max <= value <= sys.float_info.max


def _convert(field: FormField, text: str) -> FieldValue:
    match field.kind:
        case FieldKind.TEXT:
            return text
        case FieldKind.INTEGER:
            if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
                raise FormError("it is no whole number")
            return int(text)
        case FieldKind.NUMBER:
            if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", text):
                raise FormError("it is no number")
            return float(text)
        case FieldKind.BOOLEAN:
            if text.lower() not in _YES | _NO:
                raise FormError("it is neither yes nor no")
            return text.lower() in _YES
        case FieldKind.CHOICE:
            return _find_value(field, text)
        case FieldKind.CHOICES:
            return tuple(
                dict.fromkeys(_find_value(field, one.strip()) for one in text.split(",") if one.strip())
            )


def _find_value(field: FormField, title: str) -> str:
    for number, choice in enumerate(field.choices, 1):
        if title in (choice.title, choice.value, str(number)):
            return choice.value
    raise FormError(f"it is none of: {', '.join(choice.title for choice in field.choices)}"[:200])


def _number_options(field: FormField, values: tuple[str, ...]) -> list[int]:
    return [number for number, choice in enumerate(field.choices, 1) if choice.value in values]


def _find_title(field: FormField, value: str) -> str:
    return next((choice.title for choice in field.choices if choice.value == value), value)


def _check_size(field: FormField, size: float, unit: str) -> str:
    of = f" {unit}" if unit else ""
    if field.least is not None and size < field.least:
        return f"at least {field.least:g}{of}"
    if field.most is not None and size > field.most:
        return f"at most {field.most:g}{of}"
    return ""


def _check_format(field: FormField, text: str) -> str:
    match field.format:
        case None:
            return ""
        case TextFormat.EMAIL:
            return "" if compile_once(_EMAIL).fullmatch(text) else "it is no e-mail address"
        case TextFormat.URI:
            return "" if _is_uri(text) else "it is no address with a scheme, such as https://example.org"
        case TextFormat.DATE:
            return "" if _is_date(text) else "it is no date such as 2026-01-31"
        case TextFormat.DATE_TIME:
            return "" if _is_date_time(text) else "it is no time such as 2026-01-31T12:00:00Z"


def _is_uri(text: str) -> bool:
    try:
        return bool(urlsplit(text).scheme) and not re.search(r"\s", text)
    except ValueError:
        return False


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    try:
        return "T" in text and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


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
