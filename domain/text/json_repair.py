"""JSON as models write it by mistake, where it can be read in one way only."""

from __future__ import annotations

import ast
import json
import re

_LETTER_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\[bfnrtu]")
_STRAY_BACKSLASH = re.compile(r"(?<!\\)(?:\\\\)*\\(?![\\\"/bfnrtu])")
_LONGEST_PYTHON = 100_000


def double_backslashes(text: str) -> str:
    """With every backslash for itself; "" where some are escapes of letters: it could be read in two ways."""
    if _LETTER_ESCAPE.search(text):
        return ""
    return _STRAY_BACKSLASH.sub(r"\\\g<0>", text)


def escape_line_breaks(text: str) -> str:
    """With control characters in its strings written as escapes; "" where that makes no JSON of it."""
    try:
        return json.dumps(json.loads(text, strict=False), ensure_ascii=False)
    except (ValueError, RecursionError):
        return ""


def read_python(text: str) -> str:
    """A dictionary of Python as JSON: single quotes, or a comma at the end."""
    if "\\" in text or len(text) > _LONGEST_PYTHON or not text.startswith("{"):
        return ""
    try:
        value = ast.literal_eval(text)
        return json.dumps(value, allow_nan=False) if isinstance(value, dict) and _has_text_keys(value) else ""
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ""


def _has_text_keys(value: object) -> bool:
    match value:
        case dict():
            return all(isinstance(key, str) and _has_text_keys(each) for key, each in value.items())
        case list():
            return all(map(_has_text_keys, value))
        case _:
            return value is None or isinstance(value, str | int | float | bool)
