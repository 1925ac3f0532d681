"""The trust dialog: what a project's file wants, and the person's yes or not now."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import ClassVar

from textual.binding import Binding, BindingType

from quorum.domain.sessions.trust import TrustItem, TrustQuestion
from quorum.domain.text.amounts import format_amount, shorten_home
from quorum.tui.keys.keyed_app import fill_in_keys
from quorum.tui.screens.question_card import QuestionCard
from quorum.tui.screens.review.widgets import ScrollableText
from quorum.tui.transcript.kinds.diff import build_diff_lines
from quorum.tui.transcript.kinds.rows import (
    Line,
    LineKind,
    clean_line,
    fold,
    shorten_digest,
)

_SETTINGS = (
    "Settings may start programs with your rights, let calls run without asking, and choose who can read "
    "your work.",
    "Until you trust them, only stricter settings apply.",
)
_INSTRUCTIONS = (
    "Instructions are put to the model as if they were yours.",
    "Until you trust them, the model does not get them.",
)
_OF_SERVERS = (
    "What a server says of its tools is put to the model.",
    "Until you trust it, these tools are not offered.",
)
_COVERED = "Trust covers what is here as it is now, not the programs it names."
_ASKED = "It asks for:"
_SHORT = 40
"""Of so many lines of text in all, none is folded."""
_MOST_LISTED = 4


class TrustDialog(QuestionCard):
    """Asks whether to trust files of a project. What each may do comes first; long texts are folded until they
    are asked for. The answer is bound to all of it, folded or not."""

    HEADING = "Trust this folder?"
    REFUSE = ("{trust_refuse=n}", "not now")
    ACCEPT = ("{trust_accept=y}", "trust it as it is now")
    ROWS = ScrollableText
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "accept", "Trust this file as it is now", id="trust_accept"),
        Binding("n,escape", "refuse", "Not now: only stricter settings apply", id="trust_refuse"),
        Binding("up", "scroll(-1)", "Scroll up", show=False, id="trust_up"),
        Binding("down", "scroll(1)", "Scroll down", show=False, id="trust_down"),
        Binding("ctrl+up,shift+up", "scroll(-10)", "Scroll up by ten lines", show=False, id="trust_far_up"),
        Binding(
            "ctrl+down,shift+down", "scroll(10)", "Scroll down by ten lines", show=False, id="trust_far_down"
        ),
        Binding("d", "toggle_text", "Show or hide the text of the files", id="trust_text"),
        Binding("right_square_bracket", "jump(1)", "Go to the next file", show=False, id="trust_next"),
        Binding("left_square_bracket", "jump(-1)", "Go to the file before", show=False, id="trust_previous"),
        Binding("left,right,tab,shift+tab", "mark", "The other choice", show=False, id="trust_mark"),
    ]

    def __init__(self, question: TrustQuestion, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock=clock)
        self._question = question
        self._text_lines = sum(len(item.text) for item in question.items)
        self._can_fold = self._text_lines > _SHORT or any(
            item.text and item.compare() is not None for item in question.items
        )
        self._is_folded = self._can_fold

    @property
    def _is_changed(self) -> bool:
        """Whether changes stand between what trust means and what is asked for."""
        return any(item.changed for item in self._question.items)

    @property
    def question(self) -> TrustQuestion:
        return self._question

    def format_subtitle(self) -> str:
        """What the answer is bound to."""
        return f"holds for version {shorten_digest(self._question.digest, spoken=self.is_spoken)}"

    def build_lines(self) -> Iterator[Line]:
        """What the files want, what trust means, and their text, each line of it safe to draw."""
        yield from self._render_heading()
        for item in self._question.items:
            yield from self._render_item(item)

    def action_toggle_text(self) -> None:
        """Show the text of all files, or fold it; the file at the top stays there."""
        if not self._text_lines:
            return
        top = self._rows.scroll_offset.y
        present = sum(place <= top for place in self._find_places()) - 1
        self._is_folded = not self._is_folded
        self._lay_out()
        self._rows.scroll_to(y=self._find_places()[present] if present >= 0 else 0, animate=False)

    def action_jump(self, files: int) -> None:
        """Scroll to the heading of the next file, or of the one before."""
        places, top = self._find_places(), self._rows.scroll_offset.y
        if files > 0:
            place = next((place for place in places if place > top), top)
        else:
            place = next((place for place in reversed(places) if place < top), 0)
        self._rows.scroll_to(y=place, animate=False)

    def _find_places(self) -> list[int]:
        """The row at which each file begins, below the empty one before it."""
        rows = len(fold(self._render_heading(), self._text_width))
        places = []
        for item in self._question.items:
            places.append(rows + 1)
            rows += len(fold(self._render_item(item), self._text_width))
        return places

    def _render_heading(self) -> Iterator[Line]:
        items = self._question.items
        yield Line("folder  ", clean_line(shorten_home(self._question.folder)), LineKind.STRONG)
        if len(items) > _MOST_LISTED:
            yield Line("files   ", f"{len(items)}, each named below with what it may do")
        else:
            for number, item in enumerate(items):
                yield Line("file    " if not number else "        ", clean_line(shorten_home(item.file)))
        if self._can_fold:
            does = "shows" if self._is_folded else "hides"
            going = ", {trust_next=]} goes to the next file" if len(items) > 1 else ""
            keys = fill_in_keys(f"{{trust_text=d}} {does} it{going}", self.app)
            yield Line("text    ", f"{format_amount(self._text_lines, 'line')}: {keys}")
        yield Line("", "")
        yield Line("", _explain(items) if self._is_changed else f"{_explain(items)} {_ASKED}")

    def _render_item(self, item: TrustItem) -> Iterator[Line]:
        yield Line("", "")
        if len(self._question.items) > 1:
            yield Line("", clean_line(shorten_home(item.file)), LineKind.STRONG)
        changes = item.compare()
        if item.changed:
            ending = "." if changes is None else ":" if changes else ", in nothing that is shown."
            yield Line("", f"This file has changed since you trusted it{ending}", LineKind.WARNING)
        if changes:
            text, numbered = "\n".join(changes), bool(item.text)
            for change in build_diff_lines(text, has_numbers=numbered, spoken=self.is_spoken):
                yield change._replace(head=f"  {change.head}")
            yield Line("", "")
        if self._is_changed:
            yield Line("", _ASKED)
        for want in item.wants:
            yield Line("  ", clean_line(want))
        if self._is_folded and item.text:
            yield Line("  ", f"… {format_amount(len(item.text), 'line')} of text", LineKind.QUIET)
            return
        for line in item.text:
            yield Line("  ", clean_line(line))


def _explain(items: Sequence[TrustItem]) -> str:
    """What trust in these means, and what holds without it: of each kind that is among them."""
    kinds = dict.fromkeys(map(_choose_explanation, items))
    return " ".join([*(means for means, _ in kinds), *(until for _, until in kinds), _COVERED])


def _choose_explanation(item: TrustItem) -> tuple[str, str]:
    if item.text:
        return _INSTRUCTIONS
    return _SETTINGS if PurePath(item.file).is_absolute() else _OF_SERVERS
