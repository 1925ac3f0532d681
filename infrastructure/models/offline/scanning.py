"""A place in a prompt, and the steps forward that respect quotes and fences. All steps are linear."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from quorum.infrastructure.models.offline.vocabulary import (
    BREAK,
    SHELL_WORDS,
    START,
    begins_request,
    match_verb,
)

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
