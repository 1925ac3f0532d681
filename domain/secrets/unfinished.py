"""What, at the end of a text that still grows, could become a secret: it is not shown before that is clear."""

from __future__ import annotations

import re
import string

from quorum.domain.secrets.patterns import (
    ASSIGNED,
    BODY,
    CREDENTIAL,
    KEYS,
    VALUE,
    find_name_starts,
    group_by_rare_character,
    is_word_start,
)

_ANCHORED = group_by_rare_character(KEYS)
_NAMES = tuple(anchor for shape in KEYS for anchor in shape.anchors)
_BEGINNINGS = frozenset(anchor[:length] for anchor in _NAMES for length in range(1, len(anchor) + 1))
_WITHIN = frozenset("".join(_NAMES))
_LONGEST_VALUE = 600
_LONGEST_NAME = 64  # with all that stands around it
_LONGEST_ANCHOR = max(map(len, _NAMES))
_STARTS = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z]")
_IN_KEYS = string.ascii_letters + string.digits + "_.+/=-"
_ASSIGNMENT = re.compile(rf"{ASSIGNED}({VALUE}{{0,{_LONGEST_VALUE}}}+)\Z")
_PASSWORD = re.compile(r"://[^\s/:@\"'<>]*+:([^\s/@\"'<>]*+)\Z")
_BEARER = re.compile(rf"earer[ \t]+({CREDENTIAL}*+)\Z")
_SCHEMES = ("bearer", "basic", "token")
_IN_CREDENTIALS = string.ascii_letters + string.digits + "._~+/=-"
_FENCE = "-----BEGIN "
_END = r"(?:-{1,6}(?:E|EN|END[ A-Z0-9]*+-{0,5})?)?"
_PRIVATE_KEY = re.compile(rf"-----BEGIN [A-Z0-9 ]{{0,60}}+(?:-{{1,4}}|-----{BODY}*+{_END})?\Z")


def find_unfinished(text: str) -> int:
    """Where, at the end of a text, the first thing begins that more text could make a secret; else its length.

    What stands before that place may be shown: no secret lies across it, unless one that is whole does.
    """
    line = text[text.rfind("\n") + 1 :]
    before = len(text) - len(line)
    return min(before + _find_in_line(line), _find_private_key(text))


def _find_in_line(line: str) -> int:
    """Only what reaches to the end of the line counts, and so most of it is looked for from there."""
    place = min(len(line), _find_anchor_beginning(line), _find_key(line))
    if "=" in line or ":" in line:
        before = max(0, len(line) - _LONGEST_VALUE - _LONGEST_NAME)
        for start in find_name_starts(line[before:]):
            if match := _ASSIGNMENT.match(line, before + start):
                place = min(place, match.start(3))
    for anchor, expression in (("://", _PASSWORD), ("earer ", _BEARER)):
        start = line.rfind(anchor)  # none of them continues over the next of its kind
        if start >= 0 and (match := expression.match(line, start)):
            place = min(place, match.start(1))
    return min(place, _find_authorization(line))


def _find_authorization(line: str) -> int:
    """Where the credential of a header begins that reaches to the end of the line."""
    named = line.find("uthorization"), line.find("UTHORIZATION")
    first = min((start for start in named if start >= 0), default=len(line))
    place = len(line.rstrip(_IN_CREDENTIALS))
    scheme = line[first:place].rstrip(" \t")
    is_one = first + len(scheme) < place and scheme.lower().endswith(_SCHEMES)
    return place if is_one else len(line)


def _find_anchor_beginning(line: str) -> int:
    """Where the line ends with the beginning of an anchor."""
    if line[-1:] not in _WITHIN:
        return len(line)
    for start in _STARTS.finditer(line, max(0, len(line) - _LONGEST_ANCHOR)):
        if line[start.start() :] in _BEGINNINGS:
            return start.start()
    return len(line)


def _find_key(line: str) -> int:
    """Where a key begins that reaches to the end of the line."""
    place = len(line)
    run = line[len(line.rstrip(_IN_KEYS)) - place :] if line[-1:] in _IN_KEYS else ""
    before = place - len(run)
    for rare, anchored in _ANCHORED:
        if rare in run:
            for anchor, _ in anchored:
                start = line.find(anchor, before)
                while 0 <= start < place:
                    if is_word_start(line, start):
                        place = start
                    start = line.find(anchor, start + 1)
    return place


def _find_private_key(text: str) -> int:
    start = text.find(_FENCE)
    while start >= 0:
        if _PRIVATE_KEY.match(text, start):
            return start
        start = text.find(_FENCE, start + 1)
    if text[-1:] not in _FENCE:
        return len(text)
    end = text[-len(_FENCE) :]
    return next(
        (len(text) - len(end) + start for start in range(len(end)) if _FENCE.startswith(end[start:])), len(text)
    )
