"""Secrets that are known by value, in every form in which they commonly turn up.

What could still become a secret at the end of a text that grows is not shown before that is clear. From the
person who approves a call only what looks random and acts as nothing else is hidden (`find_hideable_parts`).
"""

from __future__ import annotations

import base64
import json
import re
import string
import sys
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from quorum.domain.secrets.patterns import (
    ASSIGNED,
    BODY,
    CREDENTIAL,
    KEYS,
    VALUE,
    SecretSpan,
    find_name_starts,
    group_by_rare_character,
    is_word_start,
    looks_random,
)
from quorum.domain.text.pattern import compile_once

_WORD = r"[A-Za-z0-9][^\s|&;<>`$(){}'\",:=\\]{15,}(?:={1,2}(?=[\s|&;<>`)}'\",]|\Z))?+"
_MOST_AROUND = 200
_IN_PATHS = "/\\~"
# What says of a word that it is a value, and no file, host or program: a telling name before it, the scheme of
# a login, the name of a header in quotes, a user before a password.
_TELLS_OF_VALUE = (
    r"(?i)(?:"
    r"(?:passw(?:or)?d|passphrase|pwd|token|secret|key|auth(?:orization)?|credential|cookie)s?[\"'\])]{0,3}"
    r"[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}[\"']{0,2}(?:(?:bearer|basic|token)[ \t]+)?"
    r"|-[\w-]*(?:passw(?:or)?d|passphrase|token|secret|api-?key)[ \t]+[\"']?"
    r"|\b(?:bearer|basic)[ \t]+"
    r"|[\"'](?!host:)[a-z][\w-]*:[ \t]*"
    r"|://[^\s/:@]*:"
    r")\Z"
)
_PRINTS = r"(?:^|[\n;&])[ \t]*(?:echo|printf)[ \t][^|&;<>`$()]*\Z"
# What is told by a name may be taken from there; behind other tells, by its place among the words.
_NAMED = r"(?i)([A-Za-z_]\w*)[\"'\])]{0,3}[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}[\"']{0,2}(?:[a-z]+[ \t]+)?\Z"
_IN_NAMES = r"[\w-]"
_SET_AGAIN = r"[\"'\])]{0,3}[ \t]{0,4}(?::=|=>|[:=](?!=))"
_HANDED_ON = r"\b(?:export|unset|readonly|local)[ \t]+\Z"
_REFERENCE = r"\$\{?\Z"
# By its place, by a name that is put together, and by names whose case means nothing.
_TAKEN_OTHERWISE = (
    r"(?i)\$\{?[0-9@*]|\$\{!|\beval\b|\b(?:declare|typeset|local) -n|\$env:|%[a-z_]\w*%"
    r"|\b(?:pwsh|powershell|cmd(?:\.exe)? /)"
)
_MOST_MENTIONS = 300
# What is printed goes to a program or a file: at once, or with all of the block that the command ends in.
_LEADS_ON = r"[^;&]*[|>`)]|.*[\s;&](?:[)}]|done|fi|esac)(?![^\s;&|>)])"


def find_hideable_parts(text: str, span: SecretSpan) -> Iterator[SecretSpan]:
    """The parts of a span that may be hidden: all of it where it is one random word, else its random words,
    such as the lines of a private key, between which anybody may have put something else."""
    for word in compile_once(_WORD).finditer(text, span.start, span.end):
        part = SecretSpan(word.start(), word.end(), span.word)
        if looks_random(word[0]) and _is_value(text, part, span):
            yield part


def _is_value(text: str, part: SecretSpan, span: SecretSpan) -> bool:
    """Whether what stands around a word makes it a value. Any other word may be a path, a host or a program,
    however random it looks: whoever made the workspace could have given a file such a name."""
    before, after = text[part.start - 1 : part.start], text[part.end : part.end + 1]
    if (before and before in f"{_IN_PATHS}@.") or (after and after in f"{_IN_PATHS}:="):
        return False
    if after == "." and text[part.end + 1 : part.end + 2].isalnum():
        return False
    earliest = max(0, part.start - _MOST_AROUND)
    line_start = max(earliest, text.rfind("\n", earliest, part.start) + 1)
    rest = text[part.end : part.end + _MOST_AROUND].partition("\n")[0]
    if line_start > span.start and not text[line_start : part.start].strip(" \t+-"):
        return not rest.strip()  # a line of a private key
    line = text[line_start : part.start]
    if after == "@":
        return line.endswith(":")  # the password of an address
    if compile_once(_TELLS_OF_VALUE).search(line) is not None:
        named = compile_once(_NAMED).search(line)
        return not _takes_otherwise(text) and (named is None or _stays_value(text, named[1], frozenset()))
    is_printed = compile_once(_PRINTS).search(text, max(0, line_start - 1), part.start) is not None
    return is_printed and len(rest) < _MOST_AROUND and compile_once(_LEADS_ON).match(rest) is None


