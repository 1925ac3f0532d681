"""Addresses in drawn lines: what is a link, and where it leads. Nothing here opens anything.

A model may write anything behind a link: only web addresses become links of the terminal, any other target is
only reported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from quorum.tui.transcript.cells.flow import Flow, is_continued

_ADDRESS = re.compile(r"\bhttps?://[^\s<>\"'`{}|\\^⟨⟩│]+", re.IGNORECASE)
_WEB = re.compile(r"https?://[^\s/]", re.IGNORECASE)
_LONGEST = 2_000
_BRACKETS = {")": "(", "]": "["}


def is_web(target: str) -> bool:
    """Whether a target is a web address, of a length that terminals bear."""
    return _WEB.match(target) is not None and len(target) <= _LONGEST and target.isprintable()


def find_target(style: Style) -> str:
    """Where a click on cells of this style leads; empty: nowhere."""
    return style.link or str(style.meta.get("target", ""))


@lru_cache(1_024)
def link_style(style: Style, target: str) -> Style:
    """The style of cells that lead there: a link of the terminal, if that is a web address."""
    if is_web(target):
        return style.update_link(target)
    return style.update_link(None) + Style(meta={"target": target})


def find_addresses(text: str) -> list[tuple[int, int]]:
    """Where web addresses stand in a text. One that was cut off is none."""
    found: list[tuple[int, int]] = []
    for match in _ADDRESS.finditer(text):
        address = _strip_punctuation(match[0])
        if is_web(address) and "…" not in address:
            found.append((match.start(), match.start() + len(address)))
    return found


def _strip_punctuation(address: str) -> str:
    """The address without what belongs to the sentence around it."""
    unopened = {last: address.count(last) - address.count(first) for last, first in _BRACKETS.items()}
    end = len(address)
    while end:
        last = address[end - 1]
        if unopened.get(last, 0) > 0:
            unopened[last] -= 1
        elif last not in ".,;:!?*_~":
            break
        end -= 1
    return address[:end]


class Links:
    """Makes links of the addresses in lines; a line that was there the last time gives the same strip again."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[list[Strip], list[Strip]]] = {}
        self._going_on: dict[int, tuple[Strip, bool]] = {}

    def link_addresses(self, strips: Sequence[Strip]) -> list[Strip]:
        """The lines, web addresses in them being links, also those that run over several lines."""
        known: dict[int, tuple[list[Strip], list[Strip]]] = {}
        linked: list[Strip] = []
        for group in self._group_lines(strips):
            before = self._known.get(id(group[0]))
            same = before is not None and [*map(id, before[0])] == [*map(id, group)]
            made = before if before is not None and same else (group, _link_group(group))
            known[id(group[0])] = made
            linked += made[1]
        self._known = known
        return linked

    def _group_lines(self, strips: Sequence[Strip]) -> list[list[Strip]]:
        """The lines, together with those that continue with them."""
        groups: list[list[Strip]] = []
        before, self._going_on = self._going_on, {}
        for strip in strips:
            known = before.get(id(strip)) or (strip, is_continued(strip))
            self._going_on[id(strip)] = known
            if groups and known[1]:
                groups[-1].append(strip)
            else:
                groups.append([strip])
        return groups


def _link_group(group: list[Strip]) -> list[Strip]:
    if not any("://" in strip.text for strip in group) and len(group) == 1:
        return group
    flow = Flow(group)
    linked = list(group)
    for start, end in find_addresses(flow.text):
        for line, first, last in flow.find_spans(start, end):
            linked[line] = _add_target(linked[line], first, last, flow.text[start:end])
    return linked


def _add_target(strip: Strip, first: int, last: int, target: str) -> Strip:
    """The line, some of its characters leading somewhere, unless they do already."""
    segments: list[Segment] = []
    at = 0
    for text, style, control in strip:
        start, end = max(first - at, 0), min(last - at, len(text))
        at += len(text)
        if start >= end or (style is not None and style.link):
            segments.append(Segment(text, style, control))
            continue
        parts = (
            (text[:start], style),
            (text[start:end], link_style(style or Style(), target)),
            (text[end:], style),
        )
        segments += [Segment(part, look) for part, look in parts if part]
    return Strip(segments, strip.cell_length)
