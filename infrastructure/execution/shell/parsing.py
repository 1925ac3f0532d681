"""Bash text as plain commands, by the grammar of tree-sitter.

Only what is known to be plain is taken: any other kind of node, any character that the shell would expand, and
any byte that no accepted word accounts for makes the whole text opaque. Globs, settings of a few variables and
loops over words are taken apart as well, and marked (`CommandLine.expanded`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from quorum.domain.replacing import replace
from quorum.domain.shell.command_line import CommandLine, Redirect, SimpleCommand
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.execution.shell.words import (
    Opaque,
    UnclearText,
    decode_word,
    describe_word,
    explain_opaque,
    find_redirected,
    list_targets,
    list_words_behind_all,
    read_glob,
    read_source,
    uses_variable,
)

if TYPE_CHECKING:
    from tree_sitter import Language, Node


# Of a loop. In capitals are variables that programs go by; the others end in these.
_VARIABLE = r"(?!.*proxy)[a-z][a-z0-9_]{0,30}"


class Loop(Struct, frozen=True):
    """`head` are the nodes up to `in`, and `body` those behind the words, `do` and `done` among them."""

    node: Node
    variable: str
    head: Sequence[Node]
    values: Sequence[Node]
    body: Sequence[Node]


def parse_loop(node: Node) -> Loop:
    """The parts of a loop over words. Raises Opaque where it is another loop."""
    children = node.children
    variable = read_source(children[1]) if len(children) > 1 else ""
    is_over_words = [child.type for child in children[:3]] == ["for", "variable_name", "in"]
    group = children[-1]
    if not is_over_words or not compile_once(_VARIABLE).fullmatch(variable) or group.type != "do_group":
        raise Opaque("it has a loop")
    values = [child for child in children[3:-1] if child.type != ";"]
    behind = [child for child in children[3:-1] if child.type == ";"]
    if not values or children[3 : 3 + len(values)] != values:
        raise Opaque("it has a loop")
    return Loop(node, variable, children[:3], values, (*behind, *group.children))


MAX_BYTES = 16_384
# The grammar takes time that grows with the square of the joined commands.
_MAX_OPERATORS = 200
_OPERATORS = frozenset("|;&<>(){}`$")
_JOINTS = frozenset({"&&", "||", ";", "|"})
_REDIRECTIONS = frozenset({">", ">>", "<", ">&", "&>", "&>>"})
_CONTROL = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})
_DESCRIPTORS = ("1", "2")
# A backslash joins two lines. Without a blank in front it may join two words.
_BLANK = re.compile(rb"(?:[ \t]+(?:\\\n)?)*")
_BLANK_OR_LINES = re.compile(rb"(?:[ \t]+(?:\\\n)?|\n)*")
_CONTINUED = re.compile(rb"\\\n")
# They change what is printed, and neither what runs nor what is read.
_HARMLESS_VARIABLES = (
    r"(?:LANG|LC_[A-Z]+|COLUMNS|LINES|NO_COLOR|CLICOLOR|FORCE_COLOR)=(?:[A-Za-z0-9][A-Za-z0-9_.@-]*)?"
    r"|TZ=[A-Z][A-Za-z0-9]*|(?:GIT_)?PAGER=cat"
)
# What they are given is only printed.
_PRINTING = frozenset({"echo", "printf"})
_MOST_COMMANDS = 400
_NO_WORDS = frozenset({"variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect"})


# The names that a glob stands for behind the given commands. Raises Opaque where they are not known.
ListNames: TypeAlias = Callable[[str, Sequence[SimpleCommand]], Sequence[str]]


def _refuse_glob(_glob: str, _before: Sequence[SimpleCommand]) -> Sequence[str]:
    raise Opaque("it has a loop over * or ? outside quotes, which the shell may expand")


def parse(text: str, list_names: ListNames = _refuse_glob) -> CommandLine:
    """The commands of a text. Takes milliseconds: call it off the event loop.

    `list_names` is asked for the values of loops over globs; without it, such a loop is opaque.
    """
    text = text.rstrip(" \t\n")
    try:
        _require_judgeable(text)
    except Opaque as reason:
        return CommandLine((), str(reason), is_misread=True)
    root = parse_tree(text)
    try:
        reader = _TreeReader(text.encode(), list_names)
        commands = reader.read(root)
    except Opaque as reason:
        return CommandLine(tuple(_find_commands(root)), str(reason), is_misread=isinstance(reason, UnclearText))
    return CommandLine(commands, expanded=reader.expanded)


def _require_judgeable(text: str) -> None:
    if not text.strip():
        raise Opaque("it is empty")
    # Counted first in characters, so that nothing is done with megabytes.
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise Opaque(f"it is too long to judge: more than {MAX_BYTES} bytes")
    for character in () if _is_plain(text) else text:
        category = unicodedata.category(character)
        if (category in _CONTROL and character not in "\t\n") or (category == "Zs" and character != " "):
            raise Opaque(f"it has the character U+{ord(character):04X}, which cannot be seen")
    if sum(map(text.count, (*_OPERATORS, "\n"))) > _MAX_OPERATORS:
        raise Opaque(f"it is too long to judge: more than {_MAX_OPERATORS} operators")


def _is_plain(text: str) -> bool:
    """Whether all of its characters are ASCII and can be seen, as of most commands."""
    return text.isascii() and text.replace("\n", "").replace("\t", "").isprintable()


@cache
def _load_language() -> Language:
    # Loaded on first use: most sessions begin without a command.
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


@lru_cache(maxsize=4)  # the gate and the guards look at the same text, one after the other
def parse_tree(text: str) -> Node:
    """The tree of a text, errors marked in it. Takes milliseconds."""
    language = _load_language()
    from tree_sitter import Parser

    return Parser(language).parse(text.encode()).root_node


class _TreeReader:
    """Reads the commands of one tree, and keeps account of the bytes it understood.

    `expanded` says what the shell makes something else of in it, if anything.
    """

    def __init__(self, source: bytes, list_names: ListNames) -> None:
        self.expanded: str | None = None
        self._source = source
        self._list_names = list_names
        self._understood = 0
        self._is_behind_word = False
        self._commands: list[SimpleCommand] = []
        self._has_line_ended = True
        self._is_behind_loop = False
        self._variables: dict[str, str] = {}
        # Those of them that loop over globs.
        self._found: frozenset[str] = frozenset()

    def read(self, root: Node) -> tuple[SimpleCommand, ...]:
        """All commands in order. Raises Opaque."""
        if root.has_error:
            raise UnclearText("it is not a complete command: a quote or bracket is open, or it is not bash")
        self._read(root)
        self._require_blank(len(self._source), _BLANK_OR_LINES)
        if not self._commands:
            raise Opaque("there is no command in it")
        return tuple(self._commands)

    def _read(self, root: Node) -> None:
        # A chain of commands is nested as deeply as it is long: hence no recursion, but for loops in loops.
        waiting = [root]
        while waiting:
            node = waiting.pop()
            match node.type:
                case "program" | "list" | "pipeline" | "redirected_statement":
                    waiting.extend(reversed(node.children))
                case "comment":
                    self._skip_comment(node)
                case "for_statement":
                    self._read_loop(parse_loop(node))
                case "command":
                    self._begin_command(node)
                    self._commands.append(self._read_command(node))
                    if len(self._commands) > _MOST_COMMANDS:
                        raise Opaque(f"it is too long to judge: more than {_MOST_COMMANDS} commands")
                case "file_redirect" if self._commands and not self._commands[-1].then:
                    last = self._commands[-1]
                    self._commands[-1] = replace(last, redirects=(*last.redirects, self._redirect(node)))
                case joint if joint in _JOINTS and self._is_behind_loop:
                    # What a loop ends with need not have run: what follows is judged as behind `;`.
                    self._account(node)
                    self._is_behind_loop = False
                case joint if joint in _JOINTS and self._commands and not self._commands[-1].then:
                    self._account(node)
                    self._commands[-1] = replace(self._commands[-1], then=joint)
                case _:
                    raise Opaque(explain_opaque(node))

    def _begin_command(self, node: Node) -> None:
        """Passes over the lines in front of a command: the end of a line ends the command before."""
        self._pass_lines(node.start_byte)
        if self._commands and not self._commands[-1].then:
            if not self._has_line_ended:
                raise UnclearText("a part of it is not understood")
            self._commands[-1] = replace(self._commands[-1], then=";")
        self._has_line_ended = self._is_behind_loop = False

    def _pass_lines(self, end: int) -> None:
        self._require_blank(end, _BLANK_OR_LINES)
        if b"\n" in _CONTINUED.sub(b"", self._source[self._understood : end]):
            self._has_line_ended = True
        self._understood = end
        self._is_behind_word = False

    def _skip_comment(self, node: Node) -> None:
        """Passes over a comment: it begins like a word, and ends with its line."""
        start, end = node.start_byte, node.end_byte
        before, behind = self._source[start - 1 : start], self._source[end : end + 1]
        text = self._source[start:end]
        if (start and before not in (b" ", b"\t", b"\n")) or behind not in (b"", b"\n") or b"\n" in text:
            raise Opaque("it has a comment")
        self._pass_lines(start)
        self._understood = end

    def _read_loop(self, loop: Loop) -> None:
        """The commands of a loop over words, once for each of them."""
        self._begin_command(loop.node)
        # An inner loop would leave the variable of the outer one with another value.
        if loop.variable in self._variables:
            raise Opaque("it has a loop")
        self.expanded = self.expanded or "it has a loop"
        for piece in loop.head:
            self._account(piece)
        before = tuple(self._commands)
        values = [value for node in loop.values for value in self._read_values(node, before)]
        outer, found = dict(self._variables), self._found
        if any(read_glob(node) is not None for node in loop.values):
            self._found = found | {loop.variable}
        begin = self._understood
        for value in values:
            self._variables = {**outer, loop.variable: value}
            self._understood, self._is_behind_word, self._has_line_ended = begin, False, True
            self._run_through(loop)
        # In which order the rounds run is not known, nor, then, in which folder.
        if self._found != found and any("cd" in command.words for command in self._commands[len(before) :]):
            raise Opaque("it has a loop that changes the folder")
        self._variables, self._found = outer, found
        self._is_behind_loop = True

    def _read_values(self, node: Node, before: Sequence[SimpleCommand]) -> Sequence[str]:
        glob = read_glob(node)
        if glob is None:
            return (self._read_word(node),)
        self._begin_word(node)
        return self._list_names(glob, before)

    def _run_through(self, loop: Loop) -> None:
        for piece in loop.body:
            if piece.type in ("do", "done", ";"):
                self._pass_lines(piece.start_byte)
                self._account(piece)
                self._end_command()
            else:
                self._read(piece)

    def _end_command(self) -> None:
        if self._commands and not self._commands[-1].then:
            self._commands[-1] = replace(self._commands[-1], then=";")

    def _read_command(self, node: Node) -> SimpleCommand:
        words: list[str] = []
        globs: set[int] = set()
        found: set[int] = set()
        redirects: list[Redirect] = []
        assignments: list[str] = []
        for child in node.children:
            if child.type == "file_redirect":
                redirects.append(self._redirect(child))
            elif child.type == "variable_assignment" and not words:
                assignments.append(self._read_assignment(child))
            elif words and (glob := read_glob(child)) is not None:
                self.expanded = self.expanded or "it has * or ? outside quotes, which the shell may expand"
                globs.add(len(words))
                self._begin_word(child)
                words.append(glob)
            elif words or child.type == "command_name":
                if uses_variable(child, self._found):
                    found.add(len(words))
                words.append(self._read_word(child, {"?": "0"} if words and words[0] in _PRINTING else {}))
            else:
                raise Opaque(explain_opaque(child))
        return SimpleCommand(
            tuple(words),
            tuple(redirects),
            tuple(assignments),
            globs=frozenset(globs),
            found=frozenset(found),
        )

    def _read_assignment(self, node: Node) -> str:
        text = read_source(node)
        if not compile_once(_HARMLESS_VARIABLES).fullmatch(text):
            raise Opaque("it sets a variable")
        self.expanded = self.expanded or "it sets a variable"
        self._begin_word(node)
        return text

    def _redirect(self, node: Node) -> Redirect:
        children = list(node.children)
        if children and children[0].type == "file_descriptor":
            descriptor = children.pop(0)
            if self._read_word(descriptor) not in _DESCRIPTORS:
                raise Opaque("it redirects a stream other than 1 and 2")
            if not children or children[0].start_byte != descriptor.end_byte:
                raise Opaque("it redirects in a way that is not plain")
        elif self._source[node.start_byte - 1 : node.start_byte].isdigit():
            # The grammar ends a word here. To bash the number is a descriptor, and no word of the command.
            raise UnclearText("it has a number that touches a redirection, which may be the number of a stream")
        if len(children) != 2 or children[0].type not in _REDIRECTIONS:
            raise Opaque("it redirects in a way that is not plain")
        if children[0].type.startswith("&") and node.children[0] is not children[0]:
            raise Opaque("it redirects in a way that is not plain")
        self._account(children[0])
        return Redirect(children[0].type, self._read_word(children[1]))

    def _read_word(self, node: Node, variables: Mapping[str, str] = MappingProxyType({})) -> str:
        self._begin_word(node)
        word = decode_word(node, {**self._variables, **variables})
        if variables and "$?" in read_source(node):
            self.expanded = self.expanded or "it uses a variable, whose value is not known"
        return word

    def _begin_word(self, node: Node) -> None:
        # The grammar splits some words, such as 'a'\(, that are one for the shell.
        if self._is_behind_word and node.start_byte == self._understood:
            raise UnclearText("it has a word that is not plain")
        self._account(node)
        self._is_behind_word = True

    def _account(self, node: Node) -> None:
        self._require_blank(node.start_byte, _BLANK)
        self._understood = node.end_byte
        self._is_behind_word = False

    def _require_blank(self, end: int, blank: re.Pattern[bytes]) -> None:
        if end < self._understood or not blank.fullmatch(self._source[self._understood : end]):
            raise UnclearText("a part of it is not understood")


def _find_commands(root: Node) -> Iterator[SimpleCommand]:
    """Every command and redirection found anywhere in an opaque text, as far as each can be read."""
    waiting = [root]
    behind: dict[int, list[Node]] = {}
    while waiting:
        node = waiting.pop()
        waiting.extend(reversed(node.children))
        if node.type == "redirected_statement" and (target := find_redirected(node)) is not None:
            behind[target.id] = behind.get(target.id, []) + list_words_behind_all(node.children)
        elif node.type == "command":
            assigned = (read_source(part) for part in node.children if part.type == "variable_assignment")
            given = [part for part in node.children if part.type not in _NO_WORDS]
            given += [*list_words_behind_all(node.children), *behind.get(node.id, ())]
            yield SimpleCommand(tuple(map(describe_word, given)), (), tuple(assigned))
        elif node.type == "file_redirect":
            operator = next((read_source(part) for part in node.children if not part.is_named), "")
            target = next(iter(list_targets(node)), None)
            yield SimpleCommand((), (Redirect(operator, "" if target is None else describe_word(target)),))
