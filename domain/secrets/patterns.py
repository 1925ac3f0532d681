"""What secrets look like: keys with well-known beginnings, private keys, what stands behind a telling name.

Each shape is only tried where one of its fixed parts stands, so that ordinary text costs next to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from quorum.domain.secrets.forms import is_assigned_secret, is_mixed

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
    expression: re.Pattern[str]
    accepts: Callable[[str], bool] = is_mixed
    alone: bool = False
    run: re.Pattern[str] | None = None


_FIRST_RUN = re.compile(r"(\[[^]]+\])\{\d+,\}")


def _build_key_shape(kind: str, anchors: str, rest: str) -> Shape:
    beginnings = tuple(anchors.split())
    choice = "|".join(map(re.escape, beginnings))
    run = _FIRST_RUN.match(rest)
    return Shape(
        kind,
        beginnings,
        re.compile(rf"((?:{choice}){rest})(?![A-Za-z0-9_])"),
        alone=True,
        run=None if run is None else re.compile(run[1] + "*+"),
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
    re.compile(
        rf"(-----BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----{BODY}{{40,}}+"
        r"(?:-{5,6}END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?)"
    ),
    lambda block: re.search(r"[A-Za-z0-9+/=]{32}", block) is not None,
)
_TEMPLATE = re.compile(r"[\[${<%*]|(?:pass(?:word)?|passwd|pw|pwd|secret|user|token|x+)\Z", re.IGNORECASE)
_URL = Shape(
    "url-password",
    ("://",),
    re.compile(r"://[^\s/:@\"'<>]*:([^\s/@\"'<>]{3,})@"),
    lambda password: _TEMPLATE.match(password) is None,
)
CREDENTIAL = r"[A-Za-z0-9._~+/=-]"
_BEARER = Shape("bearer-token", ("earer ",), re.compile(rf"earer[ \t]+({CREDENTIAL}{{16,}}+)"))
_AUTHORIZATION = Shape(
    "authorization",
    ("uthorization", "UTHORIZATION"),
    re.compile(
        r"uthorization[\"'\\]{0,2}[ \t]*[:=][ \t]*[\"'\\]{0,2}(?:bearer|basic|token)[ \t]+"
        rf"({CREDENTIAL}{{8,}}+)",
        re.IGNORECASE,
    ),
    lambda value: (
        any(c.isdigit() for c in value) or (len(value) > 11 and value.upper() != value != value.lower())
    ),
)


def group_by_rare_character(shapes: Iterable[Shape]) -> tuple[tuple[str, tuple[tuple[str, Shape], ...]], ...]:
    """The anchors of shapes, behind a character that must be there as well: most texts lack most of these."""
    grouped: dict[str, list[tuple[str, Shape]]] = {}
    for shape in shapes:
        for anchor in shape.anchors:
            rare = next((character for character in "_-:" if character in anchor), anchor[:1])
            grouped.setdefault(rare, []).append((anchor, shape))
    return tuple((rare, tuple(anchored)) for rare, anchored in grouped.items())


_ANCHORED = group_by_rare_character((_PRIVATE_KEY, *KEYS, _URL, _BEARER, _AUTHORIZATION))
_STEMS = ("pass", "token", "secret", "key")
_NAME = r"(?:passw(?:or)?d|passphrase|token|secret|key)"
_KINDS_OF_KEY = re.compile(r"(?:api|access|private|account|secret|ssh)[_-]?\Z", re.IGNORECASE)
VALUE = r"[^\s\"'`,;<>(){}\[\]|\\…]"
ASSIGNED = rf"(?i:({_NAME}))[\"'\\]{{0,2}}[ \t]{{0,4}}(?::=|=>|[:=])[ \t]{{0,4}}([\"'\\]{{0,2}})"
"""A telling name, first group, and all that stands between it and its value; the second group is a quote."""
_LONGEST_VALUE = 500
_PIECE = 1 << 18  # characters
_LONGEST_NAME = 24  # with all that may stand between it and its value
_ASSIGNED = re.compile(ASSIGNED)
_ASSIGNMENT = re.compile(rf"{ASSIGNED}({VALUE}{{8,{_LONGEST_VALUE}}}+)(?=[\s\"'`,;)}}\]\\]|\Z)")
_VALUE_RUN = re.compile(rf"{VALUE}*+")
_TELLING = re.compile(rf"({_NAME})\Z", re.IGNORECASE)
_SMALL = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def find_pattern_spans(text: str) -> list[SecretSpan]:
    """Everything in the text that looks like a secret, in no particular order."""
    found: list[SecretSpan] = []
    for rare, anchored in _ANCHORED:
        if rare in text:
            for anchor, shape in anchored:
                if anchor in text:
                    found += _find_spans(shape, anchor, text)
    if "=" in text or ":" in text:
        found += _find_assigned(text)
    return found


def name_assigned_secret(name: str, value: str) -> str | None:
    """The word that hides this value of a field of this name; None where it is no secret."""
    match = _TELLING.search(name)
    if (
        match is None
        or not _is_telling(name, match.start())
        or len(value) < 8
        or any(character.isspace() for character in value)
    ):
        return None
    return _match_word(match[1]) if is_assigned_secret(value, name=match[1], quoted=True) else None


def find_name_starts(text: str) -> Iterator[int]:
    """Where a name may begin behind which a secret stands."""
    # piece by piece: no other thread of Python continues meanwhile
    lowered = "".join(text[place : place + _PIECE].lower() for place in range(0, len(text), _PIECE))
    if len(lowered) != len(text):  # a few capitals are longer in small letters, and no place would fit
        lowered = text.translate(_SMALL)
    for stem in _STEMS:
        place = lowered.find(stem)
        while place >= 0:
            if stem != "key" or _KINDS_OF_KEY.search(lowered, max(0, place - 9), place):
                yield place
            place = lowered.find(stem, place + 1)


def _is_telling(name: str, place: int) -> bool:
    return name[place:].lower() != "key" or _KINDS_OF_KEY.search(name, 0, place) is not None


def is_word_start(text: str, place: int) -> bool:
    """Return whether a word starts here: no letter, digit or _ comes before this place."""
    return place == 0 or not (text[place - 1].isalnum() or text[place - 1] == "_")


def _find_spans(shape: Shape, anchor: str, text: str) -> Iterator[SecretSpan]:
    place = text.find(anchor)
    while place >= 0:
        seen = place + 1
        if not shape.alone or is_word_start(text, place):
            match = shape.expression.match(text, place)
            if match and shape.accepts(match[1]):
                yield SecretSpan(match.start(1), match.end(1), shape.kind)
                seen = max(seen, match.end(1) - len(anchor))
            elif shape.run is not None and (run := shape.run.match(text, place + len(anchor))):
                seen = max(seen, run.end() - len(anchor))
        place = text.find(anchor, seen)


def _find_assigned(text: str) -> Iterator[SecretSpan]:
    seen = 0
    for place in sorted(find_name_starts(text)):
        if place < seen or (beginning := _ASSIGNED.match(text, place)) is None:
            continue
        match = _ASSIGNMENT.match(text, place)
        if (
            match is None
        ):  # too long or too short, or followed by the wrong thing: so is what ends in the same place
            end = beginning.end()
            if run := _VALUE_RUN.match(text, end):
                end = run.end()
            is_long = end - beginning.end() > _LONGEST_VALUE
            seen = end - _LONGEST_NAME - (_LONGEST_VALUE if is_long else 0)
        elif is_assigned_secret(match[3], name=match[1], quoted=bool(match[2])):
            yield SecretSpan(match.start(3), match.end(3), _match_word(match[1]))


def _match_word(name: str) -> str:
    lowered = name.lower()
    return "password" if lowered.startswith("pass") else "token" if lowered == "token" else "key"
