"""What secrets look like: known beginnings of keys, private keys, values behind telling names, random words.

Each shape is only tried where one of its fixed parts stands, so that ordinary text costs next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from quorum.domain.text.pattern import compile_once

_RUNS = r"[A-Za-z0-9]+"
_TOKENS = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+"
_ALPHABET = r"[A-Za-z0-9][A-Za-z0-9+/_-]*={0,2}\Z"
_PRONOUNCED = r"(?i)(?!.*(.)\1\1)(?=.*[aeiouy])[a-z]{3,}\Z"
_PIECE = r"(?:[a-z]+|[A-Z]+|[A-Z][a-z]+)[0-9]{0,4}"
_PART = rf"{_PIECE}(?:[_-](?:{_PIECE}|[0-9]{{1,4}}))*"
_DOTTED = rf"(?:(?:{_PART}\.)+[A-Za-z]{{2,10}}|[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}})"
_PORT_OR_PATH = r"(?::[0-9]{1,5})?(?:[:/][^@]*)?"
_OPTION_OR_PATH = rf"--?[A-Za-z]|[.~]{{0,2}}/|{_PART}(?:\.{_PART})*(?:/{_PART}(?:\.{_PART})*)+/?\Z"
_HOST = rf"(?:[\w.+-]+@)?{_DOTTED}{_PORT_OR_PATH}\Z|[\w.+-]+@[\w-]+:[^@]*\Z|{_PART}:[0-9]{{1,5}}(?:/[^@]*)?\Z"
_VERSION = (
    rf"(?:@?{_PART}(?:/{_PART})?(?:@|[=<>~!]=)v?[0-9]+(?:\.[0-9]+)*"
    rf"|{_PART}(?:\.[0-9]+)+)\Z"
)
_COMMIT = r"[0-9a-f]{40}\Z"
_SHORTEST_RANDOM = 16
_LONGEST_WORD = 6  # letters; what is longer and can be pronounced is a word
_MOST_IN_TOKEN = 3  # characters on average
_MOST_IN_WORDS = 1 / 2  # of all characters
_NAMED = r"[A-Za-z_]\w*(?:[.:-]+\w+)*\Z"
_UUID = r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z"
_STAND_IN = (
    r"(?i)\A[$%&*<\[{#@/~.]|\.\.\.|\*\*\*|x{4}|0{6}|123456789|:\/\/"
    r"|your|example|placeholder|change.?me|redacted|masked|dummy|not.?a.?real"
)


def is_mixed(value: str) -> bool:
    """Whether letters and digits are mixed as they are in keys, and not as in words that are joined."""
    return (
        any(character.isdigit() for character in value)
        and max((len(run) for run in compile_once(_RUNS).findall(value)), default=0) >= 10
    )


def is_random(value: str) -> bool:
    """Whether nobody would have thought of this: letters and digits that take turns in one long run."""
    run = max(compile_once(_RUNS).findall(value), key=len, default="")
    return len(run) >= 12 and sum(one.isdigit() != other.isdigit() for one, other in pairwise(run)) >= 3


def looks_random(value: str) -> bool:
    """Whether nobody reads anything in this: one run of the characters of keys, letters and digits that take
    turns at every step, and no words among them. The id of a commit is none: a person can look it up.

    Stricter than `is_random`: it tells what may be hidden from a person who has to read the rest.
    """
    if not (len(value) >= _SHORTEST_RANDOM and compile_once(_ALPHABET).match(value) and is_random(value)):
        return False
    tokens = compile_once(_TOKENS).findall(value)
    words = [len(token) for token in tokens if compile_once(_PRONOUNCED).match(token)]
    size = sum(map(len, tokens))
    return (
        not compile_once(_COMMIT).match(value)
        and not any(map(compile_once(_PRONOUNCED).match, value.split("/")))
        and size <= _MOST_IN_TOKEN * len(tokens)
        and max(words, default=0) <= _LONGEST_WORD
        and sum(words) <= _MOST_IN_WORDS * size
    )


def is_plain_name(value: str) -> bool:
    """Whether this is written as an option, a path of words, a file, a host, an account on one, or the version
    of a package, and is not random."""
    return not is_random(value) and any(
        compile_once(shape).match(value) for shape in (_OPTION_OR_PATH, _HOST, _VERSION)
    )


def is_stand_in(value: str) -> bool:
    """Whether this stands where a secret would: a variable, a path, a row of x, "your-key"."""
    return compile_once(_STAND_IN).search(value) is not None


def is_assigned_secret(value: str, *, name: str, quoted: bool) -> bool:
    """Whether a value behind a telling name is a secret, not code, a word or something that stands for one."""
    if is_stand_in(value) or value.isalpha() or not any(character.isdigit() for character in value):
        return False
    if name.lower().startswith("pass"):
        return quoted or name.isupper() or not compile_once(_NAMED).match(value) or is_random(value)
    if compile_once(_UUID).match(value) or (not quoted and "." in value and compile_once(_NAMED).match(value)):
        return False
    return is_random(value)


CLOUD_KEYS = frozenset(
    {
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_SECURITY_TOKEN",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AZURE_OPENAI_API_KEY",
        "AZURE_OPENAI_AD_TOKEN",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_FOUNDRY_API_KEY",
        "ANTHROPIC_FOUNDRY_AUTH_TOKEN",
        "ANTHROPIC_CUSTOM_HEADERS",
        "OPENAI_API_KEY",
        "OPENAI_ADMIN_KEY",
        "OPENAI_CUSTOM_HEADERS",
        "OPENAI_WEBHOOK_SECRET",
        "COPILOT_GITHUB_TOKEN",
        "GH_TOKEN",
        "GITHUB_TOKEN",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
        "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    }
)
"""Variables that our providers and exporters, or the SDKs below them, read a key from by themselves."""

_TELLING = (
    r"(?:API|ACCESS|PRIVATE|SECRET|SIGNING|ENCRYPTION|MASTER|ACCOUNT|ADMIN)_?KEY(?:_ID|_BASE)?\Z"
    r"|TOKEN\Z|SECRET|PASSW|PASSPHRASE|CREDENTIAL|CONNECTION_?STRING|_PWD\Z|_PASS\Z|_PAT\Z|_AUTH\Z|AUTH_?TOKEN"
)
_TELLING_IN_FILES = _TELLING + r"|\AAUTH\Z|\APASS\Z|KEY\Z|\APWD\Z|DSN\Z|SALT\Z|PEPPER\Z"
_HINTS = frozenset(
    {
        "KEY",
        "KEYS",
        "APIKEY",
        "TOKEN",
        "PWD",
        "PASS",
        "AUTH",
        "CRED",
        "CREDS",
        "COOKIE",
        "JWT",
        "BEARER",
        "SALT",
    }
)
_PUBLIC = r"PUBLIC|FINGERPRINT|CHECKSUM|SHA\d*\Z|HASH\Z|DIGEST|INTEGRITY|VERSION|_FILE\Z|_PATH\Z"


def is_secret_name(variable: str) -> bool:
    """Whether an environment variable of this name holds a secret."""
    name = variable.upper()
    return variable in CLOUD_KEYS or (
        compile_once(_TELLING).search(name) is not None and compile_once(_PUBLIC).search(name) is None
    )


def holds_a_secret(variable: str, value: str) -> bool:
    """Whether an environment variable does, by its name; or by a word in it, if its value looks random."""
    if is_secret_name(variable):
        return True
    words = re.split(r"[^A-Z]+", variable.upper())
    return (
        len(value) >= _SHORTEST_RANDOM
        and not _HINTS.isdisjoint(words)
        and not is_public_name(variable)
        and is_random(value)
    )


def is_secret_name_in_file(key: str) -> bool:
    """Whether a key of this name holds a secret, in a file that is there to hold some."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|-", "_", key).upper()
    return (
        compile_once(_TELLING_IN_FILES).search(name) is not None and compile_once(_PUBLIC).search(name) is None
    )


