"""What the menu offers for what is typed, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from quorum.application.ports.workspace import FoundFile
from quorum.domain.text.fuzzy import fit
from quorum.tui.keys.slash_commands import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from quorum.domain.mcp.offers import ArgumentQuery, OfferedPrompt, OfferedResource, TypedArgument


@dataclass(frozen=True, slots=True)
class Offer:
    """One row. `insert` takes the place of what was typed; `label` is what is shown for it, and `hits` are the
    places in it that the typed letters hit.

    `ready`: with it the prompt is whole and can be sent. `path` is the file or folder that is meant, or empty.
    `group` is the title of those that it is one of, where they are listed by groups.
    """

    insert: str
    label: str
    hits: tuple[int, ...] = ()
    does: str = ""
    ready: bool = False
    path: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class Offers:
    """The rows, best first. `typed` is what they would replace; `hint` is shown where there are none.

    `insists`: Enter takes the first row even if the person has not moved in the menu, because what is typed
    means nothing as it stands.
    """

    typed: str
    rows: tuple[Offer, ...] = ()
    hint: str = ""
    insists: bool = False


@dataclass(frozen=True, slots=True)
class FileWish:
    """Files are to be found. As a `mention` their sign and their quotes are put before and around them, and the
    `lines` typed behind them."""

    typed: str
    query: str
    mention: bool = True
    lines: str = ""


@dataclass(frozen=True, slots=True)
class WordWish:
    """The words are wanted that a command may take; `query` is what is typed of one."""

    typed: str
    query: str
    command: Command = field(compare=False)


@dataclass(frozen=True, slots=True)
class ValueWish:
    """The values are wanted that an MCP server offers for an argument. `hint` is shown until they are there."""

    typed: str
    argument: TypedArgument
    hint: str = ""


Wish: TypeAlias = FileWish | WordWish | ValueWish
"""What must be asked for before there is anything to offer."""


class Known(Protocol):
    """Where files and words come from."""

    async def find_files(self, query: str, limit: int) -> Sequence[FoundFile]:
        """The files of the project that fit, best first."""
        ...

    async def list_words(self, command: Command) -> Sequence[str]:
        """The words that a command may take, where they are known."""
        ...

    def list_custom_commands(self) -> Sequence[Command]:
        """The commands of the project and the person, as far as they are known by now."""
        ...

    def note_file_used(self, path: str) -> None:
        """The person took this file from the menu."""
        ...

    def list_resources(self) -> Sequence[OfferedResource]:
        """The resources that MCP servers list, as far as they are known by now."""
        ...

    def list_mcp_prompts(self) -> Sequence[OfferedPrompt]:
        """The prompts that MCP servers offer, as far as they are known by now."""
        ...

    async def complete_argument(self, query: ArgumentQuery) -> Sequence[str]:
        """The values that a server offers for an argument, best first."""
        ...

    def build_mentions(self, pasted: str) -> str:
        """The mentions of the files whose paths were pasted or dropped; empty where it is anything else."""
        ...


def list_word_offers(
    typed: str, words: Iterable[str], *, insists: bool, meanings: Mapping[str, str] | None = None
) -> tuple[Offer, ...]:
    """The words that fit what is typed of one, best first; in their own order where nothing is typed."""
    fits = [(found.score if typed else 0, word, found.hits) for word in words if (found := fit(typed, word))]
    ranked = sorted(fits, key=lambda each: -each[0])
    return tuple(
        Offer(word, word, hits, does=(meanings or {}).get(word, ""), ready=insists or word != typed)
        for _, word, hits in ranked
    )
