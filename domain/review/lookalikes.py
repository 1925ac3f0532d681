"""Characters in a call that look like others on every screen: what is approved would not be what is read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from quorum.domain.calls.server_tools import is_of_server
from quorum.domain.calls.tool import ToolCall
from quorum.domain.text.json_value import JsonValue
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.printable import make_printable

_MOST_TOLD = 3
_MOST_SHOWN = 40
_MOST_SEARCHED = 65_536
# Contents of files, of which a diff is shown.
_CONTENTS = frozenset({"content", "old_text", "new_text", "edits", "patch"})
# What a program takes letter by letter, and no prose.
_NAME = "the name of an argument"
_EXACT = frozenset({_NAME, "command", "path", "paths", "file", "file_path", "working_dir", "cwd", "url", "uri"})
_WORD = r"[^\W\d_]+"
_TOKEN = r"[^ \t\n]+"
# Of Cyrillic, Greek, Armenian and Latin beyond ASCII; those that are another form of a letter are told by that.
_LETTERS = frozenset("аеорсухіјѕһԁԛԝӏАВЕЅІЈКМНОРСТХУԌαονυρικγΑΒΕΖΗΙΚΜΝΟΡΤΥΧօոսցհѵɑɡ")
_SIGNS = frozenset("\u2010\u2011\u2212\u2215\u2044\u29f8\ua789\u2236\u02d0\u02ba\u02b9\u01c3")
_LEAST_LETTERS = 3


def find_lookalikes(call: ToolCall) -> tuple[str, ...]:
    """Sentences about words of a call that mix letters of two scripts, or consist of letters that look like
    Latin ones, and about blanks that are no spaces; the first few."""
    found: dict[str, None] = {}
    passed_by = frozenset[str]() if is_of_server(call.tool_name) else _CONTENTS
    for place, text in _list_texts("", call.arguments, passed_by):
        if text.isascii() and "\r" not in text:
            continue
        for token in compile_once(_TOKEN).finditer(text[:_MOST_SEARCHED]):
            if (why := _explain(token[0], is_exact=place in _EXACT)) is not None:
                found[f"{_show(token[0])} in {make_printable(place, newlines=False)} {why}"] = None
            if len(found) == _MOST_TOLD:
                return tuple(found)
    return tuple(found)


def _list_texts(name: str, value: JsonValue, passed_by: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Each text with the name of the argument, or of the part of one, in which it stands."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield _NAME, key
            if key not in passed_by:
                yield from _list_texts(key, inner, frozenset())
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _list_texts(name, inner, passed_by)


def _explain(token: str, *, is_exact: bool) -> str | None:
    for word in compile_once(_WORD).findall(token):
        alike = [char for char in word if _looks_latin(char)]
        if alike and (any(char.isascii() for char in word) or len(alike) == len(word) >= _LEAST_LETTERS):
            return f"holds a letter that looks like another: {_name(alike[0])}"
    if not is_exact:
        return None
    if blank := next((char for char in token if char.isspace()), None):
        return f"holds a blank that is no space, and is one word: {_name(blank)}"
    sign = next((char for char in token if char in _SIGNS or _is_form_of_ascii(char)), None)
    return f"holds a sign that looks like another: {_name(sign)}" if sign is not None else None


def _looks_latin(char: str) -> bool:
    return char in _LETTERS or _is_form_of_ascii(char)


def _is_form_of_ascii(char: str) -> bool:
    """Whether it is the wide, mathematical or another form of a character of ASCII."""
    return not char.isascii() and re.fullmatch(r"[!-~]", unicodedata.normalize("NFKC", char)) is not None


def _name(char: str) -> str:
    return f"U+{ord(char):04X} {unicodedata.name(char, 'control character')}"


def _show(token: str) -> str:
    """A word with all in it that is not of ASCII or a usual letter as its number."""
    shown = "".join(f"⟨U+{ord(c):04X}⟩" if c.isspace() or _looks_latin(c) or c in _SIGNS else c for c in token)
    shown = make_printable(shown, newlines=False)
    return shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}…"
