"""Recognises an answer that makes a call in its text which no reader takes: it never runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from quorum.domain.calls.tool import TOOL_PARSERS, ToolParser
from quorum.domain.text.pattern import compile_once
from quorum.domain.textual_calls.families import OTHER_FAMILY, Family, get_family
from quorum.domain.textual_calls.forms import TextualCall, Tools, read_call_names
from quorum.domain.textual_calls.reader import TextualCallReader, ThinkingEnded, Words
from quorum.domain.textual_calls.surroundings import EXAMPLE, QUOTED_LINE
from quorum.domain.textual_calls.values import find_extent

_LONGEST = 200_000
# a code fence at the end of an answer: no reader takes a call from it, and nothing follows that explains it
_LAST_FENCE = r"```[\w-]{0,40}[ \t]*\n(?P<inside>(?:(?!```)[^\0])*)```\s*+\Z"
_OBJECT = r"\{\s*+[\"']"
_MOST_OBJECTS = 20
# an answer that begins as a call in JSON
_BROKEN = (
    r"\s*+(?:```\w*\s*+)?\[?\s*+(?P<object>\{)\s*+[\"']name[\"']\s*+:\s*+[\"'](?P<name>[^\"'\n]{1,100})[\"']\s*+,"
    r"\s*+[\"'](?:arguments|parameters)[\"']\s*+:"
)
_TAGS = r"\A\s*+<tool_call>|</tool_call>\s*+\Z"


class LeakedCall(Struct, frozen=True):
    """The tool, and the family whose reader takes this call from the text; "" where none does."""

    tool: str
    parser: ToolParser = ""


def find_leaked_call(text: str, tools: Tools) -> LeakedCall | None:
    """The call that an answer makes in its text, or None."""
    if len(text) > _LONGEST:
        return None
    found = [(parser, call) for parser in TOOL_PARSERS for call in _list_calls(text, get_family(parser), tools)]
    for parser, call in sorted(found, key=lambda each: each[1].name not in tools):
        return LeakedCall(call.name, parser)
    for inside in (compile_once(_TAGS).sub("", text), *_list_endings(text)):
        for name in read_call_names(inside.strip(), tools):
            return LeakedCall(name)
    for call in _list_calls(text, OTHER_FAMILY, tools):
        return LeakedCall(call.name)
    name = _find_unread(text, tools)
    return LeakedCall(name) if name else None


def _list_calls(text: str, family: Family, tools: Tools) -> list[TextualCall]:
    calls: list[TextualCall] = []
    if not (any(start in text for start in family.starts) or any(form.is_alone for form in family.forms)):
        return calls
    reader = TextualCallReader(family, tools)
    for piece in (*reader.feed(text), *reader.finish(is_cut=False)):
        if isinstance(piece, TextualCall):
            calls.append(piece)
        elif isinstance(piece, ThinkingEnded):
            calls.clear()
    return calls


def _list_endings(text: str) -> Iterator[str]:
    """What an answer ends with, where that may be a call that no reader takes: a code fence, or an object."""
    if (fenced := compile_once(_LAST_FENCE).search(text)) is not None:
        yield compile_once(_TAGS).sub("", fenced["inside"])
        return
    said = text.rstrip()
    if said.endswith("}"):
        for opened in islice(compile_once(_OBJECT).finditer(said), _MOST_OBJECTS):
            line = said[said.rfind("\n", 0, opened.start()) + 1 : opened.start()]
            is_shown = compile_once(QUOTED_LINE).match(line) or compile_once(EXAMPLE).search(line)
            if is_shown is None and find_extent(said, opened.start()).end == len(said):
                yield said[opened.start() :]
                return


def _find_unread(text: str, tools: Tools) -> str:
    """The offered tool that is named where a call begins that cannot be read."""
    if (broken := compile_once(_BROKEN).match(text)) is not None and broken["name"] in tools:
        extent = find_extent(text, broken.start("object"))
        return "" if extent.is_whole and text[extent.end :].strip("` \n") else broken["name"]
    for parser in TOOL_PARSERS:
        family = get_family(parser)
        if not any(start in text for start in family.starts):
            continue
        reader = TextualCallReader(family, tools)
        pieces = [*reader.feed(text), *reader.finish(is_cut=False)]
        if reader.unread:
            said = "".join(piece.text for piece in pieces if isinstance(piece, Words))
            begins = min((at for start in family.starts if (at := said.find(start)) >= 0), default=0)
            return next((name for name in tools if name in said[begins:]), "")
    return ""
