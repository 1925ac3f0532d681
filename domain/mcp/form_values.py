"""Values of a form: typed by the person, checked against their fields."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from datetime import date, datetime
from urllib.parse import urlsplit

from quorum.domain.errors import FormError
from quorum.domain.mcp.server_question import FieldKind, FieldValue, FormField, ServerForm, TextFormat

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")
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
    for field in form.fields:
        if field.name in values:
            if problem := check_value(field, values[field.name]):
                problems.append(f"{field.title}: {problem}")
        elif field.is_required:
            problems.append(f"{field.title}: it is required")
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
            return "" if _EMAIL.fullmatch(text) else "it is no e-mail address"
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
