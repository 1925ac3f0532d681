"""A shell command taken apart, and what was found out about it before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from quorum.domain.text.pattern import compile_once

# programs, and functions of usual languages, by which another file may come to stand under a name
_MOVERS = (
    r"(?:(?<![^\s;&|(){}\"'`/\\])(?:mv|ln|exch|rename|prename|mmv|qmv)(?![^\s;&|(){}\"'`])|"
    r"(?<![\w.-])(?:git|svn|hg|bzr|fossil|p4)\s[^;&|\n]*?\b(?:move|mv|rename)\b|"
    r"(?i:\b(?:rename\w*|move\w*|os\.replace|symlink\w*|linksync|hardlink_to)\s*[(\"']|\bfile\s+rename\b)|"
    r"(?i:\b(?:Move|Rename)-Item\b))"
)


def may_move_files(text: str) -> bool:
    """Whether a shell text, or a part of it, may put a file in the place of another."""
    return compile_once(_MOVERS).search(text) is not None


class Redirect(Struct, frozen=True):
    """`operator` is one of the shell's, such as `>` or `<`; `target` is a path, or the number of a stream."""

    operator: str
    target: str

    @property
    def is_harmless(self) -> bool:
        """Whether it neither reads nor writes a file: one stream joined to the other, or output thrown away."""
        match self.operator:
            case ">&":
                return self.target in ("1", "2")
            case ">" | ">>" | "&>" | "&>>":
                return self.target == "/dev/null"
            case _:
                return False

    @property
    def discards_output(self) -> bool:
        """Whether it throws output away, and joins no stream to another."""
        return self.operator != ">&" and self.is_harmless

    @property
    def only_reads(self) -> bool:
        """Whether it opens its target for reading and nothing else."""
        return self.operator == "<"


class SimpleCommand(Struct, frozen=True):
    """A program and its words, exactly as the shell would pass them on.

    `assignments` are the variables set in front of it, as written; `then` is the operator behind it, if any: a
    new line counts as `;`. `globs` are the places of words with `*` or `?` that the shell replaces by names,
    `found` those of words that hold a name which a glob of a loop stands for.
    """

    words: tuple[str, ...]
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[str, ...] = ()
    then: str = ""
    globs: frozenset[int] = frozenset()
    found: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        """The word that says what runs; empty where there is none."""
        return self.words[0] if self.words else ""


class CommandLine(Struct, frozen=True):
    """Plain commands joined by `&&`, `||`, `;`, `|` and new lines, in the order written.

    `expanded` says what the shell makes something else of in it, such as a glob: its commands can be judged,
    but their words are not those that programs get. Such a text is opaque unless it is proved read-only.
    `unclear` says why the text is more than that; it is then opaque, and `commands` are those that could be
    made out anywhere in it, words that need expansion as written. They are good for showing and for finding
    something forbidden, never for allowing. `is_misread` says that even these may be others.
    """

    commands: tuple[SimpleCommand, ...]
    unclear: str | None = None
    expanded: str | None = None
    is_misread: bool = False

    @property
    def inexact(self) -> str | None:
        """Why the commands are not, word for word, what would run; None where they are."""
        return self.unclear or self.expanded


UNKNOWN_WORDS = "\0"
"""At the end of a word: the shell makes something else of what stands there, one word or more, or none."""


class StartedCommands(Struct, frozen=True):
    """What a text starts besides its plain commands, as words that may end in `UNKNOWN_WORDS`.

    `doubt` is a clause that says why it may start others; empty where it does not.
    """

    commands: tuple[tuple[str, ...], ...] = ()
    doubt: str = ""


class ShellVerdictKind(StrEnum):
    """READ_ONLY is a proof; ASK is everything else. Denying is left to rules and modes."""

    READ_ONLY = "read_only"
    ASK = "ask"


class JudgedCommand(Struct, frozen=True):
    """One plain command of a line. `objection` says why it is not known only to read; None: it is.

    `refused` are its options that no harmless use of it has: a pattern's `*` should not cover them.
    """

    command: SimpleCommand
    objection: str | None = None
    refused: frozenset[str] = frozenset()


class ShellVerdict(Struct, frozen=True, kw_only=True):
    """What was found out about a command. `reason` is one sentence for the person.

    `unclear` is set where it could not be taken apart; `parts` are then what could be made out in it, which is
    good for tightening only. The paths are canonical, of what could be made out: with ASK they need not be all.
    A READ_ONLY verdict holds only if the command is run in the folder it was judged for, with `environment` on
    top of the usual one: it keeps programs from running what a repository's settings name.
    `sandbox_gap` is a clause that says why the sandbox would leave files of the workspace open that it should
    close; None where it closes all of them, and where there is no sandbox.
    `is_confined` says that it would run inside a sandbox, without network but for `reached_hosts`, which it
    reaches unasked, and `asked_hosts`, for which it asks; `leaves_sandbox` that there is one, and that the call
    asks to run outside it; `opens_git` that it asks to open `.git` to commands; `offers_git` that an approval
    of it does that. `planted` is what was written in a layer that programs start by themselves, where the call
    leaves the sandbox. `started` is None where nobody looked for more commands. `paths_changed` are what its
    programs are known to write or delete, beside `paths_written`: good for tightening by rules only.
    """

    kind: ShellVerdictKind
    reason: str
    parts: tuple[JudgedCommand, ...] = ()
    unclear: str | None = None
    paths_read: tuple[str, ...] = ()
    paths_written: tuple[str, ...] = ()
    paths_changed: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    sandbox_gap: str | None = None
    is_confined: bool = False
    reached_hosts: tuple[str, ...] = ()
    asked_hosts: tuple[str, ...] = ()
    leaves_sandbox: bool = False
    opens_git: bool = False
    offers_git: bool = False
    planted: tuple[str, ...] = ()
    started: StartedCommands | None = None

    @property
    def is_read_only(self) -> bool:
        """Whether the command is proved to change nothing and to read nothing that must be asked about."""
        return self.kind is ShellVerdictKind.READ_ONLY

    @property
    def commands(self) -> tuple[SimpleCommand, ...]:
        """The plain commands without what was said of them."""
        return tuple(part.command for part in self.parts)
