"""Follows what is typed, has the menu show what fits, and says what keys make of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TypeAlias

from textual.content import Content

from quorum.domain.mcp.argument_query import TypedArgument, find_template_argument
from quorum.domain.text.printable import make_printable
from quorum.tui.completion.menu import CompletionMenu
from quorum.tui.completion.offers import FileWish, Known, Offer, Offers, ValueWish, Wish, WordWish
from quorum.tui.completion.sources import (
    add_resource_offers,
    add_value_offers,
    find_offers,
    find_word_offers,
    make_file_offers,
    make_value_offers,
)

_MOST_FILES = 50
_PAUSE_SECS = 0.15
Ask: TypeAlias = "Callable[[Callable[[], Coroutine[object, object, None]]], object]"
"""Runs what has to wait for an answer; the last one wins, and those before it are dropped."""


class Completion:
    """What is offered for the prompt as it stands. `ask` runs what must wait."""

    def __init__(self, menu: CompletionMenu, known: Known, ask: Ask) -> None:
        self._menu, self._known, self._ask = menu, known, ask
        self._offers: Offers | None = None
        self._wish: Wish | None = None
        self._words: dict[str, Sequence[str]] = {}
        self._place, self._moved = 0, False
        self._closed_for: str | None = None
        self._typed = ""

    @property
    def is_open(self) -> bool:
        """Whether there is anything to choose from."""
        return self._offers is not None and bool(self._offers.rows)

    @property
    def is_shown(self) -> bool:
        """Whether the menu can be seen, with rows or with a hint."""
        return self._offers is not None

    @property
    def takes_enter(self) -> bool:
        """Whether Enter takes what is chosen, rather than send what is typed."""
        offers = self._offers
        if (
            offers is None or not offers.rows or offers.typed != self._typed
        ):  # the last one: an answer is awaited
            return False
        return self._moved or offers.insists

    def follow(self, text: str, before: str) -> None:
        """The prompt now holds this text, and its line this much of it before the cursor."""
        found = self._find(text, before)
        begun = None if found is None else before.removesuffix(found.typed)
        if begun is None or begun != self._closed_for:
            self._closed_for = None
        self._typed = "" if found is None else found.typed
        if found is None or self._closed_for is not None:
            self.close()
        elif isinstance(found, Offers):
            self._wish = None
            self._show(found)
        elif found != self._wish:
            self._wish = found
            if isinstance(found, ValueWish):
                self._show(Offers(found.typed, hint=found.hint))
            self._ask(partial(self._fulfil, found))

    def dismiss(self, text: str, before: str) -> None:
        """Offer nothing more for what is begun at the cursor, until something else is."""
        self.close()
        found = self._find(text, before)
        self._closed_for = None if found is None else before.removesuffix(found.typed)

    def reopen(self) -> None:
        """Offer again, also what was dismissed."""
        self._closed_for = None

    def close(self) -> None:
        self._offers = self._wish = None
        self._words.clear()
        self._menu.close()

    def move(self, step: int) -> None:
        """Choose another row, going round at the ends."""
        if self._offers is not None and self._offers.rows:
            self._place = (self._place + step) % len(self._offers.rows)
            self._moved = True
            self._menu.offer(self._offers.rows, self._place)

    def accept(self, place: int | None = None) -> tuple[int, Offer] | None:
        """What is chosen, or what stands at a place, and how many characters before the cursor it replaces.

        None where there is nothing.
        """
        if self._offers is None or not self._offers.rows:
            return None
        offer = self._offers.rows[self._place if place is None else place]
        if offer.path:
            self._known.note_file_used(offer.path)
        return len(self._typed), offer

    def _find(self, text: str, before: str) -> Offers | Wish | None:
        return find_offers(text, before, self._known.list_custom_commands(), self._known.list_mcp_prompts())

    async def _fulfil(self, wish: Wish) -> None:
        """Get what is wanted; shown only if it is still wanted then."""
        argument: TypedArgument | None = None
        match wish:
            case FileWish(query=query):
                offers = make_file_offers(wish, await self._known.find_files(query, _MOST_FILES))
                resources = self._known.list_resources()
                offers = add_resource_offers(offers, wish, resources)
                if wish.mention and resources:
                    argument = find_template_argument(resources, f"{query}{wish.lines}")
            case ValueWish():
                offers = make_value_offers(wish, await self._complete(wish.argument))
            case WordWish(command=command):
                if command.name not in self._words:
                    words = await self._known.list_words(command)
                    if self._wish is None:
                        return
                    self._words[command.name] = words
                offers = find_word_offers(wish, self._words[command.name])
        if self._is_wanted(wish):
            self._show(offers)
        if argument is not None and (values := await self._complete(argument)) and self._is_wanted(wish):
            self._show(add_value_offers(offers, argument, values))

    def _is_wanted(self, wish: Wish) -> bool:
        """Whether it is still, and there is a menu to show it in: an app that ends takes that away first."""
        return wish == self._wish and self._menu.is_attached

    async def _complete(self, argument: TypedArgument) -> Sequence[str]:
        """The values that a server offers, asked only once the person pauses: typing on cancels this."""
        await asyncio.sleep(_PAUSE_SECS)
        return await self._known.complete_argument(argument.query)

    def _show(self, offers: Offers) -> None:
        if self._offers is None or offers.typed != self._offers.typed:
            self._place, self._moved = 0, False
        self._offers = offers
        if offers.rows:
            self._place = min(self._place, len(offers.rows) - 1)
            self._menu.offer(offers.rows, self._place)
        elif offers.hint:
            self._menu.tell(Content(make_printable(offers.hint, newlines=False)))
        else:
            self._offers = None
            self._menu.close()
