"""The words of plain requests: verbs, what joins two requests, and what may be left unread.

Every pattern here is linear: repetitions are possessive and no two alternatives begin alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum


class Verb(StrEnum):
    """What a request asks for."""

    READ = "read"
    LIST = "list"
    FIND = "find"
    GREP = "grep"
    GLOB = "glob"
    REPLACE = "replace"
    WRITE = "write"
    RUN = "run"
    PLAN = "plan"
    HELP = "help"


VERBS: Mapping[str, Verb] = {
    **dict.fromkeys(("read", "show", "view", "open", "print", "display", "cat", "look at"), Verb.READ),
    **dict.fromkeys(("list", "ls", "dir"), Verb.LIST),
    **dict.fromkeys(("find", "search", "search for", "look for", "locate"), Verb.FIND),
    "grep": Verb.GREP,
    "glob": Verb.GLOB,
    **dict.fromkeys(("replace", "change"), Verb.REPLACE),
    **dict.fromkeys(("write", "create", "save"), Verb.WRITE),
    **dict.fromkeys(("run", "execute", "$"), Verb.RUN),
    "plan": Verb.PLAN,
    **dict.fromkeys(("help", "?", "what can you do"), Verb.HELP),
}


def _split_words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# Verbs people use towards a model. Known, so that "run pytest and fix it" is not taken for a command
# and "read a.py and explain" not for two files.
BEYOND = _split_words(
    "add analyse analyze answer append ask build check clean commit compare convert count debug delete deploy "
    "describe document edit explain fix format generate implement improve insert install make merge modify "
    "move optimise optimize push refactor remove rename report review rewrite simplify summarise summarize "
    "tell test translate try undo update use verify"
)

# Verbs that are shell commands too: after a semicolon inside a command they belong to the command.
SHELL_WORDS = _split_words("$ cat dir find grep ls open print read")

# Words that stand where a name is expected and name nothing.
NAMELESS = _split_words(
    "a about again all an any anything at both by carefully everything file files folder folders for from here "
    "how if in into it its me more my of on or out some something that the them there these this those "
    "through to up what when where which with you your"
)

KNOWN_NAMES = _split_words("makefile dockerfile justfile readme license changelog")

_WORD_ENDS = r"(?![\w./-])"
_PHRASES = "|".join(re.escape(p).replace(r"\ ", r"\s++") for p in sorted(VERBS, key=len, reverse=True))
_VERB = re.compile(rf"(?:{_PHRASES})(?=[\s:,;、。.!?`]|$)", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]++(?![\w./-])")

_SEPARATOR = r"[,;、。\n]|(?<=[\w)\]\"'`”」])[.!?:](?=\s|$)"
_JOINT = rf"(?<![\w./-])(?:and|then){_WORD_ENDS}"
_FILLER = (
    rf"(?:(?:can|could|would|will)\s++you|please|now|first|next|finally|also|just|kindly|thanks|thank\s++you"
    rf"|after\s++that){_WORD_ENDS}|(?:^|(?<=\s))(?:[-*•]|\d{{1,3}}[.)])(?=\s)"
)
BREAK = re.compile(rf"(?:{_SEPARATOR}|{_JOINT})(?:\s++|{_SEPARATOR}|{_JOINT}|{_FILLER})*+", re.IGNORECASE)
START = re.compile(rf"(?:\s++|{_SEPARATOR}|{_JOINT}|{_FILLER}|^[,;.!:]++)*+", re.IGNORECASE)
COURTESY = re.compile(r"(?<=\s)(?:please|thanks|thank\s++you)[.!]?\Z", re.IGNORECASE)


def match_verb(text: str, pos: int) -> tuple[Verb, str, int] | None:
    """The verb that begins at `pos`, as it is spelled in VERBS, and where it ends; None if there is none."""
    if (found := _VERB.match(text, pos)) is None:
        return None
    phrase = " ".join(found.group().casefold().split())
    return VERBS[phrase], phrase, found.end()


def begins_request(text: str, pos: int) -> bool:
    """Whether a request begins here, be it one that only a model could do."""
    if match_verb(text, pos) is not None:
        return True
    word = _WORD.match(text, pos)
    return word is not None and word.group().casefold() in BEYOND


def looks_like_path(word: str) -> bool:
    """Whether a bare word differs from prose: it has a dot, a slash, a digit, or is in capitals."""
    if word.startswith("-"):
        return False
    if any(mark in word for mark in "./_~") or any(char.isdigit() for char in word):
        return True
    return (len(word) > 1 and word.isupper()) or word.casefold() in KNOWN_NAMES
