"""What is to be known of a tool by its name, where nobody runs it: its traits, and its names in other agents.

Each built-in tool's own module says its traits, in a `ToolTraits` named TRAITS; any other tool has those of
`ToolTraits()`. Names of other agents count so that files written for these can be used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from itertools import pairwise
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once


class CallEffect(StrEnum):
    """What a call of another agent does, as far as its tool tells.

    COMMAND runs a shell command, WRITE and EDIT change one file, PATCH may change several, READ shows a file,
    SEARCH shows lines of files below a folder, LIST shows names; NOTE changes the caller's own notes and
    nothing else. OTHER is everything that is not known.
    """

    COMMAND = "command"
    WRITE = "write"
    EDIT = "edit"
    PATCH = "patch"
    READ = "read"
    SEARCH = "search"
    LIST = "list"
    NOTE = "note"
    OTHER = "other"


ToolKind: TypeAlias = Literal["read", "edit", "search", "execute", "fetch", "think", "other"]
"""What kind of work a tool does, in the words of the Agent Client Protocol."""


class OutputKind(StrEnum):
    """What an output is, as far as looking at it is concerned."""

    CHANGES = "changes"
    TERMINAL = "terminal"
    MATCHES = "matches"
    TREE = "tree"
    SOURCE = "source"
    JSON = "json"
    PLAN = "plan"
    REPLY = "reply"
    PLAIN = "plain"


class CountedLook(Struct, frozen=True):
    """How several calls that only looked are counted in one row, as `read 4 files`.

    `distinct` is the argument that is counted once for each value that it has; without it, calls are counted.
    """

    verb: str
    noun: str
    distinct: str = ""


class ToolTraits(Struct, frozen=True, kw_only=True):
    """The traits of a tool. Names of arguments are those of its definition.

    Screen: `verb` is what a row of the transcript calls it, `title` how a review's title begins (else both are
    its name); `telling` are the arguments that tell its calls apart; `counted` are the only others that are
    shown, lists, each as its length with this noun; `output` is what it answers, unknown where None; `look` is
    there where it only looks.
    Arguments: `command` is the one that is shell text, `commands` a list of such texts, `patch` the one that is
    a patch, `text` the one that a person edits as plain text, `texts` a list of parts that each have one.
    `wording` says arguments in words: `{}` is a text's or number's place, without it the words say that it is
    there; empty: a screen shows it.
    Editors and the gate: `kind`, and `effect` with `arguments`, those a call from outside may have.
    Choice: `is_conditional`: only sessions that have a use for it have it; `turned_on_by` is the setting that
    turns it on, where it is off else; `is_owners`: no subagent has it; `companion_of` is the tool without which
    it is of no use; `is_always_given`: an agent that names its tools has it as well; `is_planners`: it belongs
    to a plan that changes files, so that sessions that only read have it not.
    `can_wait`: the same call is made again until its answer changes. `program` does its work in a command, and
    `instead` names the tools that do, the best first.
    """

    verb: str = ""
    title: str = ""
    telling: tuple[str, ...] = ("command", "pattern", "query", "path", "url")
    counted: Mapping[str, str] | None = None
    output: OutputKind | None = None
    look: CountedLook | None = None
    command: str = ""
    commands: str = ""
    patch: str = ""
    text: str = ""
    texts: str = ""
    wording: Mapping[str, str] | None = None
    kind: ToolKind = "other"
    effect: CallEffect = CallEffect.OTHER
    arguments: tuple[str, ...] = ()
    is_conditional: bool = False
    turned_on_by: str = ""
    is_owners: bool = False
    is_planners: bool = False
    is_always_given: bool = False
    companion_of: str = ""
    can_wait: bool = False
    program: str = ""
    instead: tuple[str, ...] = ()

    def find_command(self, arguments: JsonObject) -> str | None:
        """The shell text among the arguments of a call; None where it has none."""
        return _find_text(arguments, self.command)

    def find_commands(self, arguments: JsonObject) -> tuple[str, ...]:
        """The shell texts that a call has in a list; none where it has no such list."""
        given = arguments.get(self.commands) if self.commands else None
        return tuple(map(str, given)) if isinstance(given, list | tuple) else ()

    def find_patch(self, arguments: JsonObject) -> str | None:
        """The patch among the arguments of a call; None where it has none."""
        return _find_text(arguments, self.patch)

    def word_argument(self, name: str, value: JsonValue) -> str | None:
        """An argument in words, empty where there is nothing to say; None where no words are known for it."""
        if self.wording is None or (words := self.wording.get(name)) is None:
            return None
        if not words or value is None or value is False:
            return ""
        if "{}" not in words:
            return words
        return words.format(value) if isinstance(value, str | int | float) and value is not True else None


def _find_text(arguments: JsonObject, name: str) -> str | None:
    value = arguments.get(name) if name else None
    return value if isinstance(value, str) else None


_OF_OTHERS: Final = ToolTraits()
_find_built_in: Callable[[str], ToolTraits | None] = lambda _name: None  # noqa: E731 - replaced once


def use_built_in_traits(find: Callable[[str], ToolTraits | None]) -> None:
    """From now on, `find` answers the traits of built-in tools by their names."""
    global _find_built_in
    _find_built_in = find


def find_traits(tool: str) -> ToolTraits:
    """The traits of a tool by its name; those of no tool in particular where it is none of ours."""
    return _find_built_in(tool) or _OF_OTHERS


_TOOLS = {
    "bash": "run_command",
    "edit": "edit_file",
    "fetch": "web_fetch",
    "glob": "glob_search",
    "grep": "grep_search",
    "ls": "list_directory",
    "multiedit": "edit_file",
    "read": "read_file",
    "shell": "run_command",
    "todowrite": "update_plan",
    "webfetch": "web_fetch",
    "websearch": "web_search",
    "write": "write_file",
}


def translate_tool_name(name: str) -> str:
    """The name of our tool for that of another agent's; any other name stays as it is."""
    return _TOOLS.get(name.lower(), name)


# What models take for the name of a tool, by words of it; the first that is in a name counts.
_BY_WORD = (
    ("web_search", "websearch searchweb google bing internet"),
    ("web_fetch", "url browse browser http webpage fetch"),
    ("run_command", "delete remove move rename copy mkdir execute exec terminal bash shell command cmd run"),
    ("update_plan", "todo todos plan"),
    ("apply_patch", "patch diff"),
    ("edit_file", "edit replace insert modify update change append str"),
    ("write_file", "write create save new touch"),
    ("glob_search", "glob filesearch findfiles find locate"),
    ("grep_search", "grep ripgrep rg search codebase"),
    ("list_directory", "list ls dir directory folder tree"),
    ("read_file", "read view open cat file"),
)
_SPOKEN = frozenset(
    {"finish", "done", "complete", "completion", "final", "submit", "answer", "think", "respond", "ask"}
)
_WORD = r"(?a)[a-z]+"
_HUMP = r"(?<=[a-z])(?=[A-Z])"


def guess_meant_tool(name: str) -> str:
    """The tool that does what a name says that is none; empty where it says nothing of the kind."""
    words = compile_once(_WORD).findall(compile_once(_HUMP).sub(" ", name).lower())
    said = {*words, *("".join(pair) for pair in pairwise(words))}
    return next((tool for tool, known in _BY_WORD if said & set(known.split())), "")


def means_an_answer(name: str) -> bool:
    """Whether a name is that of a tool with which other agents end a task, ask or think."""
    return bool(_SPOKEN.intersection(compile_once(_WORD).findall(compile_once(_HUMP).sub(" ", name).lower())))
