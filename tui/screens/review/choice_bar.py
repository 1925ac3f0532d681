"""The choices of a review in one row: what is safe first, then a gap, then what reaches beyond this call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.widget import Widget

from quorum.tui.keys.hints import fill_in_keys
from quorum.tui.screens.review.keys import ReviewOffer

_GAP = "  "
_DRAWN_KEYS = {"shift+tab": "⇧⇥"}


class _ChoicePlace(NamedTuple):
    """A choice as it is drawn: its columns, the key and the words beside it."""

    start: int
    end: int
    key: str
    label: str


class ChoiceBar(Widget, can_focus=True):
    """Draws all choices itself, the marked one in brackets. Enter takes the marked one, a click any."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Confirm the selected choice", show=False, id="review_choose")
    ]
    DEFAULT_CSS = """
    ChoiceBar {
        height: 1;
        &.-dead { color: $text-muted; }
    }
    """

    class Taken(Message):
        """A choice was taken, by Enter or by the mouse."""

        def __init__(self, action: str, time: float | None) -> None:
            super().__init__()
            self.action = action
            self.clicked_at = time

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.offers: Sequence[ReviewOffer] = ()
        self._marked = 0

    def show(self, offers: Sequence[ReviewOffer], *, marked: int) -> None:
        self.offers, self._marked = offers, marked
        self.refresh()

    @property
    def marked(self) -> str:
        """The action that Enter takes; empty where nothing is offered."""
        return self.offers[self._marked].action if self.offers else ""

    def mark(self, step: int) -> None:
        """Mark the next choice, or the one before."""
        if self.offers:
            self._marked = (self._marked + step) % len(self.offers)
            self.refresh()
            self.app.post_message(events.DescendantFocus(self))  # a reader's cursor goes where the mark is

    @property
    def marked_offset(self) -> Offset:
        """Where the marked choice begins."""
        return Offset(self.find_column(self.marked) if self.offers else 0, 0)

    def find_column(self, action: str) -> int:
        """Where the choice of an action begins, in cells from the left."""
        return next(place.start for place, offer in self._place_choices() if offer.action == action)

    def _place_choices(self) -> Iterator[tuple[_ChoicePlace, ReviewOffer]]:
        """The choices with as many words as fit: all of them, short ones, or keys alone."""
        drawn: list[_ChoicePlace] = []
        for level in range(4):
            drawn = list(self._place_offers(level))
            if not drawn or drawn[-1].end <= self.size.width:
                break
        yield from zip(drawn, self.offers, strict=True)

    def _place_offers(self, level: int) -> Iterator[_ChoicePlace]:
        column = 0
        for place, offer in enumerate(self.offers):
            key = fill_in_keys(offer.key, self.app)
            key = _DRAWN_KEYS.get(key, key)
            label = offer.short or offer.label if level else offer.label
            is_bare = (level == 2 and offer.reaches_far) or (level == 3 and not offer.is_main)
            if is_bare and place != self._marked:
                label = ""
            column += len(_GAP) * (offer.reaches_far and place > 0 and not self.offers[place - 1].reaches_far)
            end = column + cell_len(f" {key} {label} ".replace("  ", " "))
            yield _ChoicePlace(column, end, key, label)
            column = end

    def render(self) -> Content:
        """`[n no]` where it is marked, the same without brackets elsewhere; without colours while dead."""
        dead = self.has_class("-dead")
        key_style = "" if dead else "bold $text-accent"
        parts: list[Content] = []
        column = 0
        for number, (place, _) in enumerate(self._place_choices()):
            parts.append(Content(" " * (place.start - column)))
            column = place.end
            is_marked = number == self._marked and self.has_focus
            opening, closing = "[]" if is_marked else "  "
            label = f" {place.label}" if place.label else ""
            choice = Content.assemble(opening, (place.key, key_style), label, closing)
            if is_marked and not dead:
                choice = choice.stylize_before(
                    "bold reverse" if self.app.current_theme.ansi else "bold $text-primary on $primary-muted"
                )
            parts.append(choice)
        return Content("").join(parts)

    def on_focus(self) -> None:
        """What is marked is in brackets now."""
        self.refresh()

    def on_blur(self) -> None:
        """Nothing is marked."""
        self.refresh()

    def action_choose(self) -> None:
        """Take the marked choice."""
        if self.offers:
            self.post_message(self.Taken(self.marked, None))

    async def _on_click(self, event: events.Click) -> None:
        event.stop()
        for place, offer in self._place_choices():
            if place.start <= event.x < place.end:
                self.post_message(self.Taken(offer.action, event.time))
