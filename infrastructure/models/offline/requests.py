"""What the offline model reads a prompt with: the results, the verbs, and a scanner for names and arguments.

The scanner steps forward in linear time, and respects quotes and fences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.mention import parse_quoted_mention, split_lines

MAX_REQUESTS = 50


class Request(Struct, frozen=True):
    """One tool to call, with its arguments."""

    tool: str
    arguments: JsonObject


class Understood(Struct, frozen=True):
    """All of the prompt was understood: these requests, in their order."""

    requests: tuple[Request, ...]


class NotUnderstood(Struct, frozen=True):
    """Some part of the prompt was not understood, so that none of it may run. `hint` is one sentence."""

    part: str
    hint: str


class HelpWanted(Struct, frozen=True):
    """The person asks what can be asked."""


class NothingAsked(Struct, frozen=True):
    """There is no request in the prompt."""


Reading: TypeAlias = Understood | NotUnderstood | HelpWanted | NothingAsked


class Misread(Exception):
    """A request does not fit the grammar; its text is the hint. Raised and caught within one reading."""


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


_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "「": "」"}
_OPENING = re.compile(r"[\"'`“‘「]")
_BARE = re.compile(r"[^\s,;、。]++")
_SPACES = re.compile(r"[^\S\n]*+")
_BLANKS = re.compile(r"\s*+")
_BLANK_REST = re.compile(r"\s*+\Z")
_FENCE = re.compile(r"\s*+(`{3,})[^\n`]*+\n")


class Item(Struct, frozen=True):
    """One argument. `quoted` tells that the person delimited it, so that it is taken as it stands."""

    value: str
    quoted: bool


class Scanner:
    """Reads a prompt from `pos` on. Nothing before `pos` is looked at again."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self._absent_from: dict[str, int] = {}

    @property
    def at_end(self) -> bool:
        """Whether only white space is left."""
        return _BLANK_REST.match(self.text, self.pos) is not None

    @property
    def at_joint(self) -> bool:
        """Whether the item before stands alone: something that joins follows it, or nothing at all."""
        return self.at_end or self._break_here() is not None

    @property
    def at_request_end(self) -> bool:
        """Whether nothing follows but another request."""
        joint = self._break_here()
        after = joint.end() if joint else self.pos
        nothing_more = _BLANK_REST.match(self.text, after) is not None
        return nothing_more or (joint is not None and begins_request(self.text, after))

    def _break_here(self) -> re.Match[str] | None:
        spaces = _SPACES.match(self.text, self.pos)
        return BREAK.match(self.text, spaces.end() if spaces else self.pos)

    def skip_joints(self) -> bool:
        """Step over what may stand before a request or a name; whether it was more than white space."""
        found = START.match(self.text, self.pos)
        skipped = found.group() if found else ""
        self.pos += len(skipped)
        return bool(skipped.strip()) or "\n" in skipped

    def skip(self, pattern: re.Pattern[str]) -> bool:
        """Step over the pattern if it stands here; whether it did."""
        if (found := pattern.match(self.text, self.pos)) is None:
            return False
        self.pos = found.end()
        return bool(found.group())

    def skip_spaces(self) -> None:
        """Step over white space, newlines included."""
        self.skip(_BLANKS)

    def read_quoted(self) -> str | None:
        """The quoted text that begins here, stepping over it; None without a closed quote."""
        if (close := self._find_closing(self.pos)) is None:
            return None
        inner = self.text[self.pos + 1 : close]
        self.pos = close + 1
        return inner

    def read_item(self) -> Item | None:
        """The quoted text or bare word that begins here, stepping over it, closing punctuation aside."""
        if (inner := self.read_quoted()) is not None:
            return Item(inner, quoted=True)
        if (found := _BARE.match(self.text, self.pos)) is None:
            return None
        word = found.group()
        kept = word.rstrip(".!?:") or word
        self.pos += len(kept)
        return Item(kept, quoted=False)

    def read_fence(self) -> str | None:
        """The content of the fenced block that begins here, stepping over it; None without a closed one."""
        if (opened := _FENCE.match(self.text, self.pos)) is None:
            return None
        ticks, start = opened.group(1), opened.end()
        at = start - 1
        while (at := self.text.find("\n" + ticks, at)) != -1:
            after = at + 1 + len(ticks)
            line_end = self.text.find("\n", after)
            line_end = len(self.text) if line_end == -1 else line_end
            if not self.text[after:line_end].strip():
                self.pos = line_end
                return self.text[start : at + 1]
            at = line_end
        return None

    def find_clause_end(self, *, command: bool = False) -> int:
        """Where this request ends: at an unquoted newline, or at a joint that another request follows.

        In a command, a semicolon followed by a word that the shell knows too stays part of the command.
        """
        for joint in self.find_unquoted(BREAK, len(self.text)):
            if "\n" in joint.group():
                return joint.start()
            if not begins_request(self.text, joint.end()):
                continue
            verb = match_verb(self.text, joint.end())
            if command and ";" in joint.group() and verb is not None and verb[1] in SHELL_WORDS:
                continue
            return joint.start()
        return len(self.text)

    def find_unquoted(self, pattern: re.Pattern[str], end: int) -> Iterator[re.Match[str]]:
        """The matches between here and `end` that no quote protects, in order."""
        at = self.pos
        found = pattern.search(self.text, at, end)
        quote = _OPENING.search(self.text, at, end)
        while found is not None:
            if quote is None or quote.start() >= found.start():
                yield found
                found = pattern.search(self.text, found.end(), end)
                continue
            close = self._find_closing(quote.start())
            at = quote.end() if close is None or close >= end else close + 1
            quote = _OPENING.search(self.text, at, end)
            if at > found.start():
                found = pattern.search(self.text, at, end)

    def _find_closing(self, at: int) -> int | None:
        """Where the quote opened at `at` closes; None for an apostrophe, an open quote, or no quote."""
        if at >= len(self.text) or (close := _QUOTES.get(self.text[at])) is None:
            return None
        if at > 0 and self.text[at - 1].isalnum():
            return None
        if at + 1 >= self._absent_from.get(close, len(self.text) + 1):
            return None
        if (found := self.text.find(close, at + 1)) == -1:
            self._absent_from[close] = at + 1
            return None
        return found


