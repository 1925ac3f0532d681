"""What is being typed at the cursor: a mention of a file, a command, or what a command takes."""

from __future__ import annotations

from collections.abc import Sequence

from quorum.domain.calls.found_file import FoundFile
from quorum.domain.mcp.argument_query import TypedArgument, find_prompt_argument
from quorum.domain.text.fuzzy import fit
from quorum.domain.text.mention import find_unfinished_mention, format_mention, split_begun_lines
from quorum.domain.text.printable import make_printable
from quorum.tui.completion.offers import FileWish, Offer, Offers, ValueWish, Wish, WordWish, list_word_offers
from quorum.tui.keys.commands import COMMANDS, Command, find_command, is_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from quorum.domain.mcp.offered_prompt import OfferedPrompt
    from quorum.domain.mcp.offered_resource import OfferedResource

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
    from quorum.tui.keys.command_groups import list_groups

    groups = [*list_groups(), ("Custom", custom)]
    rows = tuple(_build_command_offer(each, group=title) for title, commands in groups for each in commands)
    return Offers(typed, rows, insists=True)


def _offer_commands(typed: str, name: str, custom: Sequence[Command]) -> Offers:
    """The commands that fit the letters; where none begins with them, first the one that the word means."""
    from quorum.tui.keys.commands import find_synonym

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
        rows = list_word_offers(argument, words, insists=True)
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
