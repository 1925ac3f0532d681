"""The secrets in a file that is there to hold some: dotenv, INI, JSON, TOML, netrc, PEM and their like."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote, urlsplit

from quorum.domain.secrets.known import LONGEST, NamedSecret
from quorum.domain.secrets.patterns import (
    is_plain_name,
    is_public_name,
    is_random,
    is_secret_name_in_file,
    is_stand_in,
)
from quorum.domain.text.pattern import compile_once

_KEY_BEGINS = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_ENDS = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_SHORTEST_LINE = 32  # of the body of a private key
_LONGEST_LINE = 2 * LONGEST
_NAME = (
    r"""[ \t]*+(?:-[ \t]+)?(?:(?:export|set)[ \t]+)?(?:[^\s=:#'"]*[/:])?"""
    r"""["']?([A-Za-z_][\w.-]*+)["']?[ \t]*+[:=]"""
)
_QUOTED = r"""\s*+(?:"((?:[^"\\]|\\.)*+)"|'([^']*+)'|`([^`]*+)`)"""
_ASSIGNED_WORD = (
    r"""(?<!\w)([A-Za-z_]\w{0,60}+)[=:][ ]?(?:"([^"\n]{1,2000}+)"|'([^'\n]{1,2000}+)'|([^\s"'`;&|<>()]+))"""
)
_COMMENT = re.compile(r"\s[;#]")
_SEPARATOR = re.compile(r"[,;#]")
_NETRC = r"\bpassword\s+(\S+)"
_PGPASS = r"(?m)^(?:[^:\n\\]|\\.)*(?::(?:[^:\n\\]|\\.)*){3}:((?:[^:\n\\]|\\.)+)$"
_ADDRESS = r"(?i)(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}+://[^\s\"'<>]+"
_CODE = frozenset(
    {
        ".py", ".pyi", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".go", ".rb", ".java", ".kt", ".rs", ".c",
        ".h", ".cc", ".cpp", ".cs", ".php", ".swift", ".scala", ".vue", ".svelte", ".lua", ".pl", ".ex", ".clj",
        ".hs", ".dart", ".css", ".html", ".md", ".rst",
    }
)  # fmt: skip
_WORDS = r"[A-Za-z]+(?:[_.-][A-Za-z]+)*\Z"
_NUMBER = r"[-+]?[0-9][0-9_.,:]*\Z"
_NO_KEY = r"(?i)\A(?:not?[ _-]?(?:needed|required|used|key|auth)\b.*|unused|lm[ _-]?studio)\Z"
_SHORTEST = 8
_SHORTEST_WORD = 12
_SHORTEST_BY_FORM = 20
_SHORTEST_ALONE = 16


def find_secrets(text: str, file_name: str) -> Iterator[NamedSecret]:
    """Every secret in the text of a file of this name, as far as it can be read; some may come twice."""
    yield from _find_private_keys(text.replace("\\n", "\n"), file_name)
    for address in compile_once(_ADDRESS).finditer(text):
        yield from (NamedSecret(file_name, password) for password in find_passwords(address[0]))
    match file_name:
        case ".netrc" | "_netrc":
            yield from _name_passwords(file_name, (found[1] for found in compile_once(_NETRC).finditer(text)))
        case ".pgpass":
            escaped = (found[1] for found in compile_once(_PGPASS).finditer(text))
            yield from _name_passwords(file_name, (re.sub(r"\\(.)", r"\1", each) for each in escaped))
        case _ if os.path.splitext(file_name)[1].lower() in _CODE:
            return  # names are given values all over it
        case _ if (parsed := _parse_json(text)) is not None:
            yield from _find_in_json(parsed, file_name)
        case _:
            yield from _find_assigned(text)
            yield from _find_lone_secret(file_name, text.strip())


def find_assigned_secrets(command: str) -> Iterator[NamedSecret]:
    """The secrets among the assignments in the text of a command that puts them into such a file."""
    for match in compile_once(_ASSIGNED_WORD).finditer(command):
        for value in filter(None, match.groups()[1:]):
            yield from _select_secrets(match[1], value)


def is_worth_hiding(value: str) -> bool:
    """Whether a value that is called a secret can be one: no path, no number, no address, no common word."""
    value = value.strip()
    if compile_once(_WORDS).match(value) and is_secret_name_in_file(value):  # access_token is the name of one
        return False
    if (
        len(value) < _SHORTEST
        or is_placeholder(value)
        or is_stand_in(value)
        or (compile_once(_NUMBER).match(value) and len(value) < _SHORTEST_WORD)
    ):
        return False
    return not (value.isalpha() and len(value) < _SHORTEST_WORD)


def is_placeholder(key: str) -> bool:
    """Whether this is what people put where a program insists on a key and the server wants none."""
    return len(key) < _SHORTEST_BY_FORM and (is_stand_in(key) or compile_once(_NO_KEY).search(key) is not None)


def find_passwords(address: str) -> Iterator[str]:
    """The password of an address, as it stands there and as it is meant; and keys among its parameters."""
    try:
        parts = urlsplit(address)
        password = parts.password
    except ValueError:
        return
    if password:
        yield from dict.fromkeys((password, unquote(password)))
    for parameter in parts.query.split("&"):
        name, _, value = parameter.partition("=")
        if is_secret_name_in_file(name) and is_worth_hiding(unquote(value)):
            yield from dict.fromkeys((value, unquote(value)))


def _name_passwords(name: str, values: Iterable[str]) -> Iterator[NamedSecret]:
    """The values that a file calls passwords, without options, paths and hosts."""
    return (NamedSecret(name, value) for value in values if not is_plain_name(value))


def _find_private_keys(text: str, file_name: str) -> Iterator[NamedSecret]:
    """Each private key, whole and line by line: seldom is more than a part of one shown."""
    place = 0
    while (begin := compile_once(_KEY_BEGINS).search(text, place)) and (
        end := compile_once(_KEY_ENDS).search(text, begin.end())
    ):
        place = end.end()
        yield NamedSecret(file_name, text[begin.start() : place], as_it_is=True)
        for line in map(str.strip, text[begin.end() : end.start()].splitlines()):
            if len(line) >= _SHORTEST_LINE:
                yield NamedSecret(file_name, line, as_it_is=True)


def _find_assigned(text: str) -> Iterator[NamedSecret]:
    place = 0
    for line in text.splitlines(keepends=True):
        end = place + len(line)
        match = compile_once(_NAME).match(text, place, end) if len(line) <= _LONGEST_LINE else None
        if match is not None:
            for value in _find_values(text, match.end(), end):
                yield from _select_secrets(match[1], value)
        place = end


def _find_values(text: str, start: int, end: int) -> Iterator[str]:
    """What may be meant behind a name: what is quoted, also over several lines; else all the rest of the line,
    and what stands before a comment in it."""
    if quoted := compile_once(_QUOTED).match(text, start):
        value = next(found for found in quoted.groups() if found is not None)
        yield value
        if "\\" in value:
            yield _unescape(value)
        return
    yield text[start:end].strip()
    for separator in (_COMMENT, _SEPARATOR):
        if found := separator.search(text, start, end):
            yield text[start : found.start()].strip()


def _find_lone_secret(file_name: str, text: str) -> Iterator[NamedSecret]:
    """A file that holds one word and nothing else holds the secret itself."""
    if len(text) >= _SHORTEST_ALONE and not any(map(str.isspace, text)) and is_random(text):
        yield NamedSecret(file_name, text)


def _select_secrets(name: str, value: str) -> Iterator[NamedSecret]:
    is_called_one = is_secret_name_in_file(name)
    if is_called_one and ";" in value:
        yield from _find_in_connection(name, value)
    by_form = len(value) >= _SHORTEST_BY_FORM and is_random(value) and not is_public_name(name)
    is_one = (is_called_one or by_form) and "://" not in value and not is_plain_name(value)
    if is_one and is_worth_hiding(value):
        yield NamedSecret(name, value)
        if name == "auth":  # the credential stores of container tools hold user:password in base64
            yield from (NamedSecret(name, password) for password in _decode_password(value))


def _find_in_connection(name: str, value: str) -> Iterator[NamedSecret]:
    """The secrets among the parts of a connection string, `Server=db;Password=…`."""
    for part in value.split(";"):
        key, _, rest = part.partition("=")
        if is_secret_name_in_file(key.strip()) and is_worth_hiding(rest) and not is_plain_name(rest):
            yield NamedSecret(name, rest)


def _decode_password(encoded: str) -> Iterator[str]:
    try:
        _, colon, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return
    if colon:
        yield password


def _find_in_json(parsed: object, file_name: str) -> Iterator[NamedSecret]:
    waiting = [(file_name, parsed)]
    while waiting:
        match waiting.pop():
            case _, dict(fields):
                waiting += fields.items()
            case name, list(items):
                waiting += ((name, item) for item in items)
            case name, str(value):
                yield from _select_secrets(name, value)
            case _:
                continue


def _parse_json(text: str) -> object:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _unescape(value: str) -> str:
    return value.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