@lru_cache(maxsize=1)  # one text may hold many values
def _takes_otherwise(text: str) -> bool:
    """Whether a text may take a value in other ways than by the name before it."""
    return compile_once(_TAKEN_OTHERWISE).search(text) is not None


def _stays_value(text: str, name: str, seen: frozenset[str]) -> bool:
    """Whether a variable's value is used as a value alone, wherever the text mentions that variable: elsewhere
    it may be the program, the file or the host."""
    end = 0
    for _ in range(_MOST_MENTIONS):
        start = text.find(name, end)
        if start < 0:
            return True
        before, end = text[max(0, start - _MOST_AROUND) : start].rpartition("\n")[2], start + len(name)
        if (
            compile_once(_IN_NAMES).match(before[-1:])
            or compile_once(_IN_NAMES).match(text, end)
            or compile_once(_HANDED_ON).search(before)
        ):
            continue
        reference = compile_once(_REFERENCE).search(before)
        if reference is None and compile_once(_SET_AGAIN).match(text, end):
            continue
        line = before[: reference.start()] if reference else before
        if compile_once(_TELLS_OF_VALUE).search(line) is None:
            return False
        named = compile_once(_NAMED).search(line)
        if named and named[1] not in (name, *seen) and not _stays_value(text, named[1], seen | {name}):
            return False
    return False


SHORTEST = 8
"""Characters; what is shorter turns up by chance and is not hidden."""
LONGEST = 16_384
"""Characters; of what is longer only the beginning is looked for."""
_LONGEST_ENCODED = 512
_MOST = 20_000  # forms; a folder may hold more, made to keep us busy
_MOST_WITH_ENCODED = 600  # forms; each costs a look at every text
_HEAD = 4
_SHORT = 4096  # characters up to which a look for beginnings saves more than it costs
_FULL_LINE = r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/_-]{60,76}\r?\n"
_LONGEST_LINE = 78
_WRAPPED = r"(?:[A-Za-z0-9+/_-]{60,76}\r?\n)++[A-Za-z0-9+/_=-]*+"  # as programs wrap base64 and hexadecimal
_PIECE = 1 << 18  # characters: while an expression looks through a text, no other thread of Python continues
_WORD_OF_SECRETS = 4  # bytes
_WINDOW = 2 * _WORD_OF_SECRETS - 1  # bytes; wherever it stands, it covers a whole word
_FULL_LINE_BYTES = b"x" * 60 + b"\n"
_LINE_BYTES = re.sub(rb"[A-Za-z0-9+/_-]", b"x", bytes(range(256)))
_MANY = 300  # beginnings; where there are more, a look at every place of a text costs less than one for each


class NamedSecret(NamedTuple):
    """A secret and what it is called.

    `as_it_is`: it is looked for in no other form. `is_claimed`: a file of the workspace or a model calls it
    one; it is hidden wherever something is kept, but from who approves a call only where it looks random.
    """

    name: str
    value: str
    as_it_is: bool = False
    is_claimed: bool = False