def strip_quotes(text: str) -> str:
    """The text without white space around it and without the one pair of quotes that encloses all of it."""
    stripped = text.strip()
    scanner = Scanner(stripped)
    inner = scanner.read_quoted()
    return inner if inner is not None and scanner.pos == len(stripped) else stripped


_MORE = r"(?=\s+(?!(?:and|then|in|with|to)\b)[^\s,;、。])\s++"
_NOISE = re.compile(
    rf"(?:(?:me|the|both|at|files?|folders?|director(?:y|ies)|contents?\s++of|in|all|of){_MORE})*+",
    re.IGNORECASE,
)
_KIND_AFTER = re.compile(r"\s++(?:files?|folders?|director(?:y|ies))(?![\w./-])", re.IGNORECASE)


def read_names(scanner: Scanner, *, folders: bool = False) -> list[str]:
    """The names that stand here, stepping over them; empty if none does. Stops where prose or a verb begins.

    The first may be any word that could be a name; later ones must look like a path, be quoted, or, among
    folders, stand alone after a comma or "and".
    """
    found: list[str] = []
    while len(found) <= MAX_REQUESTS:
        here = scanner.pos
        joined = scanner.skip_joints()
        item = _parse_name(scanner, anything=not found or (folders and joined))
        scanner.skip(_KIND_AFTER)
        if item is None or (found and not _is_sure(item) and not scanner.at_joint):
            scanner.pos = here
            break
        found.append(item.value)
    return found


def read_name(scanner: Scanner) -> str | None:
    """The one name that stands here, stepping over it; None if none does."""
    scanner.skip_spaces()
    item = _parse_name(scanner, anything=True)
    return item.value if item else None


def require_names(scanner: Scanner, hint: str, *, folders: bool = False) -> list[str]:
    """Like `names`, but raises Misread with this hint where none stands."""
    if found := read_names(scanner, folders=folders):
        return found
    raise Misread(hint)


def _parse_name(scanner: Scanner, *, anything: bool) -> Item | None:
    if begins_request(scanner.text, scanner.pos):
        return None
    scanner.skip(_NOISE)
    item = _mention(scanner) or scanner.read_item()
    if item is None or not item.value.strip():
        return None
    if _is_sure(item):
        return item
    plausible = item.value.casefold() not in NAMELESS and not item.value.startswith("-")
    return item if anything and plausible else None


def _mention(scanner: Scanner) -> Item | None:
    """The name behind an @, as prompts name files."""
    if not scanner.text.startswith("@", scanner.pos):
        return None
    if (quoted := parse_quoted_mention(scanner.text, scanner.pos)) is not None:
        path, scanner.pos = quoted
        return Item(split_lines(path)[0], quoted=True)
    scanner.pos += 1
    if (bare := scanner.read_item()) is None:
        scanner.pos -= 1
        return None
    return Item(split_lines(bare.value)[0], quoted=True)


def _is_sure(item: Item) -> bool:
    return item.quoted or looks_like_path(item.value)
