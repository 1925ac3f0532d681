"""Whether a call may send words of the model's own choosing to a server of the web.

An address that the model puts together can carry what it has read. It is known where the person wrote it, or a
search brought it; a host is known where the person named it, or approved an address of it, and then addresses
of it may be new as long as they are short and in words.

Whether a call sends what tools have read is told of the text as it is, and of an encoding of it. A few words
are not enough, for pages are looked up by names that stand in files, and neither are paths. What
was said by the person or found in the web is known there.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from urllib.parse import SplitResult, unquote, unquote_plus, urlsplit

from msgspec import Struct

from quorum.domain.calls.tool import ToolResultMessage
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.pattern import compile_once

FETCH, SEARCH = "web_fetch", "web_search"
WEB_TOOLS = frozenset({FETCH, SEARCH})
_ADDRESS = r"(?i)https?://[^\s<>\"'`\\^{}|]+"
# Other endings are those of files as well.
_BARE_HOST = r"(?i)(?<![\w.@/-])(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov|mil|int|io|dev|info)(?![\w-]|\.\w)"
# Parsers read these differently.
_AMBIGUOUS = r"[\x00-\x20\x7f\\]"
_TRAILING = ".,;:!?)]}>*_"
_MOST_CHARS = 150
_MOST_QUERY_CHARS = 60
# A word is shorter, and has no digits in it; in an address the sum of those with digits counts as well.
_LONGEST_WORD = 32
_LONGEST_MIXED = 12
_MOST_WITH_DIGITS = 15
_WORD = r"[^\W_]+(?:[+=]+[^\W_]*)*"
_HAS_DIGIT = r".*\d"
_IS_MIXED = r"(?=.*\d)(?=.*[^\W\d_])"


class WebSources(Struct, frozen=True, kw_only=True):
    """Texts with addresses: what the person said, what searches and pages brought, and what was approved.
    `read` is what other tools brought."""

    said: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    approved: tuple[str, ...] = ()
    read: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        said: Iterable[str],
        results: Iterable[ToolResultMessage],
        approved: Iterable[str] = (),
        *,
        told: Iterable[str] = (),
    ) -> WebSources:
        """Those of a conversation, with the results of its calls. `told` is what another model said to this
        one."""
        shown = tuple(results)
        return cls(
            said=tuple(said),
            found=tuple(each.output for each in shown if each.tool_name == SEARCH),
            pages=tuple(each.output for each in shown if each.tool_name == FETCH),
            approved=tuple(approved),
            read=(*told, *(each.output for each in shown if each.tool_name not in WEB_TOOLS)),
        )


def find_exfiltration(tool: str, arguments: JsonObject, sources: WebSources) -> str:
    """What a call sends to the web of what was read, for a guard; empty where it sends nothing of it."""
    sent = arguments.get("url" if tool == FETCH else "query")
    if tool not in WEB_TOOLS or not isinstance(sent, str) or any(sent in text for text in sources.said):
        return ""
    if tool == FETCH and (address := _parse(sent)) is not None:
        if any(_render(address) == _render(each) for each in _list_addresses((*sources.said, *sources.found))):
            return ""
        sent = f"{address.hostname} {address.path} {address.query}"
    carried = find_carried_text(sent, sources.read, (*sources.said, *sources.found, *sources.pages))
    return f"{tool}: it sends away what was read: {carried}" if carried else ""


def find_web_doubt(tool: str, arguments: JsonObject, sources: WebSources) -> str:
    """Why a call may carry out what the model has read; empty where it does not, or does not use the web."""
    if tool == SEARCH:
        query = arguments.get("query")
        if isinstance(query, str) and _has_data(query) and not any(query in said for said in sources.said):
            return "the search holds what looks like data, and not like a word: it may carry out what was read"
        return ""
    url = arguments.get("url")
    if tool != FETCH or not isinstance(url, str):
        return ""
    if (address := _parse(url)) is None:
        return "it cannot be told which host the address names"
    written = _render(address)
    if written in map(_render, _list_addresses((*sources.said, *sources.found, *sources.approved))):
        return ""
    if _get_host(address) not in _list_known_hosts(sources):
        return (
            f"neither you nor a search named {address.hostname}: an address can carry out what was read; "
            "a rule such as web_fetch(url=https://HOST/*) lets a host be read"
        )
    if _carries_data(address) and written not in map(_render, _list_addresses(sources.pages)):
        return "its path or query is long or looks like data, and stood nowhere: it may carry out what was read"
    return ""


def _parse(url: str) -> SplitResult | None:
    """The parts of an address; None for what is none."""
    if compile_once(_AMBIGUOUS).search(url.strip()):
        return None
    try:
        address = urlsplit(url.strip())
        _ = address.port  # raises for what is no number
    except ValueError:
        return None
    return address if address.hostname else None


def _render(address: SplitResult) -> tuple[str, str, str]:
    """An address as far as a server sees it."""
    return _get_host(address), address.path or "/", address.query


def _get_host(address: SplitResult) -> str:
    return f"{(address.hostname or '').casefold().rstrip('.')}:{address.port or ''}"


def _list_addresses(texts: Iterable[str]) -> Iterator[SplitResult]:
    for text in texts:
        for found in compile_once(_ADDRESS).findall(text):
            # Prose goes on behind an address, and Markdown encloses it.
            for end in (found, found.rstrip(_TRAILING)):
                if (address := _parse(end)) is not None:
                    yield address


def _list_known_hosts(sources: WebSources) -> frozenset[str]:
    named = {_get_host(address) for address in _list_addresses((*sources.said, *sources.approved))}
    bare = (host.casefold() for text in sources.said for host in compile_once(_BARE_HOST).findall(text))
    return frozenset(named.union(f"{host}:" for host in bare))


def _carries_data(address: SplitResult) -> bool:
    shown = unquote(f"{address.path}?{address.query}")
    if len(shown) > _MOST_CHARS or len(address.query) > _MOST_QUERY_CHARS or _has_data(shown):
        return True
    return (
        sum(map(len, filter(compile_once(_HAS_DIGIT).match, compile_once(_WORD).findall(shown))))
        > _MOST_WITH_DIGITS
    )


def _has_data(text: str) -> bool:
    """Whether a text holds what is rather data than a word."""
    return any(
        len(word) > _LONGEST_WORD or (len(word) > _LONGEST_MIXED and compile_once(_IS_MIXED).match(word))
        for word in compile_once(_WORD).findall(text)
    )


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
