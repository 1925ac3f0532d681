"""Shell texts as scripts for guards, by the grammar of tree-sitter: any construct is walked through."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec import Struct, field

from quorum.domain.replacing import replace
from quorum.domain.shell.command_line import Redirect
from quorum.domain.shell.script import Script, ScriptCommand, call_functions, split_coarsely
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.execution.shell.parsing import parse_tree
from quorum.infrastructure.execution.shell.words import (
    REDIRECTS,
    find_redirected,
    list_targets,
    list_words_behind,
    read_source,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_BYTES = 65_536
_LOOPS = frozenset({"for_statement", "while_statement", "c_style_for_statement"})
_ALWAYS_HOLDS = r"true|:|!\s*false|\(\(\s*[1-9]\d*\s*\)\)|\[\[?\s*(1|true)\s*\]\]?"
_NEVER_HOLDS = r"false|!\s*(true|:)|\(\(\s*0\s*\)\)"
_RUN_OF_OPERATORS = r"[<>&|]{64}"
"""No script holds so many in a row, and the grammar takes time with the square of their number."""
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_ESCAPED_IN_QUOTES = r"\\([\\\"$`])|\\\n"
_ESCAPED = r"(?s)\\(?:\n|(.))"
_ANSI = r"(?s)\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))"
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


@lru_cache(maxsize=64)
def read_script(text: str) -> Script:
    """Every command of a text. What has no grammar, or is longer than 64 kB, is split coarsely, and says so."""
    if len(text) > _MAX_BYTES:
        return replace(
            split_coarsely(text[:_MAX_BYTES]),
            problem=f"it holds {len(text):,} characters, too many to be looked through",
        )
    if compile_once(_RUN_OF_OPERATORS).search(text):
        return split_coarsely(text)
    source = text.encode("utf-8", "replace")
    root = parse_tree(source.decode())
    script = call_functions(_Walk(source).read(root))
    if not root.has_error:
        return script
    guessed = split_coarsely(text)
    return Script((*script.commands, *guessed.commands), "it is not complete, or not bash")


class _NodePlace(Struct, frozen=True):
    """Where a node stands: what comes in, what it is part of, and whether it may run many times."""

    reads: tuple[int, ...] = ()
    writes: int | None = None
    in_loop: bool = False
    function: str = ""
    is_endless: bool = False

    def join(self, reads: tuple[int, ...], writes: int | None) -> _NodePlace:
        """The same place, with other streams."""
        if reads == self.reads and writes == self.writes:
            return self
        return _NodePlace(reads, writes, self.in_loop, self.function, self.is_endless)


class _Redirected(Struct):
    """What redirections give a command. `words` are arguments that stand behind them, `end` is their end."""

    words: list[str] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    text: str | None = None
    reads: list[int] = field(default_factory=list)
    writes: int | None = None
    end: int = 0


_NOT_REDIRECTED = _Redirected()


class _Walk:
    """One walk over a tree. It does not recurse: a chain of commands is nested as deeply as it is long."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._streams = 0
        self._found: list[tuple[int, ScriptCommand]] = []
        self._redirected: dict[int, _Redirected] = {}

    def read(self, root: Node) -> Script:
        waiting: list[tuple[Node, _NodePlace]] = [(root, _NodePlace())]
        while waiting:
            node, place = waiting.pop()
            waiting += self._visit(node, place)
        # The end of what stands inside, or in front of a pipe, comes before the end of what reads it.
        if len(self._found) > 1:
            self._found.sort(key=itemgetter(0))
        return Script(tuple([command for _, command in self._found]))

    def _visit(self, node: Node, place: _NodePlace) -> Iterable[tuple[Node, _NodePlace]]:
        kind = node.type
        if kind in _LOOPS:
            place = replace(place, in_loop=True, is_endless=place.is_endless or _is_endless(node))
        match kind:
            case "command" | "declaration_command" | "unset_command":
                return self._walk_command(node, place)
            case "pipeline":
                return self._walk_stages(node, place)
            case "redirected_statement":
                return self._redirect_statement(node, place)
            case "function_definition":
                name = node.child_by_field_name("name")
                place = replace(place, function="" if name is None else self._read_source(name))
            case "variable_assignment":
                return self._assign(node, place)
            case "for_statement":
                return self._walk_loop(node, place)
            case "file_redirect":  # alone, as in $(< file)
                given = _Redirected()
                found = [*self._redirect(node, given, place)]
                alone = ScriptCommand((), tuple(given.redirects), writes=place.writes)
                self._found.append((node.end_byte, alone))
                return found
            case "command_substitution" | "process_substitution":
                place = place.join((), place.writes)
            case _:
                pass
        return [(child, place) for child in node.children if child.child_count]

    def _read_source(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _read_word(self, node: Node, kind: str = "") -> str:
        """A word without its quotes; expansions stay as written."""
        match kind or node.type:
            case "word":
                text = self._read_source(node)
                return compile_once(_ESCAPED).sub(_keep_escaped, text) if "\\" in text else text
            case "command_name" | "concatenation" | "variable_assignment" if node.children:
                return "".join([self._read_word(child) for child in node.children])
            case "raw_string":
                return self._read_source(node)[1:-1]
            case "string":
                text = self._read_source(node)[1:-1]
                return compile_once(_ESCAPED_IN_QUOTES).sub(_keep_escaped, text) if "\\" in text else text
            case "ansi_c_string":
                return compile_once(_ANSI).sub(_decode_ansi, self._read_source(node)[2:-1])
            case _:
                return self._read_source(node)

    def _number_next_stream(self) -> int:
        self._streams += 1
        return self._streams

    def _walk_stages(self, node: Node, place: _NodePlace) -> Iterable[tuple[Node, _NodePlace]]:
        stages = [child for child in node.children if child.is_named]
        reads = place.reads
        found: list[tuple[Node, _NodePlace]] = []
        for stage in stages[:-1]:
            stream = self._number_next_stream()
            found.append((stage, place.join(reads, stream)))
            reads = (stream,)
        found += [(stage, place.join(reads, place.writes)) for stage in stages[-1:]]
        return found

    def _redirect_statement(self, node: Node, place: _NodePlace) -> Iterator[tuple[Node, _NodePlace]]:
        given = _Redirected(end=node.end_byte)
        body = node.child_by_field_name("body")
        for child in node.children:
            if child.type in REDIRECTS:
                yield from self._redirect(child, given, place)
            elif child != body:
                yield child, place
        if (target := find_redirected(node)) is not None:
            self._redirected[target.id] = given
        else:
            put_in = ScriptCommand((), tuple(given.redirects), text=given.text, writes=place.writes)
            self._found.append((node.end_byte, put_in))
        if body is not None:
            # A loop or a group reads what is put into it.
            reads = place.reads if target == body and body.type == "command" else (*place.reads, *given.reads)
            writes = place.writes if given.writes is None else given.writes
            yield body, place.join(reads, writes)

    def _redirect(self, node: Node, given: _Redirected, place: _NodePlace) -> Iterator[tuple[Node, _NodePlace]]:
        inner = place.join((), place.writes)
        match node.type:
            case "file_redirect":
                operator = next((self._read_source(part) for part in node.children if not part.is_named), "")
                named = list_targets(node)
                given.redirects.append(Redirect(operator, self._read_word(named[0]) if named else ""))
                given.words += map(self._read_word, list_words_behind(node))
                yield from self._find_substitutions(node, given.reads, inner)
            case "herestring_redirect":
                given.text = "".join(self._read_word(part) for part in node.children if part.is_named)
                yield from self._find_substitutions(node, given.reads, inner)
            case _:
                arguments = node.children_by_field_name("argument")
                given.words += map(self._read_word, arguments)
                for child in arguments:
                    yield from self._find_substitutions(child, given.reads, inner)
                for child in node.children:
                    if child.type == "heredoc_body":
                        given.text = self._read_source(child)
                        yield from self._find_substitutions(child, given.reads, inner)
                    elif child.type == "pipeline":
                        given.writes = self._number_next_stream()
                        yield child, place.join((given.writes,), place.writes)
                    elif child.type in REDIRECTS:
                        yield from self._redirect(child, given, place)
                    elif child.is_named and child.type not in ("heredoc_start", "heredoc_end"):
                        yield child, place

    def _find_substitutions(
        self, node: Node, reads: list[int], place: _NodePlace
    ) -> Iterable[tuple[Node, _NodePlace]]:
        """The substitutions anywhere in words, each with a stream of its own that is added to `reads`."""
        if not _may_substitute(self._read_source(node)):
            return ()
        found: list[tuple[Node, _NodePlace]] = []
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if each.type in _SUBSTITUTIONS:
                stream = self._number_next_stream()
                reads.append(stream)
                found.append((each, place.join((), stream)))
            else:
                waiting += each.children
        return found

    def _walk_command(self, node: Node, place: _NodePlace) -> Iterable[tuple[Node, _NodePlace]]:
        given = self._redirected.get(node.id, _NOT_REDIRECTED)
        reads = (*place.reads, *given.reads)
        redirects, text = given.redirects, given.text
        words: list[str] = []
        assignments: list[str] = []
        inside: list[tuple[Node, _NodePlace]] = []
        for child in node.children:
            kind = child.type
            if kind == "word":  # the usual one, which holds none
                words.append(self._read_word(child, kind))
            elif kind in REDIRECTS:
                own = _Redirected()
                inside += self._redirect(child, own, place)
                redirects, text = [*redirects, *own.redirects], own.text if own.text is not None else text
                reads = (*reads, *own.reads)
                words += own.words
            else:
                if child.child_count:
                    substituted: list[int] = []
                    inside += self._find_substitutions(child, substituted, place)
                    reads = (*reads, *substituted)
                kept = assignments if kind == "variable_assignment" else words
                kept.append(self._read_word(child, kind))
        words += given.words
        command = ScriptCommand(
            tuple(words),
            tuple(redirects),
            tuple(assignments),
            text,
            reads,
            place.writes if given.writes is None else given.writes,
            place.in_loop,
            place.function,
            place.is_endless,
        )
        end = given.end if given.reads else 0
        self._found.append((max(node.end_byte, end), command))
        return inside

    def _assign(self, node: Node, place: _NodePlace) -> Iterable[tuple[Node, _NodePlace]]:
        reads: list[int] = []
        found = self._find_substitutions(node, reads, place)
        assigned = (self._read_word(node),)
        command = ScriptCommand((), assignments=assigned, reads=tuple(reads), in_loop=place.in_loop)
        self._found.append((node.end_byte, command))
        return found

    def _walk_loop(self, node: Node, place: _NodePlace) -> Iterator[tuple[Node, _NodePlace]]:
        """A loop over words: its variable is set from them."""
        reads: list[int] = []
        name, values, end = "", list[str](), node.start_byte
        for child in node.children:
            if child.type == "variable_name":
                name = self._read_source(child)
            elif child.type == "do_group":
                yield child, place
            else:
                yield from self._find_substitutions(child, reads, replace(place, reads=()))
                if child.is_named:
                    values.append(self._read_word(child))
                    end = child.end_byte
        assigned = tuple(f"{name}={value}" for value in values)
        self._found.append((end, ScriptCommand((), assignments=assigned, reads=tuple(reads), in_loop=True)))


def _may_substitute(text: str) -> bool:
    return "(" in text or "`" in text


def _is_endless(loop: Node) -> bool:
    """Whether the condition of a loop is one that always holds."""
    if loop.type == "for_statement":
        return False
    condition = loop.child_by_field_name("condition")
    if loop.type == "c_style_for_statement":
        return condition is None
    text = "" if condition is None else read_source(condition)
    wanted = _NEVER_HOLDS if read_source(loop).startswith("until") else _ALWAYS_HOLDS
    return compile_once(wanted).fullmatch(text.rstrip("; \n")) is not None


def _keep_escaped(found: re.Match[str]) -> str:
    return found[1] or ""


def _decode_ansi(found: re.Match[str]) -> str:
    hexadecimal, unicode, octal, letter = found.groups()
    if hexadecimal or unicode:
        return chr(int(hexadecimal or unicode, 16))
    if octal:
        return chr(int(octal, 8) & 0xFF)
    return _ANSI_LETTERS.get(letter, letter)