def is_public_name(key: str) -> bool:
    """Return whether the value of this key is meant to be public, however random it looks."""
    return compile_once(_PUBLIC).search(key.upper()) is not None


MASK = re.compile(r"\[secret:[\w.:/@ -]{1,100}\]")
"""What stands in a text where a secret was."""


def render_mask(word: str) -> str:
    """What stands in a text where a secret was that is called so."""
    return f"[secret:{word}]"


class SecretSpan(NamedTuple):
    """Characters from `start` to before `end` that hold a secret, and the word for it."""

    start: int
    end: int
    word: str


class Shape(NamedTuple):
    """A kind of secret: the fixed parts it begins with, and what the text must be from there on.

    The first group is the secret. `alone`: no letter or digit stands before it. `run` is what the first of its
    parts without a limit is made of: where one was no such secret, none that begins within the same run is.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    accepts: Callable[[str], bool] = is_mixed
    alone: bool = False
    run: str = ""


_FIRST_RUN = r"(\[[^]]+\])\{\d+,\}"


def _build_key_shape(kind: str, anchors: str, rest: str) -> Shape:
    beginnings = tuple(anchors.split())
    choice = "|".join(map(re.escape, beginnings))
    run = compile_once(_FIRST_RUN).match(rest)
    return Shape(
        kind,
        beginnings,
        rf"((?:{choice}){rest})(?![A-Za-z0-9_])",
        alone=True,
        run="" if run is None else run[1] + "*+",
    )


KEYS = (
    _build_key_shape("api-key", "sk-", r"[A-Za-z0-9_-]{20,}+"),
    _build_key_shape("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"[A-Za-z0-9]{16,}+"),
    _build_key_shape("github-token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"[A-Za-z0-9_]{20,}+"),
    _build_key_shape("gitlab-token", "glpat- gldt- glrt- glptt-", r"[A-Za-z0-9_-]{20,}+"),
    _build_key_shape("slack-token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9-]{10,}+"),
    _build_key_shape("aws-key-id", "AKIA ASIA", r"[A-Z0-9]{16}"),
    _build_key_shape("bedrock-key", "ABSK", r"[A-Za-z0-9+/=]{40,}+"),
    _build_key_shape("google-key", "AIza", r"[A-Za-z0-9_-]{35}"),
    _build_key_shape("google-token", "ya29. GOCSPX-", r"[A-Za-z0-9_-]{20,}+"),
    _build_key_shape("npm-token", "npm_", r"[A-Za-z0-9]{36}"),
    _build_key_shape("pypi-token", "pypi-AgE", r"[A-Za-z0-9_-]{50,}+"),
    _build_key_shape("hugging-face-token", "hf_", r"[A-Za-z0-9]{30,}+"),
    _build_key_shape("api-key", "gsk_ xai- nvapi- pplx- tvly-", r"[A-Za-z0-9_-]{20,}+"),
    _build_key_shape("api-key", "r8_", r"[A-Za-z0-9]{37}"),
    _build_key_shape("sendgrid-key", "SG.", r"[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+"),
    _build_key_shape("digitalocean-token", "dop_v1_ doo_v1_", r"[a-f0-9]{64}"),
    _build_key_shape("age-key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}+"),
    _build_key_shape("jwt", "eyJ", r"[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"),
)

BODY = r"(?:[A-Za-z0-9+/=\s\\:,.|│→()\"']|-(?!-{4}))"
"""What stands between the first and the last line of a private key, also escaped, numbered or in a diff."""
_PRIVATE_KEY = Shape(
    "private-key",
    ("-----BEGIN ",),
    rf"(-----BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----{BODY}{{40,}}+"
    r"(?:-{5,6}END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?)",
    lambda block: re.search(r"[A-Za-z0-9+/=]{32}", block) is not None,
)
_TEMPLATE = r"(?i)[\[${<%*]|(?:pass(?:word)?|passwd|pw|pwd|secret|user|token|x+)\Z"
_URL = Shape(
    "url-password",
    ("://",),
    r"://[^\s/:@\"'<>]*:([^\s/@\"'<>]{3,})@",
    lambda password: compile_once(_TEMPLATE).match(password) is None,
)
CREDENTIAL = r"[A-Za-z0-9._~+/=-]"
_BEARER = Shape("bearer-token", ("earer ",), rf"earer[ \t]+({CREDENTIAL}{{16,}}+)")
_AUTHORIZATION = Shape(
    "authorization",
    ("uthorization", "UTHORIZATION"),
    r"(?i)uthorization[\"'\\]{0,2}[ \t]*[:=][ \t]*[\"'\\]{0,2}(?:bearer|basic|token)[ \t]+"
    rf"({CREDENTIAL}{{8,}}+)",
    lambda value: (
        any(c.isdigit() for c in value) or (len(value) > 11 and value.upper() != value != value.lower())
    ),
)


_RARE = "_-:JGZ"
_NO_WORD = r"(?<!\w)"


def group_by_rare_character(shapes: Iterable[Shape]) -> tuple[tuple[str, tuple[tuple[str, Shape], ...]], ...]:
    """The anchors of shapes, behind a character that must be there as well: most texts lack most of these."""
    grouped: dict[str, list[tuple[str, Shape]]] = {}
    for shape in shapes:
        for anchor in shape.anchors:
            rare = next((character for character in _RARE if character in anchor), anchor[:1])
            grouped.setdefault(rare, []).append((anchor, shape))
    return tuple((rare, tuple(anchored)) for rare, anchored in grouped.items())


def _build_hint(rare: str, anchored: Iterable[tuple[str, Shape]]) -> str:
    """A pattern that matches wherever one of the anchors does. It is only tried at the rare character, so that
    one look through a text takes the place of one for each anchor."""
    ways: dict[tuple[bool, int, str], list[str]] = {}
    for anchor, shape in anchored:
        before, _, after = anchor.partition(rare)
        ways.setdefault((shape.alone, len(before), after), []).append(before)
    last = "".join(sorted({before[-1:] for befores in ways.values() for before in befores}))
    guard = rf"(?<=[{last}]{rare})" if all(length for _, length, _ in ways) else ""
    choice = "|".join(
        rf"(?<={_NO_WORD * alone}(?:{'|'.join(map(re.escape, befores))}){rare}){re.escape(after)}"
        for (alone, _, after), befores in ways.items()
    )
    return f"{rare}{guard}(?:{choice})"


_ANCHORED = tuple(
    (rare, anchored, _build_hint(rare, anchored) if len(anchored) > 1 else "")
    for rare, anchored in group_by_rare_character((_PRIVATE_KEY, *KEYS, _URL, _BEARER, _AUTHORIZATION))
)
_LONGEST_ANCHOR = max(len(anchor) for _, anchored, _ in _ANCHORED for anchor, _ in anchored)
_STEMS = ("pass", "token", "secret", "key")
_NAME = r"(?:passw(?:or)?d|passphrase|token|secret|key)"
_KINDS_OF_KEY = r"(?i)(?:api|access|private|account|secret|ssh)[_-]?\Z"
VALUE = r"[^\s\"'`,;<>(){}\[\]|\\…]"
ASSIGNED = rf"(?i:({_NAME}))[\"'\\]{{0,2}}[ \t]{{0,4}}(?::=|=>|[:=])[ \t]{{0,4}}([\"'\\]{{0,2}})"
"""A telling name, first group, and all that stands between it and its value; the second group is a quote."""
_LONGEST_VALUE = 500
_PIECE_OF_TEXT = 1 << 18  # characters
_LONGEST_NAME = 24  # with all that may stand between it and its value
_ASSIGNED = ASSIGNED
_ASSIGNMENT = rf"{ASSIGNED}({VALUE}{{8,{_LONGEST_VALUE}}}+)(?=[\s\"'`,;)}}\]\\]|\Z)"
_TO_VALUE = r"[\"'\\]{0,2}[ \t]{0,4}[:=]"
# Each begins with one letter or word, which is found fast; behind it, how far the name began before.
_ASSIGNMENT_HINTS = (
    (rf"pass(?i:w(?:or)?d|phrase){_TO_VALUE}", 0),
    (rf"secret{_TO_VALUE}", 0),
    (rf"key{_TO_VALUE}", 0),
    (rf"k(?<=tok)en{_TO_VALUE}", 2),
)
_VALUE_RUN = rf"{VALUE}*+"
_TELLING_PATTERNS = rf"(?i)({_NAME})\Z"
_SMALL = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def find_pattern_spans(text: str) -> list[SecretSpan]:
    """Everything in the text that looks like a secret, in no particular order."""
    found: list[SecretSpan] = []
    for rare, anchored, hint in _ANCHORED:
        if rare in text and (not hint or _matches_somewhere(hint, text)):
            for anchor, shape in anchored:
                if anchor in text:
                    found += _find_spans(shape, anchor, text)
    if "=" in text or ":" in text:
        found += _find_assigned(text)
    return found


def _matches_somewhere(hint: str, text: str) -> bool:
    # piece by piece: no other thread of Python continues meanwhile
    return any(
        compile_once(hint).search(text, place, place + _PIECE_OF_TEXT + _LONGEST_ANCHOR)
        for place in range(0, len(text), _PIECE_OF_TEXT)
    )


def name_assigned_secret(name: str, value: str) -> str | None:
    """The word that hides this value of a field of this name; None where it is no secret."""
    match = compile_once(_TELLING_PATTERNS).search(name)
    if (
        match is None
        or not _is_telling(name, match.start())
        or len(value) < 8
        or any(character.isspace() for character in value)
    ):
        return None
    return _match_word(match[1]) if is_assigned_secret(value, name=match[1], quoted=True) else None


def _lower(text: str) -> str:
    """The text in small letters, each in its place."""
    # piece by piece: no other thread of Python continues meanwhile
    lowered = "".join(
        text[place : place + _PIECE_OF_TEXT].lower() for place in range(0, len(text), _PIECE_OF_TEXT)
    )
    # a few capitals are longer in small letters, and no place would fit
    return lowered if len(lowered) == len(text) else text.translate(_SMALL)


def find_name_starts(text: str) -> Iterator[int]:
    """Where a name may begin behind which a secret stands."""
    lowered = _lower(text)
    for stem in _STEMS:
        place = lowered.find(stem)
        while place >= 0:
            if stem != "key" or _is_kind_of_key(lowered, place):
                yield place
            place = lowered.find(stem, place + 1)


def _find_assignment_starts(text: str) -> Iterator[int]:
    """Those of them behind which a value is assigned."""
    lowered = _lower(text)
    for hint, before in _ASSIGNMENT_HINTS:
        for match in compile_once(hint).finditer(lowered):
            place = match.start() - before
            if not lowered.startswith("key", place) or _is_kind_of_key(lowered, place):
                yield place


def _is_kind_of_key(text: str, place: int) -> bool:
    return compile_once(_KINDS_OF_KEY).search(text, max(0, place - 9), place) is not None


def _is_telling(name: str, place: int) -> bool:
    return name[place:].lower() != "key" or _is_kind_of_key(name, place)


def is_word_start(text: str, place: int) -> bool:
    """Return whether a word starts here: no letter, digit or _ comes before this place."""
    return place == 0 or not (text[place - 1].isalnum() or text[place - 1] == "_")


def _find_spans(shape: Shape, anchor: str, text: str) -> Iterator[SecretSpan]:
    place = text.find(anchor)
    while place >= 0:
        seen = place + 1
        if not shape.alone or is_word_start(text, place):
            match = compile_once(shape.pattern).match(text, place)
            if match and shape.accepts(match[1]):
                yield SecretSpan(match.start(1), match.end(1), shape.kind)
                seen = max(seen, match.end(1) - len(anchor))
            elif shape.run and (run := compile_once(shape.run).match(text, place + len(anchor))):
                seen = max(seen, run.end() - len(anchor))
        place = text.find(anchor, seen)


def _find_assigned(text: str) -> Iterator[SecretSpan]:
    seen = 0
    for place in sorted(_find_assignment_starts(text)):
        if place < seen or (beginning := compile_once(_ASSIGNED).match(text, place)) is None:
            continue
        match = compile_once(_ASSIGNMENT).match(text, place)
        if (
            match is None
        ):  # too long or too short, or followed by the wrong thing: so is what ends in the same place
            end = beginning.end()
            if run := compile_once(_VALUE_RUN).match(text, end):
                end = run.end()
            is_long = end - beginning.end() > _LONGEST_VALUE
            seen = end - _LONGEST_NAME - (_LONGEST_VALUE if is_long else 0)
        elif is_assigned_secret(match[3], name=match[1], quoted=bool(match[2])):
            yield SecretSpan(match.start(3), match.end(3), _match_word(match[1]))


def _match_word(name: str) -> str:
    lowered = name.lower()
    return "password" if lowered.startswith("pass") else "token" if lowered == "token" else "key"
