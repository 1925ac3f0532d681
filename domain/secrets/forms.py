"""How secrets differ from words, names and paths, judging by their characters alone."""

from __future__ import annotations

import re
from itertools import pairwise

_RUNS = re.compile(r"[A-Za-z0-9]+")
_TOKENS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_ALPHABET = re.compile(r"[A-Za-z0-9][A-Za-z0-9+/_-]*={0,2}\Z")
_PRONOUNCED = re.compile(r"(?!.*(.)\1\1)(?=.*[aeiouy])[a-z]{3,}\Z", re.IGNORECASE)
_PIECE = r"(?:[a-z]+|[A-Z]+|[A-Z][a-z]+)[0-9]{0,4}"
_PART = rf"{_PIECE}(?:[_-](?:{_PIECE}|[0-9]{{1,4}}))*"
_DOTTED = rf"(?:(?:{_PART}\.)+[A-Za-z]{{2,10}}|[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}})"
_PORT_OR_PATH = r"(?::[0-9]{1,5})?(?:[:/][^@]*)?"
_OPTION_OR_PATH = re.compile(rf"--?[A-Za-z]|[.~]{{0,2}}/|{_PART}(?:\.{_PART})*(?:/{_PART}(?:\.{_PART})*)+/?\Z")
_HOST = re.compile(
    rf"(?:[\w.+-]+@)?{_DOTTED}{_PORT_OR_PATH}\Z|[\w.+-]+@[\w-]+:[^@]*\Z|{_PART}:[0-9]{{1,5}}(?:/[^@]*)?\Z"
)
_VERSION = re.compile(
    rf"(?:@?{_PART}(?:/{_PART})?(?:@|[=<>~!]=)v?[0-9]+(?:\.[0-9]+)*"
    rf"|{_PART}(?:\.[0-9]+)+)\Z"
)
_COMMIT = re.compile(r"[0-9a-f]{40}\Z")
_SHORTEST_RANDOM = 16
_LONGEST_WORD = 6  # letters; what is longer and can be pronounced is a word
_MOST_IN_TOKEN = 3  # characters on average
_MOST_IN_WORDS = 1 / 2  # of all characters
_NAMED = re.compile(r"[A-Za-z_]\w*(?:[.:-]+\w+)*\Z")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
_STAND_IN = re.compile(
    r"\A[$%&*<\[{#@/~.]|\.\.\.|\*\*\*|x{4}|0{6}|123456789|:\/\/"
    r"|your|example|placeholder|change.?me|redacted|masked|dummy|not.?a.?real",
    re.IGNORECASE,
)


def is_mixed(value: str) -> bool:
    """Whether letters and digits are mixed as they are in keys, and not as in words that are joined."""
    return (
        any(character.isdigit() for character in value)
        and max((len(run) for run in _RUNS.findall(value)), default=0) >= 10
    )


def is_random(value: str) -> bool:
    """Whether nobody would have thought of this: letters and digits that take turns in one long run."""
    run = max(_RUNS.findall(value), key=len, default="")
    return len(run) >= 12 and sum(one.isdigit() != other.isdigit() for one, other in pairwise(run)) >= 3


def looks_random(value: str) -> bool:
    """Whether nobody reads anything in this: one run of the characters of keys, letters and digits that take
    turns at every step, and no words among them. The id of a commit is none: a person can look it up.

    Stricter than `is_random`: it tells what may be hidden from a person who has to read the rest.
    """
    if not (len(value) >= _SHORTEST_RANDOM and _ALPHABET.match(value) and is_random(value)):
        return False
    tokens = _TOKENS.findall(value)
    words = [len(token) for token in tokens if _PRONOUNCED.match(token)]
    size = sum(map(len, tokens))
    return (
        not _COMMIT.match(value)
        and not any(map(_PRONOUNCED.match, value.split("/")))
        and size <= _MOST_IN_TOKEN * len(tokens)
        and max(words, default=0) <= _LONGEST_WORD
        and sum(words) <= _MOST_IN_WORDS * size
    )


def is_plain_name(value: str) -> bool:
    """Whether this is written as an option, a path of words, a file, a host, an account on one, or the version
    of a package, and is not random."""
    return not is_random(value) and any(shape.match(value) for shape in (_OPTION_OR_PATH, _HOST, _VERSION))


def is_stand_in(value: str) -> bool:
    """Whether this stands where a secret would: a variable, a path, a row of x, "your-key"."""
    return _STAND_IN.search(value) is not None


def is_assigned_secret(value: str, *, name: str, quoted: bool) -> bool:
    """Whether a value behind a telling name is a secret, not code, a word or something that stands for one."""
    if is_stand_in(value) or value.isalpha() or not any(character.isdigit() for character in value):
        return False
    if name.lower().startswith("pass"):
        return quoted or name.isupper() or not _NAMED.match(value) or is_random(value)
    if _UUID.match(value) or (not quoted and "." in value and _NAMED.match(value)):
        return False
    return is_random(value)
