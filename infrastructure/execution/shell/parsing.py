"""Bash text as plain commands, by the grammar of tree-sitter.

Only what is known to be plain is taken: any other kind of node, any character that the shell would expand, and
any byte that no accepted word accounts for makes the whole text opaque.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from domain.shell.command_line import CommandLine, Redirect, SimpleCommand
from infrastructure.execution.shell.words import Opaque, as_written, decoded, source_of, why_opaque

if TYPE_CHECKING:
    from tree_sitter import Language, Node

MAX_BYTES = 16_384
# The grammar takes time that grows with the square of the joined commands.
_MAX_OPERATORS = 200
_OPERATORS = frozenset("|;&<>(){}`$")
_JOINTS = frozenset({"&&", "||", ";", "|"})
_REDIRECTIONS = frozenset({">", ">>", "<", ">&"})
_CONTROL = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})
_DESCRIPTORS = ("1", "2")
_NO_WORDS = frozenset({"variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect"})


def parse(text: str) -> CommandLine:
    """The commands of a text. Takes milliseconds: call it off the event loop."""
    text = text.rstrip(" \t\n")
    try:
        _require_judgeable(text)
    except Opaque as reason:
        return CommandLine((), str(reason))
    root = _parse(text)
    try:
        reader = _Reader(text.encode())
        commands = reader.read(root)
    except Opaque as reason:
        return CommandLine(tuple(_made_out(root)), str(reason))
    return CommandLine(commands)


def _require_judgeable(text: str) -> None:
    if not text.strip():
        raise Opaque("it is empty")
    # Counted first in characters, so that nothing is done with megabytes.
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise Opaque(f"it is too long to judge: more than {MAX_BYTES} bytes")
    for character in text:
        category = unicodedata.category(character)
        if (category in _CONTROL and character not in "\t\n") or (category == "Zs" and character != " "):
            raise Opaque(f"it has the character U+{ord(character):04X}, which cannot be seen")
    if sum(character in _OPERATORS for character in text) > _MAX_OPERATORS:
        raise Opaque(f"it is too long to judge: more than {_MAX_OPERATORS} operators")


@cache
def _language() -> Language:
    # Loaded on first use: most sessions begin without a command.
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


def _parse(text: str) -> Node:
    language = _language()
    from tree_sitter import Parser

    return Parser(language).parse(text.encode()).root_node


class _Reader:
    """Reads the commands of one tree, and keeps account of the bytes it understood."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._understood = 0
        self._is_behind_word = False

    def read(self, root: Node) -> tuple[SimpleCommand, ...]:
        """All commands in order. Raises Opaque."""
        if root.has_error:
            raise Opaque("it is no complete command: a quote or bracket is open, or it is not bash")
        if b"\n" in self._source:
            raise Opaque("it has several lines")
        commands: list[SimpleCommand] = []
        # A chain of commands is nested as deeply as it is long: hence no recursion.
        waiting = [root]
        while waiting:
            node = waiting.pop()
            match node.type:
                case "program" | "list" | "pipeline" | "redirected_statement":
                    waiting.extend(reversed(node.children))
                case "command":
                    commands.append(self._command(node))
                case "file_redirect" if commands:
                    last = commands[-1]
                    commands[-1] = replace(last, redirects=(*last.redirects, self._redirect(node)))
                case joint if joint in _JOINTS and commands:
                    self._account(node)
                    commands[-1] = replace(commands[-1], then=joint)
                case _:
                    raise Opaque(why_opaque(node))
        self._require_blank(len(self._source))
        if not commands:
            raise Opaque("there is no command in it")
        return tuple(commands)

    def _command(self, node: Node) -> SimpleCommand:
        words: list[str] = []
        redirects: list[Redirect] = []
        for child in node.children:
            if child.type == "file_redirect":
                redirects.append(self._redirect(child))
            elif words or child.type == "command_name":
                words.append(self._word(child))
            else:
                raise Opaque(why_opaque(child))
        return SimpleCommand(tuple(words), tuple(redirects))

    def _redirect(self, node: Node) -> Redirect:
        children = list(node.children)
        if children and children[0].type == "file_descriptor":
            descriptor = children.pop(0)
            if self._word(descriptor) not in _DESCRIPTORS:
                raise Opaque("it redirects a stream other than 1 and 2")
            if not children or children[0].start_byte != descriptor.end_byte:
                raise Opaque("it redirects in a way that is not plain")
        elif self._source[node.start_byte - 1 : node.start_byte].isdigit():
            # The grammar ends a word here. To bash the number is a descriptor, and no word of the command.
            raise Opaque("it has a number that touches a redirection, which may be the number of a stream")
        if len(children) != 2 or children[0].type not in _REDIRECTIONS:
            raise Opaque("it redirects in a way that is not plain")
        self._account(children[0])
        return Redirect(children[0].type, self._word(children[1]))

    def _word(self, node: Node) -> str:
        # The grammar splits some words, such as 'a'\(, that are one for the shell.
        if self._is_behind_word and node.start_byte == self._understood:
            raise Opaque("it has a word that is not plain")
        self._account(node)
        self._is_behind_word = True
        return decoded(node)

    def _account(self, node: Node) -> None:
        self._require_blank(node.start_byte)
        self._understood = node.end_byte
        self._is_behind_word = False

    def _require_blank(self, end: int) -> None:
        if end < self._understood or self._source[self._understood : end].strip(b" \t"):
            raise Opaque("a part of it is not understood")


def _made_out(root: Node) -> Iterator[SimpleCommand]:
    """Every command and redirection found anywhere in an opaque text, as far as each can be read."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting.extend(reversed(node.children))
        if node.type == "command":
            assigned = (source_of(part) for part in node.children if part.type == "variable_assignment")
            words = (as_written(part) for part in node.children if part.type not in _NO_WORDS)
            yield SimpleCommand(tuple(words), (), tuple(assigned))
        elif node.type == "file_redirect":
            operator = next((source_of(part) for part in node.children if not part.is_named), "")
            target = next((part for part in reversed(node.children) if part.is_named), None)
            yield SimpleCommand((), (Redirect(operator, "" if target is None else as_written(target)),))
