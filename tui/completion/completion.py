"""Follows what is typed at the cursor, has the menu show what fits, and says what keys make of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import TypeAlias

from textual.content import Content

from quorum.application.ports.workspace import FoundFile
from quorum.domain.mcp.offers import TypedArgument, find_prompt_argument, find_template_argument
from quorum.domain.text.fuzzy import fit
from quorum.domain.text.mention import find_unfinished_mention, format_mention, split_begun_lines
from quorum.domain.text.printable import make_printable
from quorum.tui.completion.menu import CompletionMenu
from quorum.tui.completion.offers import (
    FileWish,
    Known,
    Offer,
    Offers,
    ValueWish,
    Wish,
    WordWish,
    list_word_offers,
)
from quorum.tui.keys.slash_commands import COMMANDS, Command, find_command, is_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from quorum.domain.mcp.offers import OfferedPrompt, OfferedResource

_MOST_RESOURCES = 50
_LINES = "lines of the file: :10-40, :10- to its end, or :10"


def find_offers(
    text: str, before: str, custom: Sequence[Command] = (), prompts: Sequence[OfferedPrompt] = ()
) -> Offers | Wish | None:
    """What can be offered for a prompt and the line of it before the cursor; None where nothing is begun.

    `custom` are the commands of the project and the person, `prompts` those of MCP servers.
    """
    if text.startswith("!"):
        return None
    if (begun := find_unfinished_mention(before)) is not None:
        start, query = begun
        path, lines = split_begun_lines(query)
        return FileWish(before[start:], path, lines=lines)
    if before != text or not before.startswith("/") or not is_command(text):
        return None
    name, space, argument = before[1:].partition(" ")
    if not space:
        return _offer_commands(before, name, custom) if name else _offer_groups(before, custom)
    if (command := find_command(name, (*COMMANDS, *custom))) is None:
        return None
    offered = next((each for each in prompts if each.command == name), None)
    if offered is not None and (typed := find_prompt_argument(offered, argument)) is not None:
        return ValueWish(typed.typed, typed, _render_hint(command))
    return _offer_arguments(command, argument.lstrip(" "))


def needs_argument(command: Command) -> bool:
    """Whether the command means nothing without what it takes."""
    return command.takes is not None


def make_file_offers(wish: FileWish, found: Sequence[FoundFile]) -> Offers:
    """The files that were found, as rows. What is a whole path already leaves Enter alone."""
    is_whole = any(file.path.rstrip("/") == wish.query.rstrip("/") for file in found)
    if wish.lines and is_whole:
        return Offers(wish.typed, hint=_LINES)
    if wish.lines:
        found = [file for file in found if not file.is_folder]
    rows = tuple(_build_file_offer(file, wish) for file in found if file.path != wish.query)
    insists = wish.mention and bool(wish.query) and bool(rows) and not is_whole
    return Offers(wish.typed, rows, insists=insists)


def add_resource_offers(offers: Offers, wish: FileWish, resources: Sequence[OfferedResource]) -> Offers:
    """The files, and behind them the resources of MCP servers whose name begins with what is typed."""
    begun = f"{wish.query}{wish.lines}".lower()
    if not wish.mention or not begun:
        return offers
    rows = tuple(
        Offer(
            insert=f"{mention.removesuffix(chr(34))}" if each.is_template else f"{mention} ",
            label=f"{each.mention}…" if each.is_template else each.mention,
            hits=tuple(range(len(begun))),
            does=each.description,
        )
        for each in resources
        if each.mention.lower().startswith(begun) and each.mention.lower() != begun
        for mention in (format_mention(each.mention),)
    )[:_MOST_RESOURCES]
    if not rows:
        return offers
    return Offers(offers.typed, (*offers.rows, *rows), insists=offers.insists)


def make_value_offers(wish: ValueWish, values: Sequence[str]) -> Offers:
    """The values that a server offers, in its order; Enter is left alone, for any other may be meant."""
    argument = wish.argument
    rows = tuple(Offer(argument.insert(value), value) for value in values)
    return Offers(wish.typed, rows, hint=wish.hint)


def add_value_offers(offers: Offers, argument: TypedArgument, values: Sequence[str]) -> Offers:
    """The rows for a mention, and before them the values for the gap of a template that it has reached."""
    begun = offers.typed.removesuffix(argument.typed)
    rows = tuple(Offer(f"{begun}{argument.insert(value)}", value) for value in values)
    return Offers(offers.typed, (*rows, *offers.rows), hint=offers.hint, insists=offers.insists and not rows)


def find_word_offers(wish: WordWish, words: Sequence[str]) -> Offers:
    """The words that fit. What is typed may be another one than all of them, so that Enter is left alone."""
    rows = list_word_offers(wish.query, words, insists=False)
    return Offers(wish.typed, rows, hint="" if rows else _render_hint(wish.command))


def _offer_groups(typed: str, custom: Sequence[Command]) -> Offers:
    """All commands, by what one wants to do."""
    from quorum.tui.keys.slash_commands import list_groups

    groups = [*list_groups(), ("Custom", custom)]
    rows = tuple(_build_command_offer(each, group=title) for title, commands in groups for each in commands)
    return Offers(typed, rows, insists=True)


def _offer_commands(typed: str, name: str, custom: Sequence[Command]) -> Offers:
    """The commands that fit the letters; where none begins with them, first the one that the word means."""
    from quorum.tui.keys.slash_commands import find_synonym

    listed = [*(each for each in COMMANDS if each.is_listed or each.name == name), *custom]
    ranked = sorted(
        ((found, place, each) for place, each in enumerate(listed) if (found := fit(name, each.name))),
        key=lambda each: (not each[2].name.startswith(name), -each[0].score, each[1]),
    )
    rows = [_build_command_offer(each, tuple(hit + 1 for hit in found.hits)) for found, _, each in ranked]
    is_begun = any(each.name.startswith(name) for each in listed)
    if not is_begun and (meant := find_command(name) or find_command(find_synonym(name))) is not None:
        offer = _build_command_offer(meant)
        rows = [offer, *(each for each in rows if each.insert != offer.insert)]
    command = find_command(name, listed)
    is_whole = command is not None and not needs_argument(command)
    return Offers(typed, tuple(rows), insists=bool(rows) and not is_whole)


def _build_command_offer(command: Command, hits: tuple[int, ...] = (), group: str = "") -> Offer:
    return Offer(
        insert=f"/{command.name}" + (" " if command.usage != f"/{command.name}" else ""),
        label=command.usage,
        hits=hits,
        does=command.does,
        ready=not needs_argument(command),
        group=group,
    )


def _offer_arguments(command: Command, argument: str) -> Offers | Wish:
    if command.takes is not None:
        words = command.takes[1]
        meanings = dict(zip(words, command.meanings, strict=False))
        rows = list_word_offers(argument, words, insists=True, meanings=meanings)
        return Offers(argument, rows, _render_hint(command), insists=bool(rows) and argument not in words)
    if command.takes_file:
        return FileWish(argument, argument, mention=False)
    if command.names:
        return WordWish(argument, argument, command)
    return Offers(argument, hint=_render_hint(command))


def _render_hint(command: Command) -> str:
    return f"{command.usage}   {command.does}"


def _build_file_offer(file: FoundFile, wish: FileWish) -> Offer:
    path = file.path
    label = make_printable(path, newlines=False)
    hits = file.hits if len(label) == len(path) else ()  # stand-ins are longer than what they stand for
    if not wish.mention:
        return Offer(path, label, hits, ready=not file.is_folder, path=path)
    insert = format_mention(path)
    if file.is_folder:  # what is in it may be meant: the quotes stay open
        return Offer(insert.removesuffix('"'), label, hits, path=path)
    return Offer(f"{insert}{wish.lines} ", label + wish.lines, hits, path=path)


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
