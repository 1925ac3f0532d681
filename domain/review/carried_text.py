"""Whether what a call sends to the web holds text that tools have read: as it is, or in an encoding.

A few words are not enough, for pages are looked up by names that stand in files, and neither are paths. What
was said by the person or found in the web is known there.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from urllib.parse import unquote_plus

from quorum.domain.text.pattern import compile_once

_SEPARATORS = r"[\W_]+"
# As they are: so many words in their order, and so many letters and digits in them. Decoded: of the latter.
_LEAST_WORDS, _LEAST_CHARS = 4, 20
_LEAST_DECODED = 8
_MOST_READ = 1_000_000
_MOST_SENT = 16_384
_RUN = r"[A-Za-z0-9+/_-]{8,}={0,6}"
_HEX = r"(?:[0-9a-fA-F]{2}[/.,:&=_-]?){6,}"
_LONGEST_SHOWN = 60


def find_carried_text(sent: str, read: Iterable[str], known: Iterable[str]) -> str:
    """The beginning of what was read and is sent, and in which form; empty where nothing is.

    `known` are texts of the person and of the web. What is too long to be looked through counts as carried.
    """
    kept = "\n".join(read)[-_MOST_READ:]
    return _find_carried(unquote_plus(unquote_plus(sent)), kept, "\n".join(known)) if kept else ""


@lru_cache(maxsize=4)
def _find_carried(sent: str, kept: str, known: str) -> str:
    if len(sent) > _MOST_SENT:
        return "it is too long to be looked through"
    decoded: dict[str, str] = {}
    for form, text in _list_decoded(sent):
        needle = _reduce(text)
        for place in range(len(needle) - _LEAST_DECODED + 1):
            decoded.setdefault(needle[place : place + _LEAST_DECODED], f"{text[:_LONGEST_SHOWN]!r} in {form}")
    if decoded and (found := _find_first(decoded, _LEAST_DECODED, _reduce(kept))):
        return found
    groups: dict[str, str] = {}
    others = _reduce(known)
    for group in _list_groups([word.lower() for word in compile_once(_SEPARATORS).split(sent) if word]):
        if (joined := "".join(group)) not in others:
            groups.setdefault(joined[:_LEAST_CHARS], repr(" ".join(group)[:_LONGEST_SHOWN]))
    return _find_first(groups, _LEAST_CHARS, _reduce(_leave_out_paths(kept))) if groups else ""


def _find_first(wanted: Mapping[str, str], length: int, text: str) -> str:
    """What stands for the first part of a text, of this length, that is wanted."""
    parts = (text[place : place + length] for place in range(len(text) - length + 1))
    return next((wanted[part] for part in parts if part in wanted), "")


def _reduce(text: str) -> str:
    """Its letters and digits."""
    return compile_once(_SEPARATORS).sub("", text).lower()


def _leave_out_paths(text: str) -> str:
    return " ".join(word for word in text.split() if "/" not in word)


def _list_groups(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """From each word on, as few as are enough."""
    for start in range(len(words)):
        for end in range(start + _LEAST_WORDS, len(words) + 1):
            if sum(map(len, words[start:end])) >= _LEAST_CHARS:
                yield words[start:end]
                break


def _list_decoded(sent: str) -> Iterator[tuple[str, str]]:
    """What stands encoded in a text, by the name of the encoding."""
    yield "reverse", sent[::-1]
    yield "ROT13", codecs.decode(sent, "rot13")
    parts = re.split(r"[^A-Za-z0-9+/_=-]+", sent)
    runs = [
        *compile_once(_RUN).findall(sent),
        *(run for part in sent.split("/") for run in compile_once(_RUN).findall(part)),
        "".join(parts),
    ]
    for run in dict.fromkeys(runs):
        for name, decode in _DECODERS:
            if (text := _decode(decode, run)) is not None:
                yield name, text
    for run in compile_once(_HEX).findall(sent):
        if (text := _decode(bytes.fromhex, re.sub(r"[^0-9a-fA-F]", "", run))) is not None:
            yield "hexadecimal", text


def _decode(decode: Callable[[str], bytes], run: str) -> str | None:
    try:
        return decode(run).decode()
    except (ValueError, binascii.Error):  # no text
        return None


def _decode_base64(run: str) -> bytes:
    run = run.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(run + "=" * (-len(run) % 4))


def _decode_base32(run: str) -> bytes:
    run = run.rstrip("=").upper()
    return base64.b32decode(run + "=" * (-len(run) % 8))


_DECODERS = (("base64", _decode_base64), ("base32", _decode_base32))