class KnownSecrets:
    """Values and their names. One may be added at any time, from any thread."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._forms: tuple[tuple[str, str], ...] = ()
        self._by_head: dict[str, tuple[str, ...]] = {}
        self._claimed: frozenset[str] = frozenset()
        self._words: frozenset[int] = frozenset()
        self._has_replaced = False
        self.clear_texts: set[str] = set()
        """Short texts in which neither these nor any pattern were found; another set once more are known."""
        self._adding = threading.Lock()

    def add(self, secrets: Iterable[NamedSecret]) -> bool:
        """Know these; whether any of them is news. What is too short is left out, and a first name stays."""
        with self._adding:
            names, claimed = dict(self._names), set(self._claimed)
            for name, given, as_it_is, is_claimed in secrets:
                value = given.strip()[:LONGEST]
                if len(value) < SHORTEST or len(names) >= _MOST:
                    continue
                encoded = not as_it_is and len(names) < _MOST_WITH_ENCODED
                forms = list_forms(value, encoded=encoded)
                if not is_claimed:
                    claimed.difference_update(forms)
                elif value not in names:
                    claimed.update(form for form in forms if form not in names)
                if value not in names:
                    names |= {form: name for form in forms if form not in names}
            self._claimed = frozenset(claimed)
            if len(names) == len(self._names):
                return False
            by_head: dict[str, list[str]] = {}
            for form in names:
                by_head.setdefault(form[:_HEAD], []).append(form)
            new = names.keys() - self._names.keys()
            self._words = self._words.union(*map(_list_aligned_words, new))
            self._has_replaced = self._has_replaced or any("\ufffd" in form for form in new)
            self._names = names
            self._forms = tuple(sorted(names.items(), key=lambda each: -len(each[0])))
            self._by_head = {
                head: tuple(sorted(forms, key=len, reverse=True)) for head, forms in by_head.items()
            }
            self.clear_texts = set()  # last: whoever looks with the values of before fills the old one
            return True

    def list_forms_named(self, name: str) -> tuple[str, ...]:
        """The forms of the values of this name, each value as it is before its other forms."""
        return tuple(form for form, named in self._names.items() if named == name)

    def touches(self, text: str) -> bool:
        """Whether the text holds the beginning of a known value: a fast check, for it usually does not."""
        heads = self._by_head
        if len(heads) > _MANY:
            return any(text[place : place + _HEAD] in heads for place in range(len(text)))
        for head in heads:  # noqa: SIM110 - any() over a generator takes twice as long
            if head in text:
                return True
        return False

    def may_be_in(self, content: bytes) -> bool:
        """Whether a text, given in UTF-8, may hold a known value, also over line breaks.

        Mostly it does not, which takes a time that hardly depends on how many values are known.
        """
        if not self._words:
            return False
        if self._has_replaced and not content.isascii():
            return True
        if _may_hold_full_line(content):
            return True
        whole = len(content) // _WORD_OF_SECRETS * _WORD_OF_SECRETS
        return not self._words.isdisjoint(memoryview(content)[:whole].cast("I"))

    def find_spans(self, text: str, *, in_review: bool = False) -> list[SecretSpan]:
        """Where known values stand, the longest first; `in_review`: as far as they may be hidden there."""
        if len(text) < SHORTEST:
            return []
        blocks = [*_find_wrapped_blocks(text)] if _may_be_wrapped(text) else []
        if not blocks and len(self._by_head) <= _MANY and len(text) < _SHORT and not self.touches(text):
            return []
        spans = self._find_values(text, in_review=in_review)
        for block in blocks:
            spans += _unwrap(block, lambda joined: self._find_values(joined, in_review=in_review))
        return spans

    def _find_values(self, text: str, *, in_review: bool) -> list[SecretSpan]:
        if len(self._by_head) > _MANY:
            found = [form for head in self._find_heads(text) for form in self._by_head[head]]
            forms = [(form, self._names[form]) for form in sorted(found, key=len, reverse=True)]
        else:
            forms = [*self._forms]
        return [
            span
            for form, name in forms
            if form in text
            for whole in _find_each(form, name, text)
            for span in (find_hideable_parts(text, whole) if in_review and form in self._claimed else (whole,))
        ]

    def find_unfinished(self, text: str) -> int:
        """Where, at the end of the text, a known value may have begun; the length of the text if nowhere.

        Up to three characters of a value may stand before that place.
        """
        place = len(text)
        for head in self._find_heads(text) if len(text) < len(self._by_head) else self._by_head:
            forms = self._by_head[head]
            start = text.find(head, max(0, len(text) - len(forms[0])))
            while 0 <= start < place:
                tail = text[start:]
                if any(len(form) > len(tail) and form.startswith(tail) for form in forms):
                    place = start
                start = text.find(head, start + 1)
        return place

    def _find_heads(self, text: str) -> set[str]:
        """The beginnings of known values that the text holds, found by a look at each of its places."""
        heads = self._by_head
        return {head for place in range(len(text)) if (head := text[place : place + _HEAD]) in heads}

    def cut_head(self, text: str) -> SecretSpan | None:
        """The end of a known value with which the text begins, because its beginning was cut off; at least 4
        characters of it."""
        head = text[:4]
        best: SecretSpan | None = None
        for form, name in self._forms:
            place = form.find(head, 1) if len(head) == 4 else -1
            while place > 0:
                rest = form[place:]
                if text.startswith(rest) and (best is None or len(rest) > best.end):
                    best = SecretSpan(0, len(rest), name)
                place = form.find(head, place + 1)
        return best


def list_forms(value: str, *, encoded: bool) -> tuple[str, ...]:
    """A value as it is and in JSON; `encoded`: also in an address, and within hexadecimal or base64."""
    forms = [value]
    forms += [json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True)]
    if encoded and len(value) <= _LONGEST_ENCODED and "\n" not in value:
        forms += [quote(value, safe=""), quote(value), quote_plus(value)]
        forms += [_lower_escapes(form) for form in forms[-3:]]
        forms += _encode_hexadecimal(value.encode("utf-8", "replace"))
        forms += _encode_base64(value.encode("utf-8", "replace"))
    return tuple(dict.fromkeys(form for form in forms if len(form) >= SHORTEST))


def _list_aligned_words(form: str) -> Iterator[int]:
    """The words of which one stands, at a multiple of its size, in each text that holds this form.

    They are from its middle, because beginnings such as those of addresses turn up everywhere.
    """
    data = form.encode("utf-8", "surrogatepass")
    start = (len(data) - _WINDOW) // 2
    for place in range(start, start + _WORD_OF_SECRETS):
        yield int.from_bytes(data[place : place + _WORD_OF_SECRETS], sys.byteorder)


def _lower_escapes(text: str) -> str:
    """The same address with its escapes in small letters."""
    first, *rest = text.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])


def _encode_base64(data: bytes) -> Iterator[str]:
    """The characters that these bytes become wherever they stand among others: three ways to begin a group."""
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        begin = (before * 8 + 5) // 6
        end = (before + len(data)) * 8 // 6
        yield from (encoded[begin:end], encoded[begin:end].replace("+", "-").replace("/", "_"))


def _encode_hexadecimal(data: bytes) -> Iterator[str]:
    yield from (data.hex(), data.hex().upper())


def _may_be_wrapped(text: str) -> bool:
    """Whether a line may be full. Usually none is, and an expression takes ten times as long to find that."""
    return "\n" in text and _may_hold_full_line(text.encode("utf-8", "surrogatepass"))


def _may_hold_full_line(content: bytes) -> bool:
    return _FULL_LINE_BYTES in content.translate(_LINE_BYTES, b"\r")


def _find_wrapped_blocks(text: str) -> Iterator[re.Match[str]]:
    """The lines that programs may have wrapped, with the rest behind them; looked for piece by piece."""
    place = 0
    while place < len(text):
        end = place + _PIECE
        line = compile_once(_FULL_LINE).search(text, place, end + _LONGEST_LINE)
        block = None if line is None else compile_once(_WRAPPED).match(text, line.start())
        if block is None:
            place = end
        else:
            yield block
            place = block.end()


def _unwrap(block: re.Match[str], find: Callable[[str], list[SecretSpan]]) -> Iterator[SecretSpan]:
    """Where in a text known values stand that go over the line breaks of this block of it."""
    lines = block[0].splitlines(keepends=True)
    contents = [line.rstrip("\r\n") for line in lines]
    joined = [0, *accumulate(map(len, contents))]
    starts = [block.start(), *(block.start() + end for end in accumulate(map(len, lines)))]

    def place(at: int) -> int:
        line = bisect_right(joined, at) - 1
        return starts[line] + at - joined[line]

    yield from (
        SecretSpan(place(start), place(end - 1) + 1, name) for start, end, name in find("".join(contents))
    )


def _find_each(form: str, name: str, text: str) -> Iterator[SecretSpan]:
    place = text.find(form)
    while place >= 0:
        yield SecretSpan(place, place + len(form), name)
        place = text.find(form, place + len(form))


_ANCHORED = group_by_rare_character(KEYS)
_NAMES = tuple(anchor for shape in KEYS for anchor in shape.anchors)
_BEGINNINGS = frozenset(anchor[:length] for anchor in _NAMES for length in range(1, len(anchor) + 1))
_WITHIN = frozenset("".join(_NAMES))
_LONGEST_VALUE = 600
_LONGEST_NAME = 64  # with all that stands around it
_LONGEST_ANCHOR = max(map(len, _NAMES))
_STARTS = r"(?<![A-Za-z0-9_])[A-Za-z]"
_IN_KEYS = string.ascii_letters + string.digits + "_.+/=-"
_ASSIGNMENT = rf"{ASSIGNED}({VALUE}{{0,{_LONGEST_VALUE}}}+)\Z"
_PASSWORD = re.compile(r"://[^\s/:@\"'<>]*+:([^\s/@\"'<>]*+)\Z")
_BEARER = re.compile(rf"earer[ \t]+({CREDENTIAL}*+)\Z")
_SCHEMES = ("bearer", "basic", "token")
_IN_CREDENTIALS = string.ascii_letters + string.digits + "._~+/=-"
_FENCE = "-----BEGIN "
_END = r"(?:-{1,6}(?:E|EN|END[ A-Z0-9]*+-{0,5})?)?"
_PRIVATE_KEY = rf"-----BEGIN [A-Z0-9 ]{{0,60}}+(?:-{{1,4}}|-----{BODY}*+{_END})?\Z"


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
            if match := compile_once(_ASSIGNMENT).match(line, before + start):
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
    for start in compile_once(_STARTS).finditer(line, max(0, len(line) - _LONGEST_ANCHOR)):
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
        if compile_once(_PRIVATE_KEY).match(text, start):
            return start
        start = text.find(_FENCE, start + 1)
    if text[-1:] not in _FENCE:
        return len(text)
    end = text[-len(_FENCE) :]
    return next(
        (len(text) - len(end) + start for start in range(len(end)) if _FENCE.startswith(end[start:])), len(text)
    )
