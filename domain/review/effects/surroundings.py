"""What the parts of a reduction know of the whole: where effects go, and what files and variables hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from quorum.domain.review.effects.side_effect import NO_DATA, Data, Datum, EffectKind, SideEffect


class Output(Struct, frozen=True):
    """What a program prints: data, the text where it is known, and the names that it is seen to list."""

    data: Data = NO_DATA
    text: str | None = None
    names: tuple[str, ...] = ()


class WrittenText(Struct, frozen=True):
    """What a command has put into a file. `text` is None where it is not known, or not all of it."""

    data: Data
    text: str | None


class CommandReduction(Protocol):
    """The reduction of a whole command. `fetched_tree`: where files of the folder come from; `roots`: the
    folders of the workspace; `folder`: where it has gone, or "" for where it began."""

    fetched_tree: Datum | None
    folder: str
    roots: Sequence[str]

    def add(self, effect: SideEffect) -> None:
        """Take an effect."""
        ...

    def run_shell(self, text: str, incoming: Data = ..., through: str = ...) -> Data:
        """Take the effects of a shell text that `through` starts, and return what it prints."""
        ...

    def run_text(self, text: str, incoming: Data = ..., through: str = ...) -> Output:
        """The same, with what is known of the text that it prints."""
        ...

    def change_folder(self, program: str, path: str) -> None:
        """Take paths that follow as relative to another folder."""
        ...

    def read_file(self, path: str) -> Data:
        """The data that a file holds."""
        ...

    def write_file(self, path: str, data: Data, text: str | None = ...) -> None:
        """Take the effects of data put into a file."""
        ...

    def judge_text(self, path: str, text: str) -> None:
        """Take what a text has others do that is put into a file."""
        ...

    def find_file(self, path: str) -> WrittenText | None:
        """What the command has put into a file."""
        ...

    def list_files(self) -> Sequence[str]:
        """The files that the command has put something into."""
        ...

    def take_text(self, path: str) -> str | None:
        """The text of a file, if it is known; once, since a text may run itself."""
        ...

    def send(self, data: Data, host: str) -> None:
        """Take the effects of data sent to a host, unless that is this machine."""
        ...

    def run_data(self, data: Iterable[Datum]) -> None:
        """Take the effects of data that are run as code."""
        ...


class Scope(Protocol):
    """The script that a program stands in. `is_seen_elsewhere`: guards look at its words themselves."""

    reducer: CommandReduction
    is_seen_elsewhere: bool
    functions: set[str]
    remotes: set[str]

    def add(self, kind: EffectKind, does: str, place: str = ...) -> None:
        """Take an effect."""
        ...

    def find_data(self, word: str, substituted: Data) -> Data:
        """What a word holds beside its own letters."""
        ...

    def read(self, path: str, substituted: Data) -> Data:
        """The data of a word that names a file."""
        ...

    def fetches(self, path: str) -> bool:
        """Whether a file holds what came from the network."""
        ...

    def call_function(self, arguments: Sequence[str], substituted: Data) -> None:
        """Take the arguments of a function: what they hold reaches its body."""
        ...
